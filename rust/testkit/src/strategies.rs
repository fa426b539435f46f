//! Random chains for property tests: few accounts and small amounts, so that things meet.

use std::collections::BTreeSet;

use headwater_ledger::facts::{AmountOf, Batch, LogFacts, Movement, MovementFact, TransactionFacts, opening};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::Amount;
use proptest::prelude::*;

use crate::{ANCHOR, Chainlet, address, token, topic};

/// A chain of accounts with native, internal and token movements, fees, failures, self transfers, crowded blocks,
/// rows without an ordinal and amounts past 128 bits.
pub fn account_chain() -> impl Strategy<Value = Batch> {
    let step = (0..6u64, 0..6u64, 0..50u64, 0..10u8, any::<bool>(), prop::collection::vec(movement(), 0..4));
    prop::collection::vec(step, 1..40).prop_map(|steps| {
        let chain = steps.into_iter().fold(Chainlet::ethereum(), |chain, (from, to, value, luck, same, movements)| {
            let chain = if same { chain.same_block() } else { chain };
            let chain = chain.transfer(from, to, value).fee(u64::from(luck));
            let chain = match luck {
                0 => chain.failed(),
                1 => chain.status_unknown(),
                2 => chain.with(|facts| facts.index = None),
                _ => chain,
            };
            let chain = movements.into_iter().fold(chain, |chain, (kind, from, to, amount)| match kind {
                0 => chain.internal(from, to, amount),
                // No token moves in a transaction that failed.
                _ if luck == 0 => chain,
                kind => chain.token_movement(u64::from(kind), from, to, amount),
            });
            match luck {
                3 => chain.unindexed(),
                4 => chain.with(enlarge),
                _ => chain,
            }
        });
        chain.batch()
    })
}

/// The same with amounts that are stated to the precision of a double only.
pub fn approximate_chain() -> impl Strategy<Value = Batch> {
    (account_chain(), any::<u64>()).prop_map(|(mut batch, mut luck)| {
        for facts in &mut batch.transactions {
            let names = facts.movements.iter().filter_map(AmountOf::of_fact).chain(facts.body.map(|_| AmountOf::Value));
            let is_rough = |_: &AmountOf| {
                luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                luck >> 62 == 0
            };
            facts.approximate = names.filter(is_rough).collect();
        }
        batch
    })
}

/// A chain of accounts with lists of holders of its tokens among it: some of one token at several blocks, some before anything of
/// the token moved, and some in the middle.
pub fn opened_chain() -> impl Strategy<Value = Batch> {
    let held = prop::collection::btree_map(0..6u64, 0..9u64, 1..5);
    let lists = prop::collection::vec((1..3u64, any::<prop::sample::Index>(), held), 1..4);
    (account_chain(), lists).prop_map(|(mut batch, lists)| {
        let chain = batch.chain;
        let mut stated = BTreeSet::new();
        for (number, block, held) in lists {
            let block = batch.blocks[block.index(batch.blocks.len())].clone();
            let contract = *token(chain, number).contract().expect("a token has one");
            let held = held.into_iter().map(|(holder, amount)| (address(chain, holder), Amount::from(amount)));
            if stated.insert((contract, block.number)) {
                let parts = opening(chain, contract, block.number, block.time, held.collect());
                batch.transactions.extend(parts.expect("each holder is stated once"));
            }
        }
        batch
    })
}

/// A chain of accounts with event logs of few contracts and topics: some without topics, some with equal ones, some in
/// rows without a place in the block. Logs of a transaction are not in order of their index.
pub fn logged_chain() -> impl Strategy<Value = Batch> {
    let log = (0..4u64, prop::collection::vec(0..4u64, 0..5), prop::collection::vec(any::<u8>(), 0..40));
    let logs = prop::collection::vec(prop::collection::vec(log, 0..6), 40);
    (account_chain(), logs).prop_map(|(mut batch, logs)| {
        for (facts, logs) in batch.transactions.iter_mut().zip(logs) {
            // A transaction that failed has no logs.
            if facts.status == Some(Status::Failed) {
                continue;
            }
            let logs = (0_u64..).zip(logs).map(|(place, (contract, topics, data))| LogFacts {
                index: (place * 7 + 3) % 11,
                address: address(batch.chain, contract),
                topics: topics.into_iter().map(topic).collect(),
                data,
            });
            facts.logs = logs.collect();
        }
        batch
    })
}

fn movement() -> impl Strategy<Value = (u8, u64, u64, u64)> {
    (0..3u8, 0..6u64, 0..6u64, 0..4u64)
}

/// Amounts past 128 bits.
fn enlarge(facts: &mut TransactionFacts) {
    let mut bytes = [0; 32];
    bytes[10] = 1;
    for movement in &mut facts.movements {
        if movement.kind == MovementFact::Token {
            movement.amount = Amount::from_be_bytes(bytes).checked_add(movement.amount).expect("far below 256 bits");
        }
    }
}

/// A chain of outputs: each transaction spends outputs made before and pays to a few accounts, some to itself, and some to one
/// that has no owner. Some of the outputs are dust.
pub fn utxo_chain() -> impl Strategy<Value = Batch> {
    let payee = prop_oneof![9 => 0..6_u64, 1 => Just(ANCHOR)];
    let step = (prop::collection::vec(0..1000usize, 0..3), prop::collection::vec(payee, 1..4), any::<bool>());
    prop::collection::vec(step, 1..30).prop_map(|steps| {
        let mut chain = Chainlet::bitcoin();
        let mut unspent: Vec<(u64, u32, u32, u64)> = Vec::new();
        let (mut block, mut index) = (0, 0);
        for (picks, payees, same) in steps {
            let same = same && block > 0;
            (block, index) = if same { (block, index + 1) } else { (block + 1, 0) };
            chain = if same { chain.same_block() } else { chain };
            let mut spent = Vec::new();
            for pick in picks {
                if !unspent.is_empty() {
                    spent.push(unspent.swap_remove(pick % unspent.len()));
                }
            }
            let total: u64 = spent.iter().map(|output| output.3).sum();
            if spent.is_empty() || total < payees.len() as u64 {
                chain = chain.mine(payees[0], 5_000 + block);
                unspent.push((block, index, 0, 5_000 + block));
                continue;
            }
            let share = total / payees.len() as u64;
            let to: Vec<_> = payees.iter().map(|payee| (*payee, share)).collect();
            let points: Vec<_> = spent.iter().map(|&(block, index, output, _)| (block, index, output)).collect();
            chain = chain.spend(&points, &to);
            unspent.extend((0..).zip(&to).map(|(output, _)| (block, index, output, share)));
        }
        chain.batch()
    })
}

/// Several overlapping sources of one chain: what they say together is what the chain holds, and each leaves things
/// out.
pub fn sources_of(batch: Batch, sources: usize) -> impl Strategy<Value = Vec<Batch>> {
    let says = prop::collection::vec(0..6u8, batch.transactions.len());
    prop::collection::vec(says, sources).prop_map(move |sources| {
        let mut parts: Vec<_> = sources
            .into_iter()
            .map(|says| {
                let transactions = batch.transactions.iter().zip(says);
                let transactions = transactions.filter_map(|(facts, says)| partial(facts, says)).collect();
                Batch { transactions, ..batch.clone() }
            })
            .collect();
        parts.push(batch.clone());
        parts
    })
}

/// Part of what is known of a transaction.
fn partial(facts: &TransactionFacts, says: u8) -> Option<TransactionFacts> {
    let bare = TransactionFacts::new(facts.hash, facts.block);
    match says {
        0 => None,
        1 => Some(TransactionFacts { body: facts.body, utxo: facts.utxo.clone(), ..bare }),
        2 => Some(TransactionFacts { status: facts.status, fee: facts.fee, index: facts.index, ..bare }),
        3 => Some(TransactionFacts { movements: facts.movements.clone(), ..bare }),
        4 => {
            let unindexed = |movement: &Movement| Movement { ordinal: Ordinal::Unindexed(0), ..movement.clone() };
            Some(TransactionFacts { movements: facts.movements.iter().map(unindexed).collect(), ..bare })
        }
        _ => Some(facts.clone()),
    }
}

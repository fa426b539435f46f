//! The bridge crate on the economy: legs from its logs and memos, joined, against the truth by class.

use std::collections::{BTreeMap, BTreeSet};

use headwater_bridge::{
    BridgeChain, LegTable, Log, MemoPayment, Status, Tables, TokenTransfer, Transaction, account_bytes, decode,
    memo_leg,
};
use headwater_ledger::facts::{Batch, MovementFact, TransactionFacts};
use headwater_simulate::truth::{BridgeClass, BridgeOutcome};
use headwater_types::{Amount, Chain, Family, Timestamp, TxHash};

use crate::DEMO;

/// Two ends of a transfer.
type Ends = ((Chain, TxHash), (Chain, TxHash));

fn account_legs(chain: Chain, facts: &TransactionFacts, time: Timestamp, table: &mut LegTable) {
    let bytes = |address: Option<&headwater_types::Address>| address.and_then(account_bytes).unwrap_or_default();
    let logs: Vec<Log<'_>> = facts
        .logs
        .iter()
        .map(|log| Log { contract: bytes(Some(&log.address)), topics: &log.topics, data: &log.data, index: log.index })
        .collect();
    let transfers: Vec<TokenTransfer> = facts
        .movements
        .iter()
        .filter(|movement| movement.kind == MovementFact::Token)
        .filter_map(|movement| {
            Some(TokenTransfer {
                index: movement.ordinal.shown()?,
                token: bytes(movement.asset.contract()),
                from: bytes(movement.from.as_ref()),
                to: bytes(movement.to.as_ref()),
                amount: movement.amount,
            })
        })
        .collect();
    let body = facts.body.as_ref();
    table.extend(decode(
        Tables::builtin(),
        &Transaction {
            chain: chain.into(),
            block: facts.block,
            time,
            hash: facts.hash,
            succeeded: true,
            from: body.and_then(|body| body.from.as_ref()).and_then(account_bytes),
            to: body.and_then(|body| body.to.as_ref()).and_then(account_bytes),
            value: body.map_or(Amount::ZERO, |body| body.value),
            input: facts.input.as_deref().unwrap_or_default(),
            logs: &logs,
            transfers: &transfers,
        },
    ));
}

fn memo_legs(chain: Chain, facts: &TransactionFacts, time: Timestamp, table: &mut LegTable) {
    let Some(utxo) = &facts.utxo else { return };
    for memo in utxo.outputs.iter().filter_map(|output| std::str::from_utf8(output.data.as_ref()?).ok()) {
        table.extend(memo_leg(
            Tables::builtin(),
            &MemoPayment {
                chain: chain.into(),
                block: facts.block,
                time,
                transaction: facts.hash,
                memo,
                sender: None,
                receiver: utxo.outputs.first().and_then(|output| output.owner),
                amount: utxo.outputs.first().map(|output| Amount::from(output.amount)),
            },
        ));
    }
}

fn read(batch: &Batch, table: &mut LegTable) {
    let times: BTreeMap<u64, Timestamp> = batch.blocks.iter().map(|block| (block.number, block.time)).collect();
    for facts in &batch.transactions {
        let time = facts.time.or(times.get(&facts.block).copied()).unwrap_or(Timestamp::new(0));
        match batch.chain.family() {
            Family::Utxo => memo_legs(batch.chain, facts, time, table),
            Family::Evm | Family::Tron => account_legs(batch.chain, facts, time, table),
        }
    }
}

#[test]
fn bridge_legs_of_the_economy_join_as_the_truth_says() {
    let mut table = LegTable::default();
    for batch in &DEMO.batches {
        read(batch, &mut table);
    }
    let place = |chain: BridgeChain, hash| (chain.held().expect("a chain of the engine"), hash);
    let mut joined: BTreeSet<Ends> = BTreeSet::new();
    let mut returned: BTreeSet<Ends> = BTreeSet::new();
    for transfer in table.transfers() {
        let Some(source) = transfer.source else { continue };
        let ends =
            |leg: &headwater_bridge::Half| (place(source.chain, source.transaction), place(leg.chain, leg.transaction));
        joined.extend(transfer.destinations.iter().map(|leg| ends(leg)));
        if transfer.status() == Status::Refunded {
            returned.extend(transfer.refunds.iter().map(|leg| ends(leg)));
        }
    }
    let truth = &DEMO.truth.bridge_transfers;
    let rows = |class: BridgeClass, outcome| {
        let of = truth.iter().filter(move |row| row.class == class && row.outcome == outcome);
        of.map(|row| {
            let there = row.destination.as_ref().expect("an ended transfer has two legs");
            ((row.source.chain, row.source.hash), (there.chain, there.hash))
        })
        .collect::<BTreeSet<Ends>>()
    };
    let all: BTreeSet<Ends> =
        BridgeClass::ALL.iter().flat_map(|&class| rows(class, BridgeOutcome::Completed)).collect();
    println!("{} legs, {} joined, {} wrong", table.len(), joined.len(), joined.difference(&all).count());
    assert!(joined.is_subset(&all), "{:?}", joined.difference(&all).collect::<Vec<_>>());
    for class in BridgeClass::ALL {
        let completed = rows(class, BridgeOutcome::Completed);
        let found = completed.intersection(&joined).count();
        let refunds = rows(class, BridgeOutcome::Refunded);
        let back = refunds.intersection(&returned).count();
        println!("class {}: {found} of {} joined, {back} of {} refunds", class.name(), completed.len(), refunds.len());
        if class != BridgeClass::Heuristic {
            assert_eq!(found, completed.len(), "class {}", class.name());
        }
    }
}

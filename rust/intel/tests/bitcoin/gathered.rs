//! What is read of a ledger for a transaction.

use std::sync::Arc;

use headwater_intel::bitcoin::change::{AddressUsage, NoChange, RULES, judge};
use headwater_intel::bitcoin::coinjoin::Protocol;
use headwater_intel::bitcoin::gather::{Gathered, SameCluster};
use headwater_ledger::facts::Claim;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::read::{CoverageTable, Transactions};
use headwater_ledger::store::{MemoryStore, Segmentation, Split};
use headwater_ledger::{Cancel, Snapshot};
use headwater_testkit::{Chainlet, address, claim, hash, label_import};
use headwater_types::Chain;

fn store(chainlet: Chainlet, held_from: u64) -> MemoryStore {
    let mut batch = chainlet.batch();
    let last = batch.blocks.last().unwrap().number;
    batch.claims.push(Claim::Blocks { first: held_from, last, table: CoverageTable::Transactions });
    let mut store = MemoryStore::default();
    store.commit(batch, &Cancel::new()).unwrap();
    store
}

fn gathered(ledger: &Snapshot, block: u64, same_cluster: Option<SameCluster<'_>>) -> Gathered {
    let found = ledger.find_transaction(Chain::BITCOIN, &hash(block, 0)).unwrap().unwrap();
    let transaction = ledger.transaction(found).unwrap();
    Gathered::read(ledger, transaction, same_cluster, &Cancel::new()).unwrap().unwrap()
}

/// In one segment and in three.
fn ways(store: &MemoryStore) -> [Arc<Snapshot>; 2] {
    let way = Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 };
    [store.snapshot(), store.in_segments(way).unwrap().snapshot()]
}

/// Account 1 pays 2 in block 3, and 5 is its change: block 5 spends it together with another coin of account 1.
fn payment() -> Chainlet {
    Chainlet::bitcoin()
        .mine(1, 5_000)
        .mine(1, 7_000)
        .spend(&[(1, 0, 0)], &[(2, 3_000), (5, 1_990)])
        .spend(&[(3, 0, 0)], &[(6, 2_990)])
        .spend(&[(3, 0, 1), (2, 0, 0)], &[(7, 8_980)])
}

#[test]
fn outputs_are_read_with_spenders_usage_and_clusters() {
    for ledger in ways(&store(payment(), 1)) {
        let gathered = gathered(&ledger, 3, None);
        let case = gathered.case();
        let fresh = Some(AddressUsage { is_first_use: true, is_used_once: true });
        assert_eq!(case.outputs.iter().map(|output| output.usage).collect::<Vec<_>>(), [fresh, fresh]);
        let inputs = |place: usize| case.outputs[place].spender.unwrap().inputs().len();
        assert_eq!((inputs(0), inputs(1)), (1, 2));
        assert_eq!(
            (case.outputs[0].is_in_input_cluster, case.outputs[1].is_in_input_cluster),
            (Some(false), Some(true))
        );
        assert_eq!((case.follows_one_in_two_out, case.transaction.fee()), (Some(false), Some(10)));
        let change = judge(&case, RULES).change.unwrap();
        assert_eq!(change.output, 1);
        assert!(change.confidence > 0.9998);
    }
}

#[test]
fn clusters_stand_before_the_spender() {
    let ledger = store(payment(), 1).snapshot();
    let same_cluster: SameCluster<'_> = &|owner| Ok((*owner == address(Chain::BITCOIN, 2)).then_some(true));
    let gathered = gathered(&ledger, 3, Some(same_cluster));
    let known: Vec<_> = gathered.case().outputs.iter().map(|output| output.is_in_input_cluster).collect();
    assert_eq!(known, [Some(true), None]);
    assert_eq!(judge(&gathered.case(), RULES).change.unwrap().output, 0);
}

#[test]
fn usage_is_unknown_where_earlier_blocks_are_missing() {
    let ledger = store(payment(), 2).snapshot();
    assert!(gathered(&ledger, 3, None).case().outputs.iter().all(|output| output.usage.is_none()));
}

#[test]
fn an_address_that_was_paid_before_is_not_new() {
    let chainlet =
        Chainlet::bitcoin().mine(1, 5_000).mine(2, 7_000).spend(&[(1, 0, 0)], &[(2, 3_000), (3, 1_990)]).mine(3, 100);
    let ledger = store(chainlet, 1).snapshot();
    let gathered = gathered(&ledger, 3, None);
    let usages: Vec<_> = gathered.case().outputs.iter().map(|output| output.usage.unwrap()).collect();
    let old = AddressUsage { is_first_use: false, is_used_once: false };
    let paid_again = AddressUsage { is_first_use: true, is_used_once: false };
    assert_eq!(usages, [old, paid_again]);
}

#[test]
fn inputs_of_the_own_block_are_unconfirmed() {
    let chainlet = Chainlet::bitcoin().mine(1, 5_000).spend(&[(1, 0, 0)], &[(2, 3_000), (3, 1_990)]).same_block();
    let ledger = store(chainlet.spend(&[(2, 0, 0)], &[(4, 2_000), (5, 990)]), 1).snapshot();
    let gathered = gathered(&ledger, 2, None);
    let case = gathered.case();
    assert_eq!(case.transaction.spends_own_block(), Some(false));
    assert_eq!(case.outputs[0].spender.unwrap().spends_own_block(), Some(true));
    assert!(case.outputs[1].spender.is_none());
}

#[test]
fn inputs_that_are_not_held_stay_unknown() {
    let ledger = store(Chainlet::bitcoin().spend(&[(900, 0, 0)], &[(2, 3_000), (3, 1_990)]), 1).snapshot();
    let gathered = gathered(&ledger, 1, None);
    let case = gathered.case();
    assert_eq!((case.transaction.unknown_inputs(), case.follows_one_in_two_out), (1, None));
    assert_eq!((case.transaction.spends_own_block(), case.outputs[0].is_in_input_cluster), (None, None));
}

/// Five coins from a premix transaction and its like go round.
fn round() -> Chainlet {
    let premix = |chainlet: Chainlet, first: u64| {
        let block = 2 * first;
        let chainlet = chainlet.mine(first, 4_000_000);
        let coins = [(10 * first, 1_000_300), (10 * first + 1, 1_000_300), (99, 50_000), (10 * first + 2, 900_000)];
        chainlet.spend(&[(block - 1, 0, 0)], &coins).with(|facts| {
            let note = headwater_ledger::facts::OutputFacts {
                owner: None,
                amount: 0,
                script: headwater_ledger::read::ScriptType::OpReturn,
                data: None,
            };
            facts.utxo.as_mut().unwrap().outputs.push(note);
        })
    };
    let chainlet = (1..=3).fold(Chainlet::bitcoin(), premix);
    let pool = 1_000_000;
    let first_round = [(100, pool), (101, pool), (102, pool), (103, pool), (104, pool)];
    chainlet.mine(50, pool).spend(&[(2, 0, 0), (2, 0, 1), (4, 0, 0), (4, 0, 1), (7, 0, 0)], &first_round).spend(
        &[(8, 0, 0), (8, 0, 1), (8, 0, 2), (8, 0, 3), (6, 0, 0)],
        &[(110, pool), (111, pool), (112, pool), (113, pool), (114, pool)],
    )
}

#[test]
fn a_round_is_surer_where_all_its_coins_come_from_premix_or_rounds() {
    let ledger = store(round(), 1).snapshot();
    let of = |block: u64| gathered(&ledger, block, None).case().coinjoin.unwrap();
    assert_eq!((of(8).protocol, of(8).confidence), (Protocol::Whirlpool, 0.6), "one coin was mined");
    assert_eq!((of(9).protocol, of(9).confidence), (Protocol::Whirlpool, 0.9));
    assert_eq!(judge(&gathered(&ledger, 9, None).case(), RULES).change, Err(NoChange::CoinJoin));
    let premix = |block: u64| gathered(&ledger, block, None).premix().unwrap().confidence;
    assert_eq!((premix(2), premix(6)), (0.9, 0.9), "a round spends a coin of each");
}

#[test]
fn a_coinjoin_that_spends_change_links_nobody() {
    // Account 1 pays 2; its change 5 and a coin of account 1 go into a CoinJoin with two others.
    let chainlet = Chainlet::bitcoin()
        .mine(1, 50_000)
        .mine(1, 70_000)
        .mine(8, 70_000)
        .spend(&[(1, 0, 0)], &[(2, 30_001), (5, 19_001)])
        .spend(
            &[(4, 0, 1), (2, 0, 0), (3, 0, 0)],
            &[(20, 11_000), (21, 11_000), (22, 11_000), (23, 8_001), (24, 59_002), (25, 58_003)],
        );
    let ledger = store(chainlet, 1).snapshot();
    let spender = gathered(&ledger, 5, None).case().coinjoin.unwrap();
    assert_eq!(spender.protocol, Protocol::JoinMarket);
    assert_eq!(gathered(&ledger, 4, None).case().outputs[1].is_in_input_cluster, Some(false));
}

#[test]
fn labels_of_an_exchange_veto_equal_outputs() {
    let chainlet = (1..=3).fold(Chainlet::bitcoin(), |chainlet, payer| chainlet.mine(payer, 100_000)).spend(
        &[(1, 0, 0), (2, 0, 0), (3, 0, 0)],
        &[(20, 50_000), (21, 50_000), (22, 50_000), (23, 49_001), (24, 49_002), (25, 49_003)],
    );
    let mut store = store(chainlet, 1);
    assert_eq!(gathered(&store.snapshot(), 4, None).case().coinjoin.unwrap().protocol, Protocol::JoinMarket);
    let payer = address(Chain::BITCOIN, 2);
    let of_exchange = claim(Chain::BITCOIN, payer, Code::Exchange, Level::ServiceData, "exchange");
    store.import_labels(label_import("exchange", vec![of_exchange], 1_700_000_000)).unwrap();
    assert_eq!(gathered(&store.snapshot(), 4, None).case().coinjoin, None);
}

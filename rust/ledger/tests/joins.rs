//! The contents of a store are a function of what sources said, not of how it came in.

use headwater_ledger::facts::{Batch, BlockFacts, Claim, TokenFacts};
use headwater_ledger::read::{
    Accounts, Assets, CoverageTable, Generation, Ledger, Movements, Scan, ScanOrder, Transactions,
};
use headwater_ledger::store::MemoryStore;
use headwater_ledger::{Cancel, LedgerError};
use headwater_testkit::{
    Chainlet, address, hash, holdings_of, in_one_segment, over_segmentations, rows_of, strategies,
};
use headwater_types::{BlockHash, Chain, Network, Timestamp};
use proptest::prelude::*;

fn commit_all(batches: impl IntoIterator<Item = Batch>) -> MemoryStore {
    let mut store = MemoryStore::default();
    for batch in batches {
        store.commit(batch, &Cancel::new()).unwrap();
    }
    store
}

fn digest(store: &MemoryStore) -> String {
    store.digest(&Cancel::new()).unwrap().to_string()
}

/// One batch per transaction, each with all blocks.
fn one_by_one(batch: &Batch) -> Vec<Batch> {
    let one = |facts: &headwater_ledger::facts::TransactionFacts| Batch {
        transactions: vec![facts.clone()],
        blocks: batch.blocks.iter().filter(|block| block.number == facts.block).cloned().collect(),
        ..Batch::new(batch.chain)
    };
    batch.transactions.iter().map(one).collect()
}

#[test]
fn a_batch_that_says_nothing_new_makes_no_generation() {
    let batch = Chainlet::ethereum().transfer(1, 2, 5).fee(1).token_transfer(9, 2, 1, 7).batch();
    let mut store = MemoryStore::default();
    let first = store.commit(batch.clone(), &Cancel::new()).unwrap();
    assert_eq!((first.added, first.enriched, first.unchanged, first.blocks), (2, 0, 0, 2));
    let second = store.commit(batch, &Cancel::new()).unwrap();
    assert_eq!((second.added, second.enriched, second.unchanged, second.blocks), (0, 0, 2, 0));
    assert_eq!(second.generation, first.generation);
}

#[test]
fn second_source_enriches_the_transaction_in_place() {
    let full = Chainlet::ethereum().transfer(1, 2, 5).fee(1).token_movement(9, 2, 1, 7).batch();
    let mut bare = full.clone();
    bare.transactions[0].fee = None;
    bare.transactions[0].movements.clear();
    let mut store = commit_all([bare]);
    let report = store.commit(full.clone(), &Cancel::new()).unwrap();
    assert_eq!((report.added, report.enriched, report.unchanged), (0, 1, 0));
    assert_eq!(store.snapshot().segments().len(), 1, "a transaction is in one segment");
    assert_eq!(digest(&store), digest(&commit_all([full])));
}

#[test]
fn a_block_without_time_is_refused_until_its_time_is_known() {
    let chain = Chainlet::ethereum().transfer(1, 2, 5).batch();
    let silent = Batch { blocks: vec![], ..chain.clone() };
    let mut store = MemoryStore::default();
    let error = store.commit(silent.clone(), &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::UnknownTime { block: 1, .. }), "{error}");
    store.commit(Batch { transactions: vec![], ..chain }, &Cancel::new()).unwrap();
    assert_eq!(store.commit(silent, &Cancel::new()).unwrap().added, 1);
}

#[test]
fn block_with_two_times_is_a_conflict() {
    let batch = Chainlet::ethereum().transfer(1, 2, 5).batch();
    let mut other = batch.clone();
    other.blocks[0].time = Timestamp::new(1);
    let mut store = commit_all([batch]);
    let error = store.commit(other, &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::Conflict { what: "block", field: "time", .. }), "{error}");
}

#[test]
fn later_block_hash_reaches_every_segment_of_the_block() {
    let batch = Chainlet::ethereum().transfer(1, 2, 5).same_block().transfer(2, 3, 4).batch();
    let mut store = commit_all(one_by_one(&batch));
    assert_eq!(store.snapshot().segments().len(), 2);
    let block = BlockFacts { hash: Some(BlockHash::new([5; 32])), ..batch.blocks[0].clone() };
    let report = store.commit(Batch { blocks: vec![block], ..Batch::new(Chain::ETHEREUM) }, &Cancel::new()).unwrap();
    assert_eq!((report.blocks, report.added), (1, 0));
    let ledger = store.snapshot();
    for index in 0..2 {
        let transaction = ledger.find_transaction(Chain::ETHEREUM, &hash(1, index)).unwrap().unwrap();
        assert_eq!(ledger.transaction(transaction).unwrap().block_hash, Some(BlockHash::new([5; 32])));
    }
}

#[test]
fn a_store_holds_one_network_per_chain() {
    let mut store = commit_all([Chainlet::bitcoin().mine(1, 50).batch()]);
    let testnet = Batch { network: Some(Network::Testnet), ..Batch::new(Chain::BITCOIN) };
    let error = store.commit(testnet, &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::NetworkMismatch { .. }), "{error}");
}

#[test]
fn inputs_are_completed_whichever_comes_first() {
    let chain = Chainlet::bitcoin().mine(1, 50).spend(&[(1, 0, 0)], &[(2, 30), (1, 19)]).batch();
    let in_order = commit_all(one_by_one(&chain));
    let mut backwards = one_by_one(&chain);
    backwards.reverse();
    let mut store = commit_all(backwards[..1].to_vec());
    let ledger = store.snapshot();
    let spender = ledger.find_transaction(Chain::BITCOIN, &hash(2, 0)).unwrap().unwrap();
    assert_eq!(ledger.transaction(spender).unwrap().fee, None, "the output spent is not held yet");
    let report = store.commit(backwards[1].clone(), &Cancel::new()).unwrap();
    assert_eq!((report.added, report.enriched), (1, 1));
    let ledger = store.snapshot();
    let spender = ledger.find_transaction(Chain::BITCOIN, &hash(2, 0)).unwrap().unwrap();
    assert_eq!(ledger.transaction(spender).unwrap().fee, Some(1_u64.into()));
    assert_eq!(digest(&store), digest(&in_order));
}

#[test]
fn output_prevails_over_its_spender_and_amounts_must_agree() {
    let mut chain = Chainlet::bitcoin().mine(1, 50).spend(&[(1, 0, 0)], &[(2, 50)]).batch();
    let spent =
        |satoshis, script| headwater_ledger::facts::OutputFacts { script, ..headwater_testkit::pay_to(1, satoshis) };
    let nonstandard = headwater_ledger::read::ScriptType::Nonstandard;
    chain.transactions[1].utxo.as_mut().unwrap().inputs[0].spent = Some(spent(50, nonstandard));
    let digests = [vec![0, 1], vec![1, 0], vec![1, 0, 1]].map(|order| {
        let batches = one_by_one(&chain);
        digest(&commit_all(order.into_iter().map(|place: usize| batches[place].clone())))
    });
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);

    chain.transactions[1].utxo.as_mut().unwrap().inputs[0].spent = Some(spent(49, nonstandard));
    let error = MemoryStore::default().commit(chain, &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::Conflict { field: "amount of a spent output", .. }), "{error}");
}

#[test]
fn coverage_is_the_union_of_claims_and_what_the_segments_hold() {
    let chain = Chain::ETHEREUM;
    let range = |first, last| Claim::Blocks { first, last, table: CoverageTable::Transactions };
    let account = |number| Claim::Account { address: address(chain, number), table: CoverageTable::TokenTransfers };
    let mut batch = Chainlet::ethereum().at_block(5).transfer(1, 2, 3).transfer(2, 2, 3).batch();
    batch.claims = vec![range(5, 6), account(1), account(1)];
    let mut store = commit_all([batch]);
    let claims = Batch { claims: vec![range(7, 9), range(20, 21), account(2)], ..Batch::new(chain) };
    let before = store.snapshot().generation();
    assert_eq!(store.commit(claims.clone(), &Cancel::new()).unwrap().generation, before + 1);
    assert_eq!(store.commit(claims, &Cancel::new()).unwrap().generation, before + 1);
    let snapshot = store.snapshot();
    let coverage = &snapshot.coverage()[&chain];
    assert_eq!(coverage.ranges[&CoverageTable::Transactions], [(5, 9), (20, 21)]);
    assert_eq!(coverage.accounts[&CoverageTable::TokenTransfers], 2);
    assert_eq!((coverage.first_block, coverage.last_block), (Some(5), Some(6)), "of 21 no time is known");
    assert_eq!((coverage.transactions, coverage.movements), (2, 2));
    assert_eq!(coverage.last_time.unwrap().secs() - coverage.first_time.unwrap().secs(), 12);
}

#[test]
fn contracts_and_tokens_are_held_once() {
    let chain = Chain::ETHEREUM;
    let token = |symbol: &str| TokenFacts {
        contract: address(chain, 9),
        symbol: Some(symbol.to_owned()),
        name: None,
        decimals: None,
        is_non_fungible: false,
    };
    let contracts = vec![address(chain, 1), address(chain, 9)];
    let first = Batch { contracts: contracts.clone(), tokens: vec![token("AB")], ..Batch::new(chain) };
    let second = Batch { contracts, tokens: vec![token("ABC"), token("A")], ..Batch::new(chain) };
    let mut store = commit_all([first.clone(), second.clone()]);
    assert_eq!(store.snapshot().token_facts(chain, &address(chain, 9)).unwrap(), Some(token("ABC")));
    let before = store.snapshot().generation();
    assert_eq!(store.commit(first.clone(), &Cancel::new()).unwrap().generation, before);
    assert_eq!(digest(&store), digest(&commit_all([second, first])));
}

#[test]
fn merging_small_commits_changes_no_answer() {
    let chain = (0..40).fold(Chainlet::ethereum(), |chain, number| chain.transfer(number % 5, 7, number).fee(number));
    let batch = chain.batch();
    let store = commit_all(one_by_one(&batch));
    assert!(store.snapshot().segments().len() <= 9, "{} segments", store.snapshot().segments().len());
    assert_eq!(digest(&store), digest(&commit_all([batch])));
}

/// Rows and holdings of the first accounts agree with the oracle.
fn check_against_oracle(ledger: &dyn Ledger, batch: &Batch) -> Vec<usize> {
    let chain = batch.chain;
    let facts: Vec<_> = batch
        .transactions
        .iter()
        .map(|facts| {
            let found = ledger.find_transaction(chain, &facts.hash).unwrap().unwrap();
            ledger.transaction(found).unwrap().facts
        })
        .collect();
    (0..6)
        .map(|number| {
            let address = address(chain, number);
            let expected = rows_of(&facts, &address);
            let Some(account) = ledger.account(chain, &address).unwrap() else {
                assert!(expected.is_empty(), "{address} has rows and was not found");
                return 0;
            };
            let scan = |order| Scan { order, ..Scan::default() };
            let rows = |order| {
                let rows = ledger.postings(&account, &scan(order)).unwrap().map(|posting| {
                    let posting = posting.unwrap();
                    let head = ledger.transaction_head(posting.transaction).unwrap();
                    (
                        (posting.block, head.index.unwrap_or(u32::MAX), head.hash, posting.kind),
                        posting.ordinal.shown().unwrap_or(u64::MAX),
                        ledger.asset(posting.asset).unwrap(),
                        posting.direction,
                        posting.counterparty.map(|other| ledger.address(other).unwrap()),
                        posting.amount,
                    )
                });
                rows.collect::<Vec<_>>()
            };
            let oldest = rows(ScanOrder::OldestFirst);
            let newest: Vec<_> = rows(ScanOrder::NewestFirst).into_iter().rev().collect();
            assert_eq!(oldest, newest, "newest first is the exact reverse");
            let mut found = oldest;
            found.sort();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|row| {
                    let place = (row.block, row.index, row.hash, row.kind);
                    (place, row.ordinal, row.asset, row.direction, row.counterparty, row.amount)
                })
                .collect();
            assert_eq!(found, expected);

            let held: Vec<_> = ledger.holdings(&account).unwrap();
            let wanted = holdings_of(&facts, &address);
            assert!(held.iter().map(|holding| holding.asset).is_sorted());
            for holding in &held {
                let sums = (holding.balance.received(), holding.balance.sent(), holding.fees);
                let oracle = wanted.get(&holding.asset).copied().unwrap_or_default();
                assert_eq!(sums, (oracle.received, oracle.sent, oracle.fees), "{address} {:?}", holding.asset);
            }
            assert!(wanted.keys().all(|asset| held.iter().any(|holding| holding.asset == *asset)));
            found.len()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn order_number_overlap_and_repetition_of_sources_do_not_matter(
        (sources, order) in strategies::account_chain()
            .prop_flat_map(|batch| strategies::sources_of(batch, 3))
            .prop_flat_map(|sources| (Just(sources.clone()), Just((0..sources.len()).collect::<Vec<_>>()).prop_shuffle()))
    ) {
        let straight = commit_all(sources.clone());
        let shuffled = commit_all(order.iter().chain(&order[..1]).map(|place| sources[*place].clone()));
        prop_assert_eq!(digest(&straight), digest(&shuffled));
        let mut at_once = sources[0].clone();
        at_once.transactions = sources.iter().flat_map(|source| source.transactions.clone()).collect();
        prop_assert_eq!(digest(&commit_all([at_once])), digest(&straight));
    }

    #[test]
    fn the_order_of_utxo_transactions_does_not_matter(
        (batch, order) in strategies::utxo_chain().prop_flat_map(|batch| {
            let places: Vec<_> = (0..batch.transactions.len()).collect();
            (Just(batch), Just(places).prop_shuffle())
        })
    ) {
        let batches = one_by_one(&batch);
        let shuffled = commit_all(order.into_iter().map(|place| batches[place].clone()));
        prop_assert_eq!(digest(&shuffled), digest(&commit_all([batch])));
    }

    #[test]
    fn account_chains_equal_the_oracle_in_every_segmentation(batch in strategies::account_chain()) {
        over_segmentations([batch.clone()], |ledger| check_against_oracle(ledger, &batch));
    }

    #[test]
    fn utxo_chains_equal_the_oracle_in_every_segmentation(batch in strategies::utxo_chain()) {
        over_segmentations([batch.clone()], |ledger| check_against_oracle(ledger, &batch));
        check_against_oracle(&*in_one_segment([batch.clone()]), &batch);
    }
}

#[test]
fn blocks_too_far_apart_for_one_segment_are_committed() {
    let far = |number: u64| Chainlet::ethereum().at_block(1 + number * (1 << 33)).transfer(1, 2, 5).batch();
    let store = commit_all((0..24).map(far));
    let snapshot = store.snapshot();
    assert_eq!(snapshot.coverage()[&Chain::ETHEREUM].transactions, 24);
    assert!(snapshot.segments().len() > 8, "they cannot be merged");
    let account = snapshot.account(Chain::ETHEREUM, &address(Chain::ETHEREUM, 2)).unwrap().unwrap();
    assert_eq!(snapshot.postings(&account, &Scan::default()).unwrap().count(), 24);
}

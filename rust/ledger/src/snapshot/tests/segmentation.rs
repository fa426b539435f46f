use headwater_types::{Chain, TimeWindow};
use proptest::prelude::*;

use super::oracle::{Oracle, held, row};
use super::snapshot;
use crate::Snapshot;
use crate::facts::OutPoint;
use crate::read::{Accounts, Balances, Movements, Outputs, Scan, ScanOrder, TransactionRef, Transactions};
use crate::segment::SegmentInput;
use crate::segment::tests::economy::{address, hash, input, is_full, time_of};

/// The same facts in several segments, transactions dealt out in turn so that segments overlap everywhere.
pub(super) fn deal(input: &SegmentInput, parts: usize) -> Vec<SegmentInput> {
    let empty = SegmentInput { transactions: Vec::new(), ..input.clone() };
    let mut inputs = vec![empty; parts];
    for (place, facts) in input.transactions.iter().enumerate() {
        inputs[place * 7 % parts].transactions.push(facts.clone());
    }
    inputs
}

fn check_account(ledger: &Snapshot, oracle: &Oracle, chain: Chain, number: u8) {
    let address = address(chain, number);
    let account = ledger.account(chain, &address).unwrap();
    let rows = oracle.rows.get(&address).map_or(&[][..], Vec::as_slice);
    let Some(account) = account else {
        assert!(rows.is_empty() && !oracle.holdings.contains_key(&address));
        return;
    };
    assert_eq!(account.postings, rows.len() as u64);
    assert_eq!(held(&ledger.holdings(&account).unwrap()), oracle.holdings.get(&address).cloned().unwrap_or_default());
    let time = |block| Some(time_of(chain, block).secs());
    let windows = [(None, None), (time(3), None), (None, time(7)), (time(2), time(5)), (time(6), time(6))];
    for order in [ScanOrder::NewestFirst, ScanOrder::OldestFirst] {
        for (start, end) in windows {
            let (start, end) = if start > end && end.is_some() { (end, start) } else { (start, end) };
            let window = TimeWindow::new(start, end).unwrap();
            for (from_block, up_to_block) in
                [(None, None), (None, Some(0)), (Some(2), Some(5)), (Some(6), Some(3)), (Some(4), Some(11))]
            {
                let afters = rows.iter().step_by(if is_full() { 3 } else { 7 }).map(|row| Some(row.key)).chain([None]);
                for after in afters {
                    let scan = Scan { window, assets: None, from_block, up_to_block, order, after };
                    let shown: Vec<_> = ledger.postings(&account, &scan).unwrap().map(Result::unwrap).collect();
                    let rows: Vec<_> = shown.iter().map(|posting| row(ledger, posting)).collect();
                    assert_eq!(rows, oracle.scan(&address, &scan), "{scan:?}");
                    for limit in [1, 4, shown.len(), shown.len() + 1] {
                        let page = ledger.page(&account, &scan, limit).unwrap();
                        assert_eq!(page, shown[..limit.min(shown.len())], "{limit} of {scan:?}");
                    }
                }
            }
        }
    }
}

fn check(input: &SegmentInput) {
    let oracle = Oracle::new(input);
    let chain = input.chain;
    for parts in [1, 3, 17] {
        let ledger = snapshot(&deal(input, parts));
        let movements: u64 = ledger.segments().iter().map(|segment| segment.movements()).sum();
        assert_eq!(movements, oracle.movements);
        for number in 0..9 {
            check_account(&ledger, &oracle, chain, number);
        }
        for facts in &input.transactions {
            let found = ledger.find_transaction(chain, &facts.hash).unwrap().unwrap();
            let head = ledger.transaction_head(found).unwrap();
            assert_eq!((head.hash, head.block, head.index), (facts.hash, facts.block, facts.index));
            check_transaction(&ledger, input, found);
        }
    }
}

/// Inputs carry what they spend wherever it is held, and outputs know who spends them.
fn check_transaction(ledger: &Snapshot, input: &SegmentInput, found: TransactionRef) {
    let transaction = ledger.transaction(found).unwrap();
    let facts = input.transactions.iter().find(|facts| facts.hash == transaction.head.hash).unwrap();
    let block = input.blocks.iter().find(|block| block.number == facts.block).unwrap();
    assert_eq!(transaction.block_hash, block.hash);
    assert_eq!(transaction.facts.body, facts.body);
    let Some(utxo) = &facts.utxo else { return };
    for (stated, shown) in utxo.inputs.iter().zip(&transaction.facts.utxo.as_ref().unwrap().inputs) {
        let point = stated.previous;
        let held = input
            .transactions
            .iter()
            .find(|facts| facts.hash == point.hash)
            .and_then(|facts| facts.utxo.as_ref()?.outputs.get(point.index as usize).cloned());
        assert_eq!(shown.spent, stated.spent.clone().or(held));
    }
    for index in 0..3 {
        let output = OutPoint { hash: facts.hash, index };
        let spends = |facts: &&crate::facts::TransactionFacts| {
            facts.utxo.iter().flat_map(|utxo| &utxo.inputs).any(|input| input.previous == output)
        };
        let spender = ledger.spender(input.chain, &output).unwrap();
        assert_eq!(spender.is_some(), input.transactions.iter().any(|facts| spends(&facts)));
        if let Some((hash, place)) = spender {
            let spender = input.transactions.iter().find(|facts| facts.hash == hash).unwrap();
            assert_eq!(spender.utxo.as_ref().unwrap().inputs[place as usize].previous, output);
        }
    }
}

fn check_prefixes(input: &SegmentInput) {
    let whole = snapshot(std::slice::from_ref(input));
    let split = snapshot(&deal(input, 17));
    let mut seen: Vec<(String, u64)> = (0..9)
        .filter_map(|number| whole.account(input.chain, &address(input.chain, number)).unwrap())
        .map(|account| (account.address.to_string(), account.postings))
        .collect();
    seen.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let texts = seen.iter().map(|(text, _)| text.clone());
    // Twelve characters separate all of them: of longer beginnings some are enough, with the whole text among them.
    let is_asked = |end: usize, length: usize| is_full() || end < 12 || (length - end).is_multiple_of(6);
    let prefixes = texts.flat_map(|text| {
        let ends = (0..=text.len()).filter(|end| is_asked(*end, text.len()));
        ends.map(|end| text[..end].to_owned()).collect::<Vec<_>>()
    });
    for prefix in prefixes.chain(["zz".to_owned(), "0X".to_owned()]) {
        let expected: Vec<&String> =
            seen.iter().map(|(text, _)| text).filter(|text| text.starts_with(&prefix)).collect();
        for ledger in [&whole, &split] {
            let found = ledger.find_addresses(input.chain, &prefix, 3, 4).unwrap();
            assert_eq!(found.total, expected.len().min(4));
            let texts: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
            assert_eq!(texts.iter().collect::<Vec<_>>(), expected.iter().copied().take(3).collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 24 } else { 16 }))]

    #[test]
    fn account_chains_equal_the_rules_in_1_3_and_17_segments(
        input in prop_oneof![input(Chain::ETHEREUM, 0..40), input(Chain::TRON, 0..40)],
    ) {
        check(&input);
    }

    #[test]
    fn bitcoin_equals_the_rules_in_1_3_and_17_segments(input in input(Chain::BITCOIN, 0..40)) {
        check(&input);
    }

    #[test]
    fn prefixes_find_the_most_active_addresses_in_any_segmentation(
        ethereum in input(Chain::ETHEREUM, 1..30),
        tron in input(Chain::TRON, 1..30),
        bitcoin in input(Chain::BITCOIN, 1..30),
    ) {
        check_prefixes(&ethereum);
        check_prefixes(&tron);
        check_prefixes(&bitcoin);
    }
}

#[test]
fn a_chain_without_segments_holds_nothing() {
    let ledger = snapshot(&[]);
    assert!(ledger.account(Chain::TRON, &address(Chain::TRON, 1)).unwrap().is_none());
    assert!(ledger.find_transaction(Chain::TRON, &hash(1)).unwrap().is_none());
    assert_eq!(ledger.find_addresses(Chain::TRON, "", 5, 5).unwrap().total, 0);
}

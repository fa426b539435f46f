//! A merge is, to the byte, what is built of the facts of all its sources.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Chain, TxHash};
use proptest::prelude::*;

use super::economy::{hash, input, is_full};
use super::reading::open;
use crate::Cancel;
use crate::error::Result;
use crate::external::Scratch;
use crate::facts::{BlockFacts, TokenFacts};
use crate::segment::{Segment, SegmentInput, Source, build, merge};

fn merged(sources: &[(&Segment, &[u32])], scratch: &Scratch) -> Result<Vec<u8>> {
    let sources: Vec<_> = sources.iter().map(|(segment, without)| Source { segment, without }).collect();
    let of = (sources[0].segment.chain(), sources[0].segment.network());
    let mut bytes = Vec::new();
    let length = merge(of, &sources, scratch, &mut bytes, (&|done, total| assert!(done <= total), &Cancel::new()))?;
    assert_eq!(length, bytes.len() as u64);
    Ok(bytes)
}

/// The parts that a rule spreads facts over; each has the blocks of its transactions, and some others.
fn parts(whole: &SegmentInput, count: usize, part_of: impl Fn(usize) -> usize) -> Vec<SegmentInput> {
    let empty =
        SegmentInput { blocks: vec![], transactions: vec![], contracts: vec![], tokens: vec![], ..whole.clone() };
    let mut parts = vec![empty; count];
    for (place, facts) in whole.transactions.iter().enumerate() {
        parts[part_of(place) % count].transactions.push(facts.clone());
    }
    for (place, contract) in whole.contracts.iter().enumerate() {
        parts[place % count].contracts.push(*contract);
    }
    for (place, token) in whole.tokens.iter().enumerate() {
        parts[place % count].tokens.push(token.clone());
        parts[(place + 1) % count].tokens.push(token.clone());
        if count == 1 {
            parts[0].tokens.pop();
        }
    }
    for (place, part) in parts.iter_mut().enumerate() {
        let with_rows: BTreeSet<u64> = part.transactions.iter().map(|facts| facts.block).collect();
        let is_here = |block: &&BlockFacts| {
            with_rows.contains(&block.number) || usize::try_from(block.number).unwrap() % count == place
        };
        part.blocks = whole.blocks.iter().filter(is_here).cloned().collect();
    }
    parts
}

fn check_parts(whole: &SegmentInput, parts: &[SegmentInput], scratch: &Scratch) {
    let segments: Vec<_> = parts.iter().map(open).collect();
    let sources: Vec<_> = segments.iter().map(|segment| (segment, &[][..])).collect();
    let expected = build(whole, &Cancel::new()).unwrap();
    assert!(merged(&sources, scratch).unwrap() == expected, "the merge of {} parts differs", parts.len());
}

/// Facts of `old` with those of `new` in place of what they speak of too.
fn replaced(old: &SegmentInput, new: &SegmentInput) -> SegmentInput {
    let hashes: BTreeSet<TxHash> = new.transactions.iter().map(|facts| facts.hash).collect();
    let mut transactions: Vec<_> =
        old.transactions.iter().filter(|facts| !hashes.contains(&facts.hash)).cloned().collect();
    transactions.extend(new.transactions.iter().cloned());
    let blocks: BTreeMap<u64, BlockFacts> =
        old.blocks.iter().chain(&new.blocks).map(|block| (block.number, block.clone())).collect();
    let contracts: BTreeSet<Address> = old.contracts.iter().chain(&new.contracts).copied().collect();
    let mut tokens: BTreeMap<Address, TokenFacts> = BTreeMap::new();
    for token in old.tokens.iter().chain(&new.tokens).cloned() {
        let joined = match tokens.remove(&token.contract) {
            Some(known) => known.join(token),
            None => token,
        };
        tokens.insert(joined.contract, joined);
    }
    SegmentInput {
        blocks: blocks.into_values().collect(),
        transactions,
        contracts: contracts.into_iter().collect(),
        tokens: tokens.into_values().collect(),
        ..old.clone()
    }
}

/// The facts of `new`, whose blocks do not contradict those of `old` and may contain more.
fn agreeing(old: &SegmentInput, new: &SegmentInput) -> SegmentInput {
    let known: BTreeMap<u64, &BlockFacts> = old.blocks.iter().map(|block| (block.number, block)).collect();
    let agreed = |block: &BlockFacts| match known.get(&block.number) {
        Some(known) => BlockFacts {
            hash: known.hash.or(block.hash),
            parent: known.parent.or(block.parent),
            ..BlockFacts::clone(known)
        },
        None => block.clone(),
    };
    SegmentInput { blocks: new.blocks.iter().map(agreed).collect(), ..new.clone() }
}

fn check_replaced(old: &SegmentInput, new: &SegmentInput, gone: &[usize]) {
    let new = &agreeing(old, new);
    let mut expected = replaced(old, new);
    let gone: BTreeSet<TxHash> = gone.iter().map(|place| hash(*place as u64)).collect();
    let new_hashes: BTreeSet<TxHash> = new.transactions.iter().map(|facts| facts.hash).collect();
    expected.transactions.retain(|facts| !gone.contains(&facts.hash) || new_hashes.contains(&facts.hash));
    let (before, after) = (open(old), open(new));
    let out = gone.iter().chain(&new_hashes);
    let mut without: Vec<u32> = out.filter_map(|hash| before.find(hash).unwrap()).collect();
    without.sort_unstable();
    without.dedup();
    let bytes = merged(&[(&before, &without), (&after, &[])], &Scratch::memory()).unwrap();
    assert!(bytes == build(&expected, &Cancel::new()).unwrap(), "{} rows left out", without.len());
}

fn any_input(transactions: std::ops::Range<usize>) -> impl Strategy<Value = SegmentInput> {
    prop_oneof![
        2 => input(Chain::ETHEREUM, transactions.clone()),
        1 => input(Chain::TRON, transactions.clone()),
        2 => input(Chain::BITCOIN, transactions),
    ]
}

fn two_inputs() -> impl Strategy<Value = (SegmentInput, SegmentInput)> {
    prop_oneof![
        (input(Chain::ETHEREUM, 0..40), input(Chain::ETHEREUM, 0..9)),
        (input(Chain::BITCOIN, 0..40), input(Chain::BITCOIN, 0..9)),
    ]
}

#[test]
fn hubs_that_only_the_merge_makes_are_those_built_of_the_whole() {
    let whole = super::hubs::busy(3000);
    for (count, step) in [(2, 1), (3, 1000), (5, 40), (4, 300)] {
        check_parts(&whole, &parts(&whole, count, |place| place / step), &Scratch::memory());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 256 } else { 96 }))]

    #[test]
    fn merged_parts_are_what_is_built_of_the_whole(
        whole in any_input(0..60),
        count in 1..6_usize,
        step in 1..9_usize,
        is_spooled in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = if is_spooled { Scratch::folder(folder.path(), 1) } else { Scratch::memory() };
        check_parts(&whole, &parts(&whole, count, |place| place / step), &scratch);
    }

    #[test]
    fn rows_left_out_and_replaced_leave_no_trace(
        (old, new) in two_inputs(),
        gone in prop::collection::vec(0..40_usize, 0..6),
    ) {
        check_replaced(&old, &new, &gone);
        check_replaced(&old, &SegmentInput { transactions: vec![], ..new }, &gone);
    }
}

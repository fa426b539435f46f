use headwater_types::Chain;
use proptest::prelude::*;

use super::economy::{hash, input};
use crate::Cancel;
use crate::segment::{Segment, SegmentInput, build};

fn open(input: &SegmentInput) -> Segment {
    Segment::from_bytes("memory", build(input, &Cancel::new()).unwrap()).unwrap()
}

fn check_round_trip(input: &SegmentInput) {
    let segment = open(input);
    assert_eq!(segment.transactions() as usize, input.transactions.len());
    for facts in &input.transactions {
        let row = segment.find(&facts.hash).unwrap().unwrap();
        assert_eq!(segment.facts(row).unwrap(), *facts);
        assert_eq!(segment.hash(row).unwrap(), facts.hash);
        let head = segment.head(row).unwrap();
        assert_eq!((head.block, head.index), (facts.block, facts.index));
    }
    assert_eq!(segment.find(&hash(1_000_000)).unwrap(), None);
    let places: Vec<_> = (0..segment.transactions())
        .map(|row| segment.head(row).unwrap())
        .map(|head| (head.block, head.index.map_or(u64::MAX, u64::from), head.hash))
        .collect();
    assert!(places.is_sorted());
    assert_eq!(segment.blocks().unwrap(), input.blocks);
    assert_eq!(segment.contracts().unwrap(), input.contracts);
    assert_eq!(segment.tokens().unwrap(), input.tokens);
    for token in &input.tokens {
        assert_eq!(segment.token(&token.contract).unwrap().as_ref(), Some(token));
    }
    for block in &input.blocks {
        assert_eq!(segment.block(block.number).unwrap().as_ref(), Some(block));
        for index in 0..20 {
            let mut held: Vec<_> = input
                .transactions
                .iter()
                .filter(|facts| facts.block == block.number && facts.index == Some(index))
                .map(|facts| facts.hash)
                .collect();
            held.sort();
            assert_eq!(segment.hash_at(block.number, index).unwrap(), held.first().copied());
        }
    }
    assert_eq!(segment.block(99).unwrap(), None);
    segment.verify(&mut |_, _| {}).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_segment_gives_back_the_facts_it_was_made_of(
        evm in input(Chain::ETHEREUM, 0..40),
        tron in input(Chain::TRON, 0..20),
        bitcoin in input(Chain::BITCOIN, 0..40),
    ) {
        check_round_trip(&evm);
        check_round_trip(&tron);
        check_round_trip(&bitcoin);
    }

    #[test]
    fn the_order_of_the_facts_does_not_change_the_file(
        input in prop_oneof![input(Chain::ETHEREUM, 0..30), input(Chain::BITCOIN, 0..30)],
        seed in any::<u64>(),
    ) {
        let mut shuffled = input.clone();
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for place in (1..shuffled.transactions.len()).rev() {
            shuffled.transactions.swap(place, next(place + 1));
        }
        shuffled.blocks.reverse();
        shuffled.contracts.reverse();
        shuffled.tokens.reverse();
        prop_assert_eq!(build(&input, &Cancel::new()).unwrap(), build(&shuffled, &Cancel::new()).unwrap());
    }
}

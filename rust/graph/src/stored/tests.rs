//! The walk over a ledger is the walk over the same edges in memory, however the ledger is cut.

use std::sync::Arc;

use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::market::PricePoint;
use headwater_ledger::store::{MemoryStore, Segmentation, Split, in_memory};
use headwater_testkit::{Chainlet, address, token};
use headwater_types::{Asset, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::csr::Csr;
use crate::expand::{Error, Params, Report, RevisitPolicy, Scratch, Step, expand};

const CHAIN: Chain = Chain::ETHEREUM;
/// What a wei is worth here: a dollar, in pico-units.
const WEI: u128 = 1_000_000_000_000;
const WAYS: [Segmentation; 4] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 1 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 2 },
];

fn priced(batch: Batch) -> Arc<MemoryStore> {
    let price = PricePoint { symbol: "eth".into(), time: Timestamp::new(1_600_000_000), usd: 1e18 };
    in_memory(vec![batch], vec![], vec![price]).unwrap()
}

/// Money from an account to another, each amount a power of two of its own, so that no two pairs weigh the same.
fn chain(pairs: &[(u32, u32)]) -> Batch {
    let transfer = |chain: Chainlet, (power, (from, to)): (usize, &(u32, u32))| {
        chain.transfer(u64::from(*from), u64::from(*to), 1 << power)
    };
    pairs.iter().enumerate().fold(Chainlet::ethereum(), transfer).batch()
}

fn csr(pairs: &[(u32, u32)]) -> Csr {
    let edges = pairs.iter().enumerate().map(|(power, (from, to))| (*from, *to, WEI << power));
    Csr::new(edges.filter(|(from, to, _)| from != to))
}

/// A walk with nodes by the number of their account.
fn walk<S: Source>(
    mut source: S,
    start: Node,
    params: &Params,
    number: impl Fn(&S, Node) -> Node,
) -> Result<(Report, Vec<Step>), Error<S::Error>> {
    let mut steps = Vec::new();
    let scratch = &mut Scratch::default();
    let report = expand(&mut source, (start, 1_000_003), params, (scratch, &Cancel::new()), |step| steps.push(step));
    let mut report = report?;
    report.reached.iter_mut().for_each(|reached| reached.node = number(&source, reached.node));
    for step in &mut steps {
        (step.from, step.to) = (number(&source, step.from), number(&source, step.to));
    }
    Ok((report, steps))
}

fn number(source: &Stored<'_>, node: Node) -> Node {
    let met = source.address(node).unwrap().unwrap();
    (0..64).find(|number| address(CHAIN, u64::from(*number)) == met).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_walk_over_a_ledger_is_the_walk_over_its_edges_in_memory(
        pairs in prop::collection::vec((0_u32..9, 0_u32..9), 1..45),
        start in 0_u32..9,
        (hops, cap) in (1_u8..6, 1_usize..5),
        incoming in any::<bool>(),
        goes_on in any::<bool>(),
    ) {
        let direction = if incoming { Direction::Incoming } else { Direction::Outgoing };
        let revisits = if goes_on { RevisitPolicy::Continues } else { RevisitPolicy::Stays };
        let params = Params::new(hops, cap).unwrap().with_direction(direction).with_revisits(revisits);
        let csr = csr(&pairs);
        let expected = walk(&csr, start, &params, |_, node| node).unwrap();
        let store = priced(chain(&pairs));
        for way in WAYS {
            let grouped = store.in_segments(way).unwrap();
            for store in [grouped.with_sidecars(&Cancel::new()).unwrap(), grouped] {
                let ledger = store.snapshot();
                let mut source = Stored::new(&*ledger, CHAIN);
                let Some(start) = source.node(&address(CHAIN, start.into())).unwrap() else {
                    prop_assert_eq!(expected.0.edges, 0);
                    continue;
                };
                prop_assert_eq!(&walk(source, start, &params, number).unwrap(), &expected, "{:?}", way);
            }
        }
    }
}

/// The strongest edges of account 1 that a ledger of this batch hands out, by number of account.
fn strongest(store: &MemoryStore, cap: usize) -> Result<Vec<(Node, u128)>, StoredError> {
    let ledger = store.snapshot();
    let mut source = Stored::new(&*ledger, CHAIN);
    let node = source.node(&address(CHAIN, 1))?.unwrap();
    let mut edges = Vec::new();
    source.strongest(node, Direction::Outgoing, cap, &mut edges)?;
    Ok(edges.iter().map(|edge| (number(&source, edge.to), edge.weight)).collect())
}

#[test]
fn equal_worth_falls_to_movements_and_then_to_the_address() {
    let batch = Chainlet::ethereum().transfer(1, 2, 5).transfer(1, 3, 2).transfer(1, 3, 3).transfer(1, 4, 5);
    let batch = batch.token_movement(1, 1, 5, 9).transfer(6, 1, 50).batch();
    for way in WAYS {
        let store = priced(batch.clone()).in_segments(way).unwrap();
        assert_eq!(strongest(&store, 9).unwrap(), [(3, 5 * WEI), (2, 5 * WEI), (4, 5 * WEI)], "{way:?}");
        assert_eq!(strongest(&store, 1).unwrap(), [(3, 5 * WEI)], "{way:?}");
        assert_eq!(strongest(&store, 0).unwrap(), []);
    }
    let Asset::Token(nobody) = token(CHAIN, 77) else { unreachable!("a token has a contract") };
    let ledger = priced(batch).snapshot();
    assert_eq!(Stored::new(&*ledger, CHAIN).node(&nobody).unwrap(), None, "never seen");
}

#[test]
fn what_is_worth_nothing_is_followed_only_where_nothing_is_worth_more() {
    let batch = Chainlet::ethereum().transfer(1, 2, 5).transfer(1, 3, 2).transfer(1, 3, 3).batch();
    // Between two imported prices years apart ether has no price.
    let price = |time| PricePoint { symbol: "eth".into(), time: Timestamp::new(time), usd: 1e18 };
    let priced_at =
        |times: &[i64]| in_memory(vec![batch.clone()], vec![], times.iter().copied().map(price).collect()).unwrap();
    let unpriced = priced_at(&[1_500_000_000, 1_700_000_000]);
    assert_eq!(strongest(&unpriced, 9).unwrap(), [(3, 0), (2, 0)]);
    // Priced from block 2 on: what went to 2 has no price.
    let late = priced_at(&[1_500_000_000, 1_600_000_000 + 24]);
    assert_eq!(strongest(&late, 9).unwrap(), [(3, 5 * WEI)]);
}

#[test]
fn edges_that_are_not_built_or_stale_end_the_walk_and_are_named() {
    let chain = (0..66_000)
        .fold(Chainlet::ethereum(), |chain, number| chain.same_block().transfer(1, number % 11 + 10, number + 1));
    let store = priced(chain.batch());
    let error = strongest(&store, 3).unwrap_err();
    assert!(matches!(error, StoredError::NotBuilt { address: named, .. } if named == address(CHAIN, 1)), "{error}");
    let mut built = store.with_sidecars(&Cancel::new()).unwrap();
    assert_eq!(strongest(&built, 3).unwrap().len(), 3);
    let later = PricePoint { symbol: "eth".into(), time: Timestamp::new(1_600_000_006), usd: 2e18 };
    built.import_prices("later", vec![later]).unwrap();
    assert!(matches!(strongest(&built, 3), Err(StoredError::NotBuilt { .. })), "stale");
}

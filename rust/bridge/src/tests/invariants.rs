//! The match of legs does not depend on how they came.

use std::collections::BTreeMap;

use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};
use proptest::prelude::*;

use crate::half::{Half, HalfId, LinkKey, MatchClass, Step};
use crate::matching::{LegTable, Transfer, join};
use crate::party::Party;

const STEPS: [Step; 5] = [Step::Sent, Step::Carried, Step::Received, Step::Failed, Step::Refunded];
const CLASSES: [MatchClass; 3] = [MatchClass::UniqueId, MatchClass::Content, MatchClass::Heuristic];

/// A leg with few keys, chains, receivers and amounts, so that legs meet.
fn any_half() -> impl Strategy<Value = Half> {
    let place = (0..3_usize, 0..20_u64, 0..4_u64, 0..5_usize);
    let content = (0..3_u8, 0..2_u8, 90..102_u64, 0..2_usize, any::<bool>(), any::<bool>());
    (place, content, 0..30_000_i64).prop_map(
        |((chain, block, log_index, step), (key, receiver, amount, second, named, sure), time)| {
            let chains = [Chain::BSC, Chain::ETHEREUM, Chain::TRON];
            let class = CLASSES[usize::from(key)];
            let mut keys = vec![LinkKey::new(key.to_string())];
            if second == 1 && STEPS[step] == Step::Carried {
                keys.push(LinkKey::new(format!("{}", (key + 1) % 3)));
            }
            Half {
                family: "x".into(),
                bridge: "X".into(),
                event: "E".into(),
                step: STEPS[step],
                class,
                keys,
                chain: chains[chain].into(),
                block,
                time: Timestamp::new(time),
                transaction: TxHash::new([u8::try_from(block).unwrap(); 32]),
                log_index,
                other_chain: named.then(|| chains[(chain + 1) % 3].into()),
                other_transaction: None,
                sender: sure.then_some(Party::Account(Address::Evm([receiver; 20]))),
                receiver: sure.then_some(Party::Account(Address::Evm([receiver; 20]))),
                token: None,
                amount: Some(Amount::from(amount)),
                other_token: None,
                other_amount: None,
            }
        },
    )
}

/// Legs of different identity.
fn any_halves() -> impl Strategy<Value = Vec<Half>> {
    proptest::collection::vec(any_half(), 0..40).prop_map(|halves| {
        let by_id: BTreeMap<HalfId, Half> = halves.into_iter().map(|half| (half.id(), half)).collect();
        by_id.into_values().collect()
    })
}

fn written(transfers: &[Transfer<'_>]) -> Vec<String> {
    transfers.iter().map(|transfer| format!("{transfer:?} {:?} {}", transfer.status(), transfer.confidence())).collect()
}

fn straight(halves: &[Half]) -> Vec<String> {
    let mut table = LegTable::default();
    table.extend(halves.iter().cloned());
    written(&table.transfers())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn matching_any_order_gives_the_same_transfers(
        (halves, shuffled) in any_halves().prop_flat_map(|halves| (Just(halves.clone()), Just(halves).prop_shuffle())),
    ) {
        prop_assert_eq!(straight(&halves), straight(&shuffled));
    }

    #[test]
    fn matching_after_rollback_and_insertion_equals_a_straight_one(
        (halves, shuffled) in any_halves().prop_flat_map(|halves| (Just(halves.clone()), Just(halves).prop_shuffle())),
        rollbacks in proptest::collection::vec((0..3_usize, 0..20_u64, 0..40_usize), 1..5),
    ) {
        let chains = [Chain::BSC, Chain::ETHEREUM, Chain::TRON];
        let mut table = LegTable::default();
        for (chain, block, until) in rollbacks {
            table.extend(shuffled.iter().take(until).cloned());
            let before = table.len();
            let removed = table.roll_back(chains[chain].into(), block);
            prop_assert_eq!(table.len(), before - removed);
            let kept: Vec<Half> = shuffled.iter().take(until)
                .filter(|half| half.chain != chains[chain].into() || half.block < block).cloned().collect();
            prop_assert!(table.len() >= kept.len());
        }
        table.extend(shuffled);
        prop_assert_eq!(written(&table.transfers()), straight(&halves));
    }

    #[test]
    fn matching_uses_every_leg_once(halves in any_halves()) {
        let mut table = LegTable::default();
        for half in &halves {
            prop_assert!(table.insert(half.clone()), "new");
            prop_assert!(!table.insert(half.clone()), "known");
        }
        prop_assert_eq!(table.len(), halves.len());
        let mut used: Vec<HalfId> = table.transfers().iter().flat_map(Transfer::legs).map(Half::id).collect();
        used.sort();
        let legs = halves.iter().filter(|half| half.step != Step::Carried);
        prop_assert_eq!(used, legs.map(Half::id).collect::<Vec<_>>());
    }

    #[test]
    fn matching_of_a_transaction_is_that_of_the_whole(halves in any_halves()) {
        let mut table = LegTable::default();
        table.extend(halves.iter().cloned());
        let all = table.transfers();
        for half in &halves {
            let of = table.transfers_of(half.chain, &half.transaction);
            for transfer in &of {
                prop_assert!(all.contains(transfer));
            }
            let is_of = |leg: &Half| leg.chain == half.chain && leg.transaction == half.transaction;
            prop_assert_eq!(all.iter().filter(|transfer| transfer.legs().any(is_of)).count(), of.len());
        }
    }

    #[test]
    fn matching_of_a_group_ignores_its_order(
        (halves, shuffled) in any_halves().prop_flat_map(|halves| (Just(halves.clone()), Just(halves).prop_shuffle())),
    ) {
        let left: Vec<&Half> = halves.iter().collect();
        let right: Vec<&Half> = shuffled.iter().collect();
        prop_assert_eq!(written(&join(&left)), written(&join(&right)));
    }
}

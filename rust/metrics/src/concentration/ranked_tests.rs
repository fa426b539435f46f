//! Checks that the sums of a ledger equal those of its balances, one by one.

use std::sync::Arc;

use headwater_ledger::facts::{Batch, opening};
use headwater_ledger::read::{Generations, Ledger};
use headwater_ledger::store::in_memory;
use headwater_types::{Address, Amount, Asset, Chain, Timestamp};
use proptest::prelude::*;

use super::*;

const TOKEN: Address = Address::Evm([9; 20]);
const ASSET: Asset = Asset::Token(TOKEN);

/// A ledger in which each of some holders has a balance.
fn ledger_of(balances: &[Amount]) -> [Arc<dyn Ledger>; 2] {
    let holder = |number: usize| {
        let mut bytes = [0; 20];
        // In no order of balance.
        bytes[..8].copy_from_slice(&(number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        Address::Evm(bytes)
    };
    let held = balances.iter().enumerate().map(|(number, balance)| (holder(number), *balance)).collect();
    let mut batch = Batch::new(Chain::ETHEREUM);
    batch.transactions.extend(opening(Chain::ETHEREUM, TOKEN, 1, Timestamp::new(1_600_000_000), held).unwrap());
    let store = in_memory(vec![batch], vec![], vec![]).unwrap();
    let built = store.with_sidecars(&Cancel::new()).unwrap();
    [store.current().unwrap(), built.current().unwrap()]
}

fn check(balances: &[Amount], without: &[(usize, u32)]) {
    let mut balances = balances.to_vec();
    balances.sort_unstable_by(|one, other| other.cmp(one));
    let params = Params::default().with_tops(vec![0, 1, 3, 10, 300]);
    // Of each that is left out all, or a part of as many to one.
    let (mut parts, mut kept) = (Vec::<(usize, Amount, Amount)>::new(), balances.clone());
    for (at, share) in without {
        let (held, at) = (balances[*at], *at);
        let part =
            held.to_u128().filter(|_| *share > 1).map_or(held, |held| Amount::from_u128(held / u128::from(*share)));
        if parts.iter().all(|(known, ..)| *known != at) {
            kept[at] = held.checked_sub(part).unwrap();
            parts.push((at, held, part));
        }
    }
    let without: Vec<_> = parts.into_iter().map(|(_, held, part)| (held, part)).collect();
    let small: Vec<u128> = kept.iter().filter_map(|held| held.to_u128()).collect();
    let large: Vec<Amount> = kept.iter().copied().filter(|held| held.to_u128().is_none()).collect();
    let one_by_one = Balances { small: &small, large: &large };
    let (report, by_sums) = (concentration(one_by_one, &params, &Cancel::new()), spread(one_by_one));
    let mut found = ledger_of(&balances).map(|ledger| {
        let holders = ledger.holders(Chain::ETHEREUM, &ASSET).unwrap().unwrap();
        of_holders(&holders.ranked(&without).unwrap(), &params).ok()
    });
    assert_eq!(found[0], found[1], "with and without a table");
    let (Some((measured, spread)), Ok(report)) = (found[0].take(), &report) else {
        assert!(found[1].is_none() && report.is_err(), "past 256 bits");
        return;
    };
    assert_eq!(measured, *report);
    let of = |spread: Spread| [spread.theil, spread.theil_normalised, spread.entropy_bits];
    for (one, other) in of(spread).into_iter().zip(of(by_sums)) {
        assert!((one - other).abs() <= 1e-12, "{spread:?} {by_sums:?}");
    }
}

#[test]
fn equal_balances_and_one_holder_have_no_theil_index_at_all() {
    for balances in [vec![Amount::from(7); 600], vec![Amount::from(3)], vec![Amount::MAX]] {
        check(&balances, &[]);
        let ledger = ledger_of(&balances);
        let holders = ledger[1].holders(Chain::ETHEREUM, &ASSET).unwrap().unwrap();
        let (_, spread) = of_holders(&holders.ranked(&[]).unwrap(), &Params::default()).unwrap();
        assert_eq!(spread.theil.to_bits(), 0);
    }
    check(&[Amount::MAX, Amount::MAX], &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn measures_of_a_ledger_are_those_of_its_balances(
        small in prop::collection::vec((any::<u128>(), 0u32..128), 0..700),
        large in prop::collection::vec((any::<[u8; 31]>(), 0..15usize), 0..300),
        has_large in any::<bool>(),
        few in prop::option::of(1u128..9),
        without in prop::collection::vec((any::<prop::sample::Index>(), 1u32..4), 0..6),
    ) {
        let value = |(value, shift): (u128, u32)| few.map_or(value >> shift, |few| value % few);
        let mut balances: Vec<Amount> = small.into_iter().map(|drawn| Amount::from_u128(value(drawn))).collect();
        for (bytes, zeros) in large.into_iter().filter(|_| has_large) {
            let mut wide = [0; 32];
            wide[1..].copy_from_slice(&bytes);
            wide[..=zeros].fill(0);
            wide[15] |= 1;
            balances.push(Amount::from_be_bytes(wide));
        }
        balances.retain(|held| !held.is_zero());
        // A ledger without holders has no chain either.
        if balances.is_empty() {
            balances.push(Amount::from(1));
        }
        let without: Vec<_> = without.into_iter().map(|(at, share)| (at.index(balances.len()), share)).collect();
        check(&balances, &without);
    }
}

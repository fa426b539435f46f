//! Features of every address against the same computed from rows by the book, over 1, 3 and 17 segments, on one thread and
//! on three, in a sweep and one by one.

#![expect(clippy::float_cmp, reason = "features of a small chain are exact")]

use headwater_ledger::facts::Batch;
use headwater_ledger::market::core_tokens;
use headwater_ledger::read::Ledger;
use headwater_ledger::{Cancel, Snapshot};
use headwater_metrics::features::{Base, BaseGather, ObservationSample, features, features_of, values};
use headwater_metrics::sweep::fold_addresses_with;
use headwater_testkit::{Chainlet, address, in_one_segment, over_segmentations, strategies, token};
use headwater_types::{Address, Amount, Asset, Chain, Family, Timestamp};
use proptest::prelude::*;

use crate::book;

/// An address with the values of its features.
type Row = (Address, Vec<f64>);

fn of(base: &Base) -> Vec<f64> {
    let mut row = Vec::new();
    values(base, features(), &mut row);
    row
}

fn bits(rows: &[Row]) -> Vec<(Address, Vec<u64>)> {
    rows.iter().map(|(address, row)| (*address, row.iter().map(|value| value.to_bits()).collect())).collect()
}

fn swept(ledger: &dyn Ledger, chain: Chain, observed: Option<ObservationSample>, threads: usize) -> Vec<Row> {
    let make = || BaseGather::new(chain).observed(observed);
    let fold = |rows: &mut Vec<Row>, address: &Address, base: &Base| rows.push((*address, of(base)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let parts = pool.install(|| fold_addresses_with(ledger, chain, &Cancel::new(), make, fold).unwrap());
    parts.into_iter().flatten().collect()
}

fn read_one_by_one(ledger: &dyn Ledger, chain: Chain, rows: &[Row]) -> Vec<Row> {
    let mut gather = BaseGather::new(chain);
    let read = |(address, _): &Row| {
        let account = ledger.account(chain, address).unwrap().unwrap();
        (*address, of(gather.read(ledger, &account, &Cancel::new()).unwrap()))
    };
    rows.iter().map(read).collect()
}

fn is_close(found: f64, expected: f64) -> bool {
    (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

fn check(ledger: &dyn Ledger, chain: Chain, observed: Option<ObservationSample>) -> Vec<(Address, Vec<u64>)> {
    let rows = swept(ledger, chain, observed, 1);
    assert_eq!(bits(&rows), bits(&swept(ledger, chain, observed, 3)));
    if observed.is_none() {
        assert_eq!(bits(&rows), bits(&read_one_by_one(ledger, chain, &rows)));
    }
    for (address, row) in &rows {
        let is_kept = |other: Option<&Address>| {
            observed.is_none_or(|observed| other.is_some_and(|other| observed.share >= 1.0 || observed.holds(other)))
        };
        let expected = book::features(ledger, chain, address, is_kept);
        assert_eq!(expected.len(), row.len());
        for (feature, found) in features().zip(row) {
            let expected = expected[feature.name];
            assert!(is_close(*found, expected), "{} of {address}: {found}, expected {expected}", feature.name);
        }
    }
    bits(&rows)
}

/// Chains of accounts with stablecoins of 6 and 18 decimals among the tokens, larger amounts of the native coin now and
/// then, and blocks so many times further from each other.
fn chains() -> impl Strategy<Value = Batch> {
    let stretch = prop::sample::select(vec![1, 300, 9000, 100_000]);
    (strategies::account_chain(), stretch).prop_map(|(mut batch, stretch)| {
        let start = batch.blocks[0].time.secs();
        for block in &mut batch.blocks {
            block.time = Timestamp::new(start + (block.time.secs() - start) * stretch);
        }
        let contract = |symbol| {
            let tokens = core_tokens().iter().filter(|token| token.chain == batch.chain);
            Asset::Token(tokens.into_iter().find(|token| token.symbol == symbol).unwrap().contract)
        };
        let (tether, dai) = (contract("USDT"), contract("DAI"));
        let (first, second) = (token(batch.chain, 1), token(batch.chain, 2));
        let times = |amount: Amount, factor: u64| {
            let small = amount.to_u128().and_then(|small| u64::try_from(small).ok());
            small.map_or(amount, |small| Amount::from(small * factor))
        };
        for (place, facts) in batch.transactions.iter_mut().enumerate() {
            if let Some(body) = facts.body.as_mut().filter(|_| place % 2 == 0) {
                body.value = times(body.value, 60);
            }
            for movement in &mut facts.movements {
                if movement.asset == first && place % 3 > 0 {
                    movement.asset = tether;
                } else if movement.asset == second {
                    movement.asset = dai;
                    movement.amount = times(movement.amount, 1_700_000_000_000);
                }
            }
        }
        batch
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn features_of_every_address_are_those_by_the_book(batch in chains()) {
        over_segmentations([batch], |ledger| check(ledger, Chain::ETHEREUM, None));
    }

    #[test]
    fn features_on_chains_of_outputs_are_those_by_the_book(batch in strategies::utxo_chain()) {
        over_segmentations([batch], |ledger| check(ledger, Chain::BITCOIN, None));
    }

    #[test]
    fn observed_keeps_movements_of_observed_counterparties(batch in chains(), seed: u64) {
        over_segmentations([batch], |ledger| {
            let check = |share| check(ledger, Chain::ETHEREUM, Some(ObservationSample { share, seed }));
            [check(1.0), check(0.5), check(0.1)]
        });
    }
}

/// The features of account `number` of a small bitcoin, by name.
fn of_account(chain: Chainlet, number: u64) -> impl Fn(&str) -> f64 {
    let snapshot = in_one_segment([chain.batch()]);
    let ledger: &dyn Ledger = &*snapshot;
    let account = ledger.account(Chain::BITCOIN, &address(Chain::BITCOIN, number)).unwrap().unwrap();
    let row = of(BaseGather::new(Chain::BITCOIN).read(ledger, &account, &Cancel::new()).unwrap());
    move |name| features().zip(&row).find(|(feature, _)| feature.name == name).map(|(_, value)| *value).unwrap()
}

/// Account 1 is paid 5,000 by a coinbase, and 600 of 1,000 by account 2, who keeps 400. It spends both with a coin of
/// account 3, 5,000 + 600 + 400: 4,000 go to account 4 and 1,500 come back. Account 2 then pays it 300 and another 300 to
/// account 5. Account 1 empties the 1,500 to account 6.
fn small_bitcoin() -> Chainlet {
    Chainlet::bitcoin()
        .mine(1, 5_000)
        .mine(2, 1_000)
        .mine(3, 400)
        .spend(&[(2, 0, 0)], &[(1, 600), (2, 400)])
        .spend(&[(1, 0, 0), (4, 0, 0), (3, 0, 0)], &[(4, 4_000), (1, 1_500)])
        .mine(2, 700)
        .spend(&[(6, 0, 0)], &[(1, 300), (5, 300)])
        .spend(&[(5, 0, 1)], &[(6, 1_400)])
}

#[test]
fn utxo_features_of_a_small_chain_are_worked_by_hand() {
    let of = of_account(small_bitcoin(), 1);
    // Paid by a coinbase, and by two transactions of one input and two outputs each: 0.6 of the first, half of the second.
    let paid = ["coinbase_ratio", "in_inputs_mean", "in_outputs_mean", "in_payers_mean", "in_share_mean"];
    assert_eq!(paid.map(|name| of(&format!("utxo_{name}"))), [1.0 / 3.0, 1.0, 2.0, 1.0, 0.55]);
    let shape = ["in_largest_ratio", "in_dust_ratio", "in_equal_ratio", "in_again_ratio"];
    assert_eq!(shape.map(|name| of(&format!("utxo_{name}"))), [1.0, 1.0, 0.5, 1.0 / 3.0]);
    // Three inputs of two addresses into two outputs, then one into one.
    let spent = ["out_inputs_mean", "out_outputs_mean", "out_outputs_max", "out_payers_mean", "out_own_inputs_mean"];
    assert_eq!(spent.map(|name| of(&format!("utxo_{name}"))), [2.0, 1.5, 2.0, 1.5, 1.5]);
    let kinds = ["multi_input_ratio", "self_change_ratio", "sweep_ratio", "peel_ratio", "joint_ratio"];
    assert_eq!(kinds.map(|name| of(&format!("utxo_{name}"))), [0.5, 0.5, 0.5, 0.0, 0.0]);
    assert!((of("utxo_out_share_mean") - 29.0 / 30.0).abs() < 1e-12);
    assert_eq!((of("utxo_p2pkh_ratio"), of("utxo_p2tr_ratio")), (1.0, 0.0));
    // Account 2 spends its only coin into two: a step of a peel chain, with and without change to itself.
    let of = of_account(small_bitcoin(), 2);
    assert_eq!([of("utxo_peel_ratio"), of("utxo_self_change_ratio")], [1.0, 0.5]);
}

#[test]
fn a_joint_transaction_has_as_many_payers_as_equal_outputs() {
    let round = |payers: [u64; 3], amounts: [u64; 4]| {
        let chain = payers.into_iter().fold(Chainlet::bitcoin(), |chain, payer| chain.mine(payer, 10_000));
        let [one, two, three, rest] = amounts;
        let chain = chain.spend(&[(1, 0, 0), (2, 0, 0), (3, 0, 0)], &[(7, one), (8, two), (9, three), (10, rest)]);
        of_account(chain, 7)("utxo_joint_ratio")
    };
    assert_eq!(round([1, 2, 3], [8_000, 8_000, 8_000, 1_000]), 1.0);
    assert_eq!(round([1, 1, 3], [8_000, 8_000, 8_000, 1_000]), 0.0, "two payers");
    assert_eq!(round([1, 2, 3], [8_000, 8_000, 7_999, 1_000]), 0.0, "two equal outputs");
    assert_eq!(round([1, 2, 3], [2_730, 2_730, 2_730, 1_000]), 0.0, "marks of tokens");
}

#[test]
fn families_without_outputs_have_no_utxo_features() {
    let names = |family| features_of(family).map(|feature| feature.name).collect::<Vec<_>>();
    assert_eq!(names(Family::Utxo), features().map(|feature| feature.name).collect::<Vec<_>>());
    for family in [Family::Evm, Family::Tron] {
        assert!(names(family).iter().all(|name| !name.starts_with("utxo_")));
        assert_eq!(names(family).len(), 160, "{family:?}: what models of accounts were trained on stays as it was");
    }
}

#[test]
fn observed_share_is_about_that_of_addresses() {
    let held = |observed: ObservationSample| {
        (0..4000).filter(|number| observed.holds(&address(Chain::ETHEREUM, *number))).count()
    };
    assert_eq!(held(ObservationSample { share: 1.0, seed: 7 }), 4000);
    let (one, other) =
        (held(ObservationSample { share: 0.25, seed: 7 }), held(ObservationSample { share: 0.25, seed: 8 }));
    assert!((850..1150).contains(&one) && (850..1150).contains(&other), "{one}, {other}");
    // A larger share of one seed observes those of a smaller one, too.
    let [less, more] = [0.25, 0.5].map(|share| ObservationSample { share, seed: 7 });
    let addresses = || (0..4000).map(|number| address(Chain::ETHEREUM, number));
    assert!(addresses().all(|address| more.holds(&address) || !less.holds(&address)));
    assert!(addresses().any(|address| less.holds(&address) != ObservationSample { seed: 8, ..less }.holds(&address)));
}

#[test]
fn a_chain_without_data_has_no_features() {
    let ledger: &Snapshot = &in_one_segment([]);
    assert!(swept(ledger, Chain::ETHEREUM, None, 1).is_empty());
}

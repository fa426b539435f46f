//! Features of every address against the same computed from rows by the book, over 1, 3 and 17 segments, on one thread and
//! on three, in a sweep and one by one.

mod book;

use headwater_ledger::facts::Batch;
use headwater_ledger::market::core_tokens;
use headwater_ledger::read::Ledger;
use headwater_ledger::{Cancel, Snapshot};
use headwater_metrics::features::{Base, BaseGather, Observed, features, values};
use headwater_metrics::sweep::fold_addresses_with;
use headwater_testkit::{address, in_one_segment, over_segmentations, strategies, token};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp};
use proptest::prelude::*;

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

fn swept(ledger: &dyn Ledger, chain: Chain, observed: Option<Observed>, threads: usize) -> Vec<Row> {
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

fn check(ledger: &dyn Ledger, chain: Chain, observed: Option<Observed>) -> Vec<(Address, Vec<u64>)> {
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
            let check = |share| check(ledger, Chain::ETHEREUM, Some(Observed { share, seed }));
            [check(1.0), check(0.5), check(0.1)]
        });
    }
}

#[test]
fn observed_share_is_about_that_of_addresses() {
    let held =
        |observed: Observed| (0..4000).filter(|number| observed.holds(&address(Chain::ETHEREUM, *number))).count();
    assert_eq!(held(Observed { share: 1.0, seed: 7 }), 4000);
    let (one, other) = (held(Observed { share: 0.25, seed: 7 }), held(Observed { share: 0.25, seed: 8 }));
    assert!((850..1150).contains(&one) && (850..1150).contains(&other), "{one}, {other}");
    // A larger share of one seed observes those of a smaller one, too.
    let [less, more] = [0.25, 0.5].map(|share| Observed { share, seed: 7 });
    let addresses = || (0..4000).map(|number| address(Chain::ETHEREUM, number));
    assert!(addresses().all(|address| more.holds(&address) || !less.holds(&address)));
    assert!(addresses().any(|address| less.holds(&address) != Observed { seed: 8, ..less }.holds(&address)));
}

#[test]
fn a_chain_without_data_has_no_features() {
    let ledger: &Snapshot = &in_one_segment([]);
    assert!(swept(ledger, Chain::ETHEREUM, None, 1).is_empty());
}

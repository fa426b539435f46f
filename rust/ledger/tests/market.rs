//! Imports of prices and exchange rates as versions of a store on disk.

use headwater_ledger::market::{FxPoint, Implausible, PricePoint};
use headwater_ledger::read::Assets;
use headwater_ledger::store::{ImportKind, MemoryStore, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_types::Timestamp;

const DAY: i64 = 86_400;

fn rate(currency: &str, day: i64, per_usd: f64) -> FxPoint {
    FxPoint { currency: currency.to_owned(), time: Timestamp::new(day * DAY), per_usd }
}

fn price(day: i64, usd: f64) -> PricePoint {
    PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(day * DAY), usd }
}

#[test]
fn exchange_rate_versions_are_exact_and_can_be_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let first =
        writer.import_exchange_rates("old.csv", vec![rate("EUR", 1, 0.1 + 0.2), rate("JPY", 1, 110.0)]).unwrap();
    let second = writer.import_exchange_rates("new.csv", vec![rate("EUR", 1, 0.9)]).unwrap();
    let refused = writer.import_exchange_rates("bad.csv", vec![rate("EUR", 1, 0.0)]);
    assert!(matches!(refused, Err(LedgerError::InvalidExchangeRate { .. })));

    let store = Store::open(folder.path()).unwrap();
    let euro = || store.snapshot().unwrap().exchange_rates().at("EUR", Timestamp::new(DAY)).unwrap().per_usd.to_bits();
    assert_eq!(euro(), 0.9_f64.to_bits());
    let before = store.digest(&Cancel::new()).unwrap();
    writer.roll_back_import(second).unwrap();
    assert_eq!(euro(), (0.1 + 0.2_f64).to_bits());
    assert_ne!(store.digest(&Cancel::new()).unwrap(), before);
    let versions: Vec<_> = store.stats().unwrap().imports;
    let reported: Vec<_> = versions.iter().map(|import| (import.version, import.kind, import.in_force)).collect();
    assert_eq!(reported, [(first, ImportKind::Fx, true), (second, ImportKind::Fx, false)]);
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().problems.is_empty());
}

#[test]
fn spike_is_judged_over_all_imports_and_reported_by_source() {
    let halves = || [vec![price(1, 10.0), price(3, 900.0), price(5, 11.0)], vec![price(2, 10.0), price(4, 11.0)]];
    let reported = |imports: Vec<(&str, Vec<PricePoint>)>| {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(folder.path()).unwrap();
        for (source, points) in imports {
            writer.import_prices(source, points).unwrap();
        }
        let prices = writer.snapshot().prices().as_ref().clone();
        (prices, Store::open(folder.path()).unwrap().digest(&Cancel::new()).unwrap())
    };
    let [odd, even] = halves();
    let (prices, digest) = reported(vec![("odd", odd), ("even", even)]);
    let [odd, even] = halves();
    assert_eq!(reported(vec![("even", even), ("odd", odd)]), (prices.clone(), digest));

    let left_out: Vec<_> = prices.left_out("eth").iter().map(|left_out| (left_out.price.usd, left_out.why)).collect();
    assert_eq!(left_out, [(900.0, Implausible::Spike)]);
    let coverage = prices.coverage("eth").iter().map(|of| (of.source.as_str(), of.first.secs() / DAY, of.points));
    assert_eq!(coverage.collect::<Vec<_>>(), [("odd", 1, 2), ("even", 2, 2), ("core", 16_654, 4_071)]);
}

#[test]
fn core_prices_are_in_every_store_and_in_no_digest() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let noon = Timestamp::new(1_577_966_400);
    let usd = || store.snapshot().unwrap().prices().at("eth", noon).unwrap().usd.to_bits();
    let core = 130.802_001_953_125_f64.to_bits();
    assert_eq!(
        (usd(), MemoryStore::default().snapshot().prices().at("eth", noon).unwrap().usd.to_bits()),
        (core, core)
    );
    let digest = || store.digest(&Cancel::new()).unwrap();
    let empty = digest();
    let imported = PricePoint { symbol: "eth".to_owned(), time: noon, usd: 5.0 };
    let version = writer.import_prices("mine.csv", vec![imported]).unwrap();
    assert_eq!(usd(), 5.0_f64.to_bits());
    assert_ne!(digest(), empty);
    writer.roll_back_import(version).unwrap();
    assert_eq!((usd(), digest()), (core, empty));
}

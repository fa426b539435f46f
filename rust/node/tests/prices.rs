//! Fetches of prices from a service that answers right, late, wrong or not at all.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::Assets as _;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_node::prices::{
    CurrentPrices, FetchMode, KeyType, KnownGaps, PriceError, PriceOptions, PriceProgress, PriceReport, PriceService,
    ServiceOptions, Step, fetch_prices,
};
use headwater_types::{Chain, Timestamp};
use tempfile::TempDir;

use crate::price_service::{DAY, Fault, Service, price};

/// Noon of the 20th of October 2026, 22 days after the last core price.
pub const NOW: i64 = 1_792_497_600;
/// The day of the first block, the first of October.
const FIRST_DAY: i64 = NOW / DAY - 19;
const BOTH: [PriceService; 2] = [PriceService::CoinGecko, PriceService::DefiLlama];

/// A store in which ether and LINK moved on the first day, and a pegged coin.
fn store() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (alice, bob) = ("0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    let tokens = ["0x514910771af9ca656af840dff83e8264ecf986ca", "0xdac17f958d2ee523a2206206994597c13d831ec7"];
    let (mut coins, mut moved) = (
        "blockNumber,timeStamp,hash,from,to,value,gasPrice,gasUsed,isError\n".to_owned(),
        "blockNumber,timeStamp,hash,from,to,value,contractAddress,tokenDecimal,gasPrice,gasUsed\n".to_owned(),
    );
    for number in 1..=3 {
        let start = format!("{number},{},0x{number:064x}", FIRST_DAY * DAY + 43_200 + number);
        coins.extend([start.as_str(), ",", alice, ",", bob, ",7,0,21000,0\n"]);
        if let Some(token) = usize::try_from(number - 2).ok().and_then(|place| tokens.get(place)) {
            moved.extend([start.as_str(), ",", alice, ",", bob, ",5,", token, ",6,0,21000\n"]);
        }
    }
    let files = [("transactions.csv", coins), ("token_transfers.csv", moved)].map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    let path = folder.path().join("store");
    let mut writer = Writer::open_or_create(&path).unwrap();
    let options = Options { chain: Some(Chain::ETHEREUM), ..Options::default() };
    ingest(&files, &options, &mut writer, &Silent, &Cancel::new()).unwrap();
    (folder, path)
}

fn options(service: PriceService, url: &str) -> PriceOptions {
    let service = ServiceOptions { url: Some(url.to_owned()), ..ServiceOptions::new(service) };
    PriceOptions::new(service, Timestamp::new(NOW))
}

struct Quiet;

impl PriceProgress for Quiet {}

fn fetch(store: &Path, options: &PriceOptions) -> PriceReport {
    fetch_prices(store, options, &Quiet, &Cancel::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn end_of(day: i64) -> i64 {
    (day + 1) * DAY - 1
}

fn held(store: &Path, symbol: &str, day: i64) -> Option<f64> {
    let snapshot = Store::open(store).unwrap().snapshot().unwrap();
    let found = snapshot.prices().at(symbol, Timestamp::new(end_of(day)))?;
    (found.time.secs() == end_of(day)).then_some(found.usd)
}

/// The sums of held, stored, set aside, missing, out of reach and open periods.
fn counts(report: &PriceReport, symbol: &str) -> [u64; 6] {
    let row = report.symbols.iter().find(|row| row.symbol == symbol).unwrap();
    [row.held, row.stored, row.set_aside, row.missing, row.out_of_reach, row.open]
}

#[test]
fn fetch_stores_missing_days_once() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let report = fetch(&store, &options(service, &fake.url));
        let symbols: Vec<_> = report.symbols.iter().map(|row| row.symbol.as_str()).collect();
        assert_eq!(symbols, ["eth", "link"], "a pegged coin needs no price");
        for symbol in symbols {
            assert_eq!(counts(&report, symbol), [0, 20, 0, 0, 0, 0], "{service:?} {symbol}");
        }
        assert_eq!((report.stored, report.version, report.failure.as_deref()), (40, Some(1), None));
        // From the close before the first block to the last day that has ended.
        for day in FIRST_DAY - 1..=FIRST_DAY + 18 {
            let usd = held(&store, "eth", day).unwrap();
            assert!((2_000.0..2_050.0).contains(&usd), "{service:?} {day}: {usd}");
        }
        assert_eq!(held(&store, "link", FIRST_DAY + 19), None);
        let version = Writer::open_or_create(&store).unwrap().import_versions()[0].clone();
        assert_eq!((version.source.as_str(), version.entries), (service.name(), 40));
        fake.take();

        let again = fetch(&store, &options(service, &fake.url));
        assert_eq!((counts(&again, "eth"), again.version), ([20, 0, 0, 0, 0, 0], None));
        assert!(fake.take().is_empty(), "{service:?}: a repeated fetch asks for nothing");

        // A day later one day more is asked for.
        let later = PriceOptions { now: Timestamp::new(NOW + DAY), ..options(service, &fake.url) };
        let report = fetch(&store, &later);
        assert_eq!((counts(&report, "eth"), report.version), ([20, 1, 0, 0, 0, 0], Some(2)));
        let asked = fake.take();
        assert_eq!(asked.len(), if service == PriceService::CoinGecko { 3 } else { 1 }, "{asked:?}");

        // After a rollback the days are asked for again.
        Writer::open_or_create(&store).unwrap().roll_back_import(2).unwrap();
        assert_eq!(counts(&fetch(&store, &later), "eth"), [20, 1, 0, 0, 0, 0]);
    }
}

#[test]
fn fetch_asks_only_for_gaps() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let days = [0, 1, 2, 3, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
        let point = |day: i64| PricePoint {
            symbol: "link".to_owned(),
            time: Timestamp::new(end_of(FIRST_DAY + day)),
            usd: 15.1,
        };
        let mut writer = Writer::open_or_create(&store).unwrap();
        writer.import_prices("mine", days.map(point).to_vec()).unwrap();
        drop(writer);
        let options = PriceOptions { symbols: vec!["LINK".to_owned()], ..options(service, &fake.url) };
        let report = fetch(&store, &options);
        assert_eq!(counts(&report, "link"), [16, 4, 0, 0, 0, 0], "{service:?}");
        let asked: Vec<_> = fake.take().into_iter().filter(|path| !path.starts_with("/coins/list")).collect();
        assert_eq!(asked.len(), 3, "{service:?}: the day before, two days, and one day: {asked:?}");
        assert_eq!(held(&store, "link", FIRST_DAY), Some(15.1), "{service:?}: a held day stays as it was");
    }
}

#[test]
fn fetch_by_hour_has_a_price_of_each_hour() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let options = PriceOptions {
            symbols: vec!["link".to_owned()],
            step: Step::Hour,
            from: Some(FIRST_DAY * DAY),
            to: Some(end_of(FIRST_DAY + 1)),
            ..options(service, &fake.url)
        };
        let report = fetch(&store, &options);
        assert_eq!(counts(&report, "link"), [0, 48, 0, 0, 0, 0], "{service:?}");
        let snapshot = Store::open(&store).unwrap().snapshot().unwrap();
        let series = snapshot.prices().series("link");
        assert!((0..).zip(series).all(|(hour, price)| price.time.secs() == FIRST_DAY * DAY + (hour + 1) * 3_600 - 1));
        // CoinGecko answers the price of the full hour, DefiLlama one of seven seconds after it.
        assert_eq!(series[4].usd.to_bits(), price("chainlink", FIRST_DAY * DAY + 5 * 3_600).unwrap().to_bits());
    }
}

#[test]
fn faults_that_pass_are_waited_for() {
    for service in BOTH {
        for fault in [Fault::RateLimit, Fault::Cut, Fault::RetryAfter] {
            let (_folder, store) = store();
            let fake = Service::start(fault);
            let began = Instant::now();
            let report = fetch(&store, &options(service, &fake.url));
            assert_eq!((report.stored, report.failure), (40, None), "{service:?} {fault:?}");
            assert!(fault != Fault::RetryAfter || began.elapsed() >= Duration::from_secs(1), "{service:?}");
        }
    }
    let (_folder, store) = store();
    let fake = Service::start(Fault::TenPoints);
    let report = fetch(&store, &options(PriceService::DefiLlama, &fake.url));
    assert_eq!((report.stored, report.failure), (40, None), "a request that is too large is divided");
}

#[test]
fn wrong_prices_are_set_aside_by_name() {
    let day = FIRST_DAY + 5;
    for service in BOTH {
        for (fault, code) in [
            (Fault::Outlier(day, 3.5), "neighbours"),
            (Fault::Outlier(day, 0.2), "neighbours"),
            (Fault::Null(day), "no_price"),
            (Fault::Zero(day), "zero"),
            (Fault::Negative(day), "negative"),
            (Fault::Contradiction(day), "contradiction"),
        ] {
            let (_folder, store) = store();
            let fake = Service::start(fault);
            let report = fetch(&store, &options(service, &fake.url));
            let context = format!("{service:?} {fault:?}: {report:?}");
            assert_eq!(counts(&report, "eth"), [0, 19, 1, 0, 0, 0], "{context}");
            let first = &report.symbols[0].refused[0];
            assert_eq!(first.why.code(), code, "{context}");
            assert_eq!(held(&store, "eth", day), None, "{context}");
            fake.take();
            let again = fetch(&store, &options(service, &fake.url));
            assert_eq!(counts(&again, "eth"), [19, 0, 1, 0, 0, 0], "{context}");
            assert_eq!(again.symbols[0].refused[0].why.code(), code, "{context}");
            assert!(fake.take().is_empty(), "{context}");
            let asking = PriceOptions { gaps: KnownGaps::AskAgain, ..options(service, &fake.url) };
            assert_eq!(fetch(&store, &asking).symbols[0].asked, 1, "{context}");
        }
    }
}

#[test]
fn price_that_another_source_confirms_is_stored() {
    let day = FIRST_DAY + 5;
    for (usd, expected) in [(7_100.0, [0, 20, 0, 0, 0, 0]), (2_010.0, [0, 19, 1, 0, 0, 0])] {
        let (_folder, store) = store();
        let fake = Service::start(Fault::Outlier(day, 3.5));
        let noon = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(day * DAY + 43_200), usd };
        Writer::open_or_create(&store).unwrap().import_prices("noon", vec![noon]).unwrap();
        let report = fetch(&store, &options(PriceService::DefiLlama, &fake.url));
        assert_eq!(counts(&report, "eth"), expected, "{report:?}");
        if expected[2] == 1 {
            assert_eq!(report.symbols[0].refused[0].why.code(), "other_source");
        }
    }
}

#[test]
fn wrong_symbols_are_refused() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::WrongSymbol);
        let report = fetch(&store, &options(service, &fake.url));
        let eth = &report.symbols[0];
        let problem = eth.problem.as_deref().unwrap().to_lowercase();
        assert!(problem.contains("\"meth\"") && problem.contains("id is wrong"), "{service:?}: {problem}");
        assert_eq!(counts(&report, "eth"), [0, 0, 0, 0, 0, 20], "{service:?}");
        assert_eq!(counts(&report, "link"), [0, 20, 0, 0, 0, 0], "{service:?}");
        assert_eq!((report.failure, held(&store, "eth", FIRST_DAY)), (None, None), "{service:?}");
    }
    // An id of another contract is refused too, though its symbol is the same.
    let (_folder, store) = store();
    let fake = Service::start(Fault::None);
    let symbols = vec!["usdt=ethereum:0x514910771af9ca656af840dff83e8264ecf986ca".to_owned()];
    let report = fetch(&store, &PriceOptions { symbols, ..options(PriceService::DefiLlama, &fake.url) });
    assert!(report.failure.unwrap().contains("\"LINK\""));
}

#[test]
fn answers_in_another_unit_or_form_are_refused() {
    for service in BOTH {
        for (fault, text) in [(Fault::TimeUnit, "where the service documents"), (Fault::NotJson, "not understood")] {
            let (_folder, store) = store();
            let fake = Service::start(fault);
            let report = fetch(&store, &options(service, &fake.url));
            let said = report.failure.clone().unwrap();
            assert!(said.contains(text), "{service:?} {fault:?}: {said}");
            assert_eq!((report.stored, report.version), (0, None), "{service:?} {fault:?}");
        }
        let (_folder, store) = store();
        let fake = Service::start(Fault::OutOfRange);
        let report = fetch(&store, &options(service, &fake.url));
        assert_eq!((report.stored, report.symbols[0].refused[0].why.code()), (40, "out_of_range"), "{service:?}");
    }
}

#[test]
fn low_confidence_is_set_aside() {
    let (_folder, store) = store();
    let fake = Service::start(Fault::Confidence);
    let report = fetch(&store, &options(PriceService::DefiLlama, &fake.url));
    assert_eq!(counts(&report, "link"), [0, 0, 20, 0, 0, 0]);
    assert_eq!((report.symbols[1].refused[0].why.code(), report.symbols[1].refused.len()), ("confidence", 5));
    assert_eq!(report.version, None);
}

#[test]
fn missing_prices_are_reported_and_never_filled() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::EmptyUntil(FIRST_DAY + 4));
        let report = fetch(&store, &options(service, &fake.url));
        assert_eq!(counts(&report, "link"), [0, 15, 0, 5, 0, 0], "{service:?}");
        assert_eq!(held(&store, "link", FIRST_DAY + 3), None, "{service:?}");
        fake.take();
        let again = fetch(&store, &options(service, &fake.url));
        assert_eq!(counts(&again, "link"), [15, 0, 0, 5, 0, 0], "{service:?}");
        assert!(fake.take().is_empty(), "{service:?}");

        let (_folder, store) = self::store();
        let fake = Service::start(Fault::Empty);
        let report = fetch(&store, &options(service, &fake.url));
        assert_eq!((counts(&report, "link"), report.failure), ([0, 0, 0, 20, 0, 0], None), "{service:?}");
        fake.take();
        fetch(&store, &options(service, &fake.url));
        let asked = fake.take().join(" ");
        assert!(asked.contains("chainlink") || asked.contains("0x5149"), "the newest days may come late: {asked}");
    }
}

#[test]
fn cut_off_fetch_continues() {
    struct Stopping<'a>(&'a Cancel, Cell<u64>);

    impl PriceProgress for Stopping<'_> {
        fn update(&self, done: u64, _total: u64) {
            self.1.set(done);
            self.0.cancel();
        }
    }

    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let cancel = Cancel::new();
        let progress = Stopping(&cancel, Cell::new(0));
        let stopped = fetch_prices(&store, &options(service, &fake.url), &progress, &cancel);
        assert!(matches!(stopped, Err(PriceError::Cancelled(_))), "{service:?}");
        assert_eq!(progress.1.get(), 20, "{service:?}");
        fake.take();
        let report = fetch(&store, &options(service, &fake.url));
        assert_eq!((report.stored, report.version, report.symbols[0].asked), (40, Some(1), 0), "{service:?}");
        let asked = fake.take().join(" ");
        assert!(!asked.contains("range") || !asked.contains("coins/ethereum/"), "{service:?}: {asked}");
        assert!(!asked.contains("coingecko:ethereum"), "{service:?}: {asked}");

        // A service that fails midway keeps what it answered.
        let (_folder, store) = self::store();
        let fake = Service::start(Fault::RefusedFrom(if service == PriceService::CoinGecko { 2 } else { 1 }));
        let report = fetch(&store, &options(service, &fake.url));
        assert!(report.failure.unwrap().contains("refuses the caller with status 401"), "{service:?}");
        assert_eq!((report.stored, report.version), (20, Some(1)), "{service:?}");
        assert_eq!(report.symbols[1].open, 20, "{service:?}");
    }
}

#[test]
fn key_is_sent_and_never_shown() {
    let key = || Some("KEY-123".to_owned());
    for (key_type, header) in [(KeyType::Demo, "x-cg-demo-api-key"), (KeyType::Pro, "x-cg-pro-api-key")] {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let mut options = options(PriceService::CoinGecko, &fake.url);
        options.service.key = key();
        options.service.key_type = key_type;
        fetch(&store, &options);
        assert!(fake.headers.lock().unwrap().contains(&format!("{header}: KEY-123")), "{header}");
        assert!(!format!("{options:?}").contains("KEY-123"));
    }
    for (service, path) in [(PriceService::CoinGecko, ""), (PriceService::DefiLlama, "/{key}/coins")] {
        let (_folder, store) = store();
        let fake = Service::start(Fault::KeyInText);
        let mut options = options(service, &(fake.url.clone() + path));
        options.service.key = key();
        let report = fetch(&store, &options);
        assert!(report.failure.as_ref().unwrap().contains("(key)"), "{report:?}");
        assert!(!format!("{report:?}").contains("KEY-123"), "{report:?}");
        let sent = fake.take().join(" ") + &fake.headers.lock().unwrap().join(" ");
        assert!(sent.contains("KEY-123"));

        let mut refused = |url: &str, key: Option<&str>| {
            options.service.url = Some(url.to_owned());
            options.service.key = key.map(str::to_owned);
            fetch_prices(&store, &options, &Quiet, &Cancel::new()).unwrap_err().to_string()
        };
        let texts = [
            refused("eth.example/{key}", Some("KEY-123")),
            refused("http://host.example/{key}", Some("KEY-123\n")),
            refused("http://host.example/{key}", None),
        ];
        assert!(texts.iter().all(|text| !text.contains("KEY-123")), "{texts:?}");
        assert!(texts[0].contains("eth.example") && texts[1].contains("characters") && texts[2].contains("missing"));
    }
}

#[test]
fn demo_key_reaches_a_year_back() {
    let (_folder, store) = store();
    let fake = Service::start(Fault::None);
    let mut options = options(PriceService::CoinGecko, &fake.url);
    options.symbols = vec!["link".to_owned()];
    options.from = Some((FIRST_DAY - 400) * DAY);
    options.service.key = Some("KEY".to_owned());
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "link"), [0, 365, 0, 0, 54, 0]);
    options.service.key_type = KeyType::Pro;
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "link"), [365, 54, 0, 0, 0, 0]);
}

#[test]
fn core_prices_are_held_unless_surrounded() {
    let (_folder, store) = store();
    let fake = Service::start(Fault::None);
    let mut options = options(PriceService::DefiLlama, &fake.url);
    options.symbols = vec!["eth".to_owned()];
    options.from = Some((FIRST_DAY - 10) * DAY);
    assert_eq!(counts(&fetch(&store, &options), "eth"), [8, 21, 0, 0, 0, 0]);

    let (_folder, store) = self::store();
    let time = Timestamp::new(end_of(FIRST_DAY - 8));
    let point = PricePoint { symbol: "eth".to_owned(), time, usd: 2_000.0 };
    Writer::open_or_create(&store).unwrap().import_prices("mine", vec![point]).unwrap();
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "eth"), [3, 26, 0, 0, 0, 0], "no core price is used between imported ones");
}

#[test]
fn days_before_the_market_leave_core_prices_in_use() {
    let (_folder, store) = store();
    let fake = Service::start(Fault::EmptyUntil(FIRST_DAY - 10));
    let mut options = options(PriceService::DefiLlama, &fake.url);
    options.symbols = vec!["eth".to_owned()];
    // Ether has core prices from 2015-08-07 until 2026-09-28: 4,071 days.
    options.from = Some(1_435_708_800);
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "eth"), [4_071, 21, 0, 37, 0, 0]);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn prices_of_a_pegged_coin_replace_its_peg() {
    let (_folder, store) = store();
    let fake = Service::start(Fault::None);
    let mut options = options(PriceService::DefiLlama, &fake.url);
    options.symbols = vec!["usdt".to_owned()];
    options.from = Some((FIRST_DAY + 2) * DAY);
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "usdt"), [0, 17, 0, 0, 0, 0]);
    assert!(report.notes[0].contains("usdt: 1 days with blocks were worth a dollar by the peg"), "{:?}", report.notes);
    options.symbols = Vec::new();
    options.from = None;
    let report = fetch(&store, &options);
    assert_eq!(counts(&report, "usdt"), [17, 3, 0, 0, 0, 0], "a coin with imported prices needs them");
}

#[test]
fn current_price_is_stored_with_its_time() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let options = PriceOptions { current: CurrentPrices::Stored, ..options(service, &fake.url) };
        let report = fetch(&store, &options);
        assert_eq!((report.stored, report.symbols[0].stored), (42, 20), "{service:?}");
        let snapshot = Store::open(&store).unwrap().snapshot().unwrap();
        let latest = snapshot.prices().latest("eth").unwrap();
        assert_eq!(latest.time.secs(), NOW - 60, "{service:?}");
        assert_eq!(report.symbols[0].current_usd.map(f64::to_bits), Some(latest.usd.to_bits()), "{service:?}");
        assert_eq!(fetch(&store, &options).version, None, "{service:?}: the same time is not stored twice");
    }
    let (_folder, store) = store();
    let fake = Service::start(Fault::Stale);
    let service = PriceService::CoinGecko;
    let report = fetch(&store, &PriceOptions { current: CurrentPrices::Stored, ..options(service, &fake.url) });
    assert_eq!((report.stored, report.symbols[0].refused[0].why.code()), (40, "stale"));
}

#[test]
fn plan_asks_for_nothing() {
    for service in BOTH {
        let (_folder, store) = store();
        let fake = Service::start(Fault::None);
        let report = fetch(&store, &PriceOptions { mode: FetchMode::Plan, ..options(service, &fake.url) });
        // CoinGecko is asked for its list of coins too.
        let requests = if service == PriceService::CoinGecko { 3 } else { 2 };
        assert_eq!((counts(&report, "eth"), report.requests), ([0, 0, 0, 0, 0, 20], requests), "{service:?}");
        assert!(fake.take().is_empty() && !store.join("fetched").exists(), "{service:?}");
    }
}

#[test]
fn bad_choices_are_refused_with_the_remedy() {
    let (folder, store) = store();
    let error = |change: &dyn Fn(&mut PriceOptions), store: &Path| {
        let mut options = options(PriceService::DefiLlama, "http://127.0.0.1:9");
        change(&mut options);
        fetch_prices(store, &options, &Quiet, &Cancel::new()).unwrap_err().to_string()
    };
    let symbols = |symbol: &str| vec![symbol.to_owned()];
    for (text, expected) in [
        (error(&|options| options.symbols = symbols("nosuch"), &store), "SYMBOL=ID"),
        (error(&|options| options.symbols = symbols("x=a/b"), &store), "id is not valid"),
        (error(&|options| options.from = Some(NOW + DAY), &store), "between 1970 and now"),
        (error(&|options| options.to = Some(FIRST_DAY * DAY - 2 * DAY), &store), "no day that has ended"),
        (error(&|options| options.service.requests_per_second = Some(0.0), &store), "above zero"),
        (error(&|options| options.service.url = Some("host".to_owned()), &store), "expected https://HOST/PATH"),
        (error(&|_| {}, &folder.path().join("none")), "none"),
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

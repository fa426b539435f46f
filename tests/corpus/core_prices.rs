//! US dollars of real transactions of all chains in a store without imports, held against the table of the core prices as a
//! plain reader reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::market::{PriceTable, core_prices};
use headwater_ledger::read::Generations;
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

const DAY: i64 = 86_400;

/// The closes of the table, by column and by days since 1970.
fn closes() -> BTreeMap<(String, i64), f64> {
    let path = headwater_tests::corpus().join("prices/core-daily.csv");
    let mut table = csv::Reader::from_path(path).unwrap();
    let symbols = table.headers().unwrap().clone();
    let mut closes = BTreeMap::new();
    for row in table.records().map(Result::unwrap) {
        let day = row[0].parse::<Timestamp>().unwrap().secs() / DAY;
        for (symbol, cell) in symbols.iter().zip(&row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
            closes.insert((symbol.to_owned(), day), cell.parse().unwrap());
        }
    }
    closes
}

#[test]
fn corpus_core_prices_are_the_published_table() {
    let closes = closes();
    let packed = core_prices().iter().flat_map(|(symbol, prices)| {
        prices.iter().map(move |price| (((*symbol).to_owned(), price.time.secs() / DAY), price.usd.to_bits()))
    });
    assert_eq!(
        packed.collect::<BTreeMap<_, _>>(),
        closes.into_iter().map(|(key, usd)| (key, usd.to_bits())).collect::<BTreeMap<_, _>>()
    );
    let table = PriceTable::default().over_core();
    assert!(table.symbols().all(|symbol| table.left_out(symbol).is_empty()));
}

#[test]
fn corpus_bare_transactions_have_dollars_at_once() {
    let corpus = headwater_tests::corpus();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    for (chain, files) in [
        (Chain::ETHEREUM, &["cases/01-etherscan-web-normal"][..]),
        (Chain::BITCOIN, &["bitcoin/mainnet_block_250000.raw"]),
        (
            Chain::TRON,
            &["cases-2/057-tron-delegate-internal/block.json", "cases-2/057-tron-delegate-internal/infos.json"],
        ),
        (Chain::BSC, &["cases/37-bsc-node"]),
    ] {
        let paths: Vec<_> = files.iter().map(|file| corpus.join(file)).collect();
        let options = Options { chain: Some(chain), ..Options::default() };
        ingest(&paths, &options, &mut writer, &Silent, &Cancel::new())
            .unwrap_or_else(|error| panic!("{chain}: {error}"));
    }
    drop(writer);
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let ledger = store.current().unwrap();
    let engine = QueryEngine::new(Arc::clone(&store) as _);
    let ask = |name: &str, request: &Value| {
        let answer = engine.answer(endpoint(name).unwrap(), request, &Cancel::new()).unwrap();
        assert!(answer.warnings.iter().all(|warning| warning.code != "core_prices_end"), "{name} {request}");
        answer.value()
    };
    let closes = closes();
    for chain in Chain::all() {
        let symbol = chain.native_symbol();
        let mut valued = 0;
        for address in ledger.addresses(chain, None, 60).unwrap() {
            let about = json!({"blockchain": chain.name(), "address": address.to_string(), "symbols": [symbol]});
            for row in ask("transactions", &about)["datas"].as_array().unwrap() {
                // The close of the day before: no transaction is of the last second of a day.
                let day = row["timestamp"].as_i64().unwrap() / DAY - 1;
                let amount: f64 = row["amount"].as_str().unwrap().parse().unwrap();
                let (expected, usd) = (amount * closes[&(symbol.to_owned(), day)], row["amount_usd"].as_f64().unwrap());
                assert!((usd - expected).abs() <= expected * 1e-12, "{row}");
                valued += usize::from(usd > 0.0);
            }
        }
        assert!(valued > 0, "{chain}");
        let head = ledger.coverage()[&chain].last_time.unwrap().secs();
        let at = json!({"symbols": symbol, "at": head});
        assert_eq!(ask("rates", &at)["rates"][0]["price_usd"], closes[&(symbol.to_owned(), head / DAY - 1)], "{chain}");
    }
}

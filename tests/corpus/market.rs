//! Real token registries and price files.

use std::collections::BTreeMap;

use headwater_ingest::{list_prices, list_tokens};
use headwater_ledger::market::{PriceTable, TokenListing, core_tokens};
use headwater_types::{Address, Chain, Timestamp};

/// Counts taken from the files with another program.
#[test]
fn corpus_token_registries_are_read_whole() {
    let folder = headwater_tests::corpus().join("registries");
    for (name, chain, format, entries, skipped) in [
        ("metamask_contract-map.json.gz", Chain::ETHEREUM, "metamask-contract-map", 647, 15),
        ("ethereum-lists-tokens-eth.json.gz", Chain::ETHEREUM, "ethereum-lists", 2103, 1),
        ("ethereum-lists-tokens-bsc.json.gz", Chain::BSC, "ethereum-lists", 19, 0),
    ] {
        let listed = list_tokens(&folder.join(name), None).unwrap();
        assert_eq!((listed.format, listed.entries.len(), listed.skipped), (format, entries, skipped), "{name}");
        assert!(listed.entries.iter().all(|listing| listing.chain == chain && listing.verified), "{name}");
    }
    // A list of labels contains no decimals: nothing can be valued by it.
    assert!(list_tokens(&folder.join("eth-labels_tokens.csv.gz"), None).is_err());
}

/// Symbols that a registry writes otherwise than the core, with why the core is right.
const OTHER_SYMBOLS: [(Chain, &str, &str); 6] = [
    // The name of the token is behind its symbol.
    (Chain::ETHEREUM, "LINK", "LINK (Chainlink)"),
    (Chain::ETHEREUM, "HOT", "HOT (Holo)"),
    // The contract of before 2025; the one that replaced it is called USDD now.
    (Chain::ETHEREUM, "USDDOLD", "USDD"),
    // The name of the token is in the place of its symbol.
    (Chain::ETHEREUM, "ezETH", "Renzo Restaked ETH"),
    // What the contract says of itself, cut by the site that was read; every wallet shows USDT.
    (Chain::BSC, "USDT", "BSC-US..."),
    // Two contracts that were replaced.
    (Chain::BSC, "BTTOLD", "BTT"),
];

fn agrees(core: &TokenListing, symbol: &str) -> bool {
    let excused = OTHER_SYMBOLS.contains(&(core.chain, core.symbol.as_str(), symbol));
    core.symbol.eq_ignore_ascii_case(symbol) || excused
}

#[test]
fn corpus_core_tokens_agree_with_public_registries() {
    let folder = headwater_tests::corpus().join("registries");
    let core: BTreeMap<(Chain, Address), &TokenListing> =
        core_tokens().iter().map(|token| ((token.chain, token.contract), token)).collect();
    let mut seen = BTreeMap::new();
    for name in
        ["metamask_contract-map.json.gz", "ethereum-lists-tokens-eth.json.gz", "ethereum-lists-tokens-bsc.json.gz"]
    {
        for listed in list_tokens(&folder.join(name), None).unwrap().entries {
            let Some(token) = core.get(&(listed.chain, listed.contract)) else { continue };
            assert!(agrees(token, &listed.symbol), "{name}: {token:?} is {} there", listed.symbol);
            assert_eq!(token.decimals, listed.decimals, "{name}: {token:?}");
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    // Labels have no decimals, but name tokens of bsc, which the other lists hardly do.
    let labels = std::fs::File::open(folder.join("eth-labels_tokens.csv.gz")).unwrap();
    let mut labels = csv::Reader::from_reader(flate2::read::GzDecoder::new(labels));
    for row in labels.records().map(Result::unwrap) {
        let chain = match &row[1] {
            "1" => Chain::ETHEREUM,
            "56" => Chain::BSC,
            _ => continue,
        };
        let token = Address::parse(chain, &row[0]).ok().and_then(|contract| core.get(&(chain, contract)));
        let Some(token) = token else { continue };
        assert!(agrees(token, &row[4]), "labels: {token:?} is {} there", &row[4]);
        *seen.entry(chain.name()).or_insert(0) += 1;
    }
    println!("core tokens found: {seen:?}");
    assert!(seen["metamask_contract-map.json.gz"] >= 70 && seen["ethereum"] >= 90 && seen["bsc"] >= 30, "{seen:?}");
}

#[test]
fn corpus_prices_are_read_whole() {
    let folder = headwater_tests::corpus().join("prices");
    for (name, symbol, prices, first) in [
        ("BTC-USD-1d.csv", "btc", 2708, (1_410_998_399, 457.334_014_892_578_1)),
        ("ETH-USD-1d.csv", "eth", 1559, (1_510_271_999, 320.884_002_685_546_9)),
        ("BNB-USD-1d.csv", "bnb", 1559, (1_510_271_999, 1.990_769_982_337_951_7)),
        // Of 32,659 hours eleven had no trade.
        ("ETH-USD-1h.csv.gz", "eth", 32_648, (1_643_936_399, 2692.92)),
    ] {
        let listed = list_prices(&folder.join(name), None).unwrap();
        assert_eq!(listed.entries.len(), prices, "{name}");
        assert!(listed.entries.iter().all(|price| price.symbol == symbol), "{name}");
        let price = &listed.entries[0];
        assert_eq!((price.time.secs(), price.usd.to_bits()), (first.0, f64::to_bits(first.1)), "{name}");
    }
}

#[test]
fn corpus_an_hour_without_a_trade_is_left_out() {
    let listed = list_prices(&headwater_tests::corpus().join("prices/ETH-USD-1h.csv.gz"), None).unwrap();
    assert_eq!(listed.skipped, 11);
    assert!(listed.skipped_reasons.iter().all(|reason| reason.contains("thin")), "{:?}", listed.skipped_reasons);
}

/// Eight years of crashes and booms: every real price can be meant, by the day, by the hour, and both together.
#[test]
fn corpus_no_real_price_is_taken_for_a_spike() {
    let folder = headwater_tests::corpus().join("prices");
    let names = ["BTC-USD-1d.csv", "ETH-USD-1d.csv", "TRX-USD-1d.csv", "BNB-USD-1d.csv", "USDT-USD-1d.csv"];
    let daily = names.map(|name| list_prices(&folder.join(name), None).unwrap().entries).concat();
    let hourly = list_prices(&folder.join("ETH-USD-1h.csv.gz"), None).unwrap().entries;
    let both = [daily.clone(), hourly.clone()].concat();
    for points in [&daily, &hourly, &both] {
        let table = PriceTable::new(points.clone());
        for symbol in table.symbols() {
            assert_eq!(table.left_out(symbol), [], "{symbol}");
        }
    }
    let ether = |points: &[_], secs: i64| {
        PriceTable::new(points.to_vec()).at("eth", Timestamp::new(secs)).map(|price| (price.time.secs(), price.usd))
    };
    // 2021-05-19 13:30: by the day that of the evening before, by the hour that of 12:59:59, by both the later one.
    let noon = 1_621_431_000;
    assert_eq!(ether(&daily, noon).unwrap(), (1_621_382_399, 3_380.070_068_359_375));
    assert_eq!(ether(&hourly, noon), ether(&both, noon));
    assert_eq!(ether(&both, noon).unwrap().0, 1_621_429_199);
}

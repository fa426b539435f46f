//! Real token registries and price files.

use headwater_ingest::{list_prices, list_tokens};
use headwater_types::Chain;

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
    // A list of labels knows no decimals: nothing can be valued by it.
    assert!(list_tokens(&folder.join("eth-labels_tokens.csv.gz"), None).is_err());
}

#[test]
fn corpus_prices_are_read_whole() {
    let folder = headwater_tests::corpus().join("prices");
    for (name, symbol, prices, first) in [
        ("BTC-USD-1d.csv", "btc", 2708, (1_410_998_399, 457.334_014_892_578_1)),
        ("ETH-USD-1d.csv", "eth", 1559, (1_510_271_999, 320.884_002_685_546_9)),
        ("BNB-USD-1d.csv", "bnb", 1559, (1_510_271_999, 1.990_769_982_337_951_7)),
        ("ETH-USD-1h.csv.gz", "eth", 32_659, (1_643_936_399, 2692.92)),
    ] {
        let listed = list_prices(&folder.join(name), None).unwrap();
        assert_eq!(listed.entries.len(), prices, "{name}");
        assert!(listed.entries.iter().all(|price| price.symbol == symbol), "{name}");
        let price = &listed.entries[0];
        assert_eq!((price.time.secs(), price.usd.to_bits()), (first.0, f64::to_bits(first.1)), "{name}");
    }
}

//! Token registries, prices and exchange rates.

use headwater_ingest::{list_exchange_rates, list_prices, list_tokens};
use headwater_testkit::fuzz::FuzzOutcome;

use crate::fuzz::{put, reader};

const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

#[test]
fn a_registry_names_tokens_or_the_file_that_is_none() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("tokens.json");
    let samples = [
        format!(r#"[{{"address":"{USDT}","symbol":"USDT","name":"Tether USD","decimals":6,"type":"ERC20"}}]"#),
        format!(
            r#"{{"name":"list","tokens":[{{"chainId":1,"address":"{USDT}","symbol":"USDT","name":"T","decimals":6}}]}}"#
        ),
        format!(r#"{{"{USDT}":{{"name":"Tether","logo":"t.svg","erc20":true,"symbol":"USDT","decimals":6}}}}"#),
        format!("address,symbol,decimals\n{USDT},USDT,6\n"),
    ];
    reader("token_registries").samples(samples).words(["chainId", "decimals", "null", "\\u0000", "\u{202e}"]).check(
        |input| {
            put(&path, input);
            let listed = list_tokens(&path, None);
            match &listed {
                Ok(listed) => {
                    let mut seen: Vec<_> = listed.entries.iter().map(|entry| (entry.chain, entry.contract)).collect();
                    seen.sort_unstable();
                    seen.dedup();
                    assert_eq!(seen.len(), listed.entries.len(), "a token is listed once");
                }
                Err(error) => assert!(error.to_string().contains("tokens.json"), "{error}"),
            }
            FuzzOutcome::from(&listed)
        },
    );
}

#[test]
fn prices_and_rates_are_finite_and_not_negative() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ETH-USD-1d.csv");
    let samples = [
        "Date,Open,High,Low,Close,Volume\n2024-01-01,1,2,0.5,1.5,100\n2024-01-02,1,2,0.5,,0\n",
        "symbol,ts,price_usd\neth,1700000000,2000.5\nusdt,1700000000,1\n",
        "Unix,Date,Symbol,Close,Volume ETH\n1700000000,2023-11-14 22:13:20,ETH/USD,2000.5,7\n",
    ];
    reader("prices").samples(samples).words(["1e308", "-0.0", "inf", "\"", "NaN", "1700000000000"]).check(|input| {
        put(&path, input);
        let listed = list_prices(&path, None);
        match &listed {
            Ok(listed) => assert!(listed.entries.iter().all(|price| price.usd.is_finite() && price.usd >= 0.0)),
            Err(error) => assert!(error.to_string().contains("ETH-USD-1d.csv"), "{error}"),
        }
        FuzzOutcome::from(&listed)
    });
    let samples = [
        "Date,USD,JPY,GBP\n2024-01-02,1.0956,155.7,0.86\n2024-01-01,N/A,155.7,0.86\n",
        "date,currency,units_per_usd\n2024-01-01,EUR,0.92\n2024-01-01,JPY,141.2\n",
        "ts,ccy,rate,base\n1700000000,EUR,0.92,USD\n",
    ];
    reader("exchange_rates").samples(samples).words(["0", "1e-320", "1e308", "N/A", "base", "EUR"]).check(|input| {
        put(&path, input);
        let listed = list_exchange_rates(&path);
        match &listed {
            Ok(listed) => assert!(listed.entries.iter().all(|rate| rate.per_usd.is_finite() && rate.per_usd > 0.0)),
            Err(error) => assert!(error.to_string().contains("ETH-USD-1d.csv"), "{error}"),
        }
        FuzzOutcome::from(&listed)
    });
}

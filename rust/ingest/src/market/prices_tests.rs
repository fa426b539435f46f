use super::super::list_prices;
use super::*;

fn list(name: &str, content: &str, symbol: Option<&str>) -> Result<Listed<PricePoint>, IngestError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    list_prices(&path, symbol)
}

#[test]
fn daily_price_counts_from_the_end_of_its_day() {
    let content = "Date,Adj Close,Close,High,Low,Open,Volume\n2014-09-17,,,,,,\n2017-11-09,1.5,320.5,0,0,0,0\n";
    let listed = list("ETH-USD-1d.csv", content, None).unwrap();
    // 2017-11-09T23:59:59Z
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_510_271_999), usd: 320.5 };
    assert_eq!((listed.entries, listed.skipped), (vec![price], 1));
}

#[test]
fn an_hourly_price_counts_from_the_end_of_its_hour() {
    let content = "Unix,Date,Oymbol,Open,High,Low,Close,Volume ETH,Volume USD\n1643932800,2022-02-04 00:00:00,ETH/USD,1,1,1,2692.92,1,1\n";
    let listed = list("x.csv", content, None).unwrap();
    assert_eq!((listed.entries[0].symbol.as_str(), listed.entries[0].time.secs()), ("eth", 1_643_936_399));
    assert_eq!(list("x.csv", content, Some("WETH")).unwrap().entries[0].symbol, "weth");
}

#[test]
fn a_plain_table_counts_from_its_times() {
    let listed = list("p.csv", "symbol,ts,price_usd,source\nBTC,100,1e-7,x\n", None).unwrap();
    assert_eq!(listed.entries, [PricePoint { symbol: "btc".to_owned(), time: Timestamp::new(100), usd: 1e-7 }]);
}

#[test]
fn what_is_no_price_is_an_error_of_its_row() {
    for row in ["BTC,100,-1", "BTC,100,inf", "BTC,100,1,5", "BTC,x,1", ",100,1", "BTC,日本,1", "ETH/EUR,100,1"] {
        let error = list("p.csv", &format!("symbol,ts,price_usd\nA,1,1\n{row}\n"), None).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
    }
    assert!(list("p.csv", "a,b\n1,2\n", None).is_err());
}

#[test]
fn price_without_trades_is_thin_if_volume_is_stated() {
    let head = "Unix,Symbol,Close,Volume ETH,Volume USD";
    let content = format!("{head}\n0,ETH/USD,10,0,0\n3600,ETH/USD,11,0.5,5.5\n7200,ETH/USD,12,0.0,0\n");
    let listed = list("x.csv", &content, None).unwrap();
    let kept: Vec<_> = listed.entries.iter().map(|price| price.usd).collect();
    assert_eq!((kept, listed.skipped), (vec![11.0], 2));
    assert!(listed.skipped_reasons[0].contains("line 2: thin"), "{:?}", listed.skipped_reasons);

    // A file that never says a volume but zero, or none at all, does not know it.
    let zeros = format!("{head}\n0,ETH/USD,10,0,0\n3600,ETH/USD,11,0,0\n");
    let gaps = format!("{head}\n0,ETH/USD,10,,\n3600,ETH/USD,11,1,1\n");
    for content in [zeros, gaps] {
        assert_eq!(list("x.csv", &content, None).unwrap().entries.len(), 2, "{content}");
    }
}

#[test]
fn prices_missing_values_are_skipped_and_counted() {
    let missing = ["null", "NaN", "N/A", "-", "None", "#N/A", "", " "];
    let rows = missing.map(|word| format!("BTC,100,{word}")).join("\n");
    let listed = list("p.csv", &format!("symbol,ts,price_usd\n{rows}\nBTC,100,\"1,234.5\"\n"), None).unwrap();
    assert_eq!((listed.entries.len(), listed.entries[0].usd.to_bits()), (1, 1234.5_f64.to_bits()));
    assert_eq!(listed.skipped, 8);
    let yahoo = "Date,Open,High,Low,Close,Adj Close,Volume\n2022-02-12,1,1,1,2928.3,9,12\n2022-02-13,null,null,null,null,null,null\n";
    let listed = list("ETH-USD.csv", yahoo, None).unwrap();
    // 2022-02-12T23:59:59Z
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_644_710_399), usd: 2928.3 };
    assert_eq!((listed.entries, listed.skipped, listed.format), (vec![price], 1, "daily-prices"));
}

#[test]
fn prices_lines_before_the_header_are_left_out() {
    let rows = "Unix,Date,Symbol,Open,High,Low,Close,Volume ETH,Volume USDT,tradecount\n1735693200000,2025-01-01 01:00:00,ETHUSDT,1,1,1,3352.1,10,33521,5\n";
    for preamble in
        ["https://www.CryptoDataDownload.com\n", "# made by hand, with care\n#x\n", "\u{feff}www.example.org\n\n"]
    {
        let listed = list("Binance_ETHUSDT_1h.csv", &format!("{preamble}{rows}"), None).unwrap();
        // 2025-01-01T01:59:59Z
        let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_735_696_799), usd: 3352.1 };
        assert_eq!((listed.entries, listed.format), (vec![price], "hourly-prices"), "{preamble:?}");
    }
}

#[test]
fn candles_last_as_the_name_or_the_gaps_say() {
    let end = |name: &str, starts: &[i64]| {
        let rows: Vec<_> = starts.iter().map(|start| format!("{start},ETH/USD,1")).collect();
        let listed = list(name, &format!("Unix,Symbol,Close\n{}\n", rows.join("\n")), None).unwrap();
        (listed.entries[0].time.secs() - starts[0], listed.format)
    };
    let day = 86_400;
    assert_eq!(end("x.csv", &[0]), (3_599, "hourly-prices"));
    assert_eq!(end("Binance_ETHUSDT_d.csv", &[0]), (day - 1, "daily-prices"));
    assert_eq!(end("Binance_ETHUSDT_2023_minute.csv", &[0, 60]), (59, "candles"));
    assert_eq!(end("x.csv", &[3 * day, 2 * day, 0]), (day - 1, "daily-prices"));
    assert_eq!(end("x.csv", &[0, 3_600, 10_800]), (3_599, "hourly-prices"));
    assert_eq!(end("x.csv", &[0, 900]), (899, "candles"));
    assert_eq!(end("x.csv", &[0, 28 * day]), (31 * day - 1, "candles"));
}

#[test]
fn candles_by_dates_count_from_their_ends() {
    let content =
        "Date,Close\n2022-02-04 00:00:00+00:00,1\n2022-02-04 01:00:00+00:00,2\n2022-02-04 02:00:00+00:00,null\n";
    let listed = list("ETH-USD.csv", content, None).unwrap();
    let times: Vec<_> = listed.entries.iter().map(|price| price.time.secs()).collect();
    assert_eq!((times, listed.skipped), (vec![1_643_936_399, 1_643_939_999], 1));
    let alone = list("ETH-USD.csv", "Date,Close\n2022-02-04 00:00:00+00:00,1\n", None).unwrap();
    assert_eq!(alone.entries[0].time.secs(), 1_644_019_199);
}

#[test]
fn prices_times_are_read_in_every_unit() {
    for time in [
        "1643932800",
        "1643932800000",
        "1643932800000000",
        "1643932800000000000",
        "1.6439328E9",
        "1643932800.0",
        "2022-02-04 00:00:00+00",
        "2022-02-04T00:00:00Z",
    ] {
        let listed = list("p.csv", &format!("symbol,ts,price_usd\nETH,{time},1\n"), None).unwrap();
        assert_eq!(listed.entries[0].time.secs(), 1_643_932_800, "{time}");
    }
    let day = list("p.csv", "symbol,ts,price_usd\nETH,2022-02-04,1\n", None).unwrap();
    assert_eq!(day.entries[0].time.secs(), 1_644_019_199, "a price of a day is not known before its end");
}

#[test]
fn symbols_are_the_first_part_of_a_pair_in_dollars() {
    let symbol = |name: &str, text: &str| {
        list(name, &format!("Symbol,Unix,Close\n{text},0,1\n"), None).map(|listed| listed.entries[0].symbol.clone())
    };
    for (text, expected) in [
        ("ETH/USD", "eth"),
        ("ETH-USDT", "eth"),
        ("ETHUSDT", "eth"),
        ("ETHUSDC", "eth"),
        ("BNBUSD", "bnb"),
        ("USDTUSD", "usdt"),
        ("USDT", "usdt"),
        ("FDUSD", "fdusd"),
        ("TRX", "trx"),
    ] {
        assert_eq!(symbol("x.csv", text).unwrap(), expected, "{text}");
    }
    assert!(symbol("x.csv", "ETH/EUR").is_err() && symbol("x.csv", "SOL-BTC").is_err());
    let from_name = |name: &str| list(name, "Unix,Close\n0,1\n", None).map(|listed| listed.entries[0].symbol.clone());
    assert_eq!(from_name("Binance_ETHUSDT_1h.csv").unwrap(), "eth");
    assert_eq!(from_name("ETH-USD-1d.csv").unwrap(), "eth");
    assert_eq!(from_name("é-USD.csv").unwrap(), "é");
    assert!(from_name("ETH-EUR.csv").is_err());
}

#[test]
fn files_without_a_price_are_refused_with_the_reason() {
    for (content, expected) in [
        ("symbol,ts,price_usd\n", "p.csv gives no price: it has no row of data"),
        ("symbol,ts,price_usd\nETH,100,null\n", "p.csv gives no price: all 1 rows are left out (line 2: no price)"),
    ] {
        let error = list("p.csv", content, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

//! Tables and documents: CSV, lines of JSON, what compresses them, and the reader of JSON by itself.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use headwater_ingest::source::json::{self, Value};
use headwater_testkit::fuzz::FuzzOutcome;

use super::evm::{A, B, hash};
use super::imported;
use crate::fuzz::{reader, text};

/// Tables as ethereum-etl, Etherscan, Blockchair, an explorer of TRON and lists of holders write them.
pub(super) fn tables() -> Vec<String> {
    let of = hash(1);
    vec![
        format!(
            "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp\n{of},0,{of},46147,0,{A},{B},31337,21000,50000000000000,0x,1438918233\n"
        ),
        format!(
            "block_number,transaction_hash,transaction_index,from_address,to_address,value,input,output,trace_type,call_type,reward_type,gas,gas_used,subtraces,trace_address,error,status,trace_id\n5,{of},1,{A},{B},7,0x,0x,call,call,,0,0,0,\"0,1\",,1,\n"
        ),
        format!(
            "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n{B},{A},{B},7,{of},3,5\n"
        ),
        format!(
            ",blockNumber,timeStamp,hash,nonce,blockHash,transactionIndex,from,to,value,gas,gasPrice,isError,txreceipt_status,input,contractAddress,cumulativeGasUsed,gasUsed,confirmations,methodId,functionName,eth value,txn type,AccountId\n0,3798856,1496244062,{of},24,0xc6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6,26,{A},{B},9,23101,43000000000,0,,0xa9059cbb00,,4251955,21000,12,0xa9059cbb,\"transfer(address to, uint256 value)\",50,received,{A}\n"
        ),
        format!(
            "block_id\tindex\thash\ttime\tfailed\ttype\tsender\trecipient\tcall_count\tvalue\tvalue_usd\tinternal_value\tinternal_value_usd\tfee\tfee_usd\tgas_used\tgas_limit\tgas_price\tinput_hex\tnonce\n5\t0\t{}\t2023-05-02 00:00:11\t0\tcall_tree\t{}\t{}\t1\t7\t0\t7\t0\t21000\t0\t21000\t21000\t1\t\t4\n",
            &of[2..],
            &A[2..],
            &B[2..]
        ),
        "wallet,timestamp,tx_id,risk_tx,status,from_address,from_tag,to_address,to_tag,quant,token_id,token_abbr,token_name,token_decimal,token_type,token_level,contract_return,result0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\nTDX3tFFdWFwhBP7Cf5gJRpADpUNxQsys6m,1650176103000,99e53c29e7c429aaf5150dc5586f5d3cd143c111c62f5b5deebd000aedacb842,False,0,TDX3tFFdWFwhBP7Cf5gJRpADpUNxQsys6m,LBank,TS2oMCWeBsYmMFWsXFx5u7M96KDF8BZDyG,,7,TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t,USDT,Tether USD,6,trc20,2,SUCCESS,SUCCESS\n".to_owned(),
        format!("address,balance\n{A},1\n{B},\"2,500.25\"\n"),
    ]
}

const MARKS: [&str; 10] = [",,,", "\"", "\"\"", "\r\n", "\t", "0x", "1e18", ";", "\u{feff}", "2023-05-02 24:61:00"];

#[test]
fn tables_of_every_form() {
    imported(reader("tables").samples(tables()).words(MARKS), "table.csv");
}

/// Rows as ethereum-etl and GraphSense write them as JSON.
pub(super) fn documents_of_tables() -> [String; 3] {
    let of = hash(1);
    [
        format!(
            r#"{{"type":"transaction","hash":"{of}","nonce":0,"block_hash":"{of}","block_number":46147,"transaction_index":0,"from_address":"{A}","to_address":"{B}","value":31337,"gas":21000,"gas_price":50000000000000,"input":"0x","block_timestamp":1438918233,"item_id":"transaction_1"}}"#
        ),
        r#"{"txHashPrefix":"d6a80","txHash":"1qgIU1nspO3U7hpAxQlg/Z4BsWqRWOyns82/lZstA40=","nonce":0,"blockHash":"AAAAAAAAJKq3pg0K1eUW0KGn2fCyaoayZkJg07wYGdk=","blockId":9386,"transactionIndex":0,"fromAddress":"5VL2SHWFwrWLwsm7RJK8HxcTLNA=","toAddress":"tjgdn3Ck++UVfmp6Shb7vpsvE8o=","value":5000000,"gas":0,"gasPrice":100,"input":"","blockTimestamp":1529919702,"receiptGasUsed":0,"receiptStatus":1}"#.to_owned(),
        r#"{"txIdGroup":0,"txId":5,"txHash":"ab30109910f327700e0f199972eed8ea7c6b1920e965f9cb48a92973e7325046","coinbase":false,"coinjoin":true,"blockId":3,"inputs":[{"address":["1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz"],"value":1480000,"txType":5}],"outputs":[{"address":["1E5UPs8bXBq7v7D2b7BYNU19ZviX2LMgEe"],"value":150000,"txType":6}],"timestamp":1231552800}"#.to_owned(),
    ]
}

#[test]
fn documents_of_every_form() {
    let words = ["null", "[", "{}", "\"value\":-1", "\\ud800", "==", "\n", "AAAA"];
    imported(reader("documents").samples(documents_of_tables()).words(words), "documents.json");
}

#[test]
fn what_is_compressed() {
    let gzip = |content: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let bzip2 = |content: &str| {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(content.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let table = &tables()[0];
    let twice = [gzip(table), gzip("")].concat();
    let samples = [gzip(table), bzip2(table), twice];
    let words: [&[u8]; 4] = [&[0x1f, 0x8b, 8, 4], b"BZh9", &[0xff, 0xff], &gzip(&"\n".repeat(100_000))];
    imported(reader("compressed").samples(samples).words(words), "table.csv.gz");
}

#[test]
fn json_is_what_serde_takes_it_for() {
    let samples = [
        r#"{"a": 115792089237316195423570985008687907853269984665640564039457584007913129639935, "b": [-0.10, 1E+5]}"#,
        r#"["⌘", "a\n\"\\\/", "😀", {"x": {"y": [true, false, null]}}]"#,
        "17",
    ];
    let words = ["\\ud83d", "\\u0000", "[[[[[[[[", "{\"\":", "1e", "-0", "tru", "\u{2028}", ",]"];
    reader("json").samples(samples).words(words).check(|input| {
        let Some(text) = text(input) else { return FuzzOutcome::Refused };
        let ours = json::parse(text, &headwater_ingest::Bounds::default());
        match (&ours, serde_json::from_str::<serde_json::Value>(text)) {
            (Ok(ours), Ok(theirs)) => same(ours, &theirs),
            (Err(error), theirs) => {
                assert!(error.at <= text.len(), "{error}");
                assert!(theirs.is_err(), "{text} is JSON to others: {error}");
            }
            // A lone half of a character, a number past all doubles, and what is nested deeper than theirs.
            (Ok(_), Err(_)) => {}
        }
        FuzzOutcome::from(&ours)
    });
}

fn same(ours: &Value<'_>, theirs: &serde_json::Value) {
    match (ours, theirs) {
        (Value::Null, serde_json::Value::Null) => {}
        (Value::Bool(ours), serde_json::Value::Bool(theirs)) => assert_eq!(ours, theirs),
        (Value::Number(ours), serde_json::Value::Number(theirs)) => {
            assert_eq!(ours.parse::<f64>().ok(), theirs.as_f64(), "{ours}");
        }
        (Value::Text(ours), serde_json::Value::String(theirs)) => assert_eq!(ours, theirs),
        (Value::List(ours), serde_json::Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).for_each(|(ours, theirs)| same(ours, theirs));
        }
        (Value::Object(ours), serde_json::Value::Object(theirs)) => {
            let last = |name: &str| ours.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value);
            theirs.iter().for_each(|(name, theirs)| same(last(name).expect("the same names"), theirs));
        }
        (ours, theirs) => panic!("{ours:?} is {theirs}"),
    }
}

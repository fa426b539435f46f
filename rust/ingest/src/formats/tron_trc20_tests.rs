use headwater_ledger::Cancel;
use headwater_ledger::facts::TransactionFacts;
use headwater_types::{Chain, Family};

use super::*;
use crate::options::{Options, Silent};
use crate::{Gathered, IngestReport, ingest_into};

const HEADER: &str = "wallet,timestamp,tx_id,risk_tx,status,from_address,from_tag,to_address,to_tag,quant,token_id,token_abbr,token_name,token_decimal,token_type,token_level,contract_return,result0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17";
const A: &str = "TDX3tFFdWFwhBP7Cf5gJRpADpUNxQsys6m";
const B: &str = "TS2oMCWeBsYmMFWsXFx5u7M96KDF8BZDyG";
const USDT: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const HASH: &str = "99e53c29e7c429aaf5150dc5586f5d3cd143c111c62f5b5deebd000aedacb842";

fn row(wallet: &str, quant: &str, returned: &str) -> String {
    format!(
        "{wallet},1650176103000,{HASH},False,0,{A},LBank,{B},,{quant},{USDT},USDT,Tether USD,6,trc20,2,{returned},{returned}"
    )
}

fn read(files: &[(&str, String)]) -> Result<(IngestReport, Gathered), IngestError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], &Options::default(), &mut target, &Silent, &Cancel::new())?;
    Ok((report, target))
}

fn joined(target: &Gathered) -> TransactionFacts {
    let mut all = target.batches.iter().flat_map(|batch| batch.transactions.clone());
    let first = all.next().unwrap();
    all.fold(first, |held, facts| held.join(facts, Chain::TRON).unwrap())
}

fn export(rows: &[String]) -> (&'static str, String) {
    ("export.csv", format!("{HEADER}\n{}\n", rows.join("\n")))
}

#[test]
fn doubled_header_names_as_many_columns_as_rows_have() {
    let (report, target) = read(&[export(&[row(A, "65290000", "SUCCESS")])]).unwrap();
    assert_eq!((report.files[0].format.as_str(), report.files[0].chain.as_str()), ("tron-trc20", "tron"));
    let facts = joined(&target);
    assert_eq!(facts.hash.display(Family::Tron), HASH);
    // (1650176103 - 1529891469) / 3 + 1: at or past the true height.
    assert_eq!(
        (facts.block, facts.time.unwrap().secs(), facts.status),
        (40_094_879, 1_650_176_103, Some(Status::Success))
    );
    let [movement] = &facts.movements[..] else { panic!("one movement") };
    assert_eq!((movement.from.unwrap().to_string(), movement.to.unwrap().to_string()), (A.to_owned(), B.to_owned()));
    assert_eq!(movement.amount.to_string(), "65290000");
    assert!(report.files[0].warnings[0].contains("tells no blocks"), "{:?}", report.files[0].warnings);
    let token = &target.batches[0].tokens[0];
    assert_eq!((token.symbol.as_deref(), token.decimals), (Some("USDT"), Some(6)));
}

#[test]
fn equal_rows_are_two_movements_within_one_wallet_only() {
    let twice = [row(A, "5", "SUCCESS"), row(A, "5", "SUCCESS"), row(B, "5", "SUCCESS")];
    assert_eq!(joined(&read(&[export(&twice)]).unwrap().1).movements.len(), 2);
    let once = [row(A, "5", "SUCCESS"), row(B, "5", "SUCCESS")];
    assert_eq!(joined(&read(&[export(&once)]).unwrap().1).movements.len(), 1);
}

#[test]
fn a_transfer_that_failed_says_why() {
    let facts = joined(&read(&[export(&[row(A, "5", "OUT_OF_ENERGY")])]).unwrap().1);
    assert_eq!((facts.status, facts.failure_reason.as_deref()), (Some(Status::Failed), Some("OUT_OF_ENERGY")));
}

#[test]
fn answers_of_trongrid_are_read_alike() {
    let item = |kind: &str| {
        format!(
            r#"{{"transaction_id":"{HASH}","token_info":{{"symbol":"USDT","address":"{USDT}","decimals":6,"name":"Tether USD"}},"block_timestamp":1650176103000,"from":"{A}","to":"{B}","type":"{kind}","value":"65290000"}}"#
        )
    };
    let answer =
        format!(r#"{{"data":[{},{}],"success":true,"meta":{{"page_size":2}}}}"#, item("Transfer"), item("Approval"));
    let (report, target) = read(&[("answer.json", answer)]).unwrap();
    let (_, of_export) = read(&[export(&[row(A, "65290000", "SUCCESS")])]).unwrap();
    assert_eq!(joined(&target), joined(&of_export));
    assert_eq!(report.rows, 2);
}

#[test]
fn a_transaction_that_is_known_keeps_its_block() {
    let list = [
        export(&[row(A, "65290000", "SUCCESS")]),
        ("blocks.json", super::super::tron_node::tests::block(39_894_321, HASH)),
    ];
    let facts = joined(&read(&list).unwrap().1);
    assert_eq!((facts.block, facts.movements.len()), (39_894_321, 1));
}

#[test]
fn what_is_no_amount_is_named() {
    let error = read(&[export(&[row(A, "1.5", "SUCCESS")])]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("quant") && error.contains("1.5"), "{error}");
}

#[test]
fn rows_without_a_token_are_left_out_with_a_count() {
    let item = |token: &str| {
        format!(
            r#"{{"transaction_id":"{HASH}","token_info":{token},"block_timestamp":1650176103000,"from":"{A}","to":"{B}","type":"Transfer","value":"5"}}"#
        )
    };
    let whole = format!(r#"{{"symbol":"USDT","address":"{USDT}","decimals":6,"name":"Tether USD"}}"#);
    let items = [&*whole, "{}", "null", r#""""#, r#"{"address":""}"#, r#"{"address":null,"symbol":"X"}"#].map(item);
    let answer = format!(r#"{{"data":[{}],"success":true}}"#, items.join(","));
    let (report, target) = read(&[("answer.json", answer)]).unwrap();
    assert_eq!((report.rows, report.files[0].omitted[0].rows, report.skipped), (6, 5, 0));
    assert_eq!(joined(&target).movements.len(), 1);
    // The first row may be one of them.
    let answer = format!(r#"{{"data":[{},{}]}}"#, item("{}"), item(&whole));
    assert_eq!(joined(&read(&[("answer.json", answer)]).unwrap().1).movements.len(), 1);
    let rows = [row(A, "5", "SUCCESS"), row(A, "6", "SUCCESS").replace(USDT, "")];
    let (report, target) = read(&[export(&rows)]).unwrap();
    assert_eq!((joined(&target).movements.len(), report.files[0].omitted[0].rows), (1, 1));
    let wrong = format!(r#"{{"data":[{}]}}"#, item(r#"{"address":"é"}"#));
    assert!(read(&[("answer.json", wrong)]).is_err());
}

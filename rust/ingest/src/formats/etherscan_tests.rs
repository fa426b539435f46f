use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_types::{Amount, TxHash};
use proptest::prelude::*;

use super::*;
use crate::{Gathered, IngestReport, OnError, Options, Silent, ingest_into};

const ACCOUNT: &str = "0x16b2556e015dbe017f50d3dc403ddfb244ad59fb";
const OTHER: &str = "0x7e217bccc61e36093d3622ce3607e6b010b6cd9f";
const HEADER: &str = ",blockNumber,timeStamp,hash,nonce,blockHash,transactionIndex,from,to,value,gas,gasPrice,isError,txreceipt_status,input,contractAddress,cumulativeGasUsed,gasUsed,confirmations,methodId,functionName,eth value,txn type,AccountId";
const TOKEN_HEADER: &str = ",blockNumber,timeStamp,hash,nonce,blockHash,from,contractAddress,to,value,tokenName,tokenSymbol,tokenDecimal,transactionIndex,gas,gasPrice,gasUsed,cumulativeGasUsed,input,confirmations,eth value,txn type,AccountId";

fn read(files: &[(&str, String)], options: &Options) -> (Result<IngestReport, IngestError>, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn read_one(name: &str, rows: &[&str]) -> (IngestReport, Batch) {
    let (report, mut batches) = read(&[(name, rows.join("\n"))], &Options::default());
    (report.unwrap(), batches.remove(0))
}

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn transaction_row(last: u8, to: &str, value: &str, error: &str, created: &str) -> String {
    let hash = hash(last);
    format!(
        "0,3798856,1496244062,{hash},24,0xc6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6,26,{OTHER},{to},{value},23101,43000000000,{error},,0xa9059cbb00,{created},4251955,21000,12,0xa9059cbb,\"transfer(address to, uint256 value)\",50,received,{ACCOUNT}"
    )
}

fn token_row(last: u8, value: &str, account: &str) -> String {
    let hash = hash(last);
    format!(
        "0,3798856,1496244062,{hash},24,0xc6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6,{OTHER},0xc66ea802717bfb9833400264dd12c2bceaa34a6d,{ACCOUNT},{value},\"Name, Inc\",MKR,18,26,90000,43000000000,51000,4251955,deprecated,12,1,received,{account}"
    )
}

#[test]
fn a_transaction_row_states_value_status_gas_and_method() {
    let row = transaction_row(1, ACCOUNT, "50000000000000000000", "0", "");
    let (report, batch) = read_one("export.csv", &[HEADER, &row]);
    let facts = &batch.transactions[0];
    let address = |text| Address::parse(Chain::ETHEREUM, text).unwrap();
    assert_eq!(facts.hash, TxHash::parse(Chain::ETHEREUM.family(), &hash(1)).unwrap());
    assert_eq!((facts.block, facts.time.unwrap().secs(), facts.index), (3_798_856, 1_496_244_062, Some(26)));
    let value = Amount::parse_raw("50000000000000000000").unwrap();
    assert_eq!(facts.body, Some(Body { from: Some(address(OTHER)), to: Some(address(ACCOUNT)), value }));
    assert_eq!((facts.status, facts.created), (Some(Status::Success), None));
    assert_eq!((facts.gas_used, facts.gas_price), (Some(21_000), Some(Amount::from(43_000_000_000))));
    assert_eq!((facts.method_id, facts.method.as_deref()), (Some([0xa9, 5, 0x9c, 0xbb]), Some("transfer")));
    assert_eq!(facts.input.as_ref().map(Vec::len), Some(5));
    assert_eq!(report.files[0].chain, "ethereum");
    assert!(report.files[0].warnings[0].contains("--chain"), "an assumed chain is said aloud");
}

#[test]
fn failure_creation_and_allocation_are_told_apart() {
    let failed = transaction_row(1, ACCOUNT, "5", "1", "");
    let creation = transaction_row(2, "", "0", "0", "0xc66ea802717bfb9833400264dd12c2bceaa34a6d");
    let genesis =
        format!("0,0,1438269973,GENESIS_{ACCOUNT},,,,GENESIS,{ACCOUNT},7,0,0,0,,,,0,0,1,,,0,received,{ACCOUNT}");
    let (_, batch) = read_one("export.csv", &[HEADER, &failed, &creation, &genesis]);
    let [failed, creation, genesis] = &batch.transactions[..] else { panic!("three transactions") };
    assert_eq!(failed.status, Some(Status::Failed));
    assert_eq!(creation.body.unwrap().to, None);
    assert_eq!(creation.created.unwrap().to_string(), "0xc66ea802717bfb9833400264dd12c2bceaa34a6d");
    assert_eq!(genesis.hash, TxHash::genesis(&Address::parse(Chain::ETHEREUM, ACCOUNT).unwrap()));
    assert_eq!((genesis.body.unwrap().from, genesis.gas_used, genesis.gas_price), (None, None, None));
}

#[test]
fn an_account_without_transactions_is_complete_and_empty() {
    let empty = format!("0{}{ACCOUNT}", ",".repeat(23));
    let (report, batch) = read_one("export.csv", &[HEADER, &empty]);
    assert_eq!((report.rows, report.skipped, batch.transactions.len()), (1, 0, 0));
    let account = Address::parse(Chain::ETHEREUM, ACCOUNT).unwrap();
    assert!(batch.claims.contains(&Claim::Account { address: account, table: CoverageTable::Transactions }));
}

#[test]
fn equal_token_rows_stay_apart_within_and_between_exports() {
    let one = token_row(1, "5", ACCOUNT);
    let two = token_row(1, "5", OTHER);
    let (_, batch) = read_one("export.csv", &[TOKEN_HEADER, &one, &one, &two]);
    let counts: Vec<_> = batch.transactions.iter().map(|facts| facts.movements.len()).collect();
    assert_eq!(counts, [2, 1], "one set of facts per export, with as many movements as rows");
    assert_eq!(batch.transactions[0].movements[0].ordinal, Ordinal::Unindexed(0));
    assert_eq!(batch.tokens.len(), 1);
    assert_eq!(batch.tokens[0].name.as_deref(), Some("Name, Inc"));
    assert_eq!(batch.claims, [], "a collection of exports may be a selection");
}

#[test]
fn a_commit_never_parts_the_rows_of_one_export() {
    let next = token_row(2, "5", OTHER).replace("3798856", "3798857");
    let rows = [token_row(1, "5", ACCOUNT), token_row(1, "5", ACCOUNT), next];
    let text = format!("{TOKEN_HEADER}\n{}\n", rows.join("\n"));
    let small = Options { batch_movements: 1, ..Options::default() };
    let (report, batches) = read(&[("export.csv", text.clone())], &small);
    assert_eq!(report.unwrap().commits, 2);
    assert_eq!(batches[0].transactions[0].movements.len(), 2);
    let again = format!("{text}{}\n", token_row(1, "5", ACCOUNT));
    let error = read(&[("export.csv", again)], &small).0.unwrap_err().to_string();
    assert!(error.contains("line 5") && error.contains("blockNumber"), "{error}");
}

#[test]
fn an_error_names_file_line_column_value_and_what_was_expected() {
    for (value, expected) in
        [("-1", "256 bits"), ("NaN", "256 bits"), ("1.5", "256 bits"), (&"9".repeat(79), "256 bits")]
    {
        let rows = format!(
            "{HEADER}\n{}\n{}",
            transaction_row(1, ACCOUNT, "1", "0", ""),
            transaction_row(2, ACCOUNT, value, "0", "")
        );
        let (report, batches) = read(&[("export.csv", rows.clone())], &Options::default());
        let error = report.unwrap_err().to_string();
        for part in ["export.csv", "line 3", "\"value\"", &value[..2], expected] {
            assert!(error.contains(part), "{error} lacks {part}");
        }
        assert_eq!(batches, [], "nothing of the failing batch is committed");
        let skip = Options { on_error: OnError::Skip, ..Options::default() };
        let (report, batches) = read(&[("export.csv", rows)], &skip);
        let report = report.unwrap();
        assert_eq!((report.rows, report.skipped, batches[0].transactions.len()), (2, 1, 1));
        assert!(report.files[0].skipped_reasons[0].contains("line 3"));
        assert_eq!(batches[0].claims, [], "an export of which a row was left out is not complete");
    }
}

proptest! {
    #[test]
    fn every_amount_and_time_is_read_as_written(rows in prop::collection::vec((any::<u128>(), 0_u64..1 << 40, 0_i64..1 << 38), 1..40)) {
        let lines: Vec<String> = rows.iter().zip(0_u8..).map(|((value, block, secs), last)| {
            let hash = hash(last);
            format!("{last},{block},{secs},{hash},1,,,{OTHER},{ACCOUNT},{value},1,2,0,,0x,,,3,,0x,,,,{ACCOUNT}")
        }).collect();
        let (report, mut batches) = read(&[("e.csv", format!("{HEADER}\r\n{}\r\n", lines.join("\r\n")))], &Options::default());
        prop_assert_eq!(report.unwrap().rows, rows.len() as u64);
        let read: Vec<_> = batches.remove(0).transactions.iter().map(|facts| {
            (facts.body.unwrap().value.to_u128().unwrap(), facts.block, facts.time.unwrap().secs())
        }).collect();
        prop_assert_eq!(read, rows);
    }
}

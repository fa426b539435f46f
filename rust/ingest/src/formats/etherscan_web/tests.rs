use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::{Ordinal, Status};
use headwater_ledger::store::Writer;
use headwater_types::{Amount, Asset, Family, TxHash};

use super::*;
use crate::{ChainSource, FileReport, Gathered, IngestReport, OnError, Options, Silent, SnapshotOptions, ingest_into};

const OWN: &str = "0xfcd6ead947919522be8a36b92968e1a354f31e9f";
const OTHER: &str = "0xe33355337e09887d4cccd058f9f678e2c1e6bde6";
const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const TIMES: &str = "UnixTimestamp,DateTime (UTC)";

type Outcome = (Result<IngestReport, IngestError>, Vec<Batch>);

fn read_with(files: &[(&str, String)], options: &Options) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn read(name: &str, content: &str) -> (FileReport, Vec<TransactionFacts>) {
    let (report, batches) = read_with(&[(name, content.to_owned())], &Options::default());
    let report = report.unwrap_or_else(|error| panic!("{content}: {error}"));
    let facts = batches.into_iter().flat_map(|batch| batch.transactions).collect();
    (report.files.into_iter().next().unwrap(), facts)
}

fn error(name: &str, content: &str, options: &Options) -> String {
    read_with(&[(name, content.to_owned())], options).0.unwrap_err().to_string()
}

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn address(text: &str) -> Option<Address> {
    Address::parse(Chain::ETHEREUM, text).ok()
}

fn ether(text: &str) -> Amount {
    Amount::parse_decimal(text, 18).unwrap()
}

fn normal(coin: &str) -> String {
    format!(
        "Txhash,Blockno,{TIMES},From,To,ContractAddress,Value_IN({coin}),Value_OUT({coin}),CurrentValue @ $1/{coin},TxnFee({coin}),TxnFee(USD),Historical $Price/{coin},Status,ErrCode,Method"
    )
}

/// From, to, created contract, in, out, fee, status, error, method.
fn row(last: u8, [from, to, created, value_in, value_out, fee, status, error, method]: [&str; 9]) -> String {
    let hash = hash(last);
    format!(
        "{hash},17000001,1680911891,2023-04-07 23:58:11,{from},{to},{created},\"{value_in}\",\"{value_out}\",1,{fee},1,1,{status},{error},{method}"
    )
}

fn export(coin: &str, rows: &[String]) -> String {
    format!("{}\n{}\n", normal(coin), rows.join("\n"))
}

const NAME: &str = "export-0xfcd6ead947919522be8a36b92968e1a354f31e9f.csv";

#[test]
fn transaction_value_is_that_of_its_direction() {
    let rows = [
        row(1, [OTHER, OWN, "", "1.5", "0", "0.00042", "", "", "Transfer"]),
        row(2, [OWN, OTHER, "", "0", "1,200.25", "0.00042", "", "", "0xa9059cbb"]),
        row(3, [OWN, OWN, "", "0.7 ETH", "0.7 ETH", "0.00013", "", "", ""]),
        row(4, [OWN, "", USDT, "0", "0", "0.1", "", "", "0x60806040"]),
    ];
    let (report, facts) = read(NAME, &export("ETH", &rows));
    assert_eq!((report.format.as_str(), report.chain.as_str(), report.rows), ("etherscan-web", "ethereum", 4));
    assert_eq!(report.chain_source, ChainSource::Assumed);
    let body = |from, to, value| Some(Body { from: address(from), to: address(to), value: ether(value) });
    assert_eq!(facts[0].body, body(OTHER, OWN, "1.5"));
    assert_eq!(facts[1].body, body(OWN, OTHER, "1200.25"));
    assert_eq!(facts[2].body, body(OWN, OWN, "0.7"));
    assert_eq!((facts[3].body, facts[3].created), (body(OWN, "", "0"), address(USDT)));
    assert_eq!((facts[0].block, facts[0].time.unwrap().secs()), (17_000_001, 1_680_911_891));
    assert_eq!((facts[0].fee, facts[0].status), (Some(ether("0.00042")), Some(Status::Success)));
    assert_eq!((facts[0].method.as_deref(), facts[1].method_id), (Some("Transfer"), Some([0xa9, 0x05, 0x9c, 0xbb])));
}

#[test]
fn status_of_a_failed_call_inside_is_success() {
    let status = |status, error| {
        let rows = [row(1, [OWN, OTHER, "", "0", "0.7", "0.1", status, error, ""])];
        let facts = read(NAME, &export("ETH", &rows)).1.remove(0);
        (facts.status.unwrap(), facts.failure_reason)
    };
    let failed = |reason: &str| (Status::Failed, Some(reason.to_owned()));
    assert_eq!(status("Error(0)", "execution reverted"), failed("execution reverted"));
    assert_eq!(status("Error in Txn", "Out of gas"), failed("Out of gas"));
    assert_eq!(status("", "Reverted"), failed("Reverted"));
    assert_eq!(status("Fail", ""), (Status::Failed, None));
    for (word, reason) in [("", ""), ("Success", ""), ("Error(1)", "execution reverted"), ("", "0")] {
        assert_eq!(status(word, reason), (Status::Success, None), "{word} {reason}");
    }
    let odd = export("ETH", &[row(1, [OWN, OTHER, "", "0", "0.7", "0.1", "Perhaps", "", ""])]);
    assert!(error(NAME, &odd, &Options::default()).contains("\"Perhaps\""));
}

#[test]
fn headers_of_all_years_are_known() {
    let rows = [row(1, [OTHER, OWN, "", "1.5", "0", "0.00042", "", "", "Transfer"])];
    let plain = export("ETH", &rows);
    let expected = read(NAME, &plain).1;
    for text in [
        format!("\u{feff}{plain}"),
        plain.replace("Txhash", "Transaction Hash").replace("/ETH", "/Eth"),
        plain.replace("DateTime (UTC)", "DateTime"),
        plain.replace("Value_IN(ETH)", "Value_IN(ETH").replace("From,To", "from,TO"),
        plain.replace("Txhash,Blockno,Unix", "\"Txhash\" , \"Blockno\",Unix"),
        plain.replace('\n', "\r\n"),
        plain.replace(",Method\n", ",Method,PrivateNote\n").replace(",Transfer\n", ",Transfer,a note\n"),
        // Rows that end with a field which the header does not name.
        plain.replace(",Transfer\n", ",Transfer,\n"),
    ] {
        assert_eq!(read(NAME, &text).1, expected, "{text}");
    }
    let old = plain.replace(",Method\n", "\n").replace(",Transfer\n", "\n");
    assert_eq!(read(NAME, &old).1[0].body, expected[0].body);
}

#[test]
fn chain_is_that_of_the_coin_in_the_header() {
    let rows = [row(1, [OTHER, OWN, "", "1.5", "0", "0.00042", "", "", ""])];
    let (report, _) = read(NAME, &export("BNB", &rows));
    assert_eq!((report.chain.as_str(), report.chain_source), ("bsc", ChainSource::Detected));
    let as_chain = |chain| Options { chain: Some(chain), ..Options::default() };
    let refused = error(NAME, &export("MATIC", &rows), &Options::default());
    assert!(refused.contains("coin is MATIC (polygon)") && refused.contains("ethereum"), "{refused}");
    let refused = error(NAME, &export("BNB", &rows), &as_chain(Chain::ETHEREUM));
    assert!(refused.contains("coin is BNB (bsc)"), "{refused}");
    assert!(error(NAME, &export("ETH", &rows), &as_chain(Chain::BSC)).contains("coin is ETH (ethereum)"));
}

#[test]
fn amounts_that_are_none_are_errors_of_their_row() {
    for value in ["1,5", "1.5 MATIC", "é", "日本語", "-1", "0.0000000000000000001", "1.5.5"] {
        let rows = [row(1, [OTHER, OWN, "", value, "0", "", "", "", ""])];
        let text = error(NAME, &export("ETH", &rows), &Options::default());
        assert!(text.contains("line 2") && text.contains("Value_IN(ETH)") && text.contains(value), "{text}");
    }
    let both = [row(1, [OTHER, OWN, "", "1", "2", "", "", "", ""])];
    assert!(error(NAME, &export("ETH", &both), &Options::default()).contains("Value_OUT(ETH)"));
    let fields = [row(1, ["é", OWN, "", "1", "0", "", "", "", "é"])];
    assert!(error(NAME, &export("ETH", &fields), &Options::default()).contains("From"));
}

#[test]
fn allocations_have_no_sender_and_no_fee() {
    let genesis = row(1, ["GENESIS", OWN, "", "7", "0", "0", "", "", ""]).replace(&hash(1), &format!("GENESIS_{OWN}"));
    let (_, facts) = read(NAME, &export("ETH", &[genesis]));
    assert_eq!(facts[0].hash, TxHash::genesis(&address(OWN).unwrap()));
    assert_eq!((facts[0].body.unwrap().from, facts[0].fee), (None, None));
}

const INTERNAL: &str = "Txhash,Blockno,UnixTimestamp,DateTime,ParentTxFrom,ParentTxTo,ParentTxETH_Value,From,TxTo,ContractAddress,Value_IN(ETH),Value_OUT(ETH),CurrentValue @ $1/Eth,Historical $Price/Eth,Status,ErrCode,Type";

fn internal_row(last: u8, block: u64, value: &str, status: &str, kind: &str) -> String {
    let hash = hash(last);
    format!(
        "{hash},{block},1680911939,2023-04-07 23:58:59,{OWN},{OTHER},0,{OTHER},{OWN},,{value},0,1,1,{status},,{kind}"
    )
}

#[test]
fn internal_rows_are_unindexed_movements_of_their_parent() {
    let rows = [
        internal_row(1, 5, "0.25", "0", "call"),
        internal_row(1, 5, "0.25", "0", "call"),
        internal_row(1, 5, "0.5", "1", "call"),
        internal_row(2, 4, "0.125", "0", "delegatecall"),
        internal_row(2, 4, "0", "0", "call"),
        internal_row(3, 3, "1", "", "suicide"),
    ];
    let (report, facts) = read(NAME, &format!("{INTERNAL}\n{}\n", rows.join("\n")));
    assert_eq!(facts.iter().map(|facts| facts.movements.len()).collect::<Vec<_>>(), [2, 1]);
    let movement = Movement {
        kind: MovementFact::Internal,
        ordinal: Ordinal::Unindexed(0),
        from: address(OTHER),
        to: address(OWN),
        asset: Asset::Native,
        amount: ether("0.25"),
    };
    assert_eq!(facts[0].movements, [movement.clone(), movement]);
    assert_eq!((facts[0].body, facts[0].status, facts[0].block), (None, None, 5));
    assert_eq!(report.omitted.iter().map(|omitted| omitted.rows).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn internal_rows_take_the_indexed_row_of_equal_content() {
    let (_, facts) = read(NAME, &format!("{INTERNAL}\n{}\n", internal_row(1, 5, "0.25", "0", "call")));
    let mut traced = TransactionFacts::new(facts[0].hash, 5);
    traced.movements = vec![Movement { ordinal: Ordinal::Indexed(3), ..facts[0].movements[0].clone() }];
    let joined = facts[0].clone().join(traced.clone(), Chain::ETHEREUM).unwrap();
    assert_eq!(joined.movements, traced.movements);
}

#[test]
fn internal_rows_of_a_transaction_are_never_parted_by_a_commit() {
    let small = Options { batch_movements: 1, ..Options::default() };
    let file = |rows: &[String]| [(NAME, format!("{INTERNAL}\n{}\n", rows.join("\n")))];
    let sorted = [(1, 5), (1, 5), (2, 4)].map(|(last, block)| internal_row(last, block, "0.25", "0", "call"));
    let (report, batches) = read_with(&file(&sorted), &small);
    assert_eq!((report.unwrap().commits, batches[0].transactions[0].movements.len()), (2, 2));
    let unsorted = [(1, 5), (2, 4), (1, 5)].map(|(last, block)| internal_row(last, block, "0.25", "0", "call"));
    let text = read_with(&file(&unsorted), &small).0.unwrap_err().to_string();
    assert!(text.contains("Blockno") && text.contains("sort"), "{text}");
    assert_eq!(read(NAME, &file(&unsorted)[0].1).1[0].movements.len(), 2, "without a commit between them");
}

const TOKENS: &str = "Transaction Hash,Blockno,UnixTimestamp,DateTime (UTC),From,To,TokenValue,USDValueDayOfTx,ContractAddress,TokenName,TokenSymbol";

fn token_row(last: u8, amount: &str, contract: &str) -> String {
    let hash = hash(last);
    format!("{hash},5,1680911939,2023-04-07 23:58:59,{OTHER},{OWN},\"{amount}\",$1,{contract},Tether USD,USDT")
}

fn snapshot(contract: &str, decimals: u8) -> Options {
    let snapshot =
        SnapshotOptions { contract: Some(contract.to_owned()), decimals: Some(decimals), ..SnapshotOptions::default() };
    Options { snapshot, ..Options::default() }
}

#[test]
fn tokens_of_unknown_decimals_are_refused_with_a_remedy() {
    let text = error(NAME, &format!("{TOKENS}\n{}\n", token_row(1, "1,000.5", USDT)), &Options::default());
    for part in [NAME, "needs --decimals", "headwater tokens import", "--contract", "API"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
}

#[test]
fn tokens_take_the_decimals_that_are_given() {
    let rows = [token_row(1, "1,000.5", USDT), token_row(1, "1,000.5", USDT), token_row(2, "3", OTHER)];
    let file = [(NAME, format!("{TOKENS}\n{}\n", rows.join("\n")))];
    let (report, batches) = read_with(&file, &snapshot(USDT, 6));
    let report = report.unwrap();
    let movements = &batches[0].transactions[0].movements;
    assert_eq!(movements.iter().map(|moved| moved.amount).collect::<Vec<_>>(), [Amount::from(1_000_500_000); 2]);
    assert_eq!(
        (movements[0].asset, movements[0].ordinal),
        (Asset::Token(address(USDT).unwrap()), Ordinal::Unindexed(0))
    );
    assert_eq!((batches[0].transactions.len(), report.files[0].omitted[0].rows), (1, 1));
    assert!(report.files[0].warnings.iter().any(|warning| warning.starts_with("1 transfers of tokens")));
    assert_eq!((batches[0].tokens[0].symbol.as_deref(), batches[0].tokens[0].decimals), (Some("USDT"), Some(6)));
    let precise = [(NAME, format!("{TOKENS}\n{}\n", token_row(1, "0.0000001", USDT)))];
    assert!(read_with(&precise, &snapshot(USDT, 6)).0.unwrap_err().to_string().contains("at most 6 decimals"));
}

#[test]
fn tokens_take_the_decimals_of_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(NAME);
    std::fs::write(&file, format!("{TOKENS}\n{}\n", token_row(1, "1,000.5", USDT))).unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    let listing = TokenListing {
        chain: Chain::ETHEREUM,
        contract: address(USDT).unwrap(),
        symbol: "USDT".to_owned(),
        name: "Tether USD".to_owned(),
        decimals: 6,
        verified: true,
        coingecko_id: None,
    };
    writer.import_tokens("test", vec![listing]).unwrap();
    crate::ingest(&[file], &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let ledger = writer.snapshot();
    let id = TxHash::parse(Family::Evm, &hash(1)).unwrap();
    let held = headwater_ledger::read::Transactions::find_transaction(&*ledger, Chain::ETHEREUM, &id).unwrap().unwrap();
    let facts = headwater_ledger::read::Transactions::transaction(&*ledger, held).unwrap().facts;
    assert_eq!(facts.movements[0].amount, Amount::from(1_000_500_000));
}

#[test]
fn tokens_of_the_page_of_one_token_are_those_of_its_file() {
    let hash = hash(1);
    let text = format!(
        "Transaction Hash,Blockno,UnixTimestamp,DateTime (UTC),From,To,Quantity,Method\n{hash},5,1765280111,2025-12-09 11:35:11,{OTHER},{OWN},10.013614,Transfer\n"
    );
    let given =
        Options { snapshot: SnapshotOptions { decimals: Some(6), ..SnapshotOptions::default() }, ..Options::default() };
    let name = format!("export-token-{USDT}.csv");
    let (report, batches) = read_with(&[(name.as_str(), text.clone())], &given);
    report.unwrap();
    assert_eq!(batches[0].transactions[0].movements[0].amount, Amount::from(10_013_614));
    assert!(error("export.csv", &text, &given).contains("--contract"));
}

#[test]
fn non_fungible_transfers_are_counted_and_move_no_amount() {
    let (one, two) = (hash(1), hash(2));
    let text = format!(
        "Txhash,Blockno,{TIMES},From,To,ContractAddress,TokenName,TokenSymbol,Token ID,Type,Quantity\n\
         {one},5,1751577601,2025-07-03 21:20:01,{OTHER},{OWN},{USDT},ERC-721 TOKEN*,ERC-721 TOKEN*,7,721,1\n\
         {two},6,1754251467,2025-08-03 20:04:27,{OTHER},{OWN},{USDT},1,,333,1155,2\n"
    );
    let (report, facts) = read(NAME, &text);
    assert_eq!(report.non_fungible, 2);
    let movements: Vec<_> = facts.iter().map(|facts| (facts.movements[0].kind, facts.movements[0].amount)).collect();
    assert_eq!(movements, [(MovementFact::NonFungible, Amount::from(7)), (MovementFact::NonFungible, Amount::from(2))]);
    let old = format!(
        "Txhash,Blockno,UnixTimestamp,DateTime,From,To,ContractAddress,TokenId,TokenName,TokenSymbol\n{one},5,1751577601,x,{OTHER},{OWN},{USDT},7,A,B\n"
    );
    assert_eq!(read(NAME, &old).1[0].movements[0].amount, Amount::from(7));
}

fn withdrawals(rows: &[(u64, u64, &str)]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|(index, block, value)| format!("{index},{block},1681338455,2023-04-12 22:27:35,4321,{OWN},{value}"))
        .collect();
    format!("Index,Blockno,{TIMES},Validator Index,Recipient,Value\n{}\n", rows.join("\n"))
}

#[test]
fn withdrawals_of_a_block_and_account_are_one_sum() {
    let rows = [(1, 7, "0.017"), (2, 7, "0.003 ETH"), (2, 7, "0.003"), (3, 8, "1")];
    let (report, facts) = read(NAME, &withdrawals(&rows));
    let own = address(OWN).unwrap();
    assert_eq!(facts.len(), 2);
    assert_eq!((facts[0].hash, facts[0].block), (TxHash::withdrawal(7, &own), 7));
    assert_eq!(facts[0].body, Some(Body { from: None, to: Some(own), value: ether("0.02") }));
    assert_eq!((facts[0].status, facts[0].time.unwrap().secs()), (Some(Status::Success), 1_681_338_455));
    assert_eq!((report.omitted[0].rows, report.warnings.len()), (1, 1), "{:?}", report.warnings);
    let (report, _) = read("validator.csv", &withdrawals(&rows));
    assert!(report.warnings.iter().any(|warning| warning.contains("of one validator")), "{:?}", report.warnings);
}

#[test]
fn withdrawals_equal_those_that_blocks_state() {
    let (_, exported) = read(NAME, &withdrawals(&[(1, 7, "0.017"), (2, 7, "0.003")]));
    let block = format!(
        r#"{{"type":"block","number":7,"hash":null,"parent_hash":null,"timestamp":1681338455,"gas_limit":1,"withdrawals":[{{"index":1,"validator_index":4321,"address":"{OWN}","amount":17000000}},{{"index":2,"validator_index":1,"address":"{OWN}","amount":3000000}}]}}"#
    );
    let (_, stated) = read("blocks.json", &format!("{block}\n"));
    assert_eq!(exported, stated);
}

#[test]
fn exports_of_as_many_rows_as_the_page_gives_were_cut() {
    let rows: Vec<_> = (0..5_000).map(|number| (number, 7 + number / 1_000, "1")).collect();
    let (report, facts) = read(NAME, &withdrawals(&rows));
    assert!(report.warnings.iter().any(|warning| warning.contains("5000 rows") && warning.contains("cut")));
    assert_eq!(facts.iter().map(|facts| facts.block).collect::<Vec<_>>(), [8, 9, 10], "its ends may be incomplete");
    let (_, batches) = read_with(&[(NAME, withdrawals(&rows))], &Options::default());
    assert!(batches.iter().all(|batch| batch.claims.is_empty()), "a range of dates is no whole history");
}

const LISTED: &str =
    "Transaction Hash,Status,Method,Blockno,DateTime (UTC),From,From_Nametag,To,To_Nametag,Amount,Value (USD),Txn Fee";

#[test]
fn listed_transactions_have_exact_values_and_unknown_fees() {
    let [one, two, three] = [1, 2, 3].map(hash);
    let text = format!(
        "{LISTED}\n\"{one}\",\"Success\",\"Transfer\",\"7\",\"2026-02-19 09:50:35\",\"{OTHER}\",\"Paxos 4\",\"{OWN}\",\"\",\"0.040466708 BNB\",\"$31.09\",\"0.00000105\"\n\
         \"{two}\",\"Fail\",\"0xa9059cbb\",\"6\",\"2026-02-19 09:50:35\",\"{OWN}\",\"\",\"{OTHER}\",\"\",\"12 wei\",\"-\",\"0.00000105\"\n\
         \"{three}\",\"Success\",\"0x60a03461\",\"5\",\"2026-02-19 09:50:35\",\"{OWN}\",\"\",\"{USDT}\",\"\",\"0 BNB\",\"$0.00\",\"0.00004545\"\n"
    );
    let (report, facts) = read("export-transaction-list-1777384911253.csv", &text);
    assert_eq!((report.chain.as_str(), facts.len(), report.omitted[0].rows), ("bsc", 2, 1));
    assert_eq!((facts[0].body.unwrap().value, facts[0].fee), (ether("0.040466708"), None));
    assert_eq!((facts[0].time.unwrap().secs(), facts[0].status), (1_771_494_635, Some(Status::Success)));
    assert_eq!((facts[1].body.unwrap().value, facts[1].status), (Amount::from(12), Some(Status::Failed)));
    assert!(report.warnings.iter().any(|warning| warning.contains("rounds fees")));
}

#[test]
fn listed_internal_transactions_are_movements() {
    let hash = hash(1);
    let text = format!(
        "Parent Transaction Hash,Status,Type,Blockno,DateTime (UTC),From,From_Nametag,To,To_Nametag,Amount,Value (USD)\n{hash},Success,call,7,2026-02-19 09:50:35,{OTHER},,{OWN},,\"1,000.5 ETH\",$1\n"
    );
    let (report, facts) = read("export-internal-list.csv", &text);
    assert_eq!((report.chain.as_str(), facts[0].movements[0].amount), ("ethereum", ether("1000.5")));
}

#[test]
fn broken_rows_are_skipped_where_the_caller_says_so() {
    let rows =
        [row(1, [OTHER, OWN, "", "1,5", "0", "", "", "", ""]), row(2, [OTHER, OWN, "", "1.5", "0", "", "", "", ""])];
    let skip = Options { on_error: OnError::Skip, ..Options::default() };
    let (report, batches) = read_with(&[(NAME, export("ETH", &rows))], &skip);
    assert_eq!((report.unwrap().skipped, batches[0].transactions.len()), (1, 1));
}

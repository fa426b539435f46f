//! Rules that hold whatever the format: the same facts written as each format writes them, and one expectation.

use headwater_ingest::{Gathered, IngestReport, OnError, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_ledger::store::Writer;
use headwater_types::{Address, Amount, Chain, TxHash};
use sha3::{Digest, Keccak256};

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const TOKEN: &str = "0x00000000000000000000000000000000000000cc";
const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
/// Contracts of TRON without the first byte of their addresses.
const WTRX: &str = "0x891cdb91d149f23b1a45d9c5ca78a88d0cb44c18";
const USDT_ON_TRON: &str = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c";

fn hash(byte: u8) -> String {
    format!("0x{}", hex::encode([byte; 32]))
}

fn word(address: &str) -> String {
    format!("0x{:0>64}", address.trim_start_matches("0x"))
}

/// A file by its name.
type File = (&'static str, String);

/// The block that is canonical, with its time.
fn block(number: u64, of: u8) -> File {
    let (of, parent) = (hash(of), hash(250));
    ("blocks.csv", format!("number,hash,parent_hash,timestamp,gas_limit\n{number},{of},{parent},1700000000,5000\n"))
}

/// A log of a contract: its topics and data in hex.
struct Event {
    contract: &'static str,
    topics: Vec<String>,
    data: String,
}

impl Event {
    /// An event with its arguments, of which so many are topics.
    fn new(contract: &'static str, signature: &str, arguments: &[String], indexed: usize) -> Self {
        let topic = format!("0x{}", hex::encode(Keccak256::digest(signature)));
        let (topics, data) = arguments.split_at(indexed);
        let data: String = data.iter().map(|word| &word[2..]).collect();
        Self { contract, topics: [&[topic][..], topics].concat(), data: format!("0x{data}") }
    }
}

fn number(number: u64) -> String {
    format!("0x{number:064x}")
}

/// A log of a transaction in a block, as each format writes it.
fn log_files(event: &Event, transaction: u8, number: u64, of: u8) -> Vec<File> {
    let Event { contract, topics, data } = event;
    let (tx, of) = (hash(transaction), hash(of));
    let json_topics = format!("{topics:?}").replace(", ", ",");
    let listed = topics.join(",");
    let columns: Vec<_> = (0..4).map(|place| topics.get(place).map_or("", String::as_str)).collect();
    let (first, columns) = (&topics[0], columns.join(","));
    let node = format!(
        r#"{{"address":"{contract}","topics":{json_topics},"data":"{data}","blockNumber":"0x{number:x}","transactionHash":"{tx}","transactionIndex":"0x0","blockHash":"{of}","logIndex":"0x3","removed":false}}"#
    );
    vec![
        (
            "logs.csv",
            format!(
                "log_index,transaction_hash,transaction_index,block_hash,block_number,address,data,topics\n3,{tx},0,{of},{number},{contract},{data},\"{listed}\"\n"
            ),
        ),
        (
            "logs.json",
            format!(
                r#"{{"type":"log","log_index":3,"transaction_hash":"{tx}","transaction_index":0,"block_hash":"{of}","block_number":{number},"address":"{contract}","data":"{data}","topics":{json_topics},"item_id":"x"}}"#
            ),
        ),
        (
            "ethereum__logs__0_to_99999999.csv",
            format!(
                "block_number,block_hash,transaction_index,log_index,transaction_hash,address,topic0,topic1,topic2,topic3,data,chain_id\n{number},{of},0,3,{tx},{contract},{columns},{data},1\n"
            ),
        ),
        ("logs_of_a_node.json", format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{node}]}}"#)),
        (
            "receipts_of_a_node.json",
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":[{{"transactionHash":"{tx}","transactionIndex":"0x0","blockHash":"{of}","blockNumber":"0x{number:x}","status":"0x1","gasUsed":"0x1","effectiveGasPrice":"0x1","logs":[{node}]}}]}}"#
            ),
        ),
        (
            "bigquery.json",
            format!(
                r#"{{"log_index":"3","transaction_hash":"{tx}","transaction_index":"0","block_hash":"{of}","block_number":"{number}","block_timestamp":"2023-11-14 22:13:20 UTC","address":"{contract}","data":"{data}","topics":{json_topics}}}"#
            ),
        ),
        (
            "graphsense.json",
            format!(
                r#"{{"blockIdGroup":0,"blockId":{number},"topic0":"{first}","logIndex":3,"address":"{contract}","blockHash":"{of}","data":"{data}","topics":{json_topics},"transactionIndex":0,"txHash":"{tx}"}}"#
            ),
        ),
    ]
}

/// A log that moves 7 of the token, of a transaction in a block, as each format writes it.
fn logs(transaction: u8, block: u64, of: u8) -> Vec<File> {
    let event = Event::new(TOKEN, "Transfer(address,address,uint256)", &[word(A), word(B), number(7)], 2);
    let mut files = log_files(&event, transaction, block, of);
    let (tx, of) = (hash(transaction), hash(of));
    files.push((
        "goog_transfers.json",
        format!(
            r#"{{"block_hash":"{of}","block_number":"{block}","block_timestamp":"2023-11-14 22:13:20 UTC","transaction_hash":"{tx}","transaction_index":"0","event_index":"3","address":"{TOKEN}","from_address":"{A}","to_address":"{B}","quantity":"7","event_type":"ERC-20"}}"#
        ),
    ));
    files
}

/// A log of a transaction on TRON, as each format writes it.
fn tron_files(event: &Event) -> Vec<File> {
    let Event { contract, topics, data } = event;
    let (number, tx) = (60_000_000_u64, hash(1));
    let of = format!("0x{number:016x}{}", "0".repeat(48));
    let json_topics = format!("{topics:?}").replace(", ", ",");
    let node = format!(r#"{{"address":"{contract}","topics":{json_topics},"data":"{data}"}}"#).replace("0x", "");
    let info = format!(
        r#"{{"id":"{}","blockNumber":{number},"blockTimeStamp":1700000000000,"contractResult":[""],"receipt":{{"result":"SUCCESS"}},"log":[{node}]}}"#,
        &tx[2..]
    );
    vec![
        ("infos.json", format!("[{info}]")),
        ("info.json", info),
        (
            "graphsense.json",
            format!(
                r#"{{"blockIdGroup":0,"blockId":{number},"topic0":"{}","logIndex":0,"address":"{contract}","blockHash":"{of}","blockTimestamp":1700000000,"data":"{data}","topics":{json_topics},"transactionIndex":0,"txHash":"{tx}"}}"#,
                topics[0]
            ),
        ),
        (
            "goog_logs.json",
            format!(
                r#"{{"block_hash":"{of}","block_timestamp":"2023-11-14 22:13:20 UTC","transaction_hash":"{tx}","transaction_index":"0","log_index":"0","address":"{contract}","topics":{json_topics},"data":"{data}"}}"#
            ),
        ),
    ]
}

/// The outcome of a receipt, and its blobs.
#[derive(Clone, Copy)]
struct ReceiptRow {
    success: bool,
    /// Gas of blobs and its price, where the source tells them.
    blobs: Option<(u64, u64)>,
    kind: u8,
}

/// A transaction of 21,000 gas at 10 wei, with its receipt, as each format writes it.
fn receipts(number: u64, receipt: ReceiptRow) -> Vec<File> {
    let (tx, of, kind, success) = (hash(1), hash(9), receipt.kind, u8::from(receipt.success));
    let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let json = |number: Option<u64>| number.map_or("null".to_owned(), |number| number.to_string());
    let (gas, price) = (receipt.blobs.map(|blobs| blobs.0), receipt.blobs.map(|blobs| blobs.1));
    let node = receipt
        .blobs
        .map_or(String::new(), |(gas, price)| format!(r#","blobGasUsed":"0x{gas:x}","blobGasPrice":"0x{price:x}""#));
    let row = |time: &str| {
        format!(
            r#""hash":"{tx}","nonce":1,"transaction_index":0,"from_address":"{A}","to_address":"{B}","value":"0","gas":21000,"gas_price":10,"input":"0x","block_timestamp":{time},"block_number":{number},"block_hash":"{of}","transaction_type":{kind},"receipt_gas_used":21000,"receipt_effective_gas_price":10,"receipt_status":{success},"receipt_blob_gas_used":{},"receipt_blob_gas_price":{}"#,
            json(gas),
            json(price)
        )
    };
    let plain = format!(
        "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp,transaction_type\n{tx},1,{of},{number},0,{A},{B},0,21000,10,0x,1700000000,{kind}\n"
    );
    let mut files = vec![
        ("etl.json", format!(r#"{{"type":"transaction","item_id":"x",{}}}"#, row("1700000000"))),
        ("bigquery.json", format!("{{{}}}", row("\"2023-11-14 22:13:20 UTC\""))),
        (
            "graphsense.json",
            format!(
                r#"{{"txHash":"{tx}","nonce":1,"blockHash":"{of}","blockId":{number},"transactionIndex":0,"fromAddress":"{A}","toAddress":"{B}","value":0,"gas":21000,"gasPrice":10,"input":"0x","blockTimestamp":1700000000,"transactionType":{kind},"receiptGasUsed":21000,"receiptEffectiveGasPrice":10,"receiptStatus":{success}}}"#
            ),
        ),
        (
            "ethereum__transactions__0_to_99999999.csv",
            format!(
                "block_number,transaction_index,transaction_hash,nonce,from_address,to_address,value_string,input,gas_limit,gas_used,gas_price,transaction_type,success,timestamp,block_hash,chain_id\n{number},0,{tx},1,{A},{B},0,0x,21000,21000,10,{kind},{},1700000000,{of},1\n",
                receipt.success
            ),
        ),
        (
            "node.json",
            format!(
                r#"{{"number":"0x{number:x}","hash":"{of}","parentHash":"{}","timestamp":"0x6553f100","transactions":[{{"hash":"{tx}","transactionIndex":"0x0","from":"{A}","to":"{B}","value":"0x0","nonce":"0x1","gas":"0x5208","gasPrice":"0xa","input":"0x","type":"0x{kind:x}"}}]}}
{{"transactionHash":"{tx}","transactionIndex":"0x0","blockHash":"{of}","blockNumber":"0x{number:x}","status":"0x{success}","gasUsed":"0x5208","effectiveGasPrice":"0xa","logs":[],"type":"0x{kind:x}"{node}}}
"#,
                hash(250)
            ),
        ),
    ];
    // A table of transactions beside one of receipts, which does not tell the type.
    files.push((
        "receipts.csv",
        format!(
            "transaction_hash,transaction_index,block_hash,block_number,cumulative_gas_used,gas_used,contract_address,root,status,effective_gas_price,blob_gas_used,blob_gas_price\n{tx},0,{of},{number},21000,21000,,,{success},10,{},{}\n",
            text(gas),
            text(price)
        ),
    ));
    files.push(("transactions.csv", plain));
    files
}

/// Whether a format tells the gas of blobs at all.
fn tells_blobs(name: &str) -> bool {
    !name.starts_with("graphsense") && !name.starts_with("ethereum__")
}

fn read(files: &[&File], options: &Options) -> (IngestReport, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report.unwrap_or_else(|error| panic!("{}: {error}", files[0].0)), target.batches)
}

/// The joined facts of the one transaction.
fn facts(batches: &[Batch]) -> TransactionFacts {
    let chain = batches[0].chain;
    let all = batches.iter().flat_map(|batch| &batch.transactions).cloned();
    let whole = all.reduce(|one, other| one.join(other, chain).unwrap()).unwrap();
    whole.canonical(chain).unwrap()
}

/// Sender, receiver and amount of the one movement; `None` for a party that is not known.
fn moved(files: &[&File]) -> (Option<Address>, Option<Address>, u128) {
    let (_, batches) = read(files, &Options::default());
    let facts = facts(&batches);
    let [movement] = &facts.movements[..] else { panic!("{}: {:?}", files[0].0, facts.movements) };
    assert_eq!(facts.status, Some(Status::Success), "{}", files[0].0);
    (movement.from, movement.to, movement.amount.to_u128().unwrap())
}

fn evm(text: &str) -> Option<Address> {
    Address::parse(Chain::ETHEREUM, text).ok()
}

/// The account with the same 20 bytes on TRON.
fn tron(text: &str) -> Option<Address> {
    match evm(text) {
        Some(Address::Evm(bytes)) => Some(Address::Tron(bytes)),
        _ => None,
    }
}

/// A transaction of `A` that calls a contract.
fn call_of(to: &str) -> File {
    let (tx, of) = (hash(1), hash(9));
    let head = "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp,transaction_type";
    ("transactions.csv", format!("{head}\n{tx},1,{of},5,0,{A},{to},0,21000,10,0x,1700000000,2\n"))
}

#[test]
fn rows_of_orphaned_blocks_are_omitted() {
    for file in logs(1, 5, 66) {
        let (report, batches) = read(&[&block(5, 9), &file], &Options::default());
        assert_eq!(batches.iter().map(|batch| batch.transactions.len()).sum::<usize>(), 0, "{}", file.0);
        let omitted: Vec<_> = report.files.iter().flat_map(|file| &file.omitted).collect();
        assert_eq!((omitted.len(), omitted[0].rows), (1, 1), "{}", file.0);
    }
}

#[test]
fn rows_of_the_known_block_count() {
    for file in logs(1, 5, 9) {
        let (report, batches) = read(&[&block(5, 9), &file], &Options::default());
        let facts = facts(&batches);
        assert_eq!((facts.movements.len(), facts.status), (1, Some(Status::Success)), "{}", file.0);
        assert!(report.files.iter().all(|file| file.omitted.is_empty()));
    }
}

#[test]
fn success_before_byzantium_is_unknown() {
    for (number, success, expected) in
        [(4_369_999, true, None), (4_370_000, true, Some(Status::Success)), (4_369_999, false, Some(Status::Failed))]
    {
        let mut files = receipts(number, ReceiptRow { success, blobs: None, kind: 0 });
        let transactions = files.pop().unwrap();
        for file in files {
            let (_, batches) = read(&[&file, &transactions], &Options::default());
            assert_eq!(facts(&batches).status, expected, "{} {number}", file.0);
        }
    }
}

#[test]
fn fee_holds_the_blob_part_or_is_unknown() {
    let fee = |file: &File, transactions: &File| {
        let (_, batches) = read(&[file, transactions], &Options::default());
        let facts = facts(&batches);
        (facts.carries_blobs, headwater_ledger::segment::fee_of(&facts))
    };
    for (receipt, expected, otherwise) in [
        (ReceiptRow { success: true, blobs: None, kind: 2 }, Some(210_000), Some(210_000)),
        (ReceiptRow { success: true, blobs: Some((131_072, 3)), kind: 3 }, Some(603_216), None),
        (ReceiptRow { success: true, blobs: None, kind: 3 }, None, None),
    ] {
        let mut files = receipts(20_000_000, receipt);
        let transactions = files.pop().unwrap();
        for file in files {
            let expected = if tells_blobs(file.0) { expected } else { otherwise };
            let expected = (receipt.kind == 3, expected.map(|fee: u64| Amount::from(fee)));
            assert_eq!(fee(&file, &transactions), expected, "{}", file.0);
        }
    }
}

#[test]
fn transaction_in_two_blocks_is_a_conflict_that_may_be_skipped() {
    for (one, other) in logs(1, 5, 9).into_iter().zip(logs(1, 6, 8)) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join("files").join(name);
        std::fs::create_dir(folder.path().join("files")).unwrap();
        let (first, second) = (block(5, 9).1, block(6, 8).1);
        let blocks = format!("{first}{}\n", second.lines().nth(1).unwrap());
        std::fs::write(path("blocks.csv"), blocks).unwrap();
        std::fs::write(path(&format!("a__{}", one.0).replace("a__ethereum__", "ethereum__")), &one.1).unwrap();
        std::fs::create_dir(path("later")).unwrap();
        std::fs::write(path("later").join(other.0), &other.1).unwrap();
        for on_error in [OnError::Stop, OnError::Skip] {
            let mut writer = Writer::open_or_create(folder.path().join(format!("{on_error:?}"))).unwrap();
            let options = Options { on_error, ..Options::default() };
            let outcome = ingest(&[path("")], &options, &mut writer, &Silent, &Cancel::new());
            match (on_error, outcome) {
                (OnError::Stop, Err(error)) => {
                    let error = error.to_string();
                    assert!(error.contains("block is 5 in one row and 6 in another"), "{}: {error}", one.0);
                }
                (OnError::Skip, Ok(report)) => {
                    assert_eq!(report.skipped, 1, "{}", one.0);
                    let reasons: Vec<_> = report.files.iter().flat_map(|file| &file.skipped_reasons).collect();
                    assert!(reasons[0].contains("block is 5 in one row and 6 in another"), "{reasons:?}");
                    let held = headwater_ingest::Target::place_of(
                        &writer,
                        Chain::ETHEREUM,
                        &TxHash::parse(Chain::ETHEREUM.family(), &hash(1)).unwrap(),
                    );
                    assert_eq!(held.unwrap().unwrap().0, 5, "{}", one.0);
                }
                (_, outcome) => panic!("{} {on_error:?}: {outcome:?}", one.0),
            }
        }
    }
}

#[test]
fn failed_receipt_beside_a_token_transfer_is_a_conflict() {
    let mut files = receipts(20_000_000, ReceiptRow { success: false, blobs: None, kind: 0 });
    let transactions = files.pop().unwrap();
    let transfer = logs(1, 20_000_000, 9).remove(0);
    for file in files {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [&file, &transactions, &transfer, &block(20_000_000, 9)] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
        let paths: Vec<_> = [&file, &transactions, &transfer, &block(20_000_000, 9)]
            .iter()
            .map(|(name, _)| folder.path().join(name))
            .collect();
        let error = ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap_err().to_string();
        assert!(error.contains("status is") && error.contains("ailed"), "{}: {error}", file.0);
    }
}

const ZERO: &str = "0x0000000000000000000000000000000000000000";

#[test]
fn wrapped_trx_is_booked_like_wrapped_ether() {
    for (signature, expected) in [
        ("Deposit(address,uint256)", (tron(ZERO), tron(A), 10)),
        ("Withdrawal(address,uint256)", (tron(A), tron(ZERO), 10)),
    ] {
        for file in tron_files(&Event::new(WTRX, signature, &[word(A), number(10)], 1)) {
            assert_eq!(moved(&[&file]), expected, "{} {signature}", file.0);
        }
    }
}

#[test]
fn destroyed_funds_are_burnt() {
    let signature = "DestroyedBlackFunds(address,uint256)";
    for file in log_files(&Event::new(USDT, signature, &[word(A), number(5)], 0), 1, 5, 9) {
        assert_eq!(moved(&[&block(5, 9), &file]), (evm(A), evm(ZERO), 5), "{}", file.0);
    }
    for file in tron_files(&Event::new(USDT_ON_TRON, signature, &[word(A), number(5)], 1)) {
        assert_eq!(moved(&[&file]), (tron(A), tron(ZERO), 5), "{}", file.0);
    }
}

#[test]
fn issue_and_redeem_are_of_the_owner_who_calls() {
    for (signature, known, unknown) in [
        ("Issue(uint256)", (evm(ZERO), evm(A), 5), (evm(ZERO), None, 5)),
        ("Redeem(uint256)", (evm(A), evm(ZERO), 5), (None, evm(ZERO), 5)),
    ] {
        for file in log_files(&Event::new(USDT, signature, &[number(5)], 0), 1, 5, 9) {
            // Without the transaction, of a wallet of several keys, and of the owner itself.
            assert_eq!(moved(&[&block(5, 9), &file]), unknown, "{} {signature}", file.0);
            assert_eq!(moved(&[&block(5, 9), &file, &call_of(B)]), unknown, "{} {signature}", file.0);
            assert_eq!(moved(&[&block(5, 9), &file, &call_of(USDT)]), known, "{} {signature}", file.0);
        }
    }
}

#[test]
fn issue_on_tron_is_its_transfer_alone() {
    let events = tron_files(&Event::new(USDT_ON_TRON, "Issue(uint256)", &[number(5)], 0));
    for file in events {
        let (_, batches) = read(&[&file], &Options::default());
        assert!(
            batches.iter().flat_map(|batch| &batch.transactions).all(|facts| facts.movements.is_empty()),
            "{}",
            file.0
        );
    }
}

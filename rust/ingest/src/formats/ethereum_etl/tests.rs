use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, MovementFact, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Amount, Chain, TxHash};

use crate::{Gathered, IngestError, IngestReport, OnError, Options, Silent, ingest_into};

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const BLOCKS: &str = "number,hash,parent_hash,nonce,sha3_uncles,logs_bloom,transactions_root,state_root,receipts_root,miner,difficulty,total_difficulty,size,extra_data,gas_limit,gas_used,timestamp,transaction_count";
const TRANSACTIONS: &str = "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp";
const TRACES: &str = "block_number,transaction_hash,transaction_index,from_address,to_address,value,input,output,trace_type,call_type,reward_type,gas,gas_used,subtraces,trace_address,error,status,trace_id";
const RECEIPTS: &str = "transaction_hash,transaction_index,block_hash,block_number,cumulative_gas_used,gas_used,contract_address,root,status,effective_gas_price";

fn read(files: &[(&str, String)], options: &Options) -> (Result<IngestReport, IngestError>, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn block(number: u64) -> (&'static str, String) {
    let hash = hash(200);
    (
        "blocks.csv",
        format!("{BLOCKS}\n{number},{hash},{hash},0x0,0x,0x,0x,0x,0x,{A},1,1,1,0x,1,1,{},1\n", 1000 + number),
    )
}

/// A row of the table `traces`: (transaction, from, to, value, type, call type, address, error, status).
type Trace = (
    u8,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

fn traces(rows: &[Trace]) -> Batch {
    let rows: Vec<_> = rows
        .iter()
        .map(|(tx, from, to, value, kind, call, path, error, status)| {
            let hash = hash(*tx);
            format!("5,{hash},{tx},{from},{to},{value},0x,0x,{kind},{call},,0,0,0,\"{path}\",{error},{status},")
        })
        .collect();
    let text = format!("{TRACES}\n{}\n", rows.join("\n"));
    let (report, mut batches) = read(&[block(5), ("traces.csv", text)], &Options::default());
    assert_eq!(report.unwrap().skipped, 0);
    batches.remove(0)
}

fn moved(facts: &TransactionFacts) -> Vec<(u64, String, String, String)> {
    let text = |address: Option<Address>| address.map(|address| address.to_string()).unwrap_or_default();
    facts
        .movements
        .iter()
        .map(|movement| {
            assert_eq!(movement.kind, MovementFact::Internal);
            (movement.ordinal.number(), text(movement.from), text(movement.to), movement.amount.to_string())
        })
        .collect()
}

fn row(ordinal: u64, from: &str, to: &str, amount: &str) -> (u64, String, String, String) {
    (ordinal, from.to_owned(), to.to_owned(), amount.to_owned())
}

#[test]
fn only_successful_frames_move_value() {
    let batch = traces(&[
        (1, A, B, "9", "call", "call", "", "", "1"),
        (1, B, C, "1", "call", "call", "0", "", "1"),
        (1, B, B, "2", "call", "delegatecall", "1", "", "1"),
        (1, B, B, "3", "call", "callcode", "2", "", "1"),
        (1, B, C, "4", "call", "staticcall", "3", "", "1"),
        (1, C, A, "5", "suicide", "", "4", "", "1"),
        (1, B, C, "6", "create", "", "10", "", "1"),
        (1, B, A, "0", "call", "call", "11", "", "1"),
        (1, B, A, "7", "call", "call", "12", "Reverted", "0"),
    ]);
    let facts = &batch.transactions[0];
    assert_eq!(facts.body.unwrap().value, Amount::from(9), "the root frame is the transaction itself");
    assert_eq!((facts.status, facts.created, facts.index), (Some(Status::Success), None, Some(1)));
    assert_eq!(moved(facts), [row(0, B, C, "1"), row(1, B, C, "6"), row(2, C, A, "5")]);
    assert_eq!(batch.contracts, [Address::parse(Chain::ETHEREUM, C).unwrap()]);
}

#[test]
fn what_lies_under_a_failed_frame_moves_nothing() {
    let batch = traces(&[
        (1, A, B, "9", "call", "call", "", "", "1"),
        (1, B, C, "1", "call", "call", "1", "Reverted", "0"),
        (1, C, A, "2", "call", "call", "1,0", "", "1"),
        (1, C, A, "3", "call", "call", "1,0,0", "", "1"),
        (1, B, A, "4", "call", "call", "10", "", "1"),
        (2, A, B, "9", "call", "call", "", "Out of gas", "0"),
        (2, B, C, "1", "call", "call", "0", "", "1"),
    ]);
    assert_eq!(moved(&batch.transactions[0]), [row(0, B, A, "4")]);
    let failed = &batch.transactions[1];
    assert_eq!((failed.status, failed.failure_reason.as_deref()), (Some(Status::Failed), Some("Out of gas")));
    assert_eq!(failed.movements, []);
}

#[test]
fn a_creation_at_the_root_names_the_contract_and_no_receiver() {
    let batch = traces(&[(1, A, C, "9", "create", "", "", "", "1")]);
    let facts = &batch.transactions[0];
    assert_eq!((facts.body.unwrap().to, facts.movements.len()), (None, 0));
    assert_eq!(facts.created, Some(Address::parse(Chain::ETHEREUM, C).unwrap()));
}

#[test]
fn movements_without_a_transaction_have_made_ids() {
    let text = format!(
        "{TRACES}\n5,,,,{A},50,,,reward,,block,,,0,,,1,\n5,,,,{A},7,,,reward,,uncle,,,0,,,1,\n5,,,,{B},3,,,reward,,uncle,,,0,,,1,\n\
         5,,,,{C},11,,,genesis,,,,,0,,,1,\n5,,,{A},{C},12,,,daofork,,,,,0,,,1,\n5,,,{B},{C},13,,,daofork,,,,,0,,,1,\n"
    );
    let (_, batches) = read(&[block(5), ("traces.csv", text)], &Options::default());
    let address = |text| Address::parse(Chain::ETHEREUM, text).unwrap();
    let found = |hash| {
        let facts = batches[0].transactions.iter().find(|facts| facts.hash == hash).unwrap();
        (facts.body.unwrap().from, facts.body.unwrap().value.to_u128().unwrap())
    };
    assert_eq!(found(TxHash::reward(5, &address(A))), (None, 57), "a block and its uncle by one miner");
    assert_eq!(found(TxHash::reward(5, &address(B))), (None, 3));
    assert_eq!(found(TxHash::genesis(&address(C))), (None, 11));
    assert_eq!(found(TxHash::fork(5, &address(A))), (Some(address(A)), 12));
    assert_eq!(found(TxHash::fork(5, &address(B))), (Some(address(B)), 13));
}

#[test]
fn traces_without_a_hash_are_joined_by_their_place() {
    let transactions = format!("{TRANSACTIONS}\n{},1,,5,1,{A},{B},9,21000,1,0x,1005\n", hash(1));
    let rows = format!("5,,1,{A},{B},9,0x,,call,call,,,,1,,,,\n5,,1,{B},{C},4,0x,,call,call,,,,0,0,,,\n");
    let files = [("transactions.csv", transactions), ("traces.csv", format!("{TRACES}\n{rows}"))];
    let (report, batches) = read(&files, &Options::default());
    report.unwrap();
    let with_movements: Vec<_> = batches[0].transactions.iter().filter(|facts| !facts.movements.is_empty()).collect();
    assert_eq!(with_movements[0].hash, batches[0].transactions[0].hash);
    assert_eq!(moved(with_movements[0]), [row(0, B, C, "4")]);
    let error = read(&[block(5), files[1].clone()], &Options::default()).0.unwrap_err().to_string();
    assert!(error.contains("transaction 1 of block 5"), "{error}");
}

#[test]
fn a_receipt_with_a_root_leaves_the_status_unknown() {
    let receipt = |status: &str, contract: &str| {
        let rows = format!("{RECEIPTS}\n{},0,,5,21000,21000,{contract},{},{status},7\n", hash(1), hash(9));
        let bsc = Options { chain: Some(Chain::BSC), ..Options::default() };
        read(&[block(5), ("receipts.csv", rows)], &bsc).1.remove(0).transactions.remove(0)
    };
    assert_eq!(receipt("", "").status, None);
    assert_eq!((receipt("1", C).status, receipt("1", C).created.is_some()), (Some(Status::Success), true));
    assert_eq!((receipt("0", C).status, receipt("0", C).created), (Some(Status::Failed), None));
    assert_eq!(
        (receipt("1", "").gas_used, receipt("1", "").effective_gas_price),
        (Some(21_000), Some(Amount::from(7)))
    );
}

#[test]
fn columns_are_found_by_name_and_old_files_may_lack_the_last() {
    let rows = format!("block_number,value,hash,gas,to_address,from_address\n5,9,{},21000,,{A}\n", hash(1));
    let (_, batches) = read(&[block(5), ("transactions.csv", rows)], &Options::default());
    let facts = &batches[0].transactions[0];
    assert_eq!((facts.body.unwrap().to, facts.index, facts.input.as_ref()), (None, None, None));
    assert_eq!(facts.time.unwrap().secs(), 1005, "the time comes from the block");
}

#[test]
fn json_lines_keep_amounts_past_64_bits() {
    let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let line = |value: &str| {
        format!(
            "{{\"type\":\"token_transfer\",\"token_address\":\"{C}\",\"from_address\":\"{A}\",\"to_address\":\"{B}\",\"value\":{value},\
             \"transaction_hash\":\"{}\",\"log_index\":3,\"block_number\":5,\"block_timestamp\":77,\"item_id\":\"x\"}}\n",
            hash(1)
        )
    };
    let (_, batches) = read(&[("t.json", line(max))], &Options::default());
    let movement = &batches[0].transactions[0].movements[0];
    assert_eq!((movement.amount, movement.ordinal), (Amount::MAX, Ordinal::Indexed(3)));
    let (report, _) = read(
        &[("t.json", line(max) + &line("-5") + &line("1.5") + "not json\n[1]\n")],
        &Options { on_error: OnError::Skip, ..Options::default() },
    );
    let report = report.unwrap();
    assert_eq!((report.rows, report.skipped), (5, 4));
    assert!(
        report.files[0].skipped_reasons[1].contains("line 3") && report.files[0].skipped_reasons[1].contains("1.5")
    );
}

#[test]
fn a_file_claims_the_blocks_it_spans_unless_a_row_was_left_out() {
    let rows = |value: &str| {
        format!("{TRANSACTIONS}\n{},1,,5,1,{A},{B},9,1,1,0x,1\n{},1,,8,1,{A},{B},{value},1,1,0x,2\n", hash(1), hash(2))
    };
    let skip = Options { on_error: OnError::Skip, ..Options::default() };
    let claim = Claim::Blocks { first: 5, last: 8, table: CoverageTable::Transactions };
    assert_eq!(read(&[("t.csv", rows("1"))], &skip).1[0].claims, [claim]);
    assert_eq!(read(&[("t.csv", rows("NaN"))], &skip).1[0].claims, []);
}

#[test]
fn a_transaction_waits_for_the_time_of_its_block() {
    let transactions =
        format!("{TRANSACTIONS}\n{},1,,5,0,{A},{B},9,1,1,0x,\n{},1,,5,1,{A},{B},9,1,1,0x,\n", hash(1), hash(2));
    let small = Options { batch_transactions: 2, ..Options::default() };
    let error = read(&[("t.csv", transactions.clone())], &small).0.unwrap_err().to_string();
    assert!(error.contains("block 5 has no known time"), "{error}");
    // The file of blocks begins later, so it is read later.
    let (name, blocks) = block(6);
    let blocks = blocks + block(5).1.lines().nth(1).unwrap();
    let wide = Options { batch_movements: 1, ..Options::default() };
    let (report, batches) = read(&[("t.csv", transactions), (name, blocks)], &wide);
    assert_eq!(report.unwrap().commits, u64::try_from(batches.len()).unwrap());
    let times: Vec<_> =
        batches.iter().flat_map(|batch| &batch.transactions).map(|facts| facts.time.unwrap().secs()).collect();
    assert_eq!(times, [1005, 1005]);
}

#[test]
fn the_chain_is_taken_from_the_caller_where_the_file_names_none() {
    let bsc = Options { chain: Some(Chain::BSC), ..Options::default() };
    let (report, batches) = read(&[block(5)], &bsc);
    assert_eq!((batches[0].chain, report.unwrap().files[0].warnings.len()), (Chain::BSC, 0));
}

#[test]
fn a_chain_that_files_of_the_format_are_never_of_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (name, content) = block(5);
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    for chain in [Chain::TRON, Chain::BITCOIN] {
        let named = Options { chain: Some(chain), ..Options::default() };
        // In a folder too: nothing else is there that could have been meant.
        for path in [path.clone(), folder.path().to_owned()] {
            let mut target = Gathered::default();
            let error = ingest_into(&[path], &named, &mut target, &Silent, &Cancel::new()).unwrap_err().to_string();
            let message = format!(
                "blocks.csv is in the format ethereum-etl, which is of bsc or ethereum: it cannot be of {chain}"
            );
            assert!(error.ends_with(&message), "{error}");
            assert_eq!(target.batches, []);
        }
    }
}

#[test]
fn rows_without_their_block_are_left_out_with_the_reason() {
    const TRANSFERS: &str = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";
    let row = |tx: u8, log: u8, block: u8| format!("{C},{A},{B},1,{},{log},{block}\n", hash(tx));
    let rows = [row(1, 0, 5), row(1, 1, 5), row(2, 2, 6), row(3, 3, 8)].concat();
    let files = [block(8), ("transfers.csv", format!("{TRANSFERS}\n{rows}"))];
    let skip = Options { on_error: OnError::Skip, ..Options::default() };
    let (report, batches) = read(&files, &skip);
    let report = report.unwrap();
    let transfers = report.files.iter().find(|file| file.path.ends_with("transfers.csv")).unwrap();
    assert_eq!((report.skipped, transfers.rows, transfers.skipped), (3, 4, 3));
    let [first, second] = &transfers.skipped_reasons[..] else { panic!("{:?}", transfers.skipped_reasons) };
    assert!(first.starts_with("line 2: column \"block_number\" is \"5\"") && second.starts_with("line 4: "), "{first}");
    assert!(first.contains("ethereum block 5 has no known time"), "{first}");
    let claims: Vec<_> = batches.iter().flat_map(|batch| &batch.claims).collect();
    assert_eq!(claims, [&Claim::Blocks { first: 8, last: 8, table: CoverageTable::Blocks }], "no row may be missing");
    let error = read(&files, &Options::default()).0.unwrap_err().to_string();
    assert!(error.contains("transfers.csv, line 2: column \"block_number\" is \"5\""), "{error}");
}

#[test]
fn tron_addresses_are_refused_with_the_accepted_formats() {
    let (from, to) = ("TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx", "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT");
    let columns = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";
    let transfers = format!("{columns}\n{from},{from},{to},5,{},0,9\n", &hash(1)[2..]);
    for chain in [None, Some(Chain::TRON), Some(Chain::ETHEREUM)] {
        let options = Options { chain, ..Options::default() };
        let error = read(&[("token_transfers.csv", transfers.clone())], &options).0.unwrap_err().to_string();
        assert!(error.contains("of tron") && error.contains("transaction infos of a TRON node"), "{error}");
    }
}

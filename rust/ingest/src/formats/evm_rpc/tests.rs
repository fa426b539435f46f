use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, MovementFact, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Amount, Chain, TxHash};

use crate::{Gathered, IngestError, IngestReport, OnError, Options, Silent, ingest_into};

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

fn read_with(files: &[(&str, &str)], options: &Options) -> (Result<IngestReport, IngestError>, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn read(files: &[(&str, &str)]) -> (IngestReport, Batch) {
    let (report, mut batches) = read_with(files, &Options::default());
    assert_eq!(batches.len(), 1);
    (report.unwrap(), batches.remove(0))
}

fn fails(files: &[(&str, &str)]) -> String {
    read_with(files, &Options::default()).0.unwrap_err().to_string()
}

fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn transaction(index: u8, extra: &str) -> String {
    let hash = hash(index);
    format!(
        r#"{{"hash":"{hash}","blockNumber":"0x5","transactionIndex":"0x{index:x}","from":"{A}","to":"{B}","value":"0x9","nonce":"0x1","gas":"0x5208","gasPrice":"0x3b9aca00","input":"0x"{extra}}}"#
    )
}

fn block(transactions: &[String], extra: &str) -> String {
    let (own, parent) = (hash(200), hash(201));
    let list = transactions.join(",");
    format!(
        r#"{{"number":"0x5","hash":"{own}","parentHash":"{parent}","timestamp":"0x3e8","transactions":[{list}]{extra}}}"#
    )
}

fn log(index: u8, removed: bool) -> String {
    let hash = hash(0);
    let word = |address: &str| format!("0x{:0>64}", &address[2..]);
    let (from, to) = (word(A), word(B));
    format!(
        r#"{{"address":"{C}","topics":["{TRANSFER}","{from}","{to}"],"data":"0x{:064x}","blockNumber":"0x5","transactionHash":"{hash}","transactionIndex":"0x0","logIndex":"0x{index:x}","removed":{removed}}}"#,
        7
    )
}

fn address(text: &str) -> Address {
    Address::parse(Chain::ETHEREUM, text).unwrap()
}

fn facts(batch: &Batch, last: u8) -> TransactionFacts {
    let id = TxHash::parse(headwater_types::Family::Evm, &hash(last)).unwrap();
    let mut all = batch.transactions.iter().filter(|facts| facts.hash == id).cloned();
    let first = all.next().unwrap();
    all.fold(first, |held, facts| held.join(facts, batch.chain).unwrap())
}

fn moved(facts: &TransactionFacts) -> Vec<(u64, Option<Address>, Option<Address>, u128)> {
    let row = |movement: &headwater_ledger::facts::Movement| {
        assert_eq!(movement.kind, MovementFact::Internal);
        (movement.ordinal.number(), movement.from, movement.to, movement.amount.to_u128().unwrap())
    };
    facts.movements.iter().map(row).collect()
}

fn row(ordinal: u64, from: &str, to: &str, amount: u128) -> (u64, Option<Address>, Option<Address>, u128) {
    (ordinal, Some(address(from)), Some(address(to)), amount)
}

fn claimed(batch: &Batch, table: CoverageTable) -> bool {
    batch.claims.contains(&Claim::Blocks { first: 5, last: 5, table })
}

#[test]
fn answers_are_read_bare_in_envelopes_in_lists_and_in_lines() {
    let bare = block(&[transaction(0, "")], "");
    let wrapped = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{bare}}}"#);
    let forms = [
        bare.clone(),
        wrapped.clone(),
        format!("[{bare}]"),
        format!("[{wrapped}]"),
        format!(r#"{{"result":{bare}}}"#),
        format!("{bare}\n"),
        format!("{wrapped}\n{wrapped}\n"),
        bare.replace(',', ",\n  "),
    ];
    for form in forms {
        let (report, batch) = read(&[("answer.json", &form)]);
        assert_eq!(report.files[0].format, "evm-rpc", "{form}");
        assert_eq!((batch.blocks[0].number, batch.blocks[0].time.secs()), (5, 1000));
        let facts = facts(&batch, 0);
        let body = facts.body.unwrap();
        assert_eq!((body.from, body.to, body.value), (Some(address(A)), Some(address(B)), Amount::from(9)));
        assert_eq!((facts.index, facts.nonce, facts.gas_limit), (Some(0), Some(1), Some(21_000)));
        assert_eq!((facts.gas_price, facts.status, facts.fee), (Some(Amount::from(1_000_000_000)), None, None));
        assert!(claimed(&batch, CoverageTable::Blocks) && claimed(&batch, CoverageTable::Transactions));
    }
}

#[test]
fn withdrawals_are_gwei_and_one_movement_per_account() {
    let withdrawal = |index: u8, to: &str| {
        format!(r#"{{"index":"0x{index:x}","validatorIndex":"0x1","address":"{to}","amount":"0x2"}}"#)
    };
    let all = [withdrawal(1, A), withdrawal(2, B), withdrawal(3, A)].join(",");
    let (_, batch) = read(&[("block.json", &block(&[], &format!(r#","withdrawals":[{all}]"#)))]);
    let found = |to: &str| {
        let id = TxHash::withdrawal(5, &address(to));
        let facts = batch.transactions.iter().find(|facts| facts.hash == id).unwrap();
        assert_eq!((facts.status, facts.body.unwrap().from), (Some(Status::Success), None));
        facts.body.unwrap().value
    };
    assert_eq!((found(A), found(B)), (Amount::from(4_000_000_000), Amount::from(2_000_000_000)));
}

#[test]
fn the_chain_is_that_of_the_transactions() {
    let of = |id: &str| block(&[transaction(0, &format!(r#","chainId":"{id}""#))], "");
    let (report, batch) = read(&[("block.json", &of("0x38"))]);
    assert_eq!((batch.chain, report.files[0].chain_source), (Chain::BSC, crate::ChainSource::Detected));
    let error = fails(&[("block.json", &of("0x89"))]);
    assert!(error.contains("transactions[0].chainId") && error.contains("0x89"), "{error}");
}

#[test]
fn receipts_tell_status_fee_and_what_their_logs_move() {
    let receipt = |index: u8, status: &str, extra: &str| {
        let hash = hash(index);
        let logs = if index == 0 { log(3, false) } else { String::new() };
        format!(
            r#"{{"transactionHash":"{hash}","transactionIndex":"0x{index:x}","blockNumber":"0x5","status":"{status}","gasUsed":"0x2","effectiveGasPrice":"0x5","contractAddress":"{C}","logs":[{logs}]{extra}}}"#
        )
    };
    let blobs = r#","blobGasUsed":"0x20000","blobGasPrice":"0x3""#;
    let both = format!("[{},{}]", receipt(0, "0x1", blobs), receipt(1, "0x0", ""));
    let blocks = block(&[transaction(0, ""), transaction(1, "")], "");
    let (_, batch) = read(&[("blocks.json", &blocks), ("receipts.json", &both)]);
    let first = facts(&batch, 0);
    assert_eq!(
        (first.status, first.gas_used, first.fee),
        (Some(Status::Success), Some(2), Some(Amount::from(393_226)))
    );
    assert_eq!((first.created, first.logs.len()), (Some(address(C)), 1));
    let [movement] = &first.movements[..] else { panic!("one movement") };
    assert_eq!((movement.ordinal, movement.amount), (Ordinal::Indexed(3), Amount::from(7)));
    let second = facts(&batch, 1);
    assert_eq!((second.status, second.created, second.fee), (Some(Status::Failed), None, None));
    assert!(claimed(&batch, CoverageTable::Receipts) && claimed(&batch, CoverageTable::Logs));
    // The receipt of one transaction alone, and a list that stops before the last one, are not those of a block.
    for part in [receipt(0, "0x1", ""), format!("[{}]", receipt(0, "0x1", ""))] {
        let (_, batch) = read(&[("blocks.json", &blocks), ("receipts.json", &part)]);
        assert!(!claimed(&batch, CoverageTable::Receipts));
    }
}

#[test]
fn logs_that_a_reorganisation_removed_are_left_out() {
    let blocks = block(&[transaction(0, "")], "");
    let logs = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{},{}]}}"#, log(1, false), log(2, true));
    let (report, batch) = read(&[("blocks.json", &blocks), ("logs.json", &logs)]);
    let facts = facts(&batch, 0);
    assert_eq!((facts.logs.len(), facts.movements.len()), (1, 1));
    let omitted: Vec<_> = report.files.iter().flat_map(|file| &file.omitted).collect();
    assert_eq!((omitted[0].rows, omitted[0].reason.as_str()), (1, "logs that a reorganisation removed"));
    assert!(!claimed(&batch, CoverageTable::Logs), "a filter may have chosen them");
}

/// The tree, as (type, from, to, value, error, calls).
struct Call(&'static str, &'static str, &'static str, u8, bool, Vec<Call>);

impl Call {
    fn text(&self) -> String {
        let Self(kind, from, to, value, fails, calls) = self;
        let error = if *fails { r#","error":"execution reverted""# } else { "" };
        let calls = calls.iter().map(Self::text).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"type":"{kind}","from":"{from}","to":"{to}","value":"0x{value:x}","gas":"0x1","gasUsed":"0x1","input":"0x"{error},"calls":[{calls}]}}"#
        )
    }
}

fn tree() -> Call {
    Call(
        "CALL",
        A,
        B,
        9,
        false,
        vec![
            Call("SELFDESTRUCT", B, A, 5, false, vec![]),
            Call("DELEGATECALL", B, C, 2, false, vec![Call("CALL", B, C, 1, false, vec![])]),
            Call("CALLCODE", B, B, 3, false, vec![]),
            Call("STATICCALL", B, C, 0, false, vec![]),
            Call("CALL", B, C, 7, true, vec![Call("CALL", C, A, 4, false, vec![])]),
            Call("CREATE2", B, C, 6, false, vec![]),
        ],
    )
}

#[test]
fn only_successful_frames_of_a_tree_move_value() {
    let blocks = block(&[transaction(0, "")], "");
    let (tree, hash) = (tree().text(), hash(0));
    let expected = [row(0, B, C, 1), row(1, B, C, 6), row(2, B, A, 5)];
    for (name, answer) in [
        ("traces.json", format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{{"txHash":"{hash}","result":{tree}}}]}}"#)),
        ("traces.json", format!(r#"[{{"txHash":"{hash}","result":{tree}}}]"#)),
        ("traces.json", format!(r#"{{"block_number":5,"transaction_traces":[{tree}]}}"#)),
        ("debug_traceBlockByNumber_0x5.json", format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{{"result":{tree}}}]}}"#)),
    ] {
        let (_, batch) = read(&[("blocks.json", &blocks), (name, &answer)]);
        let facts = facts(&batch, 0);
        assert_eq!(moved(&facts), expected, "{answer}");
        assert_eq!((facts.status, facts.body.unwrap().value), (Some(Status::Success), Amount::from(9)));
        assert_eq!(batch.contracts, [address(C)]);
        assert!(claimed(&batch, CoverageTable::Traces));
    }
}

#[test]
fn a_tree_and_the_flat_frames_of_the_same_calls_agree() {
    fn flatten(call: &Call, path: &str, out: &mut Vec<String>) {
        let Call(kind, from, to, value, fails, calls) = call;
        let (kind, action, result) = match *kind {
            "SELFDESTRUCT" => (
                "suicide",
                format!(r#"{{"address":"{from}","refundAddress":"{to}","balance":"0x{value:x}"}}"#),
                "null".to_owned(),
            ),
            "CREATE2" => (
                "create",
                format!(r#"{{"from":"{from}","value":"0x{value:x}","init":"0x"}}"#),
                format!(r#"{{"address":"{to}"}}"#),
            ),
            call => (
                "call",
                format!(
                    r#"{{"callType":"{}","from":"{from}","to":"{to}","value":"0x{value:x}"}}"#,
                    call.to_lowercase()
                ),
                "{}".to_owned(),
            ),
        };
        let error = if *fails { r#","error":"Reverted""# } else { "" };
        let hash = hash(0);
        out.push(format!(
            r#"{{"type":"{kind}","action":{action},"result":{result},"traceAddress":[{path}],"blockNumber":5,"transactionHash":"{hash}","transactionPosition":0{error}}}"#
        ));
        for (number, call) in calls.iter().enumerate() {
            let path = if path.is_empty() { number.to_string() } else { format!("{path},{number}") };
            flatten(call, &path, out);
        }
    }
    let mut flat = Vec::new();
    flatten(&tree(), "", &mut flat);
    flat.push(format!(
        r#"{{"type":"reward","action":{{"author":"{C}","rewardType":"block","value":"0x3"}},"result":null,"traceAddress":[],"blockNumber":5,"transactionHash":null,"transactionPosition":null}}"#
    ));
    let blocks = block(&[transaction(0, "")], "");
    let (_, batch) = read(&[("blocks.json", &blocks), ("traces.json", &format!("[{}]", flat.join(",")))]);
    let facts = facts(&batch, 0);
    assert_eq!(moved(&facts), [row(0, B, C, 1), row(1, B, C, 6), row(2, B, A, 5)]);
    let reward = batch.transactions.iter().find(|facts| facts.hash == TxHash::reward(5, &address(C))).unwrap();
    assert_eq!(reward.body.unwrap().value, Amount::from(3));
    assert!(claimed(&batch, CoverageTable::Traces));
}

/// The frames of a transaction whose contract destroys itself, as anvil writes them.
fn self_destruction_of_anvil(action: &str) -> String {
    let (hash, call) = (hash(0), format!(r#"{{"callType":"call","from":"{A}","to":"{B}","value":"0x9"}}"#));
    let frame = |action: &str, path: &str| {
        format!(
            r#"{{"type":"call","action":{action},"result":{{"gasUsed":"0x1"}},"error":null,"traceAddress":[{path}],"blockNumber":5,"transactionHash":"{hash}","transactionPosition":0}}"#
        )
    };
    format!("[{},{}]", frame(&call, ""), frame(action, "0"))
}

#[test]
fn self_destruction_written_as_call_refunds() {
    let blocks = block(&[transaction(0, "")], "");
    let action = format!(r#"{{"address":"{B}","refundAddress":"{A}","balance":"0x5"}}"#);
    let (_, batch) = read(&[("blocks.json", &blocks), ("traces.json", &self_destruction_of_anvil(&action))]);
    assert_eq!(moved(&facts(&batch, 0)), [row(0, B, A, 5)]);
}

#[test]
fn call_without_caller_is_a_row_error() {
    let blocks = block(&[transaction(0, "")], "");
    let action = format!(r#"{{"to":"{A}","value":"0x5"}}"#);
    let error = fails(&[("blocks.json", &blocks), ("traces.json", &self_destruction_of_anvil(&action))]);
    assert!(error.contains("from_address") && error.contains("self-destructions as calls"), "{error}");
}

#[test]
fn calls_nested_as_deep_as_they_come_are_read() {
    let mut call = Call("CALL", B, C, 1, false, vec![]);
    for _ in 0..200 {
        call = Call("CALL", B, C, 0, false, vec![call]);
    }
    let answer = format!(r#"{{"block_number":5,"transaction_traces":[{}]}}"#, call.text());
    let (_, batch) = read(&[("blocks.json", &block(&[transaction(0, "")], "")), ("traces.json", &answer)]);
    assert_eq!(batch.transactions[1].movements.len(), 1);
}

#[test]
fn what_is_wrong_is_named_by_its_way() {
    let blocks = block(&[transaction(0, "")], "");
    let wrong = blocks.replace(r#""value":"0x9""#, r#""value":"nine""#);
    let error = fails(&[("block.json", &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{wrong}}}"#))]);
    assert!(error.contains("result.transactions[0].value") && error.contains("nine"), "{error}");
    let error = fails(&[(
        "blocks.json",
        &format!("{blocks}\n{}\n", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit exceeded"}}"#),
    )]);
    assert!(error.contains("line 2") && error.contains("limit exceeded"), "{error}");
    let unknown = format!(r#"[{{"txHash":"{}","result":{}}}]"#, hash(9), tree().text());
    let error = fails(&[("blocks.json", &blocks), ("traces.json", &unknown)]);
    assert!(error.contains("[0].txHash") && error.contains("ingested before its traces"), "{error}");
    // Skipping leaves the answer out and goes on.
    let skip = Options { on_error: OnError::Skip, ..Options::default() };
    let (report, batches) = read_with(&[("blocks.json", &format!("{wrong}\n{blocks}\n"))], &skip);
    assert_eq!((report.unwrap().skipped, batches[0].blocks.len()), (1, 1));
}

//! Answers of nodes of EVM chains, and what tools make of them.

use headwater_ingest::OnError;
use headwater_ledger::facts::MovementFact;
use headwater_testkit::fuzz::FuzzOutcome;
use headwater_types::{Address, Amount, Chain};

use super::{Door, imported};
use crate::fuzz::{put, reader};

pub(super) const A: &str = "0x00000000000000000000000000000000000000aa";
pub(super) const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

pub(super) fn hash(last: u8) -> String {
    format!("0x{}{last:02x}", "ab".repeat(31))
}

fn block() -> String {
    let (own, parent, of) = (hash(200), hash(201), hash(0));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"number":"0x5","hash":"{own}","parentHash":"{parent}","timestamp":"0x3e8",
        "miner":"{C}","transactions":[{{"hash":"{of}","blockNumber":"0x5","transactionIndex":"0x0","from":"{A}","to":"{B}",
        "value":"0x9","nonce":"0x1","gas":"0x5208","gasPrice":"0x3b9aca00","input":"0xa9059cbb"}}],
        "withdrawals":[{{"index":"0x1","validatorIndex":"0x1","address":"{C}","amount":"0x2"}}]}}}}"#
    )
}

fn receipts(topics: &str, data: &str) -> String {
    let of = hash(0);
    format!(
        r#"{{"result":[{{"transactionHash":"{of}","transactionIndex":"0x0","blockNumber":"0x5","blockHash":"{}","from":"{A}",
        "to":"{B}","status":"0x1","gasUsed":"0x5208","effectiveGasPrice":"0x9","contractAddress":null,"logs":[{{"address":"{C}",
        "topics":[{topics}],"data":"{data}","blockNumber":"0x5","transactionHash":"{of}","transactionIndex":"0x0",
        "logIndex":"0x3","removed":false}}]}}]}}"#,
        hash(200)
    )
}

fn traces() -> [String; 2] {
    let of = hash(0);
    [
        format!(
            r#"[{{"txHash":"{of}","result":{{"type":"CALL","from":"{A}","to":"{B}","value":"0x1","gas":"0x1","gasUsed":"0x1",
            "input":"0x","calls":[{{"type":"CREATE2","from":"{B}","to":"{C}","value":"0x2","input":"0x"}},
            {{"type":"SELFDESTRUCT","from":"{B}","to":"{A}","value":"0x3","error":"out of gas","calls":[]}}]}}}}]"#
        ),
        format!(
            r#"{{"result":[{{"type":"call","action":{{"callType":"call","from":"{A}","to":"{B}","value":"0x4"}},
            "result":{{"output":"0x"}},"traceAddress":[0,1],"blockNumber":5,"transactionHash":"{of}","transactionPosition":0}},
            {{"type":"reward","action":{{"author":"{C}","rewardType":"block","value":"0x3"}},"result":null,"traceAddress":[],
            "blockNumber":5,"transactionHash":null,"transactionPosition":null}}]}}"#
        ),
    ]
}

fn word(address: &str) -> String {
    format!("0x{:0>64}", &address[2..])
}

/// A block, receipts, and traces behind their block.
pub(super) fn answers() -> [String; 4] {
    let topics = [TRANSFER.to_owned(), word(A), word(B)].map(|topic| format!("\"{topic}\"")).join(",");
    let receipts = receipts(&topics, &format!("0x{:064x}", 7));
    let [trees, frames] = traces().map(|text| format!("{}\n{}", block().replace('\n', ""), text.replace('\n', "")));
    [block().replace('\n', ""), receipts.replace('\n', ""), trees, frames]
}

#[test]
fn answers_of_evm_nodes() {
    let [block, receipts, ..] = answers();
    let words = ["0x", "null", "\"0x0\"", "\"error\":{}", "\"calls\":[", "\"removed\":true", "\"topics\":[]", "0xg"];
    imported(reader("evm_rpc").samples([block, receipts]).words(words), "answer.json");
}

#[test]
fn traces_of_evm_nodes() {
    // A trace alone does not name its block: the answer is read beside the block.
    let samples = traces().map(|text| format!("{}\n{}\n", block().replace('\n', ""), text.replace('\n', "")));
    let words = ["\"calls\":[{}]", "\"traceAddress\":[99999999999]", "\"type\":\"CALL\"", "null", "\"0x\""];
    imported(reader("evm_traces").samples(samples).words(words), "traces.json");
}

/// A log whose topics and data are the input, as a contract may write them.
#[test]
fn a_log_moves_what_its_words_say_or_nothing() {
    let door = Door::of("receipts.json");
    let transfer = hex::decode(&TRANSFER[2..]).unwrap();
    let padded = |byte: u8| [vec![0; 12], vec![byte; 20]].concat();
    let log = |topics: u8, data: &[u8]| [&[topics][..], &transfer, &padded(0xaa), &padded(0xbb), data].concat();
    let samples = [log(3, &[7; 32]), log(3, &[0; 32]), log(3, &[0xff; 32])];
    let words = [transfer.clone(), padded(1), vec![0; 32], vec![0xff; 32]];
    reader("logs").samples(samples).words(words).check(|input| {
        let Some((count, words)) = input.split_first() else { return FuzzOutcome::Refused };
        let count = usize::from(count % 5).min(words.len() / 32);
        let (topics, data) = words.split_at(32 * count);
        let shown: Vec<String> = topics.chunks(32).map(|topic| format!("\"0x{}\"", hex::encode(topic))).collect();
        let text = receipts(&shown.join(","), &format!("0x{}", hex::encode(data)));
        put(&door.path, text);
        let batches = door.read(OnError::Stop).unwrap_or_else(|message| panic!("a log is nobody's fault: {message}"));
        let moved: Vec<_> =
            batches.iter().flat_map(|batch| &batch.transactions).flat_map(|facts| &facts.movements).collect();
        let said: Vec<&[u8]> = topics.chunks(32).skip(1).chain(data.chunks_exact(32)).collect();
        let expected = match (count, said.len()) {
            (0, _) => None,
            _ if topics[..32] != transfer => None,
            (4, 3..) => Some(MovementFact::NonFungible),
            (3, 3..) | (_, 3) => Some(MovementFact::Token),
            _ => None,
        };
        assert_eq!(moved.iter().map(|movement| movement.kind).collect::<Vec<_>>(), Vec::from_iter(expected));
        let Some(movement) = moved.first() else { return FuzzOutcome::Refused };
        assert_eq!(movement.amount, Amount::parse_hex(&format!("0x{}", hex::encode(said[2]))).unwrap());
        let party = |word: &[u8]| Address::parse(Chain::ETHEREUM, &format!("0x{}", hex::encode(&word[12..]))).ok();
        assert_eq!((movement.from, movement.to), (party(said[0]), party(said[1])));
        FuzzOutcome::Taken
    });
}

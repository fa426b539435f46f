//! History files of Ethereum, and the canonical bytes inside them.

use headwater_testkit::era::{EraBlock, Outcomes, Parts, era1, ere, rebuilt};
use headwater_testkit::fuzz::FuzzOutcome;
use headwater_types::Chain;
use headwater_verify::evm::Senders;
use headwater_verify::evm::encoded::{EncodedReceipts, read_header, verify_encoded};
use serde_json::{Value, json};

use super::imported;
use crate::fuzz::reader;

/// An empty block, and one with the example of EIP-155.
fn blocks() -> Vec<EraBlock> {
    let bytes = |byte: &str, count: usize| format!("0x{}", byte.repeat(count));
    let block = |transactions: Value| {
        json!({
            "miner": bytes("01", 20), "stateRoot": bytes("02", 32), "difficulty": "0x7", "gasLimit": "0x9", "timestamp": "0x5",
            "extraData": "0x", "mixHash": bytes("03", 32), "nonce": bytes("04", 8), "transactions": transactions
        })
    };
    let example = json!({
        "hash": "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788", "transactionIndex": "0x0",
        "nonce": "0x9", "gasPrice": "0x4a817c800", "gas": "0x5208", "from": "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f",
        "to": "0x3535353535353535353535353535353535353535", "value": "0xde0b6b3a7640000", "input": "0x", "v": "0x25",
        "r": "0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276",
        "s": "0x67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
    });
    let made = rebuilt(vec![block(json!([])), block(json!([example]))], 600 * 8_192, Outcomes::Status);
    made.iter().map(|one| EraBlock::of(&one.block, &one.receipts)).collect()
}

#[test]
fn history_files_are_read_or_refused() {
    let blocks = blocks();
    let parts = Parts { receipts: true, difficulties: true, proofs: true };
    let samples = [era1(&blocks, 9).1, ere(&blocks, 9, parts).1];
    let words = [&[0x65, 0x32, 0, 0, 0, 0, 0, 0][..], &[0x66, 0x32], &[0xff; 4]];
    imported(reader("era").samples(samples).words(words), "history.bin");
}

#[test]
fn encoded_parts_are_read_or_refused() {
    let blocks = blocks();
    let header = read_header(Chain::ETHEREUM, None, &blocks[1].header).unwrap();
    let [empty, full] = &blocks[..] else { panic!("two blocks") };
    let samples = [&empty.header, &full.header, &full.body, &full.receipts, &full.slim].map(Clone::clone);
    let words = [&[0xc0][..], &[0x80], &[0xf8, 0xff], &[0xbf, 0xff, 0xff], &[1, 0xc0], &[3, 0xc0]];
    reader("encoded").samples(samples).words(words).check(|input| {
        let body = &blocks[1].body;
        let of = |body, receipts| verify_encoded(&header, body, receipts, Senders::Recover);
        let read = [
            read_header(Chain::ETHEREUM, None, input).is_ok(),
            of(input, None).is_ok(),
            of(body, Some(EncodedReceipts::Consensus(input))).is_ok(),
            of(body, Some(EncodedReceipts::Slim(input))).is_ok(),
        ];
        if read.contains(&true) { FuzzOutcome::Taken } else { FuzzOutcome::Refused }
    });
}

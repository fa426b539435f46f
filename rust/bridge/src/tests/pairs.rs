//! Pairs of real transactions, and pairs of which the destination's call data is real.

use headwater_types::{Amount, TxHash};
use serde_json::Value as Json;

use super::{OwnedTransaction, bytes, chain_named, corpus_json, corpus_log, fixed, log, padded, text, wilson, word};
use crate::half::Step;
use crate::matching::{LegTable, Status};

fn transaction(json: &Json) -> OwnedTransaction {
    OwnedTransaction {
        chain: chain_named(text(json, "chain")),
        block: json["block_number"].as_u64().unwrap(),
        time: json["block_timestamp"].as_i64().unwrap(),
        hash: fixed(text(json, "tx_hash")),
        from: Some(fixed(text(json, "tx_from"))),
        to: Some(fixed(text(json, "tx_to"))),
        input: bytes(text(json, "tx_input")),
        logs: json["logs"].as_array().unwrap().iter().map(corpus_log).collect(),
    }
}

#[test]
fn corpus_pairs_with_logs_are_decoded_and_joined() {
    let pairs = corpus_json("pairs_with_logs.json");
    let pairs = pairs["pairs"].as_array().unwrap();
    let mut table = LegTable::default();
    for pair in pairs {
        for side in ["destination", "source"] {
            table.extend(transaction(&pair[side]).legs());
        }
    }
    let mut joined = 0;
    for pair in pairs {
        let expected = &pair["expected"];
        let source = TxHash::new(fixed(text(expected, "source_tx_hash")));
        let transfers = table.transfers_of(chain_named(text(expected, "source_chain")), &source);
        assert_eq!(transfers.len(), 1, "{transfers:#?}");
        let transfer = &transfers[0];
        let (from, to) = (transfer.source.unwrap(), transfer.destinations[0]);
        assert_eq!(&*from.bridge, text(pair, "label"));
        assert_eq!(transfer.status(), Status::Completed);
        assert_eq!(to.transaction, TxHash::new(fixed(text(expected, "destination_tx_hash"))));
        assert_eq!(to.chain, chain_named(text(expected, "destination_chain")));
        assert_eq!(from.key().as_str(), text(&pair["link"], "source_value"));
        let sender = from.sender.as_ref().or(to.sender.as_ref()).unwrap().to_string();
        assert_eq!(sender, text(expected, "sender_address"));
        let receiver = to.receiver.as_ref().or(from.receiver.as_ref()).unwrap().to_string();
        assert_eq!(receiver, text(expected, "receiver_address"));
        let stated = |name: &str| expected.get(name).map(|value| value.as_str().unwrap().to_owned());
        let same = |name: &str, ours: Option<String>| {
            if let Some(expected) = stated(name) {
                assert_eq!(ours.as_ref(), Some(&expected), "{name} of {}", text(pair, "bridge"));
            }
        };
        same("source_amount", from.amount.map(|amount| amount.to_string()));
        same("destination_amount", to.amount.map(|amount| amount.to_string()));
        same("destination_amount_filled", transfer.received_amount().map(|amount| amount.to_string()));
        same("source_token", from.token.as_ref().map(ToString::to_string));
        same("destination_token", to.token.as_ref().map(ToString::to_string));
        joined += 1;
    }
    println!("pairs_with_logs: {joined} of {} joined, 95 % {:?}", pairs.len(), wilson(joined, pairs.len()));
}

/// The source has a log made from what the pair states; the destination is the call data that was sent.
#[test]
fn corpus_multichain_call_data_names_its_source() {
    let pairs = corpus_json("multichain_eth_bsc.json");
    let pairs = pairs["pairs"].as_array().unwrap();
    let mut table = LegTable::default();
    for (place, pair) in pairs.iter().enumerate() {
        let mut destination = OwnedTransaction::on("bsc", 0);
        destination.hash = fixed(text(pair, "destination_tx_hash"));
        destination.block = place as u64;
        // Which router was called is not stated: V6.
        destination.to = Some(fixed("e1d592c3322f1f714ca11f05b6bc0efef1907859"));
        destination.input = bytes(text(pair, "destination_tx_input"));
        let leg = destination.leg();
        assert_eq!(leg.receiver.as_ref().unwrap().to_string(), text(pair, "receiver_address"));
        assert_eq!(leg.amount.unwrap().to_string(), text(pair, "amount"));
        assert_eq!(leg.token.as_ref().unwrap().to_string(), text(pair, "destination_any_token"));
        table.insert(leg);

        let mut source = OwnedTransaction::on("ethereum", 0);
        source.hash = fixed(text(pair, "source_tx_hash"));
        let topics = [word(1), padded([7; 20]), padded(fixed(text(pair, "receiver_address")))];
        let amount = Amount::parse_raw(text(pair, "amount")).unwrap().to_be_bytes();
        let data = [amount, word(1), word(56)].concat();
        let signature = "LogAnySwapOut(address,address,address,uint256,uint256,uint256)";
        source.logs = vec![log(place as u64, "ba8da9dcf11b50b03fd5284f164ef5cdef910705", signature, &topics, &data)];
        table.extend(source.legs());
    }
    let right = pairs.iter().filter(|pair| {
        let source = TxHash::new(fixed(text(pair, "source_tx_hash")));
        let destination = TxHash::new(fixed(text(pair, "destination_tx_hash")));
        let transfers = table.transfers_of(chain_named("ethereum"), &source);
        transfers.iter().any(|transfer| {
            transfer.destinations.iter().any(|half| half.transaction == destination && half.step == Step::Received)
        })
    });
    let right = right.count();
    println!("multichain: {right} of {} joined, 95 % {:?}", pairs.len(), wilson(right, pairs.len()));
    assert_eq!(right, pairs.len());
}

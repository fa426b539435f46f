//! Celer's transfers from ethereum to polygon: the id is computed from the source, the destination is real call data.

use headwater_types::{Amount, TxHash};

use super::{OwnedTransaction, bytes, chain_named, corpus_json, fixed, text, wilson, word};
use crate::decode::{CelerTransfer, celer_transfer_id};
use crate::half::MatchClass;
use crate::matching::LegTable;
use crate::tests::{log, padded};

/// Celer's pool on polygon.
const POOL: &str = "88dcdc47d2f83a99cf0000fdf667a468bb958a78";

#[test]
fn corpus_celer_transfers_join_by_their_computed_id() {
    let file = corpus_json("celer_eth_polygon_relay_calldata.json");
    let pairs = file["pairs"].as_array().unwrap();
    let mut table = LegTable::default();
    let mut computed = 0;
    for (place, pair) in pairs.iter().enumerate() {
        let mut destination = OwnedTransaction::on("polygon", 0);
        destination.hash = fixed(text(pair, "destination_tx_hash"));
        destination.block = place as u64;
        destination.to = Some(fixed(POOL));
        destination.input = bytes(text(pair, "destination_tx_input"));
        let leg = destination.leg();
        let request = &pair["relay_request"];
        assert_eq!(leg.key().as_str(), text(request, "src_transfer_id"));
        assert_eq!(leg.token.as_ref().unwrap().to_string(), text(request, "token"));
        assert_eq!(leg.amount.unwrap().to_string(), text(request, "amount"));
        assert_eq!(leg.receiver.as_ref().unwrap().to_string(), text(pair, "receiver_address"));
        table.insert(leg);

        let Some(nonce) = pair["src_nonce"].as_u64() else { continue };
        computed += 1;
        let transfer = CelerTransfer {
            sender: fixed(text(pair, "sender_address")),
            receiver: fixed(text(pair, "receiver_address")),
            token: fixed(text(pair, "source_token")),
            amount: Amount::parse_raw(text(pair, "source_amount")).unwrap(),
            destination: 137,
            nonce,
            source: 1,
        };
        let id: [u8; 32] = fixed(celer_transfer_id(&transfer).as_str());
        let mut source = OwnedTransaction::on("ethereum", 0);
        source.hash = fixed(text(pair, "source_tx_hash"));
        let words = [
            id,
            padded(transfer.sender),
            padded(transfer.receiver),
            padded(transfer.token),
            transfer.amount.to_be_bytes(),
            word(137),
            word(u128::from(transfer.nonce)),
            word(5_000),
        ];
        let signature = "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)";
        source.logs =
            vec![log(place as u64, "5427fefa711eff984124bfbb1ab6fbf5e3da1820", signature, &[], &words.concat())];
        table.extend(source.legs());
    }
    let joined: Vec<_> = table.transfers().into_iter().filter(|transfer| transfer.source.is_some()).collect();
    let right = joined.iter().filter(|transfer| {
        let (source, destination) = (transfer.source.unwrap().transaction, transfer.destinations.first());
        assert_eq!(transfer.class(), MatchClass::UniqueId);
        pairs.iter().any(|pair| {
            source == TxHash::new(fixed(text(pair, "source_tx_hash")))
                && destination
                    .is_some_and(|half| half.transaction == TxHash::new(fixed(text(pair, "destination_tx_hash"))))
        })
    });
    let right = right.count();
    println!(
        "celer: {right} of {computed} with a known nonce joined, 95 % {:?}; {} pairs in all",
        wilson(right, computed),
        pairs.len()
    );
    assert_eq!((right, joined.len()), (computed, computed));
    assert_eq!(computed, 50);
    assert!(table.transfers_of(chain_named("ethereum"), &TxHash::new([0; 32])).is_empty());
}

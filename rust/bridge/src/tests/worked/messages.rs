//! Messages: `LayerZero` with OFT and Stargate, Wormhole, CCTP.

use headwater_types::TxHash;

use super::{OTHER, TOKEN, TOKEN_THERE, USER, amount, keccak, only, table};
use crate::half::MatchClass;
use crate::matching::Status;
use crate::tests::{OwnLog, OwnedTransaction, bytes, chain_named, dynamic, fixed, log, padded, token_transfer, word};

/// A packet of `LayerZero` V2 with its guid.
fn packet(nonce: u64, from: (u32, [u8; 20]), to: (u32, [u8; 20]), message: &[u8]) -> (Vec<u8>, [u8; 32]) {
    let path =
        [&nonce.to_be_bytes()[..], &from.0.to_be_bytes(), &padded(from.1), &to.0.to_be_bytes(), &padded(to.1)].concat();
    let guid = keccak(&path);
    ([&[1][..], &path, &guid, message].concat(), guid)
}

const ENDPOINT: &str = "1a44076050125825900e736c501f859c50fe728c";
const PACKET: &str = "PacketSent(bytes,bytes,address)";
const DELIVERED: &str = "PacketDelivered((uint32,bytes32,uint64),address)";
const SENT: &str = "OFTSent(bytes32,uint32,address,uint256,uint256)";
const RECEIVED: &str = "OFTReceived(bytes32,uint32,address,uint256)";

fn packet_log(index: u64, payload: &[u8]) -> OwnLog {
    let mut data = [word(96), word(96 + 32 + payload.len().next_multiple_of(32) as u128), padded(OTHER)].concat();
    data.extend(&dynamic(payload)[32..]);
    data.extend(word(0));
    log(index, ENDPOINT, PACKET, &[], &data)
}

#[test]
fn oft_of_any_contract_counts_beside_its_own_packet() {
    let app = [0x55; 20];
    let message = [&padded(USER)[..], &50_u64.to_be_bytes()].concat();
    let (payload, guid) = packet(4, (30_101, app), (30_102, app), &message);
    let mut source = OwnedTransaction::on("ethereum", 1);
    source.logs = vec![
        packet_log(0, &payload),
        log(1, &hex::encode(app), SENT, &[guid, padded(USER)], &[word(30_102), word(50), word(49)].concat()),
        // Anybody can emit the event with a guid of somebody else.
        log(2, &hex::encode([0x66; 20]), SENT, &[guid, padded(OTHER)], &[word(30_102), word(900), word(900)].concat()),
    ];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.sender.as_ref().unwrap().to_string()), (Some(50), format!("0x{}", "11".repeat(20))));
    assert_eq!(leg.receiver.as_ref().unwrap().to_string(), format!("0x{}", "11".repeat(20)), "from the packet");

    let mut destination = OwnedTransaction::on("bsc", 2);
    let origin = [word(30_101), padded(app), word(4), padded(app)].concat();
    destination.logs = vec![
        log(0, &hex::encode(app), RECEIVED, &[guid, padded(USER)], &[word(30_101), word(49)].concat()),
        log(1, ENDPOINT, DELIVERED, &[], &origin),
    ];
    let table = table([destination.legs(), source.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), transfer.class()), (Status::Completed, MatchClass::UniqueId));
    assert_eq!(amount(transfer.destinations[0]), Some(49));
    let mut forged = source.clone();
    forged.logs[0].data[100] ^= 1;
    assert!(forged.legs().is_empty(), "the guid is not that of the path");
}

#[test]
fn stargate_bus_joins_riders_in_order_of_tickets() {
    let (pool, messaging) = ("933597a323eb81cae705c5bc29985172fd5a3973", "6d6620efa72948c5f68a3c8646d58c00d3f4a980");
    let ride = |hash: u8, ticket: u128, user: [u8; 20], value: u128| {
        let passenger = [&2_u16.to_be_bytes()[..], &padded(user), &7_u64.to_be_bytes(), &[0]].concat();
        let mut data = [word(30_102), word(ticket), word(0), word(128)].concat();
        data.extend(&dynamic(&passenger)[32..]);
        let mut ride = OwnedTransaction::on("ethereum", hash);
        ride.logs = vec![
            log(0, messaging, "BusRode(uint32,uint72,uint80,bytes)", &[], &data),
            log(1, pool, SENT, &[[0; 32], padded(user)], &[word(30_102), word(value), word(value)].concat()),
        ];
        ride.legs()
    };
    let (there, app) = ("138eb30f73bc423c6455c53df6d89cb01d9ebc63", fixed("6e3d884c96d640526f273c61dfcf08915ebd7e2b"));
    let (payload, guid) = packet(4, (30_101, fixed(messaging)), (30_102, app), &[2]);
    let mut drive = OwnedTransaction::on("ethereum", 8);
    let driven = [word(30_102), word(10), word(3), guid].concat();
    drive.logs =
        vec![packet_log(0, &payload), log(1, messaging, "BusDriven(uint32,uint72,uint8,bytes32)", &[], &driven)];
    assert_eq!(drive.legs().len(), 3, "a bus is not a transfer");
    let mut arrive = OwnedTransaction::on("bsc", 9);
    let origin = [word(30_101), padded(fixed(messaging)), word(4), padded(app)].concat();
    let cached = {
        let mut data = [guid, word(1), word(30_101), padded(OTHER), word(21), word(192)].concat();
        data.extend(word(0));
        data
    };
    arrive.logs = vec![
        log(0, ENDPOINT, DELIVERED, &[], &origin),
        log(1, there, RECEIVED, &[guid, padded(USER)], &[word(30_101), word(20)].concat()),
        log(2, there, "UnreceivedTokenCached(bytes32,uint8,uint32,address,uint256,bytes)", &[], &cached),
        log(3, there, RECEIVED, &[guid, padded(USER)], &[word(30_101), word(22)].concat()),
    ];
    let table =
        table([arrive.legs(), ride(12, 12, USER, 22), drive.legs(), ride(11, 11, OTHER, 21), ride(10, 10, USER, 20)]);
    let transfers = table.transfers();
    assert_eq!(transfers.len(), 3, "{transfers:#?}");
    for (transfer, ticket, status) in [
        (&transfers[0], 20, Status::Completed),
        (&transfers[1], 21, Status::Failed),
        (&transfers[2], 22, Status::Completed),
    ] {
        assert_eq!((amount(transfer.source.unwrap()), transfer.status()), (Some(ticket), status));
        assert_eq!((transfer.class(), &*transfer.source.unwrap().bridge), (MatchClass::Content, "Stargate"));
        if status == Status::Completed {
            assert_eq!(amount(transfer.destinations[0]), Some(ticket));
        }
    }
}

#[test]
fn stargate_v1_takes_amounts_from_the_transfers() {
    let (bridge, pool) = ("296f55f8fb28e498b858d0bcda06d955b2cb3f97", "df0770df86a8034b3efef0a1bb3c889b8332ff56");
    let (there, pool_there) = ("6694340fc020c5e6b96567843da2df01b2ce1eb6", "9aa83081aa06af7208dcc7a4cb72c94d057d2cda");
    let (uln, nonce) = ("4d73adb72bc3dd368966edd0f0b2148401a178e2", 24_179_u64);
    let payload =
        [&nonce.to_be_bytes()[..], &101_u16.to_be_bytes(), &bytes(bridge), &102_u16.to_be_bytes(), &bytes(there)]
            .concat();
    let mut source = OwnedTransaction::on("ethereum", 1);
    source.from = Some(USER);
    let swap = [word(102), word(2), padded(OTHER), word(5), word(0), word(0), word(0), word(0)].concat();
    source.logs = vec![
        token_transfer(0, TOKEN, USER, fixed(pool), 77),
        log(1, pool, "Swap(uint16,uint256,address,uint256,uint256,uint256,uint256,uint256)", &[], &swap),
        log(2, uln, "Packet(bytes)", &[], &dynamic(&payload)),
    ];
    let leg = source.leg();
    assert_eq!((&*leg.bridge, amount(&leg), leg.other_chain), ("Stargate", Some(77), Some(chain_named("bsc"))));
    let mut destination = OwnedTransaction::on("bsc", 2);
    let path = [bytes(bridge), bytes(there)].concat();
    let mut received = [word(96), word(u128::from(nonce)), [0; 32]].concat();
    received.extend(&dynamic(&path)[32..]);
    destination.logs = vec![
        token_transfer(0, TOKEN_THERE, fixed(pool_there), USER, 76),
        log(
            1,
            pool_there,
            "SwapRemote(address,uint256,uint256,uint256)",
            &[],
            &[padded(USER), word(5), word(0), word(0)].concat(),
        ),
        log(
            2,
            uln,
            "PacketReceived(uint16,bytes,address,uint64,bytes32)",
            &[word(101), padded(fixed(there))],
            &received,
        ),
    ];
    let table = table([source.legs(), destination.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), amount(transfer.destinations[0])), (Status::Completed, Some(76)));
    assert_eq!(transfer.source.unwrap().key().as_str(), format!("101:0x{bridge}:0x{there}:24179"));
}

#[test]
fn wormhole_redemption_joins_by_event_or_call_data() {
    let (core, bridge) = ("98f3c9e6e3face36baad05fe09d375ef1464288b", "3ee18b2214aff97000d974cf647e7c347e8fa585");
    let there = "b6f6d86a8f9879a9c87f643768d9efc38c1da6e7";
    let payload =
        [&[1][..], &word(5), &padded(TOKEN), &2_u16.to_be_bytes(), &padded(USER), &4_u16.to_be_bytes(), &word(0)]
            .concat();
    let mut source = OwnedTransaction::on("ethereum", 1);
    let mut data = [word(31), word(0), word(128), word(1)].concat();
    data.extend(&dynamic(&payload)[32..]);
    source.logs = vec![
        token_transfer(0, TOKEN, OTHER, fixed(bridge), 500),
        log(1, core, "LogMessagePublished(address,uint64,uint32,bytes,uint8)", &[padded(fixed(bridge))], &data),
    ];
    let leg = source.leg();
    assert_eq!(leg.key().as_str(), format!("2:0x{}{bridge}:31", "00".repeat(12)));
    assert_eq!((amount(&leg), leg.receiver.unwrap().to_string()), (Some(500), format!("0x{}", "11".repeat(20))));

    let mut event = OwnedTransaction::on("bsc", 2);
    event.logs = vec![
        token_transfer(0, TOKEN_THERE, [0; 20], USER, 499),
        log(1, there, "TransferRedeemed(uint16,bytes32,uint64)", &[word(2), padded(fixed(bridge)), word(31)], &[]),
    ];
    // version, guardian set, no signature, time, nonce, chain, emitter, sequence, consistency, payload.
    let vaa = [
        &[1, 0, 0, 0, 0, 0][..],
        &[0; 8],
        &2_u16.to_be_bytes(),
        &padded(fixed(bridge)),
        &31_u64.to_be_bytes(),
        &[1],
        &payload,
    ]
    .concat();
    let mut call = OwnedTransaction::on("bsc", 3);
    call.to = Some(fixed(there));
    call.input = [bytes("c6878519"), dynamic(&vaa)].concat();
    call.logs = vec![event.logs[0].clone()];
    for destination in [event, call] {
        let table = table([destination.legs(), source.legs()]);
        let transfer = only(&table);
        assert_eq!((transfer.status(), amount(transfer.destinations[0])), (Status::Completed, Some(499)));
    }
}

#[test]
fn cctp_v2_joins_equal_bodies_in_order_of_time() {
    let transmitter = "81d40f21f12a8f0e3252bccb954d722d4c464b64";
    let body = |fee: u128| {
        [
            &1_u32.to_be_bytes()[..],
            &padded(TOKEN),
            &padded(USER),
            &word(90),
            &padded(OTHER),
            &word(5),
            &word(fee),
            &word(fee),
        ]
        .concat()
    };
    let send = |hash: u8, time: i64| {
        let message = [
            &1_u32.to_be_bytes()[..],
            &0_u32.to_be_bytes(),
            &6_u32.to_be_bytes(),
            &[0; 32],
            &padded(OTHER),
            &padded(OTHER),
            &[0; 32],
            &1000_u32.to_be_bytes(),
            &0_u32.to_be_bytes(),
            &body(0),
        ]
        .concat();
        let mut send = OwnedTransaction::on("ethereum", hash);
        send.time = time;
        send.logs = vec![log(0, transmitter, "MessageSent(bytes)", &[], &dynamic(&message))];
        send.legs()
    };
    let receive = |hash: u8, time: i64, fee: u128| {
        let mut data = [word(0), padded(OTHER), word(96)].concat();
        data.extend(&dynamic(&body(fee))[32..]);
        let mut receive = OwnedTransaction::on("base", hash);
        receive.time = time;
        let signature = "MessageReceived(address,uint32,bytes32,bytes32,uint32,bytes)";
        let mint = "MintAndWithdraw(address,uint256,address,uint256)";
        receive.logs = vec![
            log(
                0,
                "28b5a0e9c621a5badaa536219b3a228c8168cf5d",
                mint,
                &[padded(USER), padded(TOKEN_THERE)],
                &[word(90 - fee), word(fee)].concat(),
            ),
            log(1, transmitter, signature, &[padded(OTHER), word(77), word(1000)], &data),
        ];
        receive.legs()
    };
    let table = table([receive(8, 2_000, 2), receive(7, 1_900, 1), send(2, 1_100), send(1, 1_000)]);
    let transfers = table.transfers();
    let joined: Vec<_> = transfers
        .iter()
        .map(|transfer| {
            (
                transfer.source.unwrap().transaction,
                transfer.destinations[0].transaction,
                amount(transfer.destinations[0]),
            )
        })
        .collect();
    let hash = |byte| TxHash::new([byte; 32]);
    assert_eq!(joined, [(hash(1), hash(7), Some(89)), (hash(2), hash(8), Some(88))]);
    assert!(transfers.iter().all(|transfer| transfer.class() == MatchClass::Content));
    assert!((transfers[0].confidence() - 0.80).abs() < 1e-9, "either could be the other");
}

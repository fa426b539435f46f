//! Legs worked by hand from the facts of `bridges.md`: what each protocol states, and how its legs join.

use headwater_types::TxHash;
use sha3::{Digest, Keccak256};

use super::{Own, bytes, chain_named, dynamic, fixed, log, padded, token_transfer, word};
use crate::half::{Half, MatchClass, Step, Token};
use crate::matching::{HalfTable, Status, Transfer};

const USER: [u8; 20] = [0x11; 20];
const OTHER: [u8; 20] = [0x22; 20];
const TOKEN: [u8; 20] = [0x33; 20];
const TOKEN_THERE: [u8; 20] = [0x44; 20];

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

fn table(legs: impl IntoIterator<Item = Vec<Half>>) -> HalfTable {
    let mut table = HalfTable::default();
    table.extend(legs.into_iter().flatten());
    table
}

/// The only transfer.
fn only(table: &HalfTable) -> Transfer<'_> {
    let mut transfers = table.transfers();
    assert_eq!(transfers.len(), 1, "{transfers:#?}");
    transfers.remove(0)
}

fn amount(half: &Half) -> Option<u128> {
    half.amount.and_then(headwater_types::Amount::to_u128)
}

#[test]
fn across_deposit_of_v2_is_filled_in_parts() {
    let mut deposit = Own::on("ethereum", 1);
    // amount, originChainId, relayerFeePct, quoteTimestamp, originToken, recipient, message.
    let data = [word(100), word(1), word(7), word(0), padded(TOKEN), padded(USER), word(224), word(0)].concat();
    let signature = "FundsDeposited(uint256,uint256,uint256,int64,uint32,uint32,address,address,address,bytes)";
    deposit.logs =
        vec![log(0, "5c7bcd6e7de5423a257d81b442095a1a6ced35c5", signature, &[word(56), word(9), padded(OTHER)], &data)];
    let fill = |hash, filled, total| {
        let mut fill = Own::on("bsc", hash);
        let head = [
            word(100),
            word(total),
            word(filled),
            word(1),
            word(56),
            word(7),
            word(7),
            padded(TOKEN_THERE),
            padded(OTHER),
            padded(USER),
        ];
        let update = [padded(USER), word(160), word(7), word(0), word(0), word(0)].concat();
        let data = [head.concat(), word(12 * 32).to_vec(), word(13 * 32).to_vec(), word(0).to_vec(), update].concat();
        let signature = "FilledRelay(uint256,uint256,uint256,uint256,uint256,uint256,int64,int64,uint32,address,address,address,address,bytes,(address,bytes,int64,bool,int256))";
        fill.logs = vec![log(
            0,
            "4e8e101924ede233c13e2d8622dc8aed2872d505",
            signature,
            &[word(1), word(9), padded(OTHER)],
            &data,
        )];
        fill
    };
    let table = table([fill(3, 60, 100).legs(), deposit.legs(), fill(2, 40, 40).legs()]);
    let transfer = only(&table);
    assert_eq!(transfer.source.unwrap().key().as_str(), "1:9");
    assert_eq!((transfer.destinations.len(), transfer.received_amount().unwrap().to_u128()), (2, Some(100)));
    assert_eq!((transfer.status(), transfer.class()), (Status::Completed, MatchClass::UniqueTuple));
}

#[test]
fn across_event_of_an_unknown_contract_is_not_a_leg() {
    let mut deposit = Own::on("ethereum", 1);
    let data = [word(100), word(1), word(7), word(0), padded(TOKEN), padded(USER), word(224), word(0)].concat();
    let signature = "FundsDeposited(uint256,uint256,uint256,int64,uint32,uint32,address,address,address,bytes)";
    let topics = [word(56), word(9), padded(OTHER)];
    deposit.logs = vec![log(0, "00000000000000000000000000000000000000aa", signature, &topics, &data)];
    assert!(deposit.legs().is_empty());
    // The pool of ethereum is nothing on bsc.
    deposit.logs[0].contract = fixed("5c7bcd6e7de5423a257d81b442095a1a6ced35c5");
    assert_eq!(deposit.legs().len(), 1);
    deposit.chain = chain_named("bsc");
    assert!(deposit.legs().is_empty());
}

#[test]
fn celer_refund_makes_a_transfer_refunded() {
    let pool = "5427fefa711eff984124bfbb1ab6fbf5e3da1820";
    let mut send = Own::on("ethereum", 1);
    let words = [word(7), padded(USER), padded(USER), padded(TOKEN), word(50), word(56), word(1), word(5)];
    send.logs =
        vec![log(0, pool, "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)", &[], &words.concat())];
    let mut refund = Own::on("ethereum", 2);
    let words = [word(99), word(1), padded(USER), padded(TOKEN), word(50), word(7)];
    refund.logs =
        vec![log(0, pool, "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)", &[], &words.concat())];
    let mut liquidity = refund.clone();
    liquidity.hash = [3; 32];
    liquidity.logs[0].data[5 * 32..].fill(0);
    assert!(liquidity.legs().is_empty(), "a withdrawal of liquidity refers to nothing");
    let table = table([refund.legs(), send.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), transfer.refunds.len()), (Status::Refunded, 1));
    assert_eq!(transfer.source.unwrap().other_chain, Some(chain_named("bsc")));
}

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

fn packet_log(index: u64, payload: &[u8]) -> super::OwnLog {
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
    let mut source = Own::on("ethereum", 1);
    source.logs = vec![
        packet_log(0, &payload),
        log(1, &hex::encode(app), SENT, &[guid, padded(USER)], &[word(30_102), word(50), word(49)].concat()),
        // Anybody can emit the event with a guid of somebody else.
        log(2, &hex::encode([0x66; 20]), SENT, &[guid, padded(OTHER)], &[word(30_102), word(900), word(900)].concat()),
    ];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.sender.as_ref().unwrap().to_string()), (Some(50), format!("0x{}", "11".repeat(20))));
    assert_eq!(leg.receiver.as_ref().unwrap().to_string(), format!("0x{}", "11".repeat(20)), "from the packet");

    let mut destination = Own::on("bsc", 2);
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
        let mut ride = Own::on("ethereum", hash);
        ride.logs = vec![
            log(0, messaging, "BusRode(uint32,uint72,uint80,bytes)", &[], &data),
            log(1, pool, SENT, &[[0; 32], padded(user)], &[word(30_102), word(value), word(value)].concat()),
        ];
        ride.legs()
    };
    let (there, app) = ("138eb30f73bc423c6455c53df6d89cb01d9ebc63", fixed("6e3d884c96d640526f273c61dfcf08915ebd7e2b"));
    let (payload, guid) = packet(4, (30_101, fixed(messaging)), (30_102, app), &[2]);
    let mut drive = Own::on("ethereum", 8);
    let driven = [word(30_102), word(10), word(3), guid].concat();
    drive.logs =
        vec![packet_log(0, &payload), log(1, messaging, "BusDriven(uint32,uint72,uint8,bytes32)", &[], &driven)];
    assert_eq!(drive.legs().len(), 3, "a bus is not a transfer");
    let mut arrive = Own::on("bsc", 9);
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
    let mut source = Own::on("ethereum", 1);
    source.from = Some(USER);
    let swap = [word(102), word(2), padded(OTHER), word(5), word(0), word(0), word(0), word(0)].concat();
    source.logs = vec![
        token_transfer(0, TOKEN, USER, fixed(pool), 77),
        log(1, pool, "Swap(uint16,uint256,address,uint256,uint256,uint256,uint256,uint256)", &[], &swap),
        log(2, uln, "Packet(bytes)", &[], &dynamic(&payload)),
    ];
    let leg = source.leg();
    assert_eq!((&*leg.bridge, amount(&leg), leg.other_chain), ("Stargate", Some(77), Some(chain_named("bsc"))));
    let mut destination = Own::on("bsc", 2);
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
    let mut source = Own::on("ethereum", 1);
    let mut data = [word(31), word(0), word(128), word(1)].concat();
    data.extend(&dynamic(&payload)[32..]);
    source.logs = vec![
        token_transfer(0, TOKEN, OTHER, fixed(bridge), 500),
        log(1, core, "LogMessagePublished(address,uint64,uint32,bytes,uint8)", &[padded(fixed(bridge))], &data),
    ];
    let leg = source.leg();
    assert_eq!(leg.key().as_str(), format!("2:0x{}{bridge}:31", "00".repeat(12)));
    assert_eq!((amount(&leg), leg.receiver.unwrap().to_string()), (Some(500), format!("0x{}", "11".repeat(20))));

    let mut event = Own::on("bsc", 2);
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
    let mut call = Own::on("bsc", 3);
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
        let mut send = Own::on("ethereum", hash);
        send.time = time;
        send.logs = vec![log(0, transmitter, "MessageSent(bytes)", &[], &dynamic(&message))];
        send.legs()
    };
    let receive = |hash: u8, time: i64, fee: u128| {
        let mut data = [word(0), padded(OTHER), word(96)].concat();
        data.extend(&dynamic(&body(fee))[32..]);
        let mut receive = Own::on("base", hash);
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

#[test]
fn multichain_transfers_of_one_transaction_differ_by_receiver() {
    let out = "LogAnySwapOut(address,address,address,uint256,uint256,uint256)";
    let mut source = Own::on("ethereum", 1);
    let swap = |index, to, value| {
        let data = [word(value), word(1), word(56)].concat();
        log(index, "ba8da9dcf11b50b03fd5284f164ef5cdef910705", out, &[padded(TOKEN), padded(OTHER), padded(to)], &data)
    };
    source.logs = vec![token_transfer(0, TOKEN_THERE, OTHER, TOKEN, 10), swap(1, USER, 10), swap(2, OTHER, 10)];
    let receive = |hash, to| {
        let mut receive = Own::on("bsc", hash);
        let data = [word(9), word(1), word(56)].concat();
        let topics = [[1; 32], padded(TOKEN_THERE), padded(to)];
        let signature = "LogAnySwapIn(bytes32,address,address,uint256,uint256,uint256)";
        receive.logs = vec![log(0, "e1d592c3322f1f714ca11f05b6bc0efef1907859", signature, &topics, &data)];
        receive.legs()
    };
    let legs = source.legs();
    assert_eq!(
        legs[0].token,
        Some(Token::contract(headwater_types::Address::Evm(TOKEN_THERE))),
        "what is behind the wrapper"
    );
    let table = table([receive(2, OTHER), receive(3, USER), legs]);
    let transfers = table.transfers();
    assert_eq!(transfers.len(), 2);
    for transfer in transfers {
        let (from, to) = (transfer.source.unwrap(), transfer.destinations[0]);
        assert_eq!((from.receiver.as_ref(), transfer.class()), (to.receiver.as_ref(), MatchClass::SourceHash));
        assert_eq!(to.other_transaction, Some(TxHash::new([1; 32])));
    }
}

#[test]
fn synapse_kappa_is_the_hash_of_the_source_as_text() {
    let mut source = Own::on("ethereum", 0xab);
    let data = [word(56), padded(TOKEN), word(100)].concat();
    source.logs = vec![log(
        0,
        "2796317b0ff8538f253012862c06787adfb8ceb6",
        "TokenDeposit(address,uint256,address,uint256)",
        &[padded(USER)],
        &data,
    )];
    let kappa = keccak(format!("0x{}", "ab".repeat(32)).as_bytes());
    let mut destination = Own::on("bsc", 2);
    let data = [padded(TOKEN_THERE), word(100), word(3)].concat();
    destination.logs = vec![log(
        0,
        "d123f70ae324d34a9e76b67a27bf77593ba8749f",
        "TokenWithdraw(address,address,uint256,uint256,bytes32)",
        &[padded(USER), kappa],
        &data,
    )];
    let table = table([destination.legs(), source.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.class(), transfer.status()), (MatchClass::DerivedId, Status::Completed));
    assert_eq!(amount(transfer.destinations[0]), Some(97), "less the fee");
}

#[test]
fn hop_from_ethereum_joins_by_equal_content() {
    let mut source = Own::on("ethereum", 1);
    let topics = [word(10), padded(USER), padded([0; 20])];
    let signature = "TransferSentToL2(uint256,address,uint256,uint256,uint256,address,uint256)";
    source.logs = vec![log(
        0,
        "b8901acb165ed027e32754e0ffe830802919727f",
        signature,
        &topics,
        &[word(200), word(190), word(9), word(0)].concat(),
    )];
    let receive = |amount| {
        let mut receive = Own::on("optimism", 2);
        let data = [word(amount), word(190), word(9), word(0)].concat();
        let signature = "TransferFromL1Completed(address,uint256,uint256,uint256,address,uint256)";
        receive.logs = vec![log(
            0,
            "83f6244bd87662118d96d9a6d44f09dfff14b30e",
            signature,
            &[padded(USER), padded([0; 20])],
            &data,
        )];
        receive.legs()
    };
    let with = |legs| table([source.legs(), legs]);
    assert_eq!(only(&with(receive(200))).status(), Status::Completed);
    assert_eq!(with(receive(201)).transfers().len(), 2);
    assert_eq!(source.leg().token, Some(Token::Symbol("ETH".into())));
}

#[test]
fn thorchain_memo_joins_deposit_payment_and_return() {
    let router = "d37bbe5744d730a1d98d8dc97c42f0ca46ad7146";
    let memo = |head: &[[u8; 32]], text: &str| {
        let mut data = head.concat();
        data.extend(word(32 * (head.len() as u128 + 1)));
        data.extend(&dynamic(text.as_bytes())[32..]);
        data
    };
    let deposit = |text: &str| {
        let mut deposit = Own::on("ethereum", 0xcd);
        deposit.logs = vec![log(
            0,
            router,
            "Deposit(address,address,uint256,string)",
            &[padded(OTHER), [0; 32]],
            &memo(&[word(70)], text),
        )];
        deposit
    };
    let leg = deposit("=:b:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4:0").leg();
    assert_eq!(
        (leg.other_chain, leg.token, amount(&deposit("=:e:x").leg())),
        (Some(chain_named("bitcoin")), Some(Token::Native), Some(70))
    );
    assert!(leg.receiver.unwrap().address().is_some());
    assert!(deposit("ADD:BTC.BTC:x").legs().is_empty(), "liquidity is not a transfer");
    let pay = |hash, kind: &str| {
        let mut pay = Own::on("bsc", hash);
        let text = format!("{kind}:{}", "CD".repeat(32));
        pay.logs = vec![log(
            0,
            "b30ec53f98ff5947ede720d32ac2da7e52a5f56b",
            "TransferOut(address,address,address,uint256,string)",
            &[padded(OTHER), padded(USER)],
            &memo(&[[0; 32], word(9)], &text),
        )];
        pay.legs()
    };
    let table = table([pay(2, "OUT"), pay(3, "OUT"), deposit("=:s:0x1111111111111111111111111111111111111111").legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), transfer.destinations.len()), (Status::Completed, 2), "paid in parts");
    let step = pay(4, "REFUND")[0].step;
    assert_eq!(step, Step::Refunded);
}

#[test]
fn ccip_state_other_than_success_is_a_failure() {
    let execute = |state| {
        let mut execute = Own::on("ethereum", 1);
        let signature = "ExecutionStateChanged(uint64,bytes32,uint8,bytes)";
        let data = [word(state), word(64), word(0)].concat();
        execute.logs = vec![log(0, "df615ef8d4c64d0ed8fd7824bbed2f6a10245ac9", signature, &[word(1), word(7)], &data)];
        execute.leg()
    };
    assert_eq!((execute(2).step, execute(3).step), (Step::Received, Step::Failed));
    assert_eq!(execute(2).other_chain, Some(chain_named("arbitrum")), "the lane is in the role of the contract");
}

#[test]
fn allbridge_takes_its_key_from_the_messenger_beside_it() {
    let mut source = Own::on("ethereum", 1);
    let swapped = [padded(OTHER), padded(TOKEN), word(1_000_000), word(1_000), word(0)].concat();
    let sent = [word(1_000), padded(USER), word(2), padded(TOKEN_THERE), word(5), word(1)].concat();
    source.logs = vec![
        log(
            0,
            "7dbf07ad92ed4e26d5511b4f285508ebf174135d",
            "SwappedToVUsd(address,address,uint256,uint256,uint256)",
            &[],
            &swapped,
        ),
        log(1, "203e8785b4d4312c4152d0c42ba3fa8bd79086da", "MessageSent(bytes32)", &[word(42)], &[]),
        log(
            2,
            "609c690e8f7d68a59885c9132e812eebdaaf0c9e",
            "TokensSent(uint256,bytes32,uint256,bytes32,uint256,uint8)",
            &[],
            &sent,
        ),
    ];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.other_chain), (Some(1_000_000), Some(chain_named("bsc"))));
    assert!(leg.key().as_str().ends_with("2a"), "{}", leg.key());
}

#[test]
fn poly_lock_has_the_id_of_the_manager_beside_it() {
    let mut source = Own::on("ethereum", 1);
    let mut event = [word(160), padded(OTHER), word(6), word(224), word(288)].concat();
    event.extend(&dynamic(&word(77))[32..]);
    event.extend([word(0), word(0)].concat());
    let mut lock = [padded(TOKEN), padded(USER), word(6), word(192), word(256), word(31)].concat();
    lock.extend(&dynamic(&TOKEN_THERE)[32..]);
    lock.extend(&dynamic(&USER)[32..]);
    source.logs = vec![
        log(
            0,
            "14413419452aaf089762a0c5e95ed2a13bbc488c",
            "CrossChainEvent(address,bytes,address,uint64,bytes,bytes)",
            &[padded(OTHER)],
            &event,
        ),
        log(
            1,
            "250e76987d838a75310c34bf422ea9f1ac4cc906",
            "LockEvent(address,address,uint64,bytes,bytes,uint256)",
            &[],
            &lock,
        ),
    ];
    let mut destination = Own::on("bsc", 2);
    let mut execute = [word(2), word(128), word(160), word(192), word(0), word(0)].concat();
    execute.extend(&dynamic(&word(77))[32..]);
    destination.logs = vec![
        log(
            0,
            "2f7ac9436ba4b548f9582af91ca1ef02cd2f1f03",
            "UnlockEvent(address,address,uint256)",
            &[],
            &[padded(TOKEN_THERE), padded(USER), word(30)].concat(),
        ),
        log(
            1,
            "1c9ca8abb5da65d94dad2e8fb3f45535480d5909",
            "VerifyHeaderAndExecuteTxEvent(uint64,bytes,bytes,bytes)",
            &[],
            &execute,
        ),
    ];
    let table = table([source.legs(), destination.legs()]);
    let transfer = only(&table);
    assert_eq!((amount(transfer.source.unwrap()), amount(transfer.destinations[0])), (Some(31), Some(30)));
}

//! Both legs of every bridge, decoded from their logs by the field tables of the protocols and joined as their class
//! allows, against the truth. The decoder does not use the economy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use headwater_ledger::facts::{LogFacts, TransactionFacts};
use headwater_simulate::truth::{BridgeClass, BridgeOutcome, BridgeTransfer};
use headwater_types::{Chain, Family, TxHash};
use sha3::{Digest, Keccak256};

use crate::DEMO;

static BY_HASH: LazyLock<HashMap<(Chain, TxHash), &'static TransactionFacts>> = LazyLock::new(|| {
    let of_batch = |batch: &'static headwater_ledger::facts::Batch| {
        batch.transactions.iter().map(move |facts| ((batch.chain, facts.hash), facts))
    };
    DEMO.batches.iter().filter(|batch| batch.chain.family() != Family::Utxo).flat_map(of_batch).collect()
});

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

fn hex(text: &str) -> [u8; 32] {
    let digits = text.trim_start_matches("0x");
    std::array::from_fn(|place| u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).unwrap())
}

/// The first topics, as literals of the protocols' own code.
mod topic {
    pub const ACROSS_DEPOSIT: &str = "0x32ed1a409ef04c7b0227189c3a103dc5ac10e775a15b785dcc510201f7c25ad3";
    pub const ACROSS_FILL: &str = "0x44b559f101f8fbcc8a0ea43fa91a05a729a5ea6e14a7c75aa750374690137208";
    pub const ACROSS_REFUND: &str = "0xf8bd640004bcec1b89657020f561d0b070cbdf662d0b158db9dccb0a8301bfab";
    pub const CELER_SEND: &str = "0x89d8051e597ab4178a863a5190407b98abfeff406aa8db90c59af76612e58f01";
    pub const CELER_RELAY: &str = "0x79fa08de5149d912dce8e5e8da7a7c17ccdf23dd5d3bfe196802e6eb86347c7c";
    pub const CELER_REFUND: &str = "0x48a1ab26f3aa7b62bb6b6e8eed182f292b84eb7b006c0254386b268af20774be";
    pub const OFT_SENT: &str = "0x85496b760a4b7f8d66384b9df21b381f5d1b1e79f229a47aaf4c232edc2fe59a";
    pub const OFT_RECEIVED: &str = "0xefed6d3500546b29533b128a29e3a94d70788727f0507505ac12eaf2e578fd9c";
    pub const PACKET_SENT: &str = "0x1ab700d4ced0c005b164c0f789fd09fcbb0156d4c2041b8a3bfbcd961cd1567f";
    pub const PACKET_DELIVERED: &str = "0x3cd5e48f9730b129dc7550f0fcea9c767b7be37837cd10e55eb35f734f4bca04";
    pub const BUS_RODE: &str = "0x15955c5a4cc61b8fbb05301bce47fd31c0e6f935e1ab97fdac9b134c887bb074";
    pub const BUS_DRIVEN: &str = "0x1623f9ea59bd6f214c9571a892da012fc23534aa5906bef4ae8c5d15ee7d2d6e";
    pub const WORMHOLE_SENT: &str = "0x6eb224fb001ed210e379b335e35efe88672a8ce935d981a6896b27ffdf52a3b2";
    pub const WORMHOLE_REDEEMED: &str = "0xcaf280c8cfeba144da67230d9b009c8f868a75bac9a528fa0474be1ba317c169";
    pub const MULTICHAIN_OUT: &str = "0x97116cf6cd4f6412bb47914d6db18da9e16ab2142f543b86e207c24fbd16b23a";
    pub const MULTICHAIN_IN: &str = "0xaac9ce45fe3adf5143598c4f18a369591a20a3384aedaf1b525d29127e1fcd55";
    pub const SYNAPSE_DEPOSIT: &str = "0xda5273705dbef4bf1b902a131c2eac086b7e1476a8ab0cb4da08af1fe1bd8e3b";
    pub const SYNAPSE_WITHDRAW: &str = "0x8b0afdc777af6946e53045a4a75212769075d30455a212ac51c9b16f9c5c9b26";

    pub const THORCHAIN_DEPOSIT: &str = "0xef519b7eb82aaf6ac376a6df2d793843ebfd593de5f1a0601d3cc6ab49ebb395";
    pub const THORCHAIN_OUT: &str = "0xa9cd03aa3c1b4515114539cd53d22085129d495cb9e9f9af77864526240f1bf7";

    pub const ALL: [&str; 20] = [
        ACROSS_DEPOSIT,
        ACROSS_FILL,
        ACROSS_REFUND,
        CELER_SEND,
        CELER_RELAY,
        CELER_REFUND,
        OFT_SENT,
        OFT_RECEIVED,
        PACKET_SENT,
        PACKET_DELIVERED,
        BUS_RODE,
        BUS_DRIVEN,
        WORMHOLE_SENT,
        WORMHOLE_REDEEMED,
        MULTICHAIN_OUT,
        MULTICHAIN_IN,
        SYNAPSE_DEPOSIT,
        SYNAPSE_WITHDRAW,
        THORCHAIN_DEPOSIT,
        THORCHAIN_OUT,
    ];
}

/// A log with readers of its words.
#[derive(Clone, Copy)]
struct Log(&'static LogFacts);

impl Log {
    fn word(self, place: usize) -> [u8; 32] {
        self.0.data[32 * place..32 * place + 32].try_into().unwrap()
    }

    fn number(self, place: usize) -> u128 {
        number(self.word(place))
    }

    fn account(self, place: usize) -> [u8; 20] {
        account(self.word(place))
    }

    fn bytes(self, place: usize) -> &'static [u8] {
        let offset = usize::try_from(self.number(place)).unwrap();
        let length = usize::try_from(number(self.0.data[offset..offset + 32].try_into().unwrap())).unwrap();
        &self.0.data[offset + 32..offset + 32 + length]
    }
}

fn number(word: [u8; 32]) -> u128 {
    assert_eq!(word[..16], [0; 16]);
    u128::from_be_bytes(word[16..].try_into().unwrap())
}

fn account(word: [u8; 32]) -> [u8; 20] {
    assert_eq!(word[..12], [0; 12]);
    word[12..].try_into().unwrap()
}

fn address_bytes(address: &headwater_types::Address) -> [u8; 20] {
    match address {
        headwater_types::Address::Evm(bytes) | headwater_types::Address::Tron(bytes) => *bytes,
        headwater_types::Address::Utxo(_) => panic!("an account chain"),
    }
}

/// Every log of an event, with its chain and transaction, in order of the chain.
fn logs(topic0: &str) -> Vec<(Chain, TxHash, Log)> {
    let topic0 = hex(topic0);
    let mut found = Vec::new();
    for batch in &DEMO.batches {
        for facts in &batch.transactions {
            let of_event = facts.logs.iter().filter(|log| log.topics.first() == Some(&topic0));
            found.extend(of_event.map(|log| (batch.chain, facts.hash, Log(log))));
        }
    }
    found
}

fn log_of(chain: Chain, hash: TxHash, topic0: &str) -> Log {
    let facts = BY_HASH[&(chain, hash)];
    Log(facts.logs.iter().find(|log| log.topics[0] == hex(topic0)).expect("an event of the protocol"))
}

fn chain_id(chain: Chain) -> u128 {
    match chain {
        Chain::ETHEREUM => 1,
        Chain::BSC => 56,
        _ => 728_126_428,
    }
}

fn of(bridge: &'static str, outcome: BridgeOutcome) -> impl Iterator<Item = &'static BridgeTransfer> {
    DEMO.truth.bridge_transfers.iter().filter(move |row| row.bridge == bridge && row.outcome == outcome)
}

type Key = (Chain, Vec<u8>);
type TransactionsByKey = BTreeMap<Key, (Chain, TxHash)>;

/// Joins two sides by their key and compares the pairs with the truth.
fn compare(bridge: &'static str, sources: &TransactionsByKey, destinations: &TransactionsByKey) {
    let joined: BTreeSet<_> =
        sources.iter().filter_map(|(key, source)| Some((*source, *destinations.get(key)?))).collect();
    let wanted: BTreeSet<_> = of(bridge, BridgeOutcome::Completed)
        .map(|row| {
            let there = row.destination.as_ref().unwrap();
            ((row.source.chain, row.source.hash), (there.chain, there.hash))
        })
        .collect();
    assert!(wanted.len() >= 2, "{bridge}: {}", wanted.len());
    assert_eq!(joined, wanted, "{bridge}");
}

fn keyed(bridge: &str, rows: impl Iterator<Item = (Key, (Chain, TxHash))>) -> TransactionsByKey {
    let rows: Vec<_> = rows.collect();
    let count = rows.len();
    let keyed: TransactionsByKey = rows.into_iter().collect();
    assert_eq!(keyed.len(), count, "{bridge}: the keys are unique");
    keyed
}

#[test]
fn across_joins_by_origin_chain_and_deposit() {
    let key = |chain: Chain, id: [u8; 32]| (chain, id.to_vec());
    let sources =
        logs(topic::ACROSS_DEPOSIT).into_iter().map(|(chain, hash, log)| (key(chain, log.0.topics[2]), (chain, hash)));
    let origin = |id: u128| {
        Chain::all().filter(|chain| chain.family() != Family::Utxo).find(|&chain| chain_id(chain) == id).unwrap()
    };
    let fills = logs(topic::ACROSS_FILL)
        .into_iter()
        .map(|(chain, hash, log)| (key(origin(number(log.0.topics[1])), log.0.topics[2]), (chain, hash)));
    compare("across", &keyed("across", sources), &keyed("across", fills));
    for row in of("across", BridgeOutcome::Completed) {
        let there = row.destination.as_ref().unwrap();
        let deposit = log_of(row.source.chain, row.source.hash, topic::ACROSS_DEPOSIT);
        assert_eq!(number(deposit.0.topics[1]), chain_id(there.chain));
        assert_eq!(account(deposit.0.topics[3]), address_bytes(&row.source.user));
        assert_eq!(
            (deposit.number(2), deposit.number(3)),
            (row.source.amount.to_u128().unwrap(), there.amount.to_u128().unwrap())
        );
        assert_eq!(deposit.account(7), address_bytes(&there.user));
        assert!(deposit.bytes(9).is_empty());
        let fill = log_of(there.chain, there.hash, topic::ACROSS_FILL);
        // updatedRecipient and updatedOutputAmount are what counts.
        assert_eq!((fill.account(11), fill.number(13)), (address_bytes(&there.user), there.amount.to_u128().unwrap()));
    }
    for row in of("across", BridgeOutcome::Refunded) {
        let back = row.destination.as_ref().unwrap();
        assert_eq!((back.chain, back.amount, back.user), (row.source.chain, row.source.amount, row.source.user));
        log_of(back.chain, back.hash, topic::ACROSS_REFUND);
    }
}

#[test]
fn celer_joins_by_transfer_id_and_refunds_name_it() {
    let sources = logs(topic::CELER_SEND)
        .into_iter()
        .map(|(chain, hash, log)| ((Chain::ETHEREUM, log.word(0).to_vec()), (chain, hash)));
    let relays = logs(topic::CELER_RELAY)
        .into_iter()
        .map(|(chain, hash, log)| ((Chain::ETHEREUM, log.word(6).to_vec()), (chain, hash)));
    compare("celer", &keyed("celer", sources), &keyed("celer", relays));
    for row in of("celer", BridgeOutcome::Completed) {
        let send = log_of(row.source.chain, row.source.hash, topic::CELER_SEND);
        let id = keccak(
            &[
                &send.account(1)[..],
                &send.account(2),
                &send.account(3),
                &send.word(4),
                &u64::try_from(send.number(5)).unwrap().to_be_bytes(),
                &u64::try_from(send.number(6)).unwrap().to_be_bytes(),
                &u64::try_from(chain_id(row.source.chain)).unwrap().to_be_bytes(),
            ]
            .concat(),
        );
        assert_eq!(send.word(0), id);
        assert_eq!(send.number(4), row.source.amount.to_u128().unwrap());
    }
    for row in of("celer", BridgeOutcome::Refunded) {
        let back = row.destination.as_ref().unwrap();
        let done = log_of(back.chain, back.hash, topic::CELER_REFUND);
        let send = log_of(row.source.chain, row.source.hash, topic::CELER_SEND);
        assert_eq!((done.word(5), done.number(4)), (send.word(0), row.source.amount.to_u128().unwrap()));
    }
}

fn guid(nonce: &[u8], source_eid: &[u8], sender: &[u8], eid: &[u8], receiver: &[u8]) -> [u8; 32] {
    keccak(&[nonce, source_eid, sender, eid, receiver].concat())
}

#[test]
fn an_oft_joins_by_the_guid_that_its_packet_and_delivery_give() {
    let sources = logs(topic::OFT_SENT).into_iter().filter(|(_, _, log)| log.0.topics[1] != [0; 32]);
    let sources = sources.map(|(chain, hash, log)| ((Chain::ETHEREUM, log.0.topics[1].to_vec()), (chain, hash)));
    let bus: BTreeSet<_> = logs(topic::BUS_DRIVEN).iter().map(|(_, _, log)| log.word(3)).collect();
    let received = logs(topic::OFT_RECEIVED).into_iter().filter(|(_, _, log)| !bus.contains(&log.0.topics[1]));
    let received = received.map(|(chain, hash, log)| ((Chain::ETHEREUM, log.0.topics[1].to_vec()), (chain, hash)));
    compare("layerzero-oft", &keyed("oft", sources), &keyed("oft", received));
    for row in of("layerzero-oft", BridgeOutcome::Completed) {
        let there = row.destination.as_ref().unwrap();
        let sent = log_of(row.source.chain, row.source.hash, topic::OFT_SENT);
        let packet = log_of(row.source.chain, row.source.hash, topic::PACKET_SENT);
        let payload = packet.bytes(0);
        // version 1, nonce 8, source eid 4, sender 32, eid 4, receiver 32, guid 32, message.
        assert_eq!(payload[0], 1);
        let computed = guid(&payload[1..9], &payload[9..13], &payload[13..45], &payload[45..49], &payload[49..81]);
        assert_eq!((computed, &payload[81..113]), (sent.0.topics[1], &sent.0.topics[1][..]));
        assert_eq!(payload[125..145], address_bytes(&there.user));
        assert_eq!(
            u64::from_be_bytes(payload[145..153].try_into().unwrap()),
            u64::try_from(there.amount.to_u128().unwrap()).unwrap()
        );
        let delivered = log_of(there.chain, there.hash, topic::PACKET_DELIVERED);
        let nonce = u64::try_from(delivered.number(2)).unwrap().to_be_bytes();
        let source_eid = u32::try_from(delivered.number(0)).unwrap().to_be_bytes();
        assert_eq!(guid(&nonce, &source_eid, &delivered.word(1), &payload[45..49], &delivered.word(3)), computed);
    }
}

/// Chain, transaction, recipient and amount of an `OFTReceived`.
type OftReceipt = (Chain, TxHash, [u8; 32], u128);

#[test]
fn riders_of_a_bus_are_joined_by_ticket_order() {
    let eids: BTreeMap<u128, Chain> = BTreeMap::from([(30_101, Chain::ETHEREUM), (30_102, Chain::BSC)]);
    // Chain and ticket to the transaction of the rider.
    let rode: BTreeMap<(Chain, u128), TxHash> =
        logs(topic::BUS_RODE).into_iter().map(|(chain, hash, log)| ((chain, log.number(1)), hash)).collect();
    let mut received: BTreeMap<[u8; 32], Vec<OftReceipt>> = BTreeMap::new();
    for (chain, hash, log) in logs(topic::OFT_RECEIVED) {
        received.entry(log.0.topics[1]).or_default().push((chain, hash, log.0.topics[2], log.number(1)));
    }
    let mut joined = BTreeSet::new();
    for (chain, _, driven) in logs(topic::BUS_DRIVEN) {
        let there = eids[&driven.number(0)];
        for seat in 0..driven.number(2) {
            let source = rode[&(chain, driven.number(1) + seat)];
            let (arrived, hash, recipient, amount) = received[&driven.word(3)][usize::try_from(seat).unwrap()];
            assert_eq!(arrived, there);
            // The passenger says asset 2, receiver 32, amount 8: confirmed by receiver and amount.
            let passenger = log_of(chain, source, topic::BUS_RODE).bytes(3);
            assert_eq!(passenger[2..34], recipient);
            let micros = u128::from(u64::from_be_bytes(passenger[34..42].try_into().unwrap()));
            assert_eq!(micros * if there == Chain::BSC { 10_u128.pow(12) } else { 1 }, amount);
            joined.insert(((chain, source), (there, hash)));
        }
    }
    let wanted: BTreeSet<_> = of("stargate-v2-bus", BridgeOutcome::Completed)
        .map(|row| {
            let there = row.destination.as_ref().unwrap();
            ((row.source.chain, row.source.hash), (there.chain, there.hash))
        })
        .collect();
    assert!(wanted.len() >= 3, "{}", wanted.len());
    assert_eq!(joined, wanted);
}

#[test]
fn wormhole_joins_by_emitter_and_sequence() {
    let ids = |chain: Chain| if chain == Chain::ETHEREUM { 2_u128 } else { 4 };
    let key = |emitter_chain: u128, emitter: [u8; 32], sequence: u128| {
        (Chain::ETHEREUM, [&emitter_chain.to_be_bytes()[..], &emitter, &sequence.to_be_bytes()].concat())
    };
    let sources = logs(topic::WORMHOLE_SENT)
        .into_iter()
        .map(|(chain, hash, log)| (key(ids(chain), log.0.topics[1], log.number(0)), (chain, hash)));
    let redeemed = logs(topic::WORMHOLE_REDEEMED).into_iter().map(|(chain, hash, log)| {
        let topics = &log.0.topics;
        (key(number(topics[1]), topics[2], number(topics[3])), (chain, hash))
    });
    compare("wormhole", &keyed("wormhole", sources), &keyed("wormhole", redeemed));
    for row in of("wormhole", BridgeOutcome::Completed) {
        let there = row.destination.as_ref().unwrap();
        let payload = log_of(row.source.chain, row.source.hash, topic::WORMHOLE_SENT).bytes(2);
        // type 1, amount 32, token 32, chain 2, to 32, chain 2, fee 32.
        assert_eq!((payload.len(), payload[0]), (133, 1));
        assert_eq!(payload[79..99], address_bytes(&there.user));
        assert_eq!(u128::from(u16::from_be_bytes([payload[99], payload[100]])), ids(there.chain));
    }
    assert!(of("wormhole", BridgeOutcome::Pending).all(|row| row.destination.is_none()));
}

#[test]
fn multichain_names_its_source_and_synapse_its_kappa() {
    let by_hash = |(chain, hash): (Chain, TxHash)| ((Chain::ETHEREUM, hash.as_bytes().to_vec()), (chain, hash));
    let sources = logs(topic::MULTICHAIN_OUT).into_iter().map(|(chain, hash, _)| by_hash((chain, hash)));
    let ins = logs(topic::MULTICHAIN_IN)
        .into_iter()
        .map(|(chain, hash, log)| ((Chain::ETHEREUM, log.0.topics[1].to_vec()), (chain, hash)));
    compare("multichain-v6", &keyed("multichain", sources), &keyed("multichain", ins));

    let kappa = |(chain, hash): (Chain, TxHash)| {
        let text = hash.display(chain.family());
        let text = if text.starts_with("0x") { text } else { format!("0x{text}") };
        ((Chain::ETHEREUM, keccak(text.to_lowercase().as_bytes()).to_vec()), (chain, hash))
    };
    let sources = logs(topic::SYNAPSE_DEPOSIT).into_iter().map(|(chain, hash, _)| kappa((chain, hash)));
    let outs = logs(topic::SYNAPSE_WITHDRAW)
        .into_iter()
        .map(|(chain, hash, log)| ((Chain::ETHEREUM, log.0.topics[2].to_vec()), (chain, hash)));
    compare("synapse", &keyed("synapse", sources), &keyed("synapse", outs));
}

/// Every transaction of bitcoin with a memo in an output of data.
fn memos() -> Vec<(TxHash, &'static str)> {
    let batches = DEMO.batches.iter().filter(|batch| batch.chain == Chain::BITCOIN);
    let utxos = batches.flat_map(|batch| &batch.transactions).map(|facts| (facts.hash, facts.utxo.as_ref().unwrap()));
    let with_text = utxos.filter_map(|(hash, utxo)| {
        let mut texts = utxo.outputs.iter().filter_map(|output| std::str::from_utf8(output.data.as_ref()?).ok());
        let text = texts.find(|text| text.contains(':'))?;
        assert!(text.len() <= 80, "{text}");
        Some((hash, text))
    });
    with_text.collect()
}

/// A hash as memos name it.
fn in_memo(chain: Chain, hash: TxHash) -> String {
    hash.display(chain.family()).trim_start_matches("0x").to_uppercase()
}

#[test]
fn thorchain_memos_name_the_source_transaction() {
    let mut wishes: BTreeMap<String, (Chain, TxHash, Vec<&str>)> = BTreeMap::new();
    let mut answers: BTreeMap<(bool, String), (Chain, TxHash)> = BTreeMap::new();
    let mut see = |chain: Chain, hash: TxHash, memo: &'static str| {
        let parts: Vec<_> = memo.split(':').collect();
        let held = match parts[0] {
            "=" => wishes.insert(in_memo(chain, hash), (chain, hash, parts)).is_some(),
            word => answers.insert((word == "REFUND", parts[1].to_owned()), (chain, hash)).is_some(),
        };
        assert!(!held, "{memo} comes twice");
    };
    for (hash, memo) in memos() {
        see(Chain::BITCOIN, hash, memo);
    }
    for (chain, hash, log) in logs(topic::THORCHAIN_DEPOSIT) {
        see(chain, hash, std::str::from_utf8(log.bytes(1)).unwrap());
    }
    for (chain, hash, log) in logs(topic::THORCHAIN_OUT) {
        see(chain, hash, std::str::from_utf8(log.bytes(2)).unwrap());
    }
    for outcome in [BridgeOutcome::Completed, BridgeOutcome::Refunded] {
        let back = outcome == BridgeOutcome::Refunded;
        let pairs =
            wishes.iter().filter_map(|(key, wish)| Some(((wish.0, wish.1), *answers.get(&(back, key.clone()))?)));
        let joined: BTreeSet<_> = pairs.collect();
        let wanted: BTreeSet<_> = of("thorchain", outcome)
            .map(|row| {
                let there = row.destination.as_ref().unwrap();
                ((row.source.chain, row.source.hash), (there.chain, there.hash))
            })
            .collect();
        assert_eq!(joined, wanted);
        let from_bitcoin = wanted.iter().filter(|(source, _)| source.0 == Chain::BITCOIN).count();
        let least = if back { 1 } else { 10 };
        assert!(from_bitcoin >= least && wanted.len() >= from_bitcoin + least, "{from_bitcoin} of {}", wanted.len());
    }
    for row in of("thorchain", BridgeOutcome::Completed) {
        let (there, (.., wish)) =
            (row.destination.as_ref().unwrap(), &wishes[&in_memo(row.source.chain, row.source.hash)]);
        let code = if there.chain == Chain::BITCOIN { "b" } else { "e" };
        assert_eq!((wish[1], wish[2]), (code, &*there.user.to_string()));
        let raw = there.amount.to_u128().unwrap();
        let paid = if there.chain == Chain::BITCOIN { raw } else { raw / 10_u128.pow(10) };
        assert!(paid >= wish[3].parse::<u128>().unwrap(), "a swap brings its limit");
    }
}

#[test]
fn every_class_and_every_end_is_there() {
    let classes: BTreeSet<_> = DEMO.truth.bridge_transfers.iter().map(|row| row.class).collect();
    assert_eq!(classes.len(), BridgeClass::ALL.len(), "{classes:?}");
    let outcomes: BTreeSet<_> = DEMO.truth.bridge_transfers.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes.len(), BridgeOutcome::ALL.len(), "{outcomes:?}");
}

/// The literals above against the collected events of real bridges.
#[test]
#[expect(clippy::disallowed_methods, reason = "the environment names the folder of the corpus")]
fn corpus_topics_are_those_of_real_bridges() {
    let folder = std::env::var_os("HEADWATER_CORPUS").expect("corpus tests need HEADWATER_CORPUS");
    let path = std::path::Path::new(&folder).join("bridges/events.json");
    let text = std::fs::read_to_string(&path).expect("bridges/events.json in the corpus");
    let events: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let known: BTreeMap<&str, &str> =
        events.iter().map(|event| (event["topic0"].as_str().unwrap(), event["signature"].as_str().unwrap())).collect();
    for topic0 in topic::ALL {
        let signature = known.get(topic0).unwrap_or_else(|| panic!("{topic0} is not in the corpus"));
        assert_eq!(keccak(signature.as_bytes()), hex(topic0), "{signature}");
    }
}

//! `LayerZero` V2: an OFT whose legs share a guid, and the bus of Stargate V2, whose riders share one.

use headwater_types::{Address, Amount, Chain};

use super::{Leg, Order, Protocol, endpoint, log};
use crate::abi::{self, Value};
use crate::book::Effect;
use crate::identity::keccak;
use crate::world::World;

const SENT: &str = "OFTSent(bytes32,uint32,address,uint256,uint256)";
const RECEIVED: &str = "OFTReceived(bytes32,uint32,address,uint256)";
const PACKET: &str = "PacketSent(bytes,bytes,address)";
const DELIVERED: &str = "PacketDelivered((uint32,bytes32,uint64),address)";

/// A rider of a bus that has not left.
#[derive(Debug, Clone)]
pub(crate) struct Passenger {
    pub(crate) order: Order,
}

pub(crate) fn eid(chain: Chain) -> u32 {
    match chain {
        Chain::ETHEREUM => 30_101,
        Chain::BSC => 30_102,
        _ => 30_420,
    }
}

/// The path of a message.
pub(crate) struct Path {
    pub(crate) nonce: u64,
    pub(crate) from: (Chain, Address),
    pub(crate) to: (Chain, Address),
}

impl Path {
    /// `keccak256(nonce, srcEid, sender, dstEid, receiver)`, packed.
    pub(crate) fn guid(&self) -> [u8; 32] {
        keccak(&self.head())
    }

    fn head(&self) -> Vec<u8> {
        [
            &self.nonce.to_be_bytes()[..],
            &eid(self.from.0).to_be_bytes(),
            &abi::account(&self.from.1),
            &eid(self.to.0).to_be_bytes(),
            &abi::account(&self.to.1),
        ]
        .concat()
    }

    pub(crate) fn packet_sent(&self, message: &[u8]) -> Effect {
        let payload = [&[1_u8][..], &self.head(), &self.guid(), message].concat();
        let from = endpoint("endpoint", self.from.0);
        let values = [Value::Bytes(payload), Value::Bytes(vec![0, 3]), Value::account(&from)];
        log(from, PACKET, &[], &values)
    }

    pub(crate) fn delivered(&self) -> Effect {
        let values = [
            Value::number(u64::from(eid(self.from.0))),
            Value::account(&self.from.1),
            Value::number(self.nonce),
            Value::account(&self.to.1),
        ];
        log(endpoint("endpoint", self.to.0), DELIVERED, &[], &values)
    }
}

fn oft_path(world: &mut World, order: &Order) -> Path {
    let from = (order.from(), world.vault(Protocol::LayerZero, order.from()));
    let to = (order.to, world.vault(Protocol::LayerZero, order.to));
    Path { nonce: order.number, from, to }
}

pub(crate) fn send(world: &mut World, order: &Order) -> Leg {
    let path = oft_path(world, order);
    let adapter = path.from.1;
    let received = received_here(world, order);
    let message = [&abi::account(&order.recipient)[..], &order.micros_out(world).to_be_bytes()].concat();
    let values = [Value::number(u64::from(eid(order.to))), Value::raw(order.raw_in()), Value::raw(received)];
    Leg {
        target: adapter,
        signature: "send((uint32,bytes32,uint256,uint256,bytes,bytes,bytes),(uint256,uint256),address)",
        effects: vec![
            path.packet_sent(&message),
            log(adapter, SENT, &[path.guid(), abi::account(&order.source.user)], &values),
        ],
    }
}

/// Returns what comes out, in the decimals of the source.
fn received_here(world: &World, order: &Order) -> u128 {
    u128::from(order.micros_out(world)) * if order.from() == Chain::BSC { 10_u128.pow(12) } else { 1 }
}

pub(crate) fn receive(world: &mut World, order: &Order) -> Leg {
    let path = oft_path(world, order);
    let adapter = path.to.1;
    let contract = world.contract_of(order.to, order.symbol);
    let amount = Amount::from_u128(order.raw_out);
    let values = [Value::number(u64::from(eid(order.from()))), Value::raw(order.raw_out)];
    Leg {
        target: endpoint("endpoint", order.to),
        signature: "lzReceive((uint32,bytes32,uint64),address,bytes32,bytes,bytes)",
        effects: vec![
            path.delivered(),
            Effect::Token { contract, from: adapter, to: order.recipient, amount },
            log(adapter, RECEIVED, &[path.guid(), abi::account(&order.recipient)], &values),
        ],
    }
}

/// A ticket for the bus: an empty guid now, the real one when it leaves.
pub(crate) fn ride(world: &mut World, order: &Order) -> Leg {
    let pool = world.vault(Protocol::Stargate, order.from());
    let messaging = endpoint("messaging", order.from());
    let eid_to = Value::number(u64::from(eid(order.to)));
    let passenger =
        [&2_u16.to_be_bytes()[..], &abi::account(&order.recipient), &order.micros_out(world).to_be_bytes(), &[0]]
            .concat();
    let rode = [eid_to.clone(), Value::number(order.number), Value::number(0), Value::Bytes(passenger)];
    let sent = [eid_to, Value::raw(order.raw_in()), Value::raw(received_here(world, order))];
    Leg {
        target: pool,
        signature: "sendToken((uint32,bytes32,uint256,uint256,bytes,bytes,bytes),(uint256,uint256),address)",
        effects: vec![
            log(messaging, "BusRode(uint32,uint72,uint80,bytes)", &[], &rode),
            log(pool, SENT, &[[0; 32], abi::account(&order.source.user)], &sent),
        ],
    }
}

/// The path of a bus.
pub(crate) fn bus_path((from, to): (Chain, Chain), nonce: u64) -> Path {
    Path { nonce, from: (from, endpoint("messaging", from)), to: (to, endpoint("messaging", to)) }
}

/// The bus leaves with the riders of consecutive tickets.
pub(crate) fn drive(world: &World, path: &Path, first: u64, riders: &[Passenger]) -> Leg {
    let messaging = path.from.1;
    let count = riders.len() as u64;
    let values = [
        Value::number(u64::from(eid(path.to.0))),
        Value::number(first),
        Value::number(count),
        Value::Word(path.guid()),
    ];
    let mut message = vec![2_u8];
    for rider in riders {
        message.extend_from_slice(&2_u16.to_be_bytes());
        message.extend_from_slice(&abi::account(&rider.order.recipient));
        message.extend_from_slice(&rider.order.micros_out(world).to_be_bytes());
        message.push(0);
    }
    Leg {
        target: messaging,
        signature: "driveBus(uint32,bytes)",
        effects: vec![
            path.packet_sent(&message),
            log(messaging, "BusDriven(uint32,uint72,uint8,bytes32)", &[], &values),
        ],
    }
}

/// The bus arrives: one `OFTReceived` per rider, in order of ticket.
pub(crate) fn arrive(world: &mut World, path: &Path, riders: &[Passenger]) -> Leg {
    let pool = world.vault(Protocol::Stargate, path.to.0);
    let contract = world.contract_of(path.to.0, "USDT");
    let mut effects = vec![path.delivered()];
    for Passenger { order } in riders {
        let values = [Value::number(u64::from(eid(path.from.0))), Value::raw(order.raw_out)];
        let amount = Amount::from_u128(order.raw_out);
        effects.push(Effect::Token { contract, from: pool, to: order.recipient, amount });
        effects.push(log(pool, RECEIVED, &[path.guid(), abi::account(&order.recipient)], &values));
    }
    Leg {
        target: endpoint("endpoint", path.to.0),
        signature: "lzReceive((uint32,bytes32,uint64),address,bytes32,bytes,bytes)",
        effects,
    }
}

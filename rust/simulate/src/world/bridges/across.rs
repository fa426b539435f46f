//! Across, the current version: origin chain and deposit number are in both events.

use headwater_types::{Address, Amount};

use super::{Leg, Order, Protocol, chain_id, log};
use crate::abi::{self, Value};
use crate::book::Effect;
use crate::clock::HOUR;
use crate::world::World;

const DEPOSITED: &str = "FundsDeposited(bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,uint32,bytes32,bytes32,bytes32,bytes)";
const FILLED: &str = "FilledRelay(bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint32,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,(bytes32,bytes32,uint256,uint8))";
const REFUNDED: &str = "ExecutedRelayerRefundRoot(uint256,uint256,uint256[],uint32,uint32,address,address[],address)";

fn deadline(order: &Order) -> u64 {
    order.source.time_secs + 4 * HOUR.unsigned_abs()
}

pub(crate) fn deposit(world: &mut World, order: &Order, now: i64) -> Leg {
    let pool = world.vault(Protocol::Across, order.from());
    let topics = [abi::number(chain_id(order.to)), abi::number(order.number), abi::account(&order.source.user)];
    let values = [
        Value::account(&world.contract_of(order.from(), order.symbol)),
        Value::account(&world.contract_of(order.to, order.symbol)),
        Value::raw(order.raw_in()),
        Value::raw(order.raw_out),
        Value::number(now.unsigned_abs()),
        Value::number(deadline(order)),
        Value::number(0),
        Value::account(&order.recipient),
        Value::number(0),
        Value::Bytes(Vec::new()),
    ];
    Leg {
        target: pool,
        signature: "deposit(bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,bytes32,uint32,uint32,uint32,bytes)",
        effects: vec![log(pool, DEPOSITED, &topics, &values)],
    }
}

/// The relayer pays out of its own purse.
pub(crate) fn fill(world: &mut World, order: &Order, relayer: Address) -> Leg {
    let pool = world.vault(Protocol::Across, order.to);
    let contract = world.contract_of(order.to, order.symbol);
    let topics = [abi::number(chain_id(order.from())), abi::number(order.number), abi::account(&relayer)];
    let values = [
        Value::account(&world.contract_of(order.from(), order.symbol)),
        Value::account(&contract),
        Value::raw(order.raw_in()),
        Value::raw(order.raw_out),
        Value::number(chain_id(order.to)),
        Value::number(deadline(order)),
        Value::number(0),
        Value::number(0),
        Value::account(&order.source.user),
        Value::account(&order.recipient),
        Value::number(0),
        // relayExecutionInfo is static: its words follow.
        Value::account(&order.recipient),
        Value::number(0),
        Value::raw(order.raw_out),
        Value::number(0),
    ];
    let amount = Amount::from_u128(order.raw_out);
    Leg {
        target: pool,
        signature: "fillRelay((bytes32,bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,bytes),uint256,bytes32)",
        effects: vec![
            Effect::Token { contract, from: relayer, to: order.recipient, amount },
            log(pool, FILLED, &topics, &values),
        ],
    }
}

/// An expired deposit goes back in a bundle that does not name it.
pub(crate) fn refund(world: &mut World, order: &Order, relayer: Address) -> Leg {
    let pool = world.vault(Protocol::Across, order.from());
    let contract = world.contract_of(order.from(), order.symbol);
    let topics = [abi::number(chain_id(order.from())), abi::number(order.number), abi::number(0)];
    let values = [
        Value::number(0),
        Value::Words(vec![abi::amount(order.source.amount)]),
        Value::account(&contract),
        Value::Words(vec![abi::account(&order.source.user)]),
        Value::account(&relayer),
    ];
    Leg {
        target: pool,
        signature: "executeRelayerRefundLeaf(uint32,(uint256,uint256,uint256[],uint32,address,address[]),bytes32[])",
        effects: vec![
            Effect::Token { contract, from: pool, to: order.source.user, amount: order.source.amount },
            log(pool, REFUNDED, &topics, &values),
        ],
    }
}

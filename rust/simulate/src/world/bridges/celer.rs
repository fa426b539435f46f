//! Celer cBridge: the id of the first leg is in the second.

use headwater_types::Amount;

use super::{Leg, Order, Protocol, chain_id, log};
use crate::abi::{self, Value};
use crate::book::Effect;
use crate::identity::{account_bytes, keccak};
use crate::world::World;

fn words(parts: &[&[u8]]) -> [u8; 32] {
    keccak(&parts.concat())
}

/// `keccak256(sender, receiver, token, amount, dstChainId, nonce, srcChainId)`, packed.
fn source_id(world: &World, order: &Order) -> [u8; 32] {
    words(&[
        &account_bytes(&order.source.user),
        &account_bytes(&order.recipient),
        &account_bytes(&world.contract_of(order.from(), order.symbol)),
        &abi::amount(order.source.amount),
        &chain_id(order.to).to_be_bytes(),
        &order.number.to_be_bytes(),
        &chain_id(order.from()).to_be_bytes(),
    ])
}

pub(crate) fn send(world: &mut World, order: &Order) -> Leg {
    let pool = world.vault(Protocol::Celer, order.from());
    let values = [
        Value::Word(source_id(world, order)),
        Value::account(&order.source.user),
        Value::account(&order.recipient),
        Value::account(&world.contract_of(order.from(), order.symbol)),
        Value::raw(order.raw_in()),
        Value::number(chain_id(order.to)),
        Value::number(order.number),
        Value::number(5_000),
    ];
    Leg {
        target: pool,
        signature: "send(address,address,uint256,uint64,uint64,uint32)",
        effects: vec![log(pool, "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)", &[], &values)],
    }
}

pub(crate) fn relay(world: &mut World, order: &Order) -> Leg {
    let pool = world.vault(Protocol::Celer, order.to);
    let contract = world.contract_of(order.to, order.symbol);
    let source = source_id(world, order);
    let amount = Amount::from_u128(order.raw_out);
    let id = words(&[
        &account_bytes(&order.source.user),
        &account_bytes(&order.recipient),
        &account_bytes(&contract),
        &abi::amount(amount),
        &chain_id(order.from()).to_be_bytes(),
        &chain_id(order.to).to_be_bytes(),
        &source,
    ]);
    let values = [
        Value::Word(id),
        Value::account(&order.source.user),
        Value::account(&order.recipient),
        Value::account(&contract),
        Value::raw(order.raw_out),
        Value::number(chain_id(order.from())),
        Value::Word(source),
    ];
    Leg {
        target: pool,
        signature: "relay(bytes,bytes[],address[],uint256[])",
        effects: vec![
            Effect::Token { contract, from: pool, to: order.recipient, amount },
            log(pool, "Relay(bytes32,address,address,address,uint256,uint64,bytes32)", &[], &values),
        ],
    }
}

pub(crate) fn refund(world: &mut World, order: &Order) -> Leg {
    let pool = world.vault(Protocol::Celer, order.from());
    let contract = world.contract_of(order.from(), order.symbol);
    let source = source_id(world, order);
    let values = [
        Value::Word(words(&[&source, b"withdraw"])),
        Value::number(order.number),
        Value::account(&order.source.user),
        Value::account(&contract),
        Value::raw(order.raw_in()),
        Value::Word(source),
    ];
    Leg {
        target: pool,
        signature: "withdraw(bytes,bytes[],address[],uint256[])",
        effects: vec![
            Effect::Token { contract, from: pool, to: order.source.user, amount: order.source.amount },
            log(pool, "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)", &[], &values),
        ],
    }
}

//! Bridges whose second leg names the transaction of the first: Multichain its hash, Synapse the keccak of its text.

use std::fmt::Write;

use headwater_types::{Amount, TxHash};

use super::{Leg, Order, Protocol, chain_id, log};
use crate::abi::{self, Value};
use crate::book::Effect;
use crate::identity::keccak;
use crate::world::World;

pub(crate) fn swap_out(world: &mut World, order: &Order) -> Leg {
    let router = world.vault(Protocol::Multichain, order.from());
    let token = world.contract_of(order.from(), order.symbol);
    let topics = [abi::account(&token), abi::account(&order.source.user), abi::account(&order.recipient)];
    let values = [Value::raw(order.raw_in()), Value::number(chain_id(order.from())), Value::number(chain_id(order.to))];
    Leg {
        target: router,
        signature: "anySwapOutUnderlying(address,address,uint256,uint256)",
        effects: vec![log(router, "LogAnySwapOut(address,address,address,uint256,uint256,uint256)", &topics, &values)],
    }
}

pub(crate) fn swap_in(world: &mut World, order: &Order) -> Leg {
    let router = world.vault(Protocol::Multichain, order.to);
    let contract = world.contract_of(order.to, order.symbol);
    let topics = [*order.source.hash.as_bytes(), abi::account(&contract), abi::account(&order.recipient)];
    let values = [Value::raw(order.raw_out), Value::number(chain_id(order.from())), Value::number(chain_id(order.to))];
    let amount = Amount::from_u128(order.raw_out);
    Leg {
        target: router,
        signature: "anySwapInAuto(bytes32,address,address,uint256,uint256)",
        effects: vec![
            Effect::Token { contract, from: router, to: order.recipient, amount },
            log(router, "LogAnySwapIn(bytes32,address,address,uint256,uint256,uint256)", &topics, &values),
        ],
    }
}

pub(crate) fn deposit(world: &mut World, order: &Order) -> Leg {
    let bridge = world.vault(Protocol::Synapse, order.from());
    let token = world.contract_of(order.from(), order.symbol);
    let values = [Value::number(chain_id(order.to)), Value::account(&token), Value::raw(order.raw_in())];
    Leg {
        target: bridge,
        signature: "deposit(address,uint256,address,uint256)",
        effects: vec![log(
            bridge,
            "TokenDeposit(address,uint256,address,uint256)",
            &[abi::account(&order.recipient)],
            &values,
        )],
    }
}

/// `keccak256` of the hash as text, `0x` in front.
fn kappa(hash: &TxHash) -> [u8; 32] {
    let mut text = String::from("0x");
    for byte in hash.as_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    keccak(text.as_bytes())
}

pub(crate) fn withdraw(world: &mut World, order: &Order) -> Leg {
    let bridge = world.vault(Protocol::Synapse, order.to);
    let contract = world.contract_of(order.to, order.symbol);
    let fee = order.raw_out / 1_000;
    let values = [Value::account(&contract), Value::raw(order.raw_out), Value::raw(fee)];
    let amount = Amount::from_u128(order.raw_out);
    Leg {
        target: bridge,
        signature: "withdraw(address,address,uint256,uint256,bytes32)",
        effects: vec![
            Effect::Token { contract, from: bridge, to: order.recipient, amount },
            log(
                bridge,
                "TokenWithdraw(address,address,uint256,uint256,bytes32)",
                &[abi::account(&order.recipient), kappa(&order.source.hash)],
                &values,
            ),
        ],
    }
}

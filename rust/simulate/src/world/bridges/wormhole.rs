//! Wormhole token bridge: emitter and sequence are in both legs.

use headwater_types::{Amount, Chain};

use super::{Leg, Order, Protocol, endpoint, log};
use crate::abi::{self, Value};
use crate::book::Effect;
use crate::world::World;

fn wormhole_id(chain: Chain) -> u16 {
    if chain == Chain::ETHEREUM { 2 } else { 4 }
}

pub(crate) fn publish(world: &mut World, order: &Order) -> Leg {
    let bridge = world.vault(Protocol::Wormhole, order.from());
    let core = endpoint("core", order.from());
    let token = world.contract_of(order.from(), order.symbol);
    // A transfer carries at most eight digits behind the point: here six, and two more where there are.
    let amount = u128::from(order.micros_out(world));
    let amount = if order.from() == Chain::BSC { amount * 100 } else { amount };
    let payload = [
        &[1_u8][..],
        &abi::amount(Amount::from_u128(amount)),
        &abi::account(&token),
        &wormhole_id(order.from()).to_be_bytes(),
        &abi::account(&order.recipient),
        &wormhole_id(order.to).to_be_bytes(),
        &[0; 32],
    ]
    .concat();
    let values = [Value::number(order.number), Value::number(0), Value::Bytes(payload), Value::number(1)];
    Leg {
        target: bridge,
        signature: "transferTokens(address,uint256,uint16,bytes32,uint256,uint32)",
        effects: vec![log(
            core,
            "LogMessagePublished(address,uint64,uint32,bytes,uint8)",
            &[abi::account(&bridge)],
            &values,
        )],
    }
}

pub(crate) fn redeem(world: &mut World, order: &Order) -> Leg {
    let emitter = world.vault(Protocol::Wormhole, order.from());
    let bridge = world.vault(Protocol::Wormhole, order.to);
    let contract = world.contract_of(order.to, order.symbol);
    let topics = [abi::number(u64::from(wormhole_id(order.from()))), abi::account(&emitter), abi::number(order.number)];
    let amount = Amount::from_u128(order.raw_out);
    Leg {
        target: bridge,
        signature: "completeTransfer(bytes)",
        effects: vec![
            Effect::Token { contract, from: bridge, to: order.recipient, amount },
            log(bridge, "TransferRedeemed(uint16,bytes32,uint64)", &topics, &[]),
        ],
    }
}

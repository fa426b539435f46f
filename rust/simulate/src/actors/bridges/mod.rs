//! Actors that carry out the second legs of bridges.

mod thorchain;

use headwater_types::{Address, Amount, Chain};

use super::{Actor, issuers};
use crate::abi;
use crate::book::{Call, Insufficient, Receipt};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{BridgeOutcome, Role};
use crate::world::bridges::{
    CONTRACTS, ENDPOINTS, Leg, Order, PROTOCOLS, Protocol, across, celer, endpoint, layerzero, linked, wormhole,
};
use crate::world::{ACCOUNT_CHAINS, Coin, Flow, World};

/// A bus leaves with so many riders, or when the first has waited so long.
const SEATS: usize = 3;
const PATIENCE_SECS: u64 = 40 * 60;

/// A relayer with less for fees asks an exchange for more.
const MIN_FEES_CENTS: u64 = 100_000;

/// Files the contracts and gives the relayers coins for fees. Issuers fill the purses.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    for (protocol, chain, _) in CONTRACTS {
        let contract = world.vault(protocol, chain);
        world.add_contract(chain, contract, Role::BridgeVault, &protocol.owner());
    }
    for (name, chain, _) in ENDPOINTS {
        let owner = if name == "core" { "bridge-wormhole" } else { "bridge-layerzero-oft" };
        let contract = endpoint(name, chain);
        world.add_contract(chain, contract, Role::BridgeVault, owner);
    }
    for chain in ACCOUNT_CHAINS {
        for protocol in PROTOCOLS {
            let purse = fee_purse(world, protocol, chain);
            let coins = world.raw(chain, Coin::Native, 900_000 * world.preset.wealth(), START);
            world.book(chain).allocate(purse, Amount::from_u128(coins));
        }
    }
    let relayers = Relayers { stream: Stream::new(world.seed, "bridges"), buses: 0, next_review: START + DAY };
    vec![Box::new(relayers), thorchain::settle(world)]
}

/// Once a day: what pays out must have something to pay, and coins for fees.
fn provide(world: &mut World, now: i64) {
    issuers::fill_bridges(world, now);
    for chain in ACCOUNT_CHAINS {
        for protocol in PROTOCOLS {
            let purse = fee_purse(world, protocol, chain);
            if world.worth(chain, &purse, Coin::Native, now) < MIN_FEES_CENTS {
                let raw = world.raw(chain, Coin::Native, MIN_FEES_CENTS * world.preset.wealth(), now);
                world.withdraw(0, chain, purse, Coin::Native, raw);
            }
        }
    }
}

fn fee_purse(world: &mut World, protocol: Protocol, chain: Chain) -> Address {
    match protocol {
        Protocol::Maker => world.vault(protocol, chain),
        _ => world.bridge_relayer(protocol, chain),
    }
}

struct Relayers {
    stream: Stream,
    buses: u64,
    next_review: i64,
}

impl Actor for Relayers {
    fn first_wake(&self) -> i64 {
        START + 4 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if now >= self.next_review {
            provide(world, now);
            self.next_review = now + DAY;
        }
        while let Some(due) = world.bridges.orders.pop(now) {
            if finish(world, now, &due.work).is_err() {
                world.bridges.orders.put_off(now, due);
            }
        }
        for direction in [(Chain::ETHEREUM, Chain::BSC), (Chain::BSC, Chain::ETHEREUM)] {
            self.drive(world, now, direction);
        }
        Some(now + self.stream.secs(60, 300))
    }
}

/// The second leg of an order, or its refund.
fn finish(world: &mut World, now: i64, order: &Order) -> Result<(), Insufficient> {
    let back = order.outcome == BridgeOutcome::Refunded;
    let chain = if back { order.from() } else { order.to };
    let relayer = world.bridge_relayer(order.protocol, chain);
    let coin = world.token(chain, order.symbol);
    let (user, raw) = if back { (order.source.user, order.raw_in()) } else { (order.recipient, order.raw_out) };
    let receipt = if order.protocol == Protocol::Maker {
        let maker = world.vault(Protocol::Maker, chain);
        world.transfer(chain, now, (maker, user), coin, raw)?
    } else {
        let leg = match (order.protocol, back) {
            (Protocol::Across, false) => across::fill(world, order, relayer),
            (Protocol::Across, true) => across::refund(world, order, relayer),
            (Protocol::Celer, false) => celer::relay(world, order),
            (Protocol::Celer, true) => celer::refund(world, order),
            (Protocol::LayerZero, _) => layerzero::receive(world, order),
            (Protocol::Wormhole, _) => wormhole::redeem(world, order),
            (Protocol::Multichain, _) => linked::swap_in(world, order),
            (Protocol::Synapse, _) => linked::withdraw(world, order),
            (Protocol::Stargate | Protocol::Maker, _) => return Err(Insufficient),
        };
        send(world, now, chain, order.protocol, leg)?
    };
    record(world, now, order, receipt, raw);
    Ok(())
}

fn send(world: &mut World, now: i64, chain: Chain, protocol: Protocol, leg: Leg) -> Result<Receipt, Insufficient> {
    let relayer = world.bridge_relayer(protocol, chain);
    let mut call = Call::contract(relayer, leg.target, 150_000, abi::call(leg.signature, &[]));
    call.effects = leg.effects;
    world.book(chain).send(now, call)
}

fn record(world: &mut World, now: i64, order: &Order, receipt: Receipt, raw: u128) {
    let back = order.outcome == BridgeOutcome::Refunded;
    let (chain, user) = if back { (order.from(), order.source.user) } else { (order.to, order.recipient) };
    let coin = world.token(chain, order.symbol);
    if let Some(case) = order.case.clone() {
        let payer = match order.protocol {
            Protocol::Across if !back => world.bridge_relayer(Protocol::Across, chain),
            protocol => world.vault(protocol, chain),
        };
        let flow = Flow::new(payer, user, world.asset(coin), raw);
        world.step(&case, "bridge", chain, receipt.hash, flow);
    }
    let destination = world.leg(chain, receipt.hash, (user, coin, raw), now);
    world.bridge_done(order, Some(destination));
}

impl Relayers {
    /// A bus that is full or late leaves, and arrives in the same moment: messages are quick beside blocks.
    fn drive(&mut self, world: &mut World, now: i64, (from, to): (Chain, Chain)) {
        let Some(waiting) = world.bridges.buses.get(&(from, to)) else { return };
        let riders: Vec<_> = waiting.iter().take(SEATS).cloned().collect();
        let late =
            riders.first().is_some_and(|rider| now.unsigned_abs() > rider.order.source.time_secs + PATIENCE_SECS);
        if riders.is_empty() || riders.len() < SEATS && !late {
            return;
        }
        // A bus leaves only when all of its riders can be paid.
        let pool = world.vault(Protocol::Stargate, to);
        let coin = world.token(to, "USDT");
        if world.balance(to, &pool, coin) < riders.iter().map(|rider| rider.order.raw_out).sum::<u128>() {
            return;
        }
        let path = layerzero::bus_path((from, to), self.buses + 1);
        let leg = layerzero::drive(world, &path, riders[0].order.number, &riders);
        if send(world, now, from, Protocol::Stargate, leg).is_err() {
            return;
        }
        self.buses += 1;
        let leg = layerzero::arrive(world, &path, &riders);
        let Ok(receipt) = send(world, now, to, Protocol::Stargate, leg) else { return };
        for rider in &riders {
            record(world, now, &rider.order, receipt, rider.order.raw_out);
        }
        if let Some(waiting) = world.bridges.buses.get_mut(&(from, to)) {
            waiting.drain(..riders.len());
        }
    }
}

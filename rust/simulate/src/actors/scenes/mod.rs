//! Scenes: short plays of a few addresses that behave as an entry of the catalogue of behaviours says, each with a twin
//! that stays just below a threshold and is innocent.
//!
//! A scene is a list of moves, planned when it is written and carried out by [`Play`]. When all of it went as planned,
//! the truth learns who behaved how; when something could not be paid, nothing is claimed.

mod automation;
mod dispersal;
mod hopping;
mod layering;
mod sketch;
mod velocity;

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Chain, TxHash};

use self::sketch::Sketch;
use super::Actor;
use crate::book::{Insufficient, Receipt};
use crate::clock::{DAY, HOUR};
use crate::truth::{Behaviour, Evidence, Verdict};
use crate::world::bridges::{Crossing, Protocol};
use crate::world::dex::SwapOrder;
use crate::world::{ACCOUNT_CHAINS, Case, Coin, Flow, World};

/// The amount of a move.
#[derive(Debug, Clone, Copy)]
enum Sum {
    /// Worth this many cents when it happens.
    Cents(u64),
    /// Whole units, and millionths of one.
    Units(u64, u32),
    /// This share of what is there, in ten-thousandths.
    Share(u32),
    /// Everything, of the native coin less the fee.
    All,
}

/// The action of a move.
#[derive(Debug, Clone)]
enum MoveAction {
    /// Pays somebody.
    Pay(Address),
    /// Pays into an account at an exchange.
    Deposit(usize, String),
    /// Changes into another coin.
    Swap(Coin),
    /// Pays a note into the mixer, which comes out at somebody.
    Mix(Address),
    /// Sends a stablecoin over a bridge, to somebody on another chain.
    Cross(Protocol, Chain, Address),
}

/// One transaction of a scene.
#[derive(Debug, Clone)]
struct Move {
    at: i64,
    from: Address,
    coin: Coin,
    sum: Sum,
    deed: MoveAction,
    stage: &'static str,
}

/// A planned scene.
struct Scene {
    chain: Chain,
    case: Case,
    moves: Vec<Move>,
    claims: Vec<(Address, Behaviour, Verdict)>,
}

/// Writes a scene; the verdict says which of the twins.
type Script = fn(&mut Sketch<'_>, Verdict);

/// Every behaviour that scenes play, and who writes it.
const SCRIPTS: [(Behaviour, Script); 22] = [
    (Behaviour::RapidInOut, velocity::rapid_in_out),
    (Behaviour::PassThrough, velocity::pass_through),
    (Behaviour::BurnerWallet, velocity::burner_wallet),
    (Behaviour::DormantReactivation, velocity::dormant_reactivation),
    (Behaviour::MultiExchangeCashout, velocity::multi_exchange_cashout),
    (Behaviour::FanOut, dispersal::fan_out),
    (Behaviour::FanIn, dispersal::fan_in),
    (Behaviour::Structuring, dispersal::structuring),
    (Behaviour::EqualAmountSplit, dispersal::equal_amount_split),
    (Behaviour::RoundAmounts, dispersal::round_amounts),
    (Behaviour::PonziPayout, dispersal::ponzi_payout),
    (Behaviour::GatherScatter, layering::gather_scatter),
    (Behaviour::ScatterGather, layering::scatter_gather),
    (Behaviour::PeelChain, layering::peel_chain),
    (Behaviour::LayeringHop, layering::layering_hop),
    (Behaviour::RoundTrip, layering::round_trip),
    (Behaviour::WashTrading, layering::wash_trading),
    (Behaviour::AssetHopping, layering::asset_hopping),
    (Behaviour::BridgeHopping, hopping::bridge_hopping),
    (Behaviour::GasFundedByMixer, hopping::gas_funded_by_mixer),
    (Behaviour::HighFrequency, automation::high_frequency),
    (Behaviour::AlwaysOn, automation::always_on),
];

/// Writes all scenes, planted ones and their innocent twins.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    let count = world.preset.rarities(1);
    let fixed: [(Behaviour, Script); 1] = [(Behaviour::FixedInterval, automation::fixed_interval)];
    for (place, (behaviour, script)) in SCRIPTS.into_iter().chain(fixed).enumerate() {
        for number in 0..count {
            for (turn, verdict) in [Verdict::Planted, Verdict::Innocent].into_iter().enumerate() {
                let chain = ACCOUNT_CHAINS[(place + number + 2 * turn) % ACCOUNT_CHAINS.len()];
                let mut sketch = Sketch::new(world, chain, behaviour, verdict, number);
                script(&mut sketch, verdict);
                actors.push(Box::new(Play::new(sketch.into_scene())));
            }
        }
    }
    actors
}

/// A scene on its way.
struct Play {
    scene: Scene,
    next: usize,
    /// The delay of all of it against the plan.
    delay: i64,
    tallies: BTreeMap<Address, Tally>,
}

/// The effects of a scene on one address.
#[derive(Default)]
struct Tally {
    hashes: Vec<TxHash>,
    others: BTreeSet<Address>,
    cents: u64,
}

impl Play {
    fn new(scene: Scene) -> Self {
        Self { scene, next: 0, delay: 0, tallies: BTreeMap::new() }
    }

    fn carry_out(&mut self, world: &mut World, now: i64, planned: &Move) -> Result<(), Insufficient> {
        let Move { from, coin, ref deed, stage, .. } = *planned;
        let chain = self.scene.chain;
        let held = world.balance(chain, &from, coin);
        let raw = match planned.sum {
            Sum::Cents(cents) => world.raw(chain, coin, cents, now),
            Sum::Units(whole, millionths) => world.whole(chain, coin, whole, millionths),
            Sum::Share(share) => held / 10_000 * u128::from(share),
            Sum::All => held,
        };
        let (receipt, to, raw): (Receipt, Address, u128) = match deed {
            MoveAction::Pay(to) if matches!(planned.sum, Sum::All) => {
                let (receipt, raw) = world.transfer_all(chain, now, (from, *to), coin)?;
                (receipt, *to, raw)
            }
            MoveAction::Pay(to) => (world.transfer(chain, now, (from, *to), coin, raw)?, *to, raw),
            MoveAction::Deposit(exchange, customer) => {
                let fee = if coin == Coin::Native { world.raw(chain, Coin::Native, 1_200, now) } else { 0 };
                let raw = if matches!(planned.sum, Sum::All) { raw.checked_sub(fee).ok_or(Insufficient)? } else { raw };
                let exchange = exchange % world.exchanges.len();
                let (receipt, to) = world.deposit(exchange, chain, now, (customer, from), (coin, raw))?;
                (receipt, to, raw)
            }
            &MoveAction::Mix(recipient) => {
                let pool = world.pool_for(chain, raw).ok_or(Insufficient)?;
                let due = now + 3 * HOUR;
                let receipt = world.mix(now, pool, (from, recipient), due, Some(self.scene.case.clone()))?;
                (receipt, pool.contract, pool.denomination)
            }
            &MoveAction::Cross(protocol, there, recipient) => {
                let crossing = Crossing {
                    chains: (chain, there),
                    symbol: "USDT",
                    users: (from, recipient),
                    raw,
                    case: Some(self.scene.case.clone()),
                    via: Some(protocol),
                };
                let receipt = world.cross(now, crossing)?;
                (receipt, world.vault(protocol, chain), raw)
            }
            MoveAction::Swap(into) => {
                let coins = (coin, *into);
                let order = SwapOrder { user: from, chain, dex: 0, coins, raw, slippage_bp: 0, least: 0 };
                let pool = world.plan_swap(&order).ok_or(Insufficient)?[0].pool;
                let receipt = world.swap(now, &order)?.receipt;
                (receipt, world.dex.pools[pool].pair, raw)
            }
        };
        if self.scene.claims.iter().any(|claim| claim.2 == Verdict::Planted) {
            let flow = Flow::new(from, to, world.asset(coin), raw);
            world.step(&self.scene.case, stage, chain, receipt.hash, flow);
        }
        let cents = world.cents(chain, coin, raw, now);
        for (address, other) in [(from, to), (to, from)] {
            let tally = self.tallies.entry(address).or_default();
            tally.hashes.push(receipt.hash);
            tally.others.insert(other);
            tally.cents += cents;
        }
        Ok(())
    }

    fn claim(&self, world: &mut World) {
        for &(address, behaviour, verdict) in &self.scene.claims {
            let Some(tally) = self.tallies.get(&address) else { continue };
            // A sleeper's act begins when it wakes, not when it was paid.
            let asleep = if behaviour == Behaviour::DormantReactivation { 2 } else { 0 };
            let hashes = &tally.hashes[asleep..];
            let evidence = Evidence {
                count: hashes.len() as u64,
                counterparties: tally.others.len() as u64,
                usd_cents: tally.cents,
                first: hashes[0],
                last: hashes[hashes.len() - 1],
            };
            world.judge(self.scene.chain, (address, behaviour, verdict), evidence);
        }
    }
}

impl Actor for Play {
    fn first_wake(&self) -> i64 {
        self.scene.moves.first().map_or(i64::MAX, |first| first.at)
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        while let Some(planned) = self.scene.moves.get(self.next).cloned() {
            if planned.at + self.delay > now {
                return Some(planned.at + self.delay);
            }
            if self.carry_out(world, now, &planned).is_err() {
                // Nothing has happened yet: the whole scene waits. Later there is no way back.
                if self.next > 0 || self.delay > 20 * DAY {
                    return None;
                }
                self.delay += 7 * HOUR;
                return Some(planned.at + self.delay);
            }
            self.next += 1;
        }
        self.claim(world);
        None
    }
}

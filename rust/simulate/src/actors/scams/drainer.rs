//! A drainer on ethereum: paid for through a mixer, a contract that people are made to allow, and loot that goes three
//! ways: through a mixer, over a bridge to tron, and through layers to exchanges.

use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};

use super::{cash_out, move_all, move_some, victim};
use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, Role};
use crate::world::bridges::Crossing;
use crate::world::{Case, Coin, Flow, World};

const CHAIN: Chain = Chain::ETHEREUM;
const OWNER: &str = "scam-drainer";
const LAYERS: usize = 4;

pub(super) struct Drainer {
    case: Case,
    /// Pays for the gas of the operator through the mixer.
    backer: Address,
    operator: Address,
    collector: Address,
    layers: Vec<Address>,
    /// On tron, behind the bridge.
    tron: Vec<Address>,
    contract: Option<Address>,
    victims: usize,
    /// The time and way in which each owner was drained, until the truth contains it.
    drained: Vec<(i64, TxHash, u64)>,
    stage: Stage,
    stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Fund,
    Deploy,
    Hunt,
    FundLayers,
    Layer,
    LaunderCoins,
    Launder,
    Done,
}

impl Drainer {
    pub(super) fn new(world: &mut World) -> Self {
        let account = |world: &mut World, family, name: &str, role| {
            world.account(family, &format!("{OWNER}/{name}"), role, OWNER)
        };
        let layers = (0..LAYERS).map(|layer| account(world, Family::Evm, &format!("layer/{layer}"), Role::ScamLayer));
        let layers = layers.collect();
        let tron =
            (0..2).map(|layer| account(world, Family::Tron, &format!("layer/{layer}"), Role::ScamLayer)).collect();
        Self {
            case: Case { name: "drainer-1".to_owned(), kind: "drainer" },
            backer: account(world, Family::Evm, "backer", Role::ScamOperator),
            operator: account(world, Family::Evm, "operator", Role::ScamOperator),
            collector: account(world, Family::Evm, "collector", Role::ScamCollector),
            layers,
            tron,
            contract: None,
            victims: 0,
            drained: Vec::new(),
            stage: Stage::Fund,
            stream: Stream::new(world.seed, OWNER),
        }
    }
}

impl Actor for Drainer {
    fn first_wake(&self) -> i64 {
        START + 28 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        match self.stage {
            Stage::Fund => Some(self.fund(world, now)),
            Stage::Deploy => Some(self.deploy(world, now)),
            Stage::Hunt => Some(self.hunt(world, now)),
            Stage::FundLayers => Some(self.fund_layers(world, now)),
            Stage::Layer => Some(self.layer(world, now)),
            Stage::LaunderCoins => Some(self.launder_coins(world, now)),
            Stage::Launder => Some(self.launder(world, now)),
            Stage::Done => None,
        }
    }
}

impl Drainer {
    /// The backer buys at an exchange and sends a note of the mixer to the operator.
    fn fund(&mut self, world: &mut World, now: i64) -> i64 {
        let pool = world.pool_for(CHAIN, 10_u128.pow(18));
        let held = world.balance(CHAIN, &self.backer, Coin::Native);
        if let Some(pool) = pool.filter(|pool| held > pool.denomination + pool.denomination / 10) {
            let users = (self.backer, self.operator);
            if world.mix(now, pool, users, now + 20 * HOUR, Some(self.case.clone())).is_ok() {
                self.stage = Stage::Deploy;
                return now + 2 * DAY;
            }
        }
        let raw = 12 * 10_u128.pow(17);
        world.withdraw(2, CHAIN, self.backer, Coin::Native, raw);
        now + DAY
    }

    fn deploy(&mut self, world: &mut World, now: i64) -> i64 {
        let mut call = Call::plain(self.operator, self.operator, Amount::ZERO);
        call.to = None;
        call.gas = 780_000;
        call.input = abi::call("constructor(address)", &[abi::account(&self.collector)]);
        let Ok(receipt) = world.book(CHAIN).send(now, call) else { return now + 6 * HOUR };
        let Some(contract) = receipt.created else { return now + 6 * HOUR };
        world.directory.file(contract, Role::ScamContract, OWNER);
        world.step(&self.case, "setup", CHAIN, receipt.hash, Flow::new(self.operator, contract, Asset::Native, 0));
        self.contract = Some(contract);
        self.stage = Stage::Hunt;
        now + DAY
    }

    /// A victim allows the contract to take a token; minutes later it is taken. Others send coins to a false claim page.
    fn hunt(&mut self, world: &mut World, now: i64) -> i64 {
        if self.victims >= 42 || now > START + 80 * DAY {
            self.stage = Stage::FundLayers;
            return now + 8 * HOUR;
        }
        if self.stream.chance(0.3) {
            self.false_claim(world, now);
        } else {
            self.drain(world, now);
        }
        now + HOUR / 2 + self.stream.wait(20.0 * 3_600.0)
    }

    fn drain(&mut self, world: &mut World, now: i64) {
        let Some(contract) = self.contract else { return };
        let symbol = *self.stream.pick(&["USDT", "USDT", "USDC", "DAI", "LINK"]);
        let coin = world.token(CHAIN, symbol);
        let Coin::Token(place) = coin else { return };
        let Some(number) = victim(world, &mut self.stream, now, CHAIN, (coin, 8_000)) else { return };
        let owner = world.people[number].evm;
        let Ok(approval) = ({
            let call = world.approve_call(owner, contract, place, Amount::MAX);
            world.book(CHAIN).send(now, call)
        }) else {
            return;
        };
        let asset = world.asset(coin);
        world.step(&self.case, "lure", CHAIN, approval.hash, Flow::new(owner, contract, asset, 0));
        let held = world.balance(CHAIN, &owner, coin);
        // A fifth goes to whoever brought the victim: here the operator.
        let share = held / 5;
        let token = world.tokens[place].contract;
        let words = [abi::account(&token), abi::account(&owner), abi::amount(Amount::from_u128(held))];
        let input = abi::call("claim(address,address,uint256)", &words);
        let mut call = Call::contract(self.operator, contract, 120_000, input);
        for (to, raw) in [(self.collector, held - share), (self.operator, share)] {
            call.effects.push(Effect::Token { contract: token, from: owner, to, amount: Amount::from_u128(raw) });
        }
        if let Ok(receipt) = world.book(CHAIN).send(now, call) {
            for (to, raw) in [(self.collector, held - share), (self.operator, share)] {
                world.step(&self.case, "loot", CHAIN, receipt.hash, Flow::new(owner, to, asset, raw));
            }
            self.victims += 1;
            self.drained.push((now, receipt.hash, world.cents(CHAIN, coin, held, now)));
            self.record_truth(world);
        }
    }

    /// Three owners within a week make it what it is called.
    fn record_truth(&self, world: &mut World) {
        let [.., first, middle, last] = &self.drained[..] else { return };
        if self.is_recorded(self.drained.len() - 1) || last.0 - first.0 > 7 * DAY {
            return;
        }
        let usd_cents = first.2 + middle.2 + last.2;
        let evidence = Evidence { count: 3, counterparties: 3, usd_cents, first: first.1, last: last.1 };
        world.plant(CHAIN, self.collector, Behaviour::ApprovalDrain, evidence);
    }

    /// Returns whether three of the first so many already were.
    fn is_recorded(&self, count: usize) -> bool {
        self.drained[..count].windows(3).any(|three| three[2].0 - three[0].0 <= 7 * DAY)
    }

    fn false_claim(&mut self, world: &mut World, now: i64) {
        let Some(contract) = self.contract else { return };
        let Some(number) = victim(world, &mut self.stream, now, CHAIN, (Coin::Native, 9_000)) else { return };
        let from = world.people[number].evm;
        let raw = world.balance(CHAIN, &from, Coin::Native) / 100 * 70;
        let amount = Amount::from_u128(raw);
        let mut call = Call::contract(from, contract, 58_000, abi::call("claimReward()", &[]));
        call.value = amount;
        call.effects.push(Effect::Internal(contract, self.collector, amount));
        if let Ok(receipt) = world.book(CHAIN).send(now, call) {
            world.step(&self.case, "loot", CHAIN, receipt.hash, Flow::new(from, contract, Asset::Native, raw));
            world.step(
                &self.case,
                "collect",
                CHAIN,
                receipt.hash,
                Flow::new(contract, self.collector, Asset::Native, raw),
            );
            self.victims += 1;
        }
    }

    /// Layers cannot move tokens without coins for fees.
    fn fund_layers(&mut self, world: &mut World, now: i64) -> i64 {
        let raw = world.raw(CHAIN, Coin::Native, 3_500, now);
        for layer in self.layers.clone() {
            move_some(world, (&self.case, "setup"), (CHAIN, now), (self.collector, layer), (Coin::Native, raw));
        }
        for straw in self.tron.clone() {
            // On tron the coins for fees come from an exchange.
            let trx = world.raw(Chain::TRON, Coin::Native, 4_000, now);
            world.withdraw(1, Chain::TRON, straw, Coin::Native, trx);
        }
        self.stage = Stage::Layer;
        now + self.stream.secs(HOUR, 5 * HOUR)
    }

    /// The operator hands over, and every token goes to its layer.
    fn layer(&mut self, world: &mut World, now: i64) -> i64 {
        for (place, symbol) in ["USDT", "USDC", "DAI", "LINK"].into_iter().enumerate() {
            let coin = world.token(CHAIN, symbol);
            move_all(world, (&self.case, "collect"), (CHAIN, now), (self.operator, self.collector), coin);
            let half = world.balance(CHAIN, &self.collector, coin) / 2;
            let (first, second) = (self.layers[place], self.layers[(place + 1) % LAYERS]);
            if half > 0 {
                move_some(world, (&self.case, "layer"), (CHAIN, now), (self.collector, first), (coin, half));
            }
            move_all(world, (&self.case, "layer"), (CHAIN, now), (self.collector, second), coin);
        }
        self.stage = Stage::LaunderCoins;
        now + self.stream.secs(3 * HOUR, 15 * HOUR)
    }

    /// Native coins go through the mixer, note by note, to the last layer.
    fn launder_coins(&mut self, world: &mut World, now: i64) -> i64 {
        let held = world.balance(CHAIN, &self.collector, Coin::Native);
        // Something stays for fees.
        let Some(pool) = world.pool_for(CHAIN, held.saturating_sub(6 * 10_u128.pow(16))) else {
            self.stage = Stage::Launder;
            return now + 20 * HOUR;
        };
        let users = (self.collector, self.layers[LAYERS - 1]);
        let due = now + 5 * HOUR + self.stream.wait(16.0 * 3_600.0);
        if world.mix(now, pool, users, due, Some(self.case.clone())).is_err() {
            self.stage = Stage::Launder;
        }
        now + self.stream.secs(HOUR / 3, 4 * HOUR)
    }

    /// Some over the bridge to tron and on to an exchange there, the rest straight to exchanges; again and again until
    /// nothing is left.
    fn launder(&mut self, world: &mut World, now: i64) -> i64 {
        let usdt = world.token(CHAIN, "USDT");
        let (bridged, straw) = (self.layers[0], self.tron[0]);
        let raw = world.balance(CHAIN, &bridged, usdt);
        if raw > 0 {
            let case = Some(self.case.clone());
            let crossing = Crossing {
                chains: (CHAIN, Chain::TRON),
                symbol: "USDT",
                users: (bridged, straw),
                raw,
                case,
                via: None,
            };
            let _ = world.cross(now, crossing);
        }
        for place in 0..LAYERS {
            for symbol in ["USDT", "USDC", "DAI", "LINK"] {
                let coin = world.token(CHAIN, symbol);
                let straw_man = format!("straw-{place}");
                cash_out(world, &self.case, (CHAIN, now), (self.layers[place], &straw_man, place % 3), coin);
            }
        }
        let last = self.layers[LAYERS - 1];
        let coins = world.balance(CHAIN, &last, Coin::Native);
        let keep = world.raw(CHAIN, Coin::Native, 2_500, now);
        if coins > 4 * keep
            && let Ok((receipt, to)) = world.deposit(0, CHAIN, now, ("straw-coins", last), (Coin::Native, coins - keep))
        {
            let flow = Flow::new(last, to, Asset::Native, coins - keep);
            world.step(&self.case, "cash_out", CHAIN, receipt.hash, flow);
        }
        let tron_usdt = world.token(Chain::TRON, "USDT");
        let tron = (Chain::TRON, now);
        cash_out(world, &self.case, tron, (self.tron[1], "straw-tron", 1), tron_usdt);
        move_all(world, (&self.case, "layer"), tron, (straw, self.tron[1]), tron_usdt);
        if now > START + 112 * DAY {
            self.stage = Stage::Done;
        }
        now + self.stream.secs(10 * HOUR, 30 * HOUR)
    }
}

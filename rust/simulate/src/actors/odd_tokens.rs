//! Tokens whose transfers do not show everything: one that rebases, one that takes a fee on the way, coins that are
//! frozen and destroyed by their issuer; and tokens that are not amounts at all.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect, Insufficient};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::tokens::Token;
use crate::truth::{Role, TrueBalance};
use crate::world::{Case, Coin, Flow, World};

/// The amount that a rebase adds, in millionths.
const REBASE_PER_MILLION: u128 = 900;
/// The fee that the fee token takes, in hundredths.
const FEE_PERCENT: u128 = 2;
/// Holders of each of them.
const HOLDERS: usize = 24;

/// Starts them all.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for (kind, chain, symbol, name, role) in [
        (Kind::Rebasing, Chain::ETHEREUM, "TIDE", "Tidal Share", Role::RebasingToken),
        (Kind::Fee, Chain::BSC, "TOLLR", "Tollroad", Role::FeeToken),
        (Kind::Collection, Chain::ETHEREUM, "HERON", "Herons", Role::NftCollection),
        (Kind::Items, Chain::BSC, "ITEMS", "Workshop Items", Role::NftCollection),
    ] {
        let owner = format!("deployer-{}", symbol.to_lowercase());
        let maker = world.account(chain.family(), &owner, Role::TokenDeployer, &owner);
        let coins = world.raw(chain, Coin::Native, 900_000, START);
        world.book(chain).allocate(maker, Amount::from_u128(coins));
        let stream = Stream::new(world.seed, &owner);
        let state = OddToken {
            kind,
            chain,
            symbol,
            name,
            role,
            owner,
            maker,
            contract: None,
            holders: Vec::new(),
            turns: 0,
            stream,
        };
        actors.push(Box::new(state));
    }
    actors.push(Box::new(Freeze::new(world)));
    actors
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rebasing,
    Fee,
    Collection,
    Items,
}

struct OddToken {
    kind: Kind,
    chain: Chain,
    symbol: &'static str,
    name: &'static str,
    role: Role,
    owner: String,
    maker: Address,
    contract: Option<Address>,
    holders: Vec<Address>,
    turns: u64,
    stream: Stream,
}

impl Actor for OddToken {
    fn first_wake(&self) -> i64 {
        START + 16 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let Some(contract) = self.contract else {
            let _ = self.create(world, now);
            return Some(now + DAY);
        };
        self.turns += 1;
        let _ = match self.kind {
            Kind::Rebasing => self.rebase(world, now, contract),
            Kind::Fee => self.toll(world, now, contract),
            Kind::Collection | Kind::Items => self.collect(world, now, contract),
        };
        if now > world.end() - 4 * DAY {
            self.record_truth(world, contract);
            return None;
        }
        Some(now + self.stream.secs(2 * DAY, 6 * DAY))
    }
}

impl OddToken {
    fn create(&mut self, world: &mut World, now: i64) -> Result<(), Insufficient> {
        let mut call = Call::plain(self.maker, self.maker, Amount::ZERO);
        call.to = None;
        call.gas = 1_600_000;
        call.input = abi::call("constructor(string,string)", &[]);
        let contract = world.book(self.chain).next_contract(&self.maker);
        let fungible = matches!(self.kind, Kind::Rebasing | Kind::Fee);
        if fungible {
            let zero = world.book(self.chain).zero();
            let amount = Amount::from_u128(10_u128.pow(24));
            call.effects.push(Effect::Token { contract, from: zero, to: self.maker, amount });
        }
        world.book(self.chain).send(now, call)?;
        world.file(contract, self.role, &self.owner);
        self.contract = Some(contract);
        if fungible {
            world.tokens.push(Token {
                chain: self.chain,
                contract,
                symbol: self.symbol.to_owned(),
                name: self.name.to_owned(),
                decimals: 18,
                price: None,
                coingecko_id: None,
            });
        }
        for _ in 0..HOLDERS {
            let place = self.stream.index(world.people.len());
            let to = world.people[place].account(self.chain.family());
            if !self.holders.contains(&to) {
                self.holders.push(to);
            }
        }
        Ok(())
    }

    /// Gives some to the next holder, then everybody has a little more, and only a number in an event shows it.
    fn rebase(&mut self, world: &mut World, now: i64, contract: Address) -> Result<(), Insufficient> {
        let next = usize::try_from(self.turns).unwrap_or(usize::MAX);
        if let Some(&to) = self.holders.get(next) {
            self.transfer(world, now, contract, to, None)?;
        }
        let mut call = Call::contract(self.maker, contract, 80_000, abi::call("rebase(uint256,int256)", &[]));
        let topics = vec![abi::topic("LogRebase(uint256,uint256)"), abi::number(self.turns)];
        let everybody: Vec<_> = self.holders.iter().copied().chain([self.maker]).collect();
        let held = everybody.iter().map(|holder| world.read(self.chain).balance(holder, Asset::Token(contract)));
        let grown: Vec<_> = held
            .map(|held| held.to_u128().unwrap_or(0))
            .map(|held| held + held / 1_000_000 * REBASE_PER_MILLION)
            .collect();
        let supply = abi::amount(Amount::from_u128(grown.iter().sum()));
        call.effects.push(Effect::Log { address: contract, topics, data: supply.to_vec() });
        world.book(self.chain).send(now, call)?;
        for (holder, grown) in everybody.into_iter().zip(grown) {
            world.book(self.chain).adjust(holder, contract, Amount::from_u128(grown));
        }
        Ok(())
    }

    fn toll(&mut self, world: &mut World, now: i64, contract: Address) -> Result<(), Insufficient> {
        let place = self.stream.index(self.holders.len());
        let to = self.holders[place];
        self.transfer(world, now, contract, to, Some(FEE_PERCENT))
    }

    /// The maker gives some; of a fee token less arrives than the event says.
    fn transfer(
        &mut self,
        world: &mut World,
        now: i64,
        contract: Address,
        to: Address,
        fee_percent: Option<u128>,
    ) -> Result<(), Insufficient> {
        let raw = 10_u128.pow(21) + u128::from(self.stream.below(1_000_000)) * 10_u128.pow(15);
        let amount = Amount::from_u128(raw);
        let words = [abi::account(&to), abi::amount(amount)];
        let input = abi::call("transfer(address,uint256)", &words);
        let mut call = Call::contract(self.maker, contract, 61_000, input);
        call.effects.push(match fee_percent {
            None => Effect::Token { contract, from: self.maker, to, amount },
            Some(percent) => Effect::Stated {
                contract,
                from: self.maker,
                to,
                stated: amount,
                moved: Amount::from_u128(raw / 100 * (100 - percent)),
            },
        });
        world.book(self.chain).send(now, call).map(|_| ())
    }

    /// One more is made for somebody, and now and then they send several at once.
    fn collect(&mut self, world: &mut World, now: i64, contract: Address) -> Result<(), Insufficient> {
        let place = self.stream.index(self.holders.len());
        let (to, zero) = (self.holders[place], world.book(self.chain).zero());
        let id = Amount::from(self.turns);
        let mut call =
            Call::contract(self.maker, contract, 90_000, abi::call("mint(address,uint256)", &[abi::account(&to)]));
        call.effects.push(match self.kind {
            Kind::Items => {
                let count = Amount::from(self.stream.between(1, 50));
                Effect::Multi { contract, operator: self.maker, between: (zero, to), id, count }
            }
            _ => Effect::Unique { contract, from: zero, to, id },
        });
        world.book(self.chain).send(now, call)?;
        // Handed on by whoever has coins for the fee.
        let next = self.holders[(place + 1) % self.holders.len()];
        let mut call =
            Call::contract(to, contract, 70_000, abi::call("safeTransferFrom(address,address,uint256)", &[]));
        call.effects.push(match self.kind {
            Kind::Items => Effect::Multi { contract, operator: to, between: (to, next), id, count: Amount::from(1) },
            _ => Effect::Unique { contract, from: to, to: next, id },
        });
        world.book(self.chain).send(now, call).map(|_| ())
    }

    /// Records what holders really have, which no transfer shows.
    fn record_truth(&self, world: &mut World, contract: Address) {
        if matches!(self.kind, Kind::Rebasing | Kind::Fee) {
            let mut everybody: Vec<_> = self.holders.iter().copied().chain([self.maker]).collect();
            everybody.sort_unstable();
            everybody.dedup();
            for address in everybody {
                let amount = world.read(self.chain).balance(&address, Asset::Token(contract));
                world.truth.true_balances.push(TrueBalance { chain: self.chain, address, contract, amount });
            }
        }
    }
}

/// An issuer freezes what a thief holds, and destroys it a week later.
struct Freeze {
    case: Case,
    thief: Address,
    next: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Steal,
    Freeze,
    Try,
    Destroy,
}

const FREEZE_CHAIN: Chain = Chain::ETHEREUM;

impl Freeze {
    fn new(world: &mut World) -> Self {
        let owner = "scam-frozen";
        let thief = world.account(FREEZE_CHAIN.family(), owner, Role::ScamCollector, owner);
        world.book(FREEZE_CHAIN).allocate(thief, Amount::from_u128(10_u128.pow(17)));
        Self { case: Case { name: "frozen-1".to_owned(), kind: "theft" }, thief, next: Stage::Steal }
    }

    /// Writes down what the issuer did.
    fn note(&self, world: &mut World, token: usize, hash: TxHash) {
        let issuer = world.treasury(token);
        let flow = Flow::new(issuer, self.thief, world.tokens[token].asset(), 0);
        world.step(&self.case, "freeze", FREEZE_CHAIN, hash, flow);
    }

    fn act(&mut self, world: &mut World, now: i64) -> Result<(), Insufficient> {
        let coin = world.token(FREEZE_CHAIN, "USDT");
        let Coin::Token(token) = coin else { return Err(Insufficient) };
        match self.next {
            Stage::Steal => {
                let hot = world.hot_wallet(0, FREEZE_CHAIN.family());
                let raw = world.raw(FREEZE_CHAIN, coin, 2_500_000, now);
                let receipt = world.transfer(FREEZE_CHAIN, now, (hot, self.thief), coin, raw)?;
                let flow = Flow::new(hot, self.thief, world.asset(coin), raw);
                world.step(&self.case, "loot", FREEZE_CHAIN, receipt.hash, flow);
                self.next = Stage::Freeze;
            }
            Stage::Freeze => {
                let receipt = world.freeze(now, token, self.thief)?;
                self.note(world, token, receipt.hash);
                self.next = Stage::Try;
            }
            Stage::Try => {
                let to = world.deposit_address(1, FREEZE_CHAIN.family(), "straw-frozen");
                let mut call = world.transfer_call(self.thief, to, coin, 10_u128.pow(9));
                call.effects.clear();
                call.failure = Some("execution reverted");
                world.book(FREEZE_CHAIN).send(now, call)?;
                self.next = Stage::Destroy;
            }
            Stage::Destroy => {
                let receipt = world.destroy(now, token, self.thief)?;
                self.note(world, token, receipt.hash);
            }
        }
        Ok(())
    }
}

impl Actor for Freeze {
    fn first_wake(&self) -> i64 {
        START + 64 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let last = self.next == Stage::Destroy;
        let done = self.act(world, now).is_ok();
        (!(last && done)).then(|| now + if self.next == Stage::Destroy { 7 * DAY } else { 5 * HOUR })
    }
}

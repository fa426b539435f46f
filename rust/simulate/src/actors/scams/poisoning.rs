//! Poisoners: they watch who pays whom, and send the payer next to nothing from an address that looks like the one that
//! was paid, in the hope that it is copied the next time.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Amount, Chain, TxHash};

use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect};
use crate::clock::{DAY, HOUR, START};
use crate::gas::token_fee_cents;
use crate::identity::{account_bytes, digest};
use crate::random::Stream;
use crate::tokens::Token;
use crate::truth::{Behaviour, Evidence, Role, Verdict};
use crate::world::watched::Payment;
use crate::world::{Case, Coin, Flow, World};

/// The poisoners and their chains. The innocent one finds too few victims.
const PLANS: [(Chain, Verdict); 4] = [
    (Chain::ETHEREUM, Verdict::Planted),
    (Chain::BSC, Verdict::Planted),
    (Chain::BSC, Verdict::Innocent),
    (Chain::TRON, Verdict::Planted),
];
/// Victims that make a poisoner of somebody.
const VICTIMS: usize = 10;

/// An address whose text begins and ends as another's: four digits in front, and as many behind as asked for.
fn look_alike(seed: u64, name: &str, of: &Address, trailing_bytes: usize) -> Address {
    let (mut bytes, real) = ([0; 20], account_bytes(of));
    bytes.copy_from_slice(&digest(seed, "look-alike", name.as_bytes())[..20]);
    bytes[..2].copy_from_slice(&real[..2]);
    bytes[20 - trailing_bytes..].copy_from_slice(&real[20 - trailing_bytes..]);
    if trailing_bytes < 2 {
        // So that the fourth digit from behind is another.
        bytes[18] = real[18] ^ 0x11;
    }
    Address::Evm(bytes)
}

/// Starts the poisoners.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 0..world.preset.rarities(1) {
        for (place, (chain, verdict)) in PLANS.into_iter().enumerate() {
            let name = format!("poisoner-{number}-{place}");
            let owner = format!("scam-{name}");
            let operator = world.account(chain.family(), &owner, Role::ScamOperator, &owner);
            let coins = world.raw(chain, Coin::Native, 150_000, START);
            world.book(chain).allocate(operator, Amount::from_u128(coins));
            let mut stream = Stream::new(world.seed, &owner);
            let from = START + stream.secs(20 * DAY, 40 * DAY);
            let case = Case { name, kind: "address_poisoning" };
            actors.push(Box::new(Poisoner {
                chain,
                verdict,
                case,
                owner,
                operator,
                fake: None,
                victims: BTreeMap::new(),
                hashes: Vec::new(),
                from,
                sent: 0,
                done: BTreeSet::new(),
                stream,
            }));
        }
    }
    actors
}

struct Poisoner {
    chain: Chain,
    verdict: Verdict,
    case: Case,
    owner: String,
    operator: Address,
    /// Its counterfeit of a stablecoin.
    fake: Option<Address>,
    victims: BTreeMap<Address, TxHash>,
    hashes: Vec<TxHash>,
    from: i64,
    sent: u64,
    done: BTreeSet<(Address, Address)>,
    stream: Stream,
}

impl Actor for Poisoner {
    fn first_wake(&self) -> i64 {
        self.from
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let enough = match self.verdict {
            Verdict::Planted => VICTIMS + 8,
            Verdict::Innocent => VICTIMS - 1,
        };
        if self.victims.len() >= enough || now > world.end() - DAY {
            self.record_truth(world);
            return None;
        }
        let fresh = |payment: &&Payment| payment.chain == self.chain && now - payment.at < 20 * HOUR;
        let fresh: Vec<_> = world.watched.payments.iter().rev().filter(fresh).take(3).copied().collect();
        for payment in fresh {
            let new = !self.victims.contains_key(&payment.from) && self.done.insert((payment.from, payment.to));
            if new && payment.from != payment.to && self.victims.len() < enough {
                self.poison(world, now, payment);
            }
        }
        Some(now + self.stream.secs(3 * HOUR, 11 * HOUR))
    }
}

impl Poisoner {
    fn poison(&mut self, world: &mut World, now: i64, payment: Payment) {
        self.sent += 1;
        let name = format!("{}/{}", self.owner, self.sent);
        let known = world.watched.twins.get(&payment.to).copied();
        let twin = known.unwrap_or_else(|| look_alike(world.seed, &name, &payment.to, 2));
        world.file(twin, Role::ScamCollector, &self.owner);
        let real = world.tokens[payment.token].contract;
        let hash = match self.sent % 3 {
            0 => self.dust(world, now, twin, payment),
            1 => self.emit(world, now, real, payment, twin, 0),
            _ => {
                if self.fake.is_none() {
                    self.fake = self.deploy(world, now, payment.token);
                }
                self.fake.and_then(|fake| self.emit(world, now, fake, payment, twin, payment.raw))
            }
        };
        let Some(hash) = hash else { return };
        let asset = headwater_types::Asset::Token(real);
        world.step(&self.case, "lure", self.chain, hash, Flow::new(twin, payment.from, asset, 0));
        self.victims.insert(payment.from, hash);
        self.hashes.push(hash);
    }

    /// A `transferFrom` of nothing needs no allowance; a counterfeit says what it likes.
    fn emit(
        &self,
        world: &mut World,
        now: i64,
        token: Address,
        payment: Payment,
        twin: Address,
        stated: u128,
    ) -> Option<TxHash> {
        let amount = Amount::from_u128(stated);
        let words = [abi::account(&payment.from), abi::account(&twin), abi::amount(amount)];
        let input = abi::call("transferFrom(address,address,uint256)", &words);
        let mut call = Call::contract(self.operator, token, 48_000, input);
        call.effects.push(Effect::Stated {
            contract: token,
            from: payment.from,
            to: twin,
            stated: amount,
            moved: Amount::ZERO,
        });
        world.book(self.chain).send(now, call).ok().map(|receipt| receipt.hash)
    }

    /// The twin itself sends a cent's worth of the real token.
    fn dust(&self, world: &mut World, now: i64, twin: Address, payment: Payment) -> Option<TxHash> {
        let (chain, coin) = (self.chain, Coin::Token(payment.token));
        let gas = world.raw(chain, Coin::Native, 2 * token_fee_cents(chain), now);
        if world.balance(chain, &self.operator, coin) < world.raw(chain, coin, 10, now) {
            let raw = world.raw(chain, coin, 2_000, now);
            world.withdraw(0, chain, self.operator, coin, raw);
            return None;
        }
        world.transfer(chain, now, (self.operator, twin), Coin::Native, gas).ok()?;
        let raw = world.raw(chain, coin, 1, now);
        world.transfer(chain, now, (self.operator, twin), coin, raw).ok()?;
        world.transfer(chain, now, (twin, payment.from), coin, raw).ok().map(|receipt| receipt.hash)
    }

    /// A contract with the symbol of the real one.
    fn deploy(&self, world: &mut World, now: i64, of: usize) -> Option<Address> {
        let mut call = Call::plain(self.operator, self.operator, Amount::ZERO);
        call.to = None;
        call.gas = 900_000;
        call.input = abi::call("constructor(string,string)", &[]);
        let contract = world.book(self.chain).send(now, call).ok()?.created?;
        world.file(contract, Role::CounterfeitToken, &self.owner);
        let real = world.tokens[of].clone();
        world.tokens.push(Token { contract, price: None, coingecko_id: None, ..real });
        Some(contract)
    }

    fn record_truth(&self, world: &mut World) {
        let (Some(&first), Some(&last)) = (self.hashes.first(), self.hashes.last()) else { return };
        let count = self.hashes.len() as u64;
        let evidence = Evidence { count, counterparties: self.victims.len() as u64, usd_cents: 0, first, last };
        // Where too few pay somebody who can be imitated, nothing comes of it but some targets.
        if self.verdict == Verdict::Innocent || self.victims.len() >= VICTIMS {
            world.judge(self.chain, (self.operator, Behaviour::AddressPoisoning, self.verdict), evidence);
        }
        if self.verdict == Verdict::Planted {
            for (&victim, &hash) in &self.victims {
                let evidence = Evidence { count: 1, counterparties: 1, usd_cents: 0, first: hash, last: hash };
                world.judge(self.chain, (victim, Behaviour::PoisoningTarget, Verdict::Planted), evidence);
            }
        }
    }
}

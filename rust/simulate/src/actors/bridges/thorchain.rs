//! `THORChain`: bitcoin for ether and back. Vaults hold both; what leaves one names the transaction that came in at the
//! other, on bitcoin in an output of data, on ethereum in an event of the router. What arrives too late for its price
//! goes back, less what sending it costs.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use crate::abi::{self, Value};
use crate::actors::Actor;
use crate::book::{Call, Effect, Habits, Holder, Insufficient, NewOutput, WalletId};
use crate::clock::{DAY, START};
use crate::identity::zero;
use crate::market::rounded;
use crate::preset::Preset;
use crate::random::Stream;
use crate::truth::{BridgeClass, BridgeLeg, BridgeOutcome, BridgeTransfer, Role};
use crate::world::bridges::log;
use crate::world::queue::Queue;
use crate::world::{Coin, World};

const NAME: &str = "thorchain";
const OWNER: &str = "bridge-thorchain";
/// The router of the fourth version.
const ROUTER: &str = "0xd37bbe5744d730a1d98d8dc97c42f0ca46ad7146";
const DEPOSIT: &str = "depositWithExpiry(address,address,uint256,string,uint256)";
const DEPOSITED: &str = "Deposit(address,address,uint256,string)";
const TRANSFER_OUT: &str = "transferOut(address,address,uint256,string)";
const TRANSFERRED_OUT: &str = "TransferOut(address,address,address,uint256,string)";

/// Days until there are coins of bitcoin to swap.
const FIRST_DAYS: i64 = 30;
/// Seconds between two swaps in the demo; larger economies have more in proportion to their people.
const DEMO_GAP_SECS: f64 = 86_400.0;
/// Fee in ten-thousandths, and what sending costs, in cents.
const FEE_PER_10_000: u64 = 30;
const SENDING_CENTS: u64 = 250;
/// The least that is swapped, in cents.
const MIN_CENTS: u64 = 4_000;
/// Cents that the vault keeps on either side in the demo.
const FLOAT_CENTS: u64 = 60_000_000;

/// Opens the vaults.
pub(super) fn settle(world: &mut World) -> Box<dyn Actor> {
    let router = Address::parse(Chain::ETHEREUM, ROUTER).expect("the router is an address");
    world.add_contract(Chain::ETHEREUM, router, Role::BridgeVault, OWNER);
    let vault = world.account(Chain::ETHEREUM.family(), &format!("{OWNER}/vault"), Role::BridgeVault, OWNER);
    let coins = world.raw(Chain::ETHEREUM, Coin::Native, FLOAT_CENTS * world.preset.wealth(), START);
    world.book(Chain::ETHEREUM).allocate(vault, Amount::from_u128(coins));
    let script = headwater_ledger::read::ScriptType::P2wpkh;
    let wallet = world.bitcoin.add_wallet(Holder::single(OWNER, Role::BridgeVault), Habits::service(script).reusing());
    Box::new(Vaults {
        router,
        vault,
        wallet,
        orders: Queue::default(),
        next_swap: START + FIRST_DAYS * DAY,
        next_review: START,
        stream: Stream::new(world.seed, OWNER),
    })
}

/// The vaults of both chains, and who uses them.
struct Vaults {
    router: Address,
    vault: Address,
    wallet: WalletId,
    orders: Queue<Swap>,
    next_swap: i64,
    next_review: i64,
    stream: Stream,
}

/// A swap whose second leg waits.
struct Swap {
    id: u64,
    source: BridgeLeg,
    to: Chain,
    recipient: Address,
    /// The amount that is to come out, raw.
    raw_out: u128,
    outcome: BridgeOutcome,
}

impl Actor for Vaults {
    fn first_wake(&self) -> i64 {
        START + FIRST_DAYS * DAY - 4 * DAY
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        if now >= self.next_review {
            self.provide(world, now);
            self.next_review = now + DAY;
        }
        while let Some(due) = self.orders.pop(now) {
            if self.pay_out(world, now, &due.work).is_err() {
                self.orders.put_off(now, due);
            }
        }
        while self.next_swap <= now {
            // Whoever has too little does not swap.
            let _ = self.swap(world, now);
            #[expect(clippy::cast_precision_loss, reason = "an economy has far fewer than 2^53 people")]
            let people = Preset::Demo.people() as f64 / world.people.len() as f64;
            self.next_swap += 1 + self.stream.wait(DEMO_GAP_SECS * people);
        }
        Some(now + self.stream.secs(300, 900))
    }
}

impl Vaults {
    /// Once a day: a vault that is short buys at an exchange.
    fn provide(&self, world: &mut World, now: i64) {
        let float = FLOAT_CENTS * world.preset.wealth();
        if world.worth(Chain::ETHEREUM, &self.vault, Coin::Native, now) < float / 4 {
            let raw = world.raw(Chain::ETHEREUM, Coin::Native, float / 2, now);
            world.withdraw(0, Chain::ETHEREUM, self.vault, Coin::Native, raw);
        }
        let held = world.bitcoin.spendable(self.wallet, now);
        if world.cents(Chain::BITCOIN, Coin::Native, u128::from(held), now) < float / 16 {
            let to = world.bitcoin.receiving(self.wallet);
            world.withdraw_bitcoin(0, to, satoshis(world, float / 8, now));
        }
    }

    /// Somebody who is there now changes part of what they have.
    fn swap(&mut self, world: &mut World, now: i64) -> Result<(), Insufficient> {
        let number = self.stream.index(world.people.len());
        let person = world.people[number].clone();
        if !(person.life.0..person.life.1).contains(&now) {
            return Err(Insufficient);
        }
        let percent = self.stream.between(15, 80);
        let late = self.stream.chance(0.12);
        let bitcoin = world.bitcoin.spendable(person.wallet, now);
        let worth = world.cents(Chain::BITCOIN, Coin::Native, u128::from(bitcoin), now);
        let (source, to, recipient) = if worth > 2 * MIN_CENTS {
            let paid = rounded(u128::from(bitcoin / 100 * percent), 4);
            let leg = self.pay_bitcoin(world, now, (person.wallet, person.evm), u64::try_from(paid).unwrap_or(0))?;
            (leg, Chain::ETHEREUM, person.evm)
        } else {
            let held = world.balance(Chain::ETHEREUM, &person.evm, Coin::Native);
            let recipient = world.bitcoin.receiving(person.wallet);
            let leg =
                self.pay_ether(world, now, (person.evm, recipient), rounded(held / 100 * u128::from(percent), 4))?;
            (leg, Chain::BITCOIN, recipient)
        };
        let id = world.next_transfer_id();
        let raw_in = source.amount.to_u128().unwrap_or(0);
        let cents = world.cents(source.chain, Coin::Native, raw_in, now);
        let (outcome, raw_out) = if late {
            let sending = world.raw(source.chain, Coin::Native, SENDING_CENTS, now);
            (BridgeOutcome::Refunded, raw_in.saturating_sub(sending))
        } else {
            (BridgeOutcome::Completed, world.raw(to, Coin::Native, after_fees(cents), now))
        };
        // A block of either chain must be above the first leg.
        let due = i64::try_from(source.time_secs).unwrap_or(now) + self.stream.secs(600, 2_400);
        self.orders.push(due, Swap { id, source, to, recipient, raw_out, outcome });
        Ok(())
    }

    /// Pays the vault on bitcoin, with the wish in an output of data.
    fn pay_bitcoin(
        &self,
        world: &mut World,
        now: i64,
        (payer, recipient): (WalletId, Address),
        paid: u64,
    ) -> Result<BridgeLeg, Insufficient> {
        let cents = world.cents(Chain::BITCOIN, Coin::Native, u128::from(paid), now);
        let limit = world.raw(Chain::ETHEREUM, Coin::Native, limit(cents)?, now) / 10_u128.pow(10);
        let memo = format!("=:e:{recipient}:{limit}");
        let to = world.bitcoin.known(self.wallet);
        let made =
            world.bitcoin.pay_out(now, payer, vec![NewOutput::to(to, paid), NewOutput::note(memo.as_bytes())])?;
        let user = *made.from.first().ok_or(Insufficient)?;
        Ok(bitcoin_leg(world, made.hash, user, paid))
    }

    /// Pays the router on ethereum, which hands it to the vault and returns the wish.
    fn pay_ether(
        &self,
        world: &mut World,
        now: i64,
        (payer, recipient): (Address, Address),
        paid: u128,
    ) -> Result<BridgeLeg, Insufficient> {
        let cents = world.cents(Chain::ETHEREUM, Coin::Native, paid, now);
        let limit = satoshis(world, limit(cents)?, now);
        let memo = format!("=:b:{recipient}:{limit}").into_bytes();
        let expiry = now.unsigned_abs() + 15 * 60;
        let values = [
            Value::account(&self.vault),
            Value::account(&ether(self.router)),
            Value::raw(paid),
            Value::Bytes(memo.clone()),
            Value::number(expiry),
        ];
        let mut call = Call::contract(payer, self.router, 60_000, input(DEPOSIT, &values));
        call.value = Amount::from_u128(paid);
        let topics = [abi::account(&self.vault), abi::account(&ether(self.router))];
        call.effects = vec![
            Effect::Internal(self.router, self.vault, Amount::from_u128(paid)),
            log(self.router, DEPOSITED, &topics, &[Value::raw(paid), Value::Bytes(memo)]),
        ];
        let receipt = world.book(Chain::ETHEREUM).send(now, call)?;
        Ok(world.leg(Chain::ETHEREUM, receipt.hash, (payer, Coin::Native, paid), now))
    }

    /// The second leg, or the way back.
    fn pay_out(&self, world: &mut World, now: i64, swap: &Swap) -> Result<(), Insufficient> {
        let source = &swap.source;
        let (chain, to, word) = match swap.outcome {
            BridgeOutcome::Refunded => (source.chain, source.user, "REFUND"),
            BridgeOutcome::Completed | BridgeOutcome::Pending => (swap.to, swap.recipient, "OUT"),
        };
        let hash = source.hash.display(source.chain.family());
        let memo = format!("{word}:{}", hash.trim_start_matches("0x").to_uppercase());
        let leg = if chain == Chain::BITCOIN {
            let paid = u64::try_from(swap.raw_out).unwrap_or(0);
            let outputs = vec![NewOutput::to(to, paid), NewOutput::note(memo.as_bytes())];
            let made = world.bitcoin.pay_out(now, self.wallet, outputs)?;
            bitcoin_leg(world, made.hash, to, paid)
        } else {
            let hash = self.transfer_out(world, now, (to, swap.raw_out), memo.into_bytes())?;
            world.leg(chain, hash, (to, Coin::Native, swap.raw_out), now)
        };
        world.truth.bridge_transfers.push(BridgeTransfer {
            bridge: NAME.to_owned(),
            id: swap.id,
            class: BridgeClass::SourceHash,
            outcome: swap.outcome,
            source: source.clone(),
            destination: Some(leg),
        });
        Ok(())
    }

    /// The vault pays through the router, so that the memo is in an event.
    fn transfer_out(
        &self,
        world: &mut World,
        now: i64,
        (to, raw): (Address, u128),
        memo: Vec<u8>,
    ) -> Result<TxHash, Insufficient> {
        let asset = ether(self.router);
        let values = [Value::account(&to), Value::account(&asset), Value::raw(raw), Value::Bytes(memo.clone())];
        let mut call = Call::contract(self.vault, self.router, 55_000, input(TRANSFER_OUT, &values));
        call.value = Amount::from_u128(raw);
        let topics = [abi::account(&self.vault), abi::account(&to)];
        call.effects = vec![
            Effect::Internal(self.router, to, Amount::from_u128(raw)),
            log(self.router, TRANSFERRED_OUT, &topics, &[Value::account(&asset), Value::raw(raw), Value::Bytes(memo)]),
        ];
        Ok(world.book(Chain::ETHEREUM).send(now, call)?.hash)
    }
}

/// Returns what the router calls the coin of the chain.
fn ether(router: Address) -> Address {
    zero(router.family())
}

fn input(signature: &'static str, values: &[Value]) -> Vec<u8> {
    [abi::call(signature, &[]), abi::encode(values)].concat()
}

fn after_fees(cents: u64) -> u64 {
    (cents - cents * FEE_PER_10_000 / 10_000).saturating_sub(SENDING_CENTS)
}

/// Returns what a swap must bring at least, in cents: three hundredths less than it would bring now.
fn limit(cents: u64) -> Result<u64, Insufficient> {
    if cents < MIN_CENTS { Err(Insufficient) } else { Ok(after_fees(cents) / 100 * 97) }
}

fn satoshis(world: &World, cents: u64, now: i64) -> u64 {
    u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0)
}

/// A leg on bitcoin, which is in the block that is open.
fn bitcoin_leg(world: &World, hash: TxHash, user: Address, paid: u64) -> BridgeLeg {
    let time_secs = world.bitcoin.open_time().unsigned_abs();
    BridgeLeg { chain: Chain::BITCOIN, hash, user, asset: Asset::Native, amount: paid.into(), time_secs }
}

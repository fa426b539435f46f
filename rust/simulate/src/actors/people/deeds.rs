//! Actions of people while they are awake.

use headwater_types::{Address, Amount, Asset, Chain};

use super::{Life, Person};
use crate::abi;
use crate::book::{Call, Effect, Insufficient};
use crate::clock::HOUR;
use crate::market::rounded;
use crate::truth::Role;
use crate::world::bridges::Crossing;
use crate::world::dex::SwapOrder;
use crate::world::watched::Payment;
use crate::world::{ACCOUNT_CHAINS, Coin, World};

/// The next action of a person.
#[derive(Debug, Clone, Copy)]
enum PersonAction {
    Pay,
    Deposit,
    Withdraw,
    Wrap,
    Fail,
    Cancel,
    SelfTransfer,
    PassOnOddToken,
    Bridge,
    Mix,
    Swap,
}

const DEEDS: [PersonAction; 11] = [
    PersonAction::Pay,
    PersonAction::Deposit,
    PersonAction::Withdraw,
    PersonAction::Wrap,
    PersonAction::Fail,
    PersonAction::Cancel,
    PersonAction::SelfTransfer,
    PersonAction::PassOnOddToken,
    PersonAction::Bridge,
    PersonAction::Mix,
    PersonAction::Swap,
];

impl Life {
    fn cents(&mut self) -> u64 {
        let cents = self.stream.cents(self.median_usd, 0.9);
        if self.likes_round && cents > 2_000 {
            return u64::try_from(rounded(u128::from(cents), 2)).unwrap_or(cents);
        }
        cents
    }

    fn friend(&mut self) -> Option<usize> {
        // The first friends are the close ones.
        let place = self.stream.index(self.friends.len().max(1)).min(self.stream.index(self.friends.len().max(1)));
        self.friends.get(place).copied()
    }

    fn coin(&mut self, world: &World, chain: Chain) -> Coin {
        let token_ratio = if chain == Chain::TRON { self.token_ratio.max(0.8) } else { self.token_ratio };
        if !self.stream.chance(token_ratio) {
            return Coin::Native;
        }
        let (symbols, weights): (&[&str], &[u64]) = match chain {
            Chain::ETHEREUM => (&["USDT", "USDC", "DAI", "WETH", "LINK"], &[45, 30, 10, 7, 8]),
            Chain::BSC => (&["USDT", "USDC", "WBNB", "BUSD", "Cake"], &[58, 14, 5, 13, 10]),
            _ => (&["USDT", "USDC", "WTRX"], &[91, 7, 2]),
        };
        world.token(chain, symbols[self.stream.weighted(weights)])
    }

    pub(super) fn use_account(&mut self, world: &mut World, now: i64, chain: Chain) -> Result<(), Insufficient> {
        let person = world.people[self.number].clone();
        let me = person.account(chain.family());
        let reserve = if chain == Chain::BSC { 80 } else { 1_200 };
        if world.worth(chain, &me, Coin::Native, now) < reserve {
            let cents = self.stream.cents(60.0, 0.6) + reserve * 2;
            let raw = world.raw(chain, Coin::Native, cents, now);
            world.withdraw(person.exchange, chain, me, Coin::Native, raw);
            return Ok(());
        }
        match DEEDS[self.stream.weighted(&self.weights)] {
            PersonAction::Pay => self.pay(world, now, chain, &person)?,
            PersonAction::Deposit => self.deposit(world, now, chain, &person)?,
            PersonAction::Withdraw => {
                let coin = self.coin(world, chain);
                self.ask_for(world, now, (chain, coin), 1);
            }
            PersonAction::Wrap => self.wrap(world, now, chain, me)?,
            PersonAction::Fail => self.fail(world, now, chain, me)?,
            PersonAction::Cancel => {
                world.book(chain).send(now, Call::plain(me, me, Amount::ZERO))?;
            }
            PersonAction::SelfTransfer => {
                let coin = self.coin(world, chain);
                let raw = world.balance(chain, &me, coin) / 3;
                world.transfer(chain, now, (me, me), coin, raw)?;
            }
            PersonAction::PassOnOddToken => self.pass_on(world, now, chain, me)?,
            PersonAction::Bridge => self.bridge(world, now, chain, &person)?,
            PersonAction::Mix => self.mix(world, now, chain, me)?,
            PersonAction::Swap => self.swap(world, now, chain, me),
        }
        Ok(())
    }

    /// Buys more of a coin at the exchange.
    fn ask_for(&mut self, world: &mut World, now: i64, (chain, coin): (Chain, Coin), times: u64) {
        let person = &world.people[self.number];
        let (exchange, me) = (person.exchange, person.account(chain.family()));
        // Wrapped coins are wrapped, not bought.
        let coin = if matches!(coin, Coin::Token(place) if world.tokens[place].symbol.starts_with('W')) {
            Coin::Native
        } else {
            coin
        };
        let cents = (self.cents() * times).min(40_000_000);
        let raw = rounded(world.raw(chain, coin, cents, now), 6);
        world.withdraw(exchange, chain, me, coin, raw);
    }

    fn pay(&mut self, world: &mut World, now: i64, chain: Chain, person: &Person) -> Result<(), Insufficient> {
        let me = person.account(chain.family());
        let coin = self.coin(world, chain);
        let cents = self.cents();
        let mut raw = world.raw(chain, coin, cents, now);
        if self.likes_round {
            raw = rounded(raw, 3);
        }
        let reserve = if coin == Coin::Native { world.raw(chain, Coin::Native, 900, now) } else { 0 };
        if world.balance(chain, &me, coin) < raw + reserve {
            let times = self.stream.between(2, 6);
            self.ask_for(world, now, (chain, coin), times);
            return Ok(());
        }
        let Some(friend) = self.friend() else { return Ok(()) };
        let to = world.till(friend, chain, coin);
        world.transfer(chain, now, (me, to), coin, raw)?;
        if let Coin::Token(token) = coin {
            world.notice(Payment { at: now, chain, from: me, to, token, raw });
        }
        Ok(())
    }

    fn deposit(&mut self, world: &mut World, now: i64, chain: Chain, person: &Person) -> Result<(), Insufficient> {
        let me = person.account(chain.family());
        let coin = self.coin(world, chain);
        let held = world.balance(chain, &me, coin);
        if world.cents(chain, coin, held, now) < 4_000 {
            return Ok(());
        }
        let share = if self.stream.chance(0.3) { 95 } else { self.stream.between(20, 80) };
        let raw = rounded(held / 100 * u128::from(share), 4);
        // Most people have an account at one exchange, some also at another.
        let exchange =
            if self.stream.chance(0.15) { (person.exchange + 1) % world.exchanges.len() } else { person.exchange };
        world.deposit(exchange, chain, now, (&person.name, me), (coin, raw))?;
        Ok(())
    }

    /// Wraps native coins, or unwraps them: the contract pays back by an internal call.
    fn wrap(&mut self, world: &mut World, now: i64, chain: Chain, me: Address) -> Result<(), Insufficient> {
        let symbol = match chain {
            Chain::ETHEREUM => "WETH",
            Chain::BSC => "WBNB",
            _ => "WTRX",
        };
        let coin = world.token(chain, symbol);
        let Asset::Token(contract) = world.asset(coin) else { return Ok(()) };
        let wrapped = world.balance(chain, &me, coin);
        let zero = world.book(chain).zero();
        let call = if wrapped > 0 && self.stream.chance(0.6) {
            let amount = Amount::from_u128(wrapped);
            let input = abi::call("withdraw(uint256)", &[abi::amount(amount)]);
            let mut call = Call::contract(me, contract, 36_000, input);
            call.effects = vec![
                Effect::Token { contract, from: me, to: zero, amount },
                Effect::Internal(contract, me, amount),
                Effect::Log {
                    address: contract,
                    topics: vec![abi::topic("Withdrawal(address,uint256)"), abi::account(&me)],
                    data: abi::amount(amount).to_vec(),
                },
            ];
            call
        } else {
            let amount = Amount::from_u128(rounded(world.balance(chain, &me, Coin::Native) / 2, 3));
            let mut call = Call::contract(me, contract, 45_000, abi::call("deposit()", &[]));
            call.value = amount;
            call.effects = vec![
                Effect::Token { contract, from: zero, to: me, amount },
                Effect::Log {
                    address: contract,
                    topics: vec![abi::topic("Deposit(address,uint256)"), abi::account(&me)],
                    data: abi::amount(amount).to_vec(),
                },
            ];
            call
        };
        world.book(chain).send(now, call)?;
        Ok(())
    }

    /// A transaction that is reverted or runs out of gas.
    fn fail(&mut self, world: &mut World, now: i64, chain: Chain, me: Address) -> Result<(), Insufficient> {
        let Some(friend) = self.friend() else { return Ok(()) };
        let to = world.people[friend].account(chain.family());
        let coin = world.token(chain, "USDT");
        let cents = self.cents();
        let raw = world.balance(chain, &me, coin) + world.raw(chain, coin, cents, now);
        let mut call = world.transfer_call(me, to, coin, raw);
        call.effects.clear();
        call.failure = Some(if self.stream.chance(0.7) { "execution reverted" } else { "out of gas" });
        if self.stream.chance(0.3) {
            // Value offered to a contract that refuses it.
            call.value = Amount::from_u128(world.balance(chain, &me, Coin::Native) / 50);
        }
        world.book(chain).send(now, call)?;
        Ok(())
    }

    /// Hands an unverified token on, if there is one in the purse.
    fn pass_on(&mut self, world: &mut World, now: i64, chain: Chain, me: Address) -> Result<(), Insufficient> {
        let held = world.odd_coins(chain, &me);
        let Some(friend) = self.friend() else { return Ok(()) };
        if held.is_empty() {
            return Ok(());
        }
        let coin = *self.stream.pick(&held);
        let raw = world.balance(chain, &me, coin) / u128::from(self.stream.between(1, 4));
        let to = world.people[friend].account(chain.family());
        world.transfer(chain, now, (me, to), coin, raw)?;
        Ok(())
    }

    fn bridge(&mut self, world: &mut World, now: i64, chain: Chain, person: &Person) -> Result<(), Insufficient> {
        let me = person.account(chain.family());
        let symbol = if self.stream.chance(0.8) { "USDT" } else { "USDC" };
        let coin = world.token(chain, symbol);
        let held = world.balance(chain, &me, coin);
        if world.cents(chain, coin, held, now) < 3_000 {
            self.ask_for(world, now, (chain, coin), 3);
            return Ok(());
        }
        let others: Vec<_> = ACCOUNT_CHAINS.into_iter().filter(|&other| other != chain).collect();
        let to = *self.stream.pick(&others);
        let raw = rounded(held / 100 * u128::from(self.stream.between(30, 95)), 4);
        let users = (me, person.account(to.family()));
        world.cross(now, Crossing { chains: (chain, to), symbol, users, raw, case: None, via: None })?;
        Ok(())
    }

    /// Changes one coin for another at a decentralised exchange; the next block takes the order.
    fn swap(&mut self, world: &mut World, now: i64, chain: Chain, me: Address) {
        let from = self.coin(world, chain);
        let to = self.coin(world, chain);
        let held = world.balance(chain, &me, from);
        let keep = if from == Coin::Native { world.raw(chain, Coin::Native, 2_500, now) } else { 0 };
        let raw = rounded(held.saturating_sub(keep) / 100 * u128::from(self.stream.between(10, 90)), 4);
        let cents = world.cents(chain, from, raw, now);
        if from == to || cents < 1_000 {
            return;
        }
        let dex = usize::from(self.stream.chance(0.3));
        let slippage_bp = [50, 100, 300, 500][self.stream.weighted(&[5, 3, 2, 1])];
        world.order_swap(SwapOrder { user: me, chain, dex, coins: (from, to), raw, slippage_bp, least: 0 });
    }

    /// Deposits into a mixer, and later receives at a new address that nobody can link to them.
    fn mix(&mut self, world: &mut World, now: i64, chain: Chain, me: Address) -> Result<(), Insufficient> {
        let held = world.balance(chain, &me, Coin::Native);
        let Some(pool) = world.pool_for(chain, held / 10 * 8) else {
            if chain == Chain::TRON {
                return Ok(());
            }
            let cents = self.stream.cents(900.0, 0.8);
            let raw = world.raw(chain, Coin::Native, cents, now);
            let exchange = world.people[self.number].exchange;
            world.withdraw(exchange, chain, me, Coin::Native, raw);
            return Ok(());
        };
        let name = world.people[self.number].name.clone();
        let fresh = self.stream.between(0, 2);
        let recipient = world.account(chain.family(), &format!("{name}/hidden/{fresh}"), Role::Person, &name);
        let due = now + 2 * HOUR + self.stream.wait(30.0 * 3_600.0);
        world.mix(now, pool, (me, recipient), due, None)?;
        Ok(())
    }

    pub(super) fn use_bitcoin(&mut self, world: &mut World, now: i64) {
        let person = world.people[self.number].clone();
        let cents = self.cents().max(500);
        let satoshis = |world: &World, cents| u64::try_from(world.market.raw("btc", 8, cents, now)).unwrap_or(0);
        let amount = satoshis(world, cents);
        let held = world.bitcoin.spendable(person.wallet, now);
        if held < amount + amount / 20 + 20_000 {
            let wanted = satoshis(world, cents.min(20_000_000) * self.stream.between(2, 8));
            let to = world.bitcoin.receiving(person.wallet);
            world.withdraw_bitcoin(person.exchange, to, wanted.max(20_000));
            return;
        }
        let to = if self.stream.chance(0.25) {
            world.bitcoin_deposit_address(person.exchange, self.number)
        } else {
            let Some(friend) = self.friend() else { return };
            let wallet = world.people[friend].wallet;
            world.bitcoin.receiving(wallet)
        };
        let amount =
            if self.likes_round { u64::try_from(rounded(u128::from(amount), 2)).unwrap_or(amount) } else { amount };
        // Whoever is short pays later.
        let _ = world.bitcoin.pay(now, person.wallet, &[(to, amount.max(2_000))]);
    }
}

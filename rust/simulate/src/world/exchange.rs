//! Exchanges as their customers see them: where to pay in, and what they are asked to pay out.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use headwater_types::{Address, Chain, Family};

use super::queue::Queue;
use super::{Coin, World};
use crate::book::{Insufficient, Receipt, WalletId};
use crate::truth::Role;

/// An exchange as others see it, with the post it has to work on.
pub(crate) struct Exchange {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its wallet for deposits and payouts on bitcoin.
    pub(crate) wallet: WalletId,
    pub(crate) cold_wallet: WalletId,
    pub(crate) wallets_by_family: HashMap<Family, ExchangeWallets>,
    pub(crate) bitcoin_deposits: HashMap<usize, Address>,
    pub(crate) withdrawals: Queue<Withdrawal>,
    pub(crate) payouts: VecDeque<(Address, u64)>,
    pub(crate) sweeps: BTreeMap<(Chain, Address, Coin), Sweep>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Withdrawal {
    pub(crate) chain: Chain,
    pub(crate) to: Address,
    pub(crate) coin: Coin,
    pub(crate) raw: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweep {
    Waiting,
    GasSent,
}

/// The places of an exchange on an account chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeWallets {
    pub(crate) hot: Address,
    pub(crate) cold: Address,
    pub(crate) gas: Address,
}

impl World {
    pub(crate) fn exchange_wallets(&mut self, exchange: usize, family: Family) -> ExchangeWallets {
        if let Some(wallets) = self.exchanges[exchange].wallets_by_family.get(&family) {
            return *wallets;
        }
        let owner = format!("exchange-{}", self.exchanges[exchange].name);
        let wallets = ExchangeWallets {
            hot: self.account(family, &format!("{owner}/hot"), Role::ExchangeHot, &owner),
            cold: self.account(family, &format!("{owner}/cold"), Role::ExchangeCold, &owner),
            gas: self.account(family, &format!("{owner}/gas"), Role::ExchangeGas, &owner),
        };
        self.exchanges[exchange].wallets_by_family.insert(family, wallets);
        wallets
    }

    /// Returns where an exchange pays from on an account chain.
    pub(crate) fn hot_wallet(&mut self, exchange: usize, family: Family) -> Address {
        self.exchange_wallets(exchange, family).hot
    }

    /// Returns where an exchange keeps most of its funds.
    pub(crate) fn cold_wallet(&mut self, exchange: usize, family: Family) -> Address {
        self.exchange_wallets(exchange, family).cold
    }

    /// Returns where a customer pays an exchange on an account chain.
    pub(crate) fn deposit_address(&mut self, exchange: usize, family: Family, customer: &str) -> Address {
        let owner = format!("exchange-{}", self.exchanges[exchange].name);
        self.account(family, &format!("{owner}/deposit/{customer}"), Role::ExchangeDeposit, &owner)
    }

    /// Pays into a customer's deposit address; the exchange will sweep it.
    pub(crate) fn deposit(
        &mut self,
        exchange: usize,
        chain: Chain,
        now: i64,
        (customer, from): (&str, Address),
        (coin, raw): (Coin, u128),
    ) -> Result<(Receipt, Address), Insufficient> {
        let to = self.deposit_address(exchange, chain.family(), customer);
        let receipt = self.transfer(chain, now, (from, to), coin, raw)?;
        self.exchanges[exchange].sweeps.entry((chain, to, coin)).or_insert(Sweep::Waiting);
        Ok((receipt, to))
    }

    /// Returns where a customer pays an exchange on bitcoin: one address of the exchange's own wallet.
    pub(crate) fn bitcoin_deposit_address(&mut self, exchange: usize, customer: usize) -> Address {
        if let Some(address) = self.exchanges[exchange].bitcoin_deposits.get(&customer) {
            return *address;
        }
        let address = self.bitcoin.receiving(self.exchanges[exchange].wallet);
        let owner = format!("exchange-{}", self.exchanges[exchange].name);
        self.directory.file(address, Role::ExchangeDeposit, &owner);
        self.exchanges[exchange].bitcoin_deposits.insert(customer, address);
        address
    }

    /// Asks an exchange to pay out. What the customer paid for it happens off chain.
    pub(crate) fn withdraw(&mut self, exchange: usize, chain: Chain, to: Address, coin: Coin, raw: u128) {
        // As soon as the office looks.
        self.exchanges[exchange].withdrawals.push(i64::MIN, Withdrawal { chain, to, coin, raw });
    }

    /// Asks an exchange to pay out satoshis.
    pub(crate) fn withdraw_bitcoin(&mut self, exchange: usize, to: Address, satoshis: u64) {
        self.exchanges[exchange].payouts.push_back((to, satoshis));
    }
}

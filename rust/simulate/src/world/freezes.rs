//! Accounts that the issuers of stablecoins freeze, release and empty, with the events of the real contracts.

use std::collections::BTreeMap;

use headwater_types::{Address, Amount, Chain};
use rustc_hash::FxHashSet;

use super::World;
use crate::abi;
use crate::book::{Call, Effect, FreezeKind, Insufficient, Receipt};
use crate::truth::{Role, TrueBalance};

/// The gas of a freeze.
const GAS: u64 = 50_000;

/// An order of an issuer: the call of its contract and the event that follows.
#[derive(Debug, Clone, Copy)]
struct Order {
    call: &'static str,
    event: &'static str,
}

/// The freezing contract of an issuer.
struct Issuer {
    symbol: &'static str,
    /// Its provenance group as the lists name it.
    group: &'static str,
    freeze: Order,
    release: Order,
    frozen: FreezeKind,
}

const TETHER: Issuer = Issuer {
    symbol: "USDT",
    group: "tether",
    freeze: Order { call: "addBlackList(address)", event: "AddedBlackList(address)" },
    release: Order { call: "removeBlackList(address)", event: "RemovedBlackList(address)" },
    frozen: FreezeKind::Sending,
};
const CIRCLE: Issuer = Issuer {
    symbol: "USDC",
    group: "circle",
    freeze: Order { call: "blacklist(address)", event: "Blacklisted(address)" },
    release: Order { call: "unBlacklist(address)", event: "UnBlacklisted(address)" },
    frozen: FreezeKind::Moving,
};
/// Only the contract of Tether can destroy what an account has.
const DESTROY: Order = Order { call: "destroyBlackFunds(address)", event: "DestroyedBlackFunds(address,uint256)" };

/// A freeze, from the block of its first event to that of its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Freeze {
    /// The chain.
    pub(crate) chain: Chain,
    /// The account that is frozen.
    pub(crate) address: Address,
    /// The token, by its place.
    token: usize,
    /// The provenance group of the issuer.
    pub(crate) group: &'static str,
    /// Time of the freeze.
    pub(crate) from_secs: i64,
    /// Time of the release.
    pub(crate) until_secs: Option<i64>,
}

/// All freezes, and the accounts that issuers have heard bad things of.
#[derive(Default)]
pub(crate) struct Freezes {
    /// In order of time.
    pub(crate) all: Vec<Freeze>,
    /// Places of the freezes that continue.
    open: BTreeMap<(usize, Address), usize>,
    /// Everybody who ever was frozen, by token.
    known: FxHashSet<(usize, Address)>,
    suspects: BTreeMap<Chain, Vec<Address>>,
    accused: FxHashSet<(Chain, Address)>,
    destroyed: Vec<(usize, Address)>,
}

impl Freezes {
    /// Accounts of a chain that issuers have heard of, in the order in which they did.
    pub(crate) fn suspects(&self, chain: Chain) -> &[Address] {
        self.suspects.get(&chain).map_or(&[], Vec::as_slice)
    }

    /// Returns whether an account was ever frozen for a token.
    pub(crate) fn contains(&self, token: usize, address: Address) -> bool {
        self.known.contains(&(token, address))
    }
}

impl World {
    /// The account from which a token is issued.
    pub(crate) fn treasury(&mut self, token: usize) -> Address {
        let token = &self.tokens[token];
        let (family, owner) = (token.chain.family(), format!("issuer-{}", token.symbol));
        self.account(family, &format!("{owner}/treasury"), Role::Issuer, &owner)
    }

    /// Lets issuers hear of an account, when it belongs to somebody they would freeze.
    pub(super) fn accuse(&mut self, chain: Chain, address: Address) {
        use Role::{Launderer, ScamCollector, ScamLayer, ScamOperator};
        let guilty = |role| matches!(role, Launderer | ScamCollector | ScamLayer | ScamOperator);
        let role = self.directory.look_up(&address).map(|(role, _)| role);
        if role.is_some_and(guilty) && self.freezes.accused.insert((chain, address)) {
            self.freezes.suspects.entry(chain).or_default().push(address);
        }
    }

    fn issuer(&self, token: usize) -> &'static Issuer {
        let symbol = &self.tokens[token].symbol;
        if *symbol == CIRCLE.symbol { &CIRCLE } else { &TETHER }
    }

    /// Sends an order of an issuer, with the amount where it destroys one. Tether's contract on ethereum indexes nothing, the
    /// others the account.
    fn order(
        &mut self,
        now: i64,
        (token, account): (usize, Address),
        order: Order,
        amount: Option<Amount>,
    ) -> Result<Receipt, Insufficient> {
        let (chain, contract) = (self.tokens[token].chain, self.tokens[token].contract);
        let indexed = chain != Chain::ETHEREUM || self.issuer(token).group != TETHER.group;
        let (mut topics, mut data) = (vec![abi::topic(order.event)], Vec::new());
        let word = abi::account(&account);
        if indexed {
            topics.push(word);
        } else {
            data.extend(word);
        }
        data.extend(amount.map(abi::amount).into_iter().flatten());
        let treasury = self.treasury(token);
        let mut call = Call::contract(treasury, contract, GAS, abi::call(order.call, &[word]));
        call.effects.push(match amount {
            Some(amount) => Effect::Destroy { contract, account, amount, topics, data },
            None => Effect::Log { address: contract, topics, data },
        });
        self.book(chain).send(now, call)
    }

    /// The issuer of a token freezes an account.
    pub(crate) fn freeze(&mut self, now: i64, token: usize, account: Address) -> Result<Receipt, Insufficient> {
        let (issuer, chain) = (self.issuer(token), self.tokens[token].chain);
        let receipt = self.order(now, (token, account), issuer.freeze, None)?;
        let contract = self.tokens[token].contract;
        self.book(chain).freeze(account, contract, Some(issuer.frozen));
        let from_secs = self.block_time(chain, now);
        self.freezes.open.insert((token, account), self.freezes.all.len());
        self.freezes.known.insert((token, account));
        let freeze = Freeze { chain, address: account, token, group: issuer.group, from_secs, until_secs: None };
        self.freezes.all.push(freeze);
        Ok(receipt)
    }

    /// The issuer of a token releases an account.
    pub(crate) fn release(&mut self, now: i64, token: usize, account: Address) -> Result<Receipt, Insufficient> {
        let (issuer, chain) = (self.issuer(token), self.tokens[token].chain);
        let receipt = self.order(now, (token, account), issuer.release, None)?;
        let contract = self.tokens[token].contract;
        self.book(chain).freeze(account, contract, None);
        let until_secs = self.block_time(chain, now);
        if let Some(place) = self.freezes.open.remove(&(token, account)) {
            self.freezes.all[place].until_secs = Some(until_secs);
        }
        Ok(receipt)
    }

    /// Tether destroys what a frozen account has. No `Transfer` says so, only an event of its own.
    pub(crate) fn destroy(&mut self, now: i64, token: usize, account: Address) -> Result<Receipt, Insufficient> {
        let (chain, contract, asset) =
            (self.tokens[token].chain, self.tokens[token].contract, self.tokens[token].asset());
        let held = self.read(chain).balance(&account, asset);
        let receipt = self.order(now, (token, account), DESTROY, Some(held))?;
        self.book(chain).adjust(account, contract, Amount::ZERO);
        self.freezes.destroyed.push((token, account));
        Ok(receipt)
    }

    /// Returns what the accounts have at the end whose funds were destroyed.
    pub(crate) fn destroyed_balances(&self) -> Vec<TrueBalance> {
        let rows = self.freezes.destroyed.iter().map(|&(token, address)| {
            let token = &self.tokens[token];
            let amount = self.read(token.chain).balance(&address, token.asset());
            TrueBalance { chain: token.chain, address, contract: token.contract, amount }
        });
        rows.collect()
    }
}

//! The books of the chains: they take transactions in order of time and refuse what nobody can pay.

mod account;
mod chain;
mod habits;
mod joint;
mod lock;
mod payment;
mod purse;
mod utxo;
mod wallet;

pub(crate) use account::{AccountBook, Call, Effect, FreezeKind, Receipt};
pub(crate) use habits::{AddressHabit, ChangePlace, Habits};
pub(crate) use joint::Order;
pub(crate) use lock::Lock;
pub(crate) use utxo::{NewOutput, PaymentOutcome, Style, TakenCoin, UtxoBook};
pub(crate) use wallet::{Holder, WalletId};

use headwater_types::Address;

use crate::clock::START;

/// Somebody tried to spend what they do not have. Actors take it as a reason to do something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sender does not have this much")]
pub(crate) struct Insufficient;

/// An address that transactions name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mention {
    /// The address.
    pub(crate) address: Address,
    /// The number of times.
    pub(crate) count: u32,
    since: u32,
}

impl Mention {
    const fn new(address: Address, count: u32, since: u32) -> Self {
        Self { address, count, since }
    }

    /// A time as the books keep it: seconds of the economy.
    fn since(secs: i64) -> u32 {
        u32::try_from(secs - START).unwrap_or(0)
    }

    /// Time of the first transaction that names it.
    pub(crate) fn since_secs(&self) -> i64 {
        START + i64::from(self.since)
    }
}

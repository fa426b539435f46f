//! People as others see them.

use std::sync::Arc;

use headwater_types::{Address, Family};

use crate::book::WalletId;

/// A person as others see them.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// Their name.
    pub(crate) name: Arc<str>,
    /// Their account on both EVM chains.
    pub(crate) evm: Address,
    /// Their account on TRON.
    pub(crate) tron: Address,
    /// Their bitcoin wallet.
    pub(crate) wallet: WalletId,
    /// When they come and go.
    pub(crate) life: (i64, i64),
    /// The weight by which others pay them.
    pub(crate) popularity: u64,
    /// Their exchange.
    pub(crate) exchange: usize,
}

impl Person {
    /// Their account on an account chain.
    pub(crate) const fn account(&self, family: Family) -> Address {
        match family {
            Family::Tron => self.tron,
            Family::Evm | Family::Utxo => self.evm,
        }
    }
}

/// One person out of this many is a shop.
pub(crate) const PEOPLE_PER_MERCHANT: usize = 40;

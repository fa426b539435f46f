//! The memory that threads keep between chunks: texts of addresses, and what is known of assets.

use std::sync::{Mutex, PoisonError};

use arrow::array::{ArrayRef, StringBuilder};
use headwater_engine::{AssetBook, AssetView, Error};
use headwater_ledger::Ledger;
use headwater_ledger::read::{AccountRef, AssetRef};
use headwater_types::Chain;
use rustc_hash::FxHashMap;

/// Texts of addresses that a thread keeps.
const KEPT_TEXTS: usize = 1 << 16;

/// The workers of one chain that are idle.
pub(crate) struct Workers<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    idle: Mutex<Vec<Worker<'a>>>,
}

/// The memory of one thread.
pub(crate) struct Worker<'a> {
    pub ledger: &'a dyn Ledger,
    pub chain: Chain,
    pub book: AssetBook<'a>,
    texts: FxHashMap<AccountRef, Box<str>>,
}

impl<'a> Workers<'a> {
    pub fn new(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        Self { ledger, chain, idle: Mutex::new(Vec::new()) }
    }

    /// Runs work with an idle worker, or a new one.
    pub fn with<T>(&self, work: impl FnOnce(&mut Worker<'a>) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let held = idle().pop();
        let mut worker = held.unwrap_or_else(|| Worker {
            ledger: self.ledger,
            chain: self.chain,
            book: AssetBook::new(self.ledger, self.chain),
            texts: FxHashMap::default(),
        });
        let done = work(&mut worker);
        idle().push(worker);
        done
    }
}

impl Worker<'_> {
    /// Addresses as a column.
    pub fn addresses(&mut self, accounts: impl Iterator<Item = Option<AccountRef>>) -> Result<ArrayRef, Error> {
        let mut texts = StringBuilder::new();
        for account in accounts {
            let Some(account) = account else {
                texts.append_null();
                continue;
            };
            if !self.texts.contains_key(&account) {
                if self.texts.len() == KEPT_TEXTS {
                    self.texts.clear();
                }
                self.texts.insert(account, self.ledger.address(account)?.to_string().into());
            }
            texts.append_value(&self.texts[&account]);
        }
        Ok(std::sync::Arc::new(texts.finish()))
    }

    /// The numbers of assets in the book.
    pub fn assets(&mut self, assets: impl Iterator<Item = AssetRef>) -> Result<Vec<usize>, Error> {
        assets.map(|asset| self.book.of_ref(asset)).collect()
    }

    pub fn view(&self, asset: usize) -> &AssetView {
        self.book.view(asset)
    }
}

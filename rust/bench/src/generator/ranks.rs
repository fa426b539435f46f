//! Numbers of accounts and tokens in order of their bytes: what a peer's integer keys are at best.

use rayon::prelude::*;

use super::names::{address_bytes, token_of};
use super::preset::{Preset, TOKENS};

/// Accounts and tokens of a preset, numbered in order of their bytes.
#[derive(Debug, Clone)]
pub struct Ranks {
    addresses: Vec<[u8; 20]>,
    of_accounts: Vec<u32>,
    tokens: Vec<[u8; 20]>,
    of_tokens: Vec<u8>,
}

impl Ranks {
    /// Sorts the addresses of all accounts: 24 bytes for each.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        let mut order: Vec<([u8; 20], u32)> =
            (0..preset.accounts()).into_par_iter().map(|id| (address_bytes(id), id)).collect();
        order.par_sort_unstable();
        let mut accounts = vec![0; order.len()];
        for (rank, &(_, id)) in (0..).zip(&order) {
            accounts[id as usize] = rank;
        }
        let mut tokens: Vec<([u8; 20], u32)> = (0..TOKENS).map(|token| (token_bytes(token), token)).collect();
        tokens.sort_unstable();
        let mut of_tokens = vec![0; tokens.len()];
        for (rank, &(_, token)) in (0..).zip(&tokens) {
            of_tokens[token as usize] = rank;
        }
        Self {
            addresses: order.into_iter().map(|(address, _)| address).collect(),
            of_accounts: accounts,
            tokens: tokens.into_iter().map(|(contract, _)| contract).collect(),
            of_tokens,
        }
    }

    /// The place of a generated account among all, by its address.
    #[must_use]
    pub fn account(&self, id: u32) -> u32 {
        self.of_accounts[id as usize]
    }

    /// The place of a generated token among all, by its contract.
    #[must_use]
    pub fn token(&self, token: u8) -> u8 {
        self.of_tokens[usize::from(token)]
    }

    /// The address at a place.
    #[must_use]
    pub fn address_at(&self, rank: u32) -> [u8; 20] {
        self.addresses[rank as usize]
    }

    /// The contract at a place.
    #[must_use]
    pub fn token_at(&self, rank: u8) -> [u8; 20] {
        self.tokens[usize::from(rank)]
    }

    /// The place of an address; `None` when no account has it.
    #[must_use]
    pub fn find(&self, address: &[u8; 20]) -> Option<u32> {
        let found = self.addresses.binary_search(address).ok()?;
        u32::try_from(found).ok()
    }

    /// The place of a contract; `None` when no token has it.
    #[must_use]
    pub fn find_token(&self, contract: &[u8; 20]) -> Option<u8> {
        let found = self.tokens.binary_search(contract).ok()?;
        u8::try_from(found).ok()
    }

    /// Number of accounts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }
}

fn token_bytes(token: u32) -> [u8; 20] {
    let key = token_of(token).key();
    let mut bytes = [0; 20];
    bytes.copy_from_slice(key.as_slice());
    bytes
}

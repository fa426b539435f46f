//! Assets to ids: the native coin is 0, tokens follow in order of their contracts.

use super::dictionary::Dictionary;
use super::id;
use crate::error::Result;
use crate::facts::TokenFacts;
use crate::segment::SegmentInput;
use crate::segment::layout::NONE;

/// All assets that moved.
pub(super) struct Assets {
    contracts: Vec<u32>,
    /// Assets by the account of their contract; zero elsewhere.
    ids: Vec<u32>,
}

impl Assets {
    pub(super) fn collect(dictionary: &Dictionary) -> Result<Self> {
        let mut this = Self { contracts: vec![NONE], ids: vec![0; dictionary.len()] };
        for account in dictionary.moved() {
            this.ids[account as usize] = id(this.contracts.len(), "assets")?;
            this.contracts.push(account);
        }
        Ok(this)
    }

    pub(super) fn of_contract(&self, account: u32) -> u32 {
        self.ids[account as usize]
    }

    /// Accounts of the contracts of assets 1 and up.
    pub(super) fn contracts(&self) -> impl Iterator<Item = u32> {
        self.contracts[1..].iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.contracts.len()
    }
}

/// Token facts by the accounts of their contracts, in order.
pub(super) fn tokens_in_order<'a>(input: &'a SegmentInput, dictionary: &Dictionary) -> Vec<(u32, &'a TokenFacts)> {
    let mut tokens: Vec<_> = input.tokens.iter().map(|token| (dictionary.id(&token.contract), token)).collect();
    tokens.sort();
    tokens
}

//! Assets to ids: the native coin is 0, tokens follow in order of their contracts.

use super::columns::{BlobBuilder, id};
use super::dictionary::Dictionary;
use crate::facts::TokenFacts;
use crate::read::Result;
use crate::segment::SegmentInput;
use crate::segment::column::NONE;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{
    ASSET_CONTRACTS, TOKEN_CONTRACTS, TOKEN_DECIMALS, TOKEN_NAMES, TOKEN_SYMBOLS, stored_decimals,
};

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

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        out.put(ASSET_CONTRACTS.raw, &self.contracts);
    }
}

/// What sources say about tokens, by contract.
pub(super) fn put_tokens<'a>(
    input: &'a SegmentInput,
    dictionary: &Dictionary,
    blobs: &mut BlobBuilder<'a>,
    out: &mut ContainerWriter,
) -> Result<()> {
    let (mut contracts, mut symbols, mut names, mut decimals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (account, token) in tokens_in_order(input, dictionary) {
        contracts.push(account);
        symbols.push(blobs.optional(token.symbol.as_deref().map(str::as_bytes))?.unwrap_or(NONE));
        names.push(blobs.optional(token.name.as_deref().map(str::as_bytes))?.unwrap_or(NONE));
        decimals.push(stored_decimals(token));
    }
    out.put(TOKEN_CONTRACTS.raw, &contracts);
    out.put(TOKEN_SYMBOLS.raw, &symbols);
    out.put(TOKEN_NAMES.raw, &names);
    out.put(TOKEN_DECIMALS.raw, &decimals);
    Ok(())
}

/// Token facts by the accounts of their contracts, in order.
pub(super) fn tokens_in_order<'a>(input: &'a SegmentInput, dictionary: &Dictionary) -> Vec<(u32, &'a TokenFacts)> {
    let mut tokens: Vec<_> = input.tokens.iter().map(|token| (dictionary.id(&token.contract), token)).collect();
    tokens.sort();
    tokens
}

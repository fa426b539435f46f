//! Assets to ids: the native coin is 0, tokens follow in order of their contracts.

use std::collections::{BTreeSet, HashMap};

use headwater_types::{Address, Asset};

use super::columns::{BlobBuilder, id};
use super::dictionary::Dictionary;
use crate::read::Result;
use crate::segment::SegmentInput;
use crate::segment::column::NONE;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{
    ASSET_CONTRACTS, NO_DECIMALS, TOKEN_CONTRACTS, TOKEN_DECIMALS, TOKEN_NAMES, TOKEN_SYMBOLS,
};

/// All assets that moved.
pub(super) struct Assets {
    contracts: Vec<u32>,
    ids: HashMap<Address, u32>,
}

impl Assets {
    pub(super) fn collect(input: &SegmentInput, dictionary: &Dictionary) -> Result<Self> {
        let moved = input.transactions.iter().flat_map(|transaction| &transaction.movements);
        let tokens: BTreeSet<_> = moved
            .filter_map(|movement| movement.asset.contract())
            .map(|contract| (dictionary.id(contract), *contract))
            .collect();
        let mut this = Self { contracts: vec![NONE], ids: HashMap::new() };
        for (account, contract) in tokens {
            let asset = id(this.contracts.len(), "assets")?;
            this.contracts.push(account);
            this.ids.insert(contract, asset);
        }
        Ok(this)
    }

    pub(super) fn id(&self, asset: &Asset) -> u32 {
        match asset {
            Asset::Native => 0,
            Asset::Token(contract) => self.ids[contract],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.contracts.len()
    }

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        out.put(ASSET_CONTRACTS, &self.contracts);
    }
}

/// What sources say about tokens, by contract.
pub(super) fn put_tokens<'a>(
    input: &'a SegmentInput,
    dictionary: &Dictionary,
    blobs: &mut BlobBuilder<'a>,
    out: &mut ContainerWriter,
) -> Result<()> {
    let mut tokens: Vec<_> = input.tokens.iter().map(|token| (dictionary.id(&token.contract), token)).collect();
    tokens.sort();
    let (mut contracts, mut symbols, mut names, mut decimals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (account, token) in tokens {
        contracts.push(account);
        symbols.push(blobs.optional(token.symbol.as_deref().map(str::as_bytes))?.unwrap_or(NONE));
        names.push(blobs.optional(token.name.as_deref().map(str::as_bytes))?.unwrap_or(NONE));
        decimals.push(token.decimals.map_or(NO_DECIMALS, u16::from));
    }
    out.put(TOKEN_CONTRACTS, &contracts);
    out.put(TOKEN_SYMBOLS, &symbols);
    out.put(TOKEN_NAMES, &names);
    out.put(TOKEN_DECIMALS, &decimals);
    Ok(())
}

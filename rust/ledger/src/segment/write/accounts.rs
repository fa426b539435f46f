//! Accounts, assets and tokens.

use std::sync::Arc;

use headwater_types::{Address, Family};

use super::super::container::SegmentFile;
use super::super::layout::{self, FENCE_STEP, prefix};
use super::super::pack::IntWriter;
use super::super::spool::{Part, Spool};
use super::columns::check_ids;
use super::transactions::plus_one;
use crate::error::Result;

/// Takes addresses in order of their keys; the first one is account 0.
pub(crate) struct AccountsWriter {
    family: Family,
    keys: Part,
    starts: IntWriter,
    fences: Part,
    flags: IntWriter,
    text_order: IntWriter,
}

impl AccountsWriter {
    pub(crate) fn new(spool: &Arc<Spool>, family: Family) -> Self {
        Self {
            family,
            keys: Part::new(spool),
            starts: IntWriter::new(spool),
            fences: Part::new(spool),
            flags: IntWriter::new(spool),
            text_order: IntWriter::new(spool),
        }
    }

    /// Accounts so far; the id of the next one.
    pub(crate) fn len(&self) -> u64 {
        self.flags.len()
    }

    /// Adds an address with its bits of [`layout::account`].
    pub(crate) fn push(&mut self, address: &Address, flags: u8) -> Result<()> {
        check_ids(self.len() + 1, "addresses")?;
        let key = address.key();
        let key = key.as_slice();
        if self.len().is_multiple_of(FENCE_STEP as u64) {
            self.fences.write(&prefix(key).to_le_bytes())?;
        }
        self.starts.push([self.keys.len()])?;
        self.keys.write(key)?;
        self.flags.push([u64::from(flags)])
    }

    /// Adds the next account in order of its text. Only of UTXO chains, whose texts are not ordered like their keys.
    pub(crate) fn push_text(&mut self, account: u32) -> Result<()> {
        self.text_order.push([u64::from(account)])
    }

    pub(crate) fn put(mut self, out: &mut SegmentFile<'_>) -> Result<()> {
        let starts = layout::ACCOUNT_KEY_STARTS;
        match self.family {
            // Keys of 20 bytes, whose text is ordered like them: hex, or Base58 of numbers of one length.
            Family::Evm | Family::Tron => {
                out.put(starts.blocks, &[])?;
                out.put(starts.starts, &[])?;
            }
            Family::Utxo => {
                self.starts.push([self.keys.len()])?;
                self.starts.put(out, starts)?;
            }
        }
        out.part(layout::ACCOUNT_KEYS, self.keys)?;
        out.part(layout::ACCOUNT_FENCES, self.fences)?;
        self.flags.put(out, layout::ACCOUNT_FLAGS)?;
        self.text_order.put(out, layout::ACCOUNT_TEXT_ORDER)
    }
}

/// Writes the contracts of assets 1 and up, by account; asset 0 is the native coin.
pub(crate) fn put_assets(
    spool: &Arc<Spool>,
    contracts: impl IntoIterator<Item = u32>,
    out: &mut SegmentFile<'_>,
) -> Result<()> {
    let mut writer = IntWriter::new(spool);
    writer.push([0])?;
    contracts.into_iter().try_for_each(|contract| writer.push([u64::from(contract)]))?;
    writer.put(out, layout::ASSET_CONTRACTS)
}

/// Takes token facts in order of their contracts.
pub(crate) struct TokensWriter {
    contracts: IntWriter,
    symbols: IntWriter,
    names: IntWriter,
    decimals: IntWriter,
}

impl TokensWriter {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            contracts: IntWriter::new(spool),
            symbols: IntWriter::new(spool),
            names: IntWriter::new(spool),
            decimals: IntWriter::new(spool),
        }
    }

    /// Tokens so far.
    pub(crate) fn len(&self) -> u64 {
        self.contracts.len()
    }

    /// Adds a token by its contract's account; its texts by their ids, see
    /// [`TransactionsWriter::text`](super::TransactionsWriter::text), its decimals as they are stored.
    pub(crate) fn push(&mut self, contract: u32, symbol: Option<u32>, name: Option<u32>, decimals: u16) -> Result<()> {
        self.contracts.push([u64::from(contract)])?;
        self.symbols.push([plus_one(symbol)])?;
        self.names.push([plus_one(name)])?;
        self.decimals.push([u64::from(decimals)])
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.contracts.put(out, layout::TOKEN_CONTRACTS)?;
        self.symbols.put(out, layout::TOKEN_SYMBOLS)?;
        self.names.put(out, layout::TOKEN_NAMES)?;
        self.decimals.put(out, layout::TOKEN_DECIMALS)
    }
}

//! Exports of the web pages of Etherscan and `BscScan`: transactions, internal transactions, token transfers and
//! withdrawals of one account, as `CSV Export` gives them, and what list pages let one download.
//!
//! Amounts are printed in whole coins and read exactly as printed. Rounded values are not read: list pages print fees
//! with eight decimals, so fees of lists stay unknown. Token amounts are in whole units, and no export states the
//! decimals of a token: they come from the registry of the store, or from `--contract` and `--decimals`. An export is of
//! a range of dates that the file does not name, so it completes nothing.
//!
//! Rows of internal transactions and of tokens have no trace or log index. Equal rows inside one export are separate
//! movements, equal rows of two exports the same one, as in the exports of the API ([`super::etherscan`]).

mod layout;
mod rows;
mod tokens;
mod values;
mod withdrawals;

use std::cmp::Ordering;

use headwater_types::{Address, Chain};

use self::layout::{Layout, Table};
use self::tokens::Tokens;
use self::withdrawals::Withdrawals;
use super::etherscan::account_in;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError};
use crate::networks::of_coin_word;
use crate::source::{Probe, Row, each_row};
use crate::{IngestError, Sink};

/// The pages export at most this many rows at once.
const EXPORT_LIMIT: u64 = 5_000;

const NAME: &str = "etherscan-web";

pub(super) struct EtherscanWeb;

impl Format for EtherscanWeb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> &'static str {
        "CSV exports of the Etherscan and BscScan web pages: transactions, internal transactions, token transfers, \
         withdrawals; token amounts take the decimals of the registry, or --contract and --decimals"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let layout = Layout::of(probe)?;
        let unit = probe.first(&layout.amount).and_then(|amount| amount.split_whitespace().nth(1));
        let coin = layout.coin.as_deref().or(unit).unwrap_or_default();
        let chain = match of_coin_word(coin).and_then(|network| network.held) {
            Some(chain) if chain == Chain::BSC => SniffedChain::Is(chain),
            // Several chains pay in ether. One whose coin is another is refused when it is read.
            Some(_) | None => SniffedChain::Usually(Chain::ETHEREUM),
        };
        let rank = match layout.table {
            Table::Transactions | Table::ListedTransactions | Table::Withdrawals => 1,
            Table::Internal | Table::ListedInternal => 3,
            Table::Tokens | Table::NonFungible => 4,
        };
        let first_block = probe.first(&layout.block).and_then(|text| text.trim().parse().ok());
        Some(Sniffed { chain, table: 0, rank, first_block })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let column = "UnixTimestamp";
        let missing = || IngestError::MissingColumn { path: job.input.path().to_owned(), column, format: NAME };
        let layout = Layout::of(&Probe::new(job.input.clone())?).ok_or_else(missing)?;
        let mut export = Export::new(layout, job, sink)?;
        each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| export.row(row, sink))?;
        export.end(job, sink)
    }
}

/// One file on its way in.
struct Export {
    chain: Chain,
    layout: Layout,
    /// The address that the file is named for.
    named: Option<Address>,
    rows: u64,
    order: BlockOrder,
    tokens: Tokens,
    withdrawals: Withdrawals,
}

impl Export {
    fn new(layout: Layout, job: &Job, sink: &Sink<'_>) -> Result<Self, IngestError> {
        let (chain, name) = (sink.chain(), job.input.name());
        if let Some(coin) = layout.coin.as_deref().filter(|coin| *coin != chain.native_symbol()) {
            let network = of_coin_word(coin).map_or("not supported", |network| network.name);
            let known = format!("the chain whose coin is {} ({network})", coin.to_uppercase());
            return Err(IngestError::WrongChain { path: job.input.path().to_owned(), format: NAME, chain, known });
        }
        Ok(Self {
            chain,
            named: account_in(chain, &name),
            rows: 0,
            order: BlockOrder::new(sink.commits()),
            tokens: if layout.table == Table::Tokens { Tokens::new(job, sink)? } else { Tokens::default() },
            withdrawals: Withdrawals::default(),
            layout,
        })
    }

    fn row(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        self.rows += 1;
        match self.layout.table {
            Table::Transactions => self.transaction(row, sink),
            Table::ListedTransactions => self.listed_transaction(row, sink),
            Table::Internal | Table::ListedInternal => self.internal(row, sink),
            Table::Tokens => self.token(row, sink),
            Table::NonFungible => self.non_fungible(row, sink),
            Table::Withdrawals => Ok(self.withdrawals.take(row, &self.layout, self.chain, sink)?),
        }
    }

    fn end(self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_cut = self.rows >= EXPORT_LIMIT;
        if is_cut {
            sink.warn(format!(
                "the export has {} rows, and the page exports at most {EXPORT_LIMIT}: it was cut, history is incomplete",
                self.rows
            ));
        }
        self.tokens.end(job, sink)?;
        self.withdrawals.end(is_cut, self.named, sink);
        Ok(())
    }
}

/// The points for commits in a file whose rows of one block belong together: between blocks, as long as the file is
/// sorted by them, up or down.
struct BlockOrder {
    /// The count of commits before the file.
    commits: u64,
    last: Option<u64>,
    direction: Option<Ordering>,
    is_sorted: bool,
}

impl BlockOrder {
    const fn new(commits: u64) -> Self {
        Self { commits, last: None, direction: None, is_sorted: true }
    }

    fn turn_to(&mut self, block: u64, column: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let step = self.last.replace(block).map_or(Ordering::Equal, |last| block.cmp(&last));
        if step == Ordering::Equal {
            return Ok(());
        }
        self.is_sorted &= *self.direction.get_or_insert(step) == step;
        if self.is_sorted {
            return Ok(sink.boundary()?);
        }
        if sink.commits() == self.commits {
            return Ok(());
        }
        let expected = "the rows in order of blocks: sort the file by this column";
        Err(FieldError::new(column, Some(&block.to_string()), expected).into())
    }
}

#[cfg(test)]
mod tests;

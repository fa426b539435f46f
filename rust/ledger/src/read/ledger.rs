//! The traits through which every analysis reads.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::time::SystemTime;

use headwater_bridge::LinkKey;
use headwater_types::{Address, Amount, Asset, Chain, TxHash, Usd};

use super::history::{ChainRange, TransactionRun, TransactionRuns, VisitMovement};
use super::scan::{AddressRange, ColumnVisit, Posting, Postings, Scan, SweepVisit};
use super::transaction::{AddressMatches, Block, Transaction};
use crate::Cancel;
use crate::clusters::{Cluster, Clusters};
use crate::edges::{AssetEdge, EdgeFlows, EdgeOrder, Edges};
use crate::error::Result;
use crate::facts::{OutPoint, TokenFacts};
use crate::holders::Holders;
use crate::labels::LabelTable;
use crate::live::LiveStatus;
use crate::logs::{Log, LogFilter, LogScan};
use crate::market::{FxTable, PriceTable, Registry};
use crate::primitives::{
    Account, AccountRef, AssetRef, ColumnSet, Coverage, Holding, Opening, TransactionHead, TransactionRef,
};

/// All that can be read of one immutable generation: the sum of its parts. A function that needs one part takes that
/// part.
///
/// # Errors
/// Every primitive of the parts fails only when stored data cannot be read or is damaged; that something is not held
/// is `None`.
pub trait Ledger:
    Generation
    + Assets
    + Labels
    + Accounts
    + Movements
    + Sweeps
    + Transactions
    + History
    + Outputs
    + Balances
    + Counterparties
    + Logs
    + ClusterReader
    + Bridges
{
}

impl<T: ?Sized> Ledger for T where
    T: Generation
        + Assets
        + Labels
        + Accounts
        + Movements
        + Sweeps
        + Transactions
        + History
        + Outputs
        + Balances
        + Counterparties
        + Logs
        + ClusterReader
        + Bridges
{
}

/// The identity of a generation, and what is complete in it.
pub trait Generation: Send + Sync {
    /// Number of the generation; grows with every commit.
    fn generation(&self) -> u64;

    /// Returns what is held, by chain; chains without data are absent.
    fn coverage(&self) -> &BTreeMap<Chain, Coverage>;

    /// Returns whether a source claims to bring the whole history of an account, as an export of it does.
    fn has_whole_history(&self, chain: Chain, address: &Address) -> bool;

    /// Returns the status of the live follower of a chain as it is now, other than all else of a generation; `None`
    /// without one, and for stores in memory.
    ///
    /// # Errors
    /// When the status cannot be read.
    fn live(&self, chain: Chain) -> Result<Option<LiveStatus>> {
        let _ = chain;
        Ok(None)
    }

    /// Returns when the generation was committed; `None` where that is unknown, and for stores in memory.
    fn committed(&self) -> Option<SystemTime> {
        None
    }
}

/// Assets, and their values.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Assets: Send + Sync {
    /// The token registry.
    fn registry(&self) -> &Arc<Registry>;

    /// The prices.
    fn prices(&self) -> &Arc<PriceTable>;

    /// The exchange rates.
    fn exchange_rates(&self) -> &Arc<FxTable>;

    /// The asset behind a handle.
    fn asset(&self, asset: AssetRef) -> Result<Asset>;

    /// Returns the facts of the chain data about a token.
    fn token_facts(&self, chain: Chain, contract: &Address) -> Result<Option<TokenFacts>>;

    /// Returns whether a row of the chain is about a token: a movement, an opening balance or a fact about the token
    /// itself.
    fn has_token(&self, chain: Chain, contract: &Address) -> Result<bool>;
}

/// The claims of sources about addresses.
pub trait Labels: Send + Sync {
    /// The claims in force.
    fn labels(&self) -> &Arc<LabelTable>;
}

/// The addresses that were seen.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Accounts: Send + Sync {
    /// An account by its address; `None` when it was never seen on the chain.
    fn account(&self, chain: Chain, address: &Address) -> Result<Option<Account>>;

    /// The account behind a handle, with its places in all segments.
    fn account_of(&self, account: AccountRef) -> Result<Account>;

    /// The address behind a handle.
    fn address(&self, account: AccountRef) -> Result<Address>;

    /// Returns whether every account of a chain has one handle only, as where one segment holds the chain: then
    /// different handles are different accounts, whatever their addresses.
    fn has_unique_handles(&self, chain: Chain) -> bool;

    /// The first `limit` addresses of a chain behind `after`, in order of their bytes.
    fn addresses(&self, chain: Chain, after: Option<&Address>, limit: usize) -> Result<Vec<Address>>;

    /// Addresses whose canonical text begins with `prefix`, most active first, then by text; at most `limit` of them,
    /// with the number of all matches counted up to `count_limit`.
    fn find_addresses(&self, chain: Chain, prefix: &str, limit: usize, count_limit: usize) -> Result<AddressMatches>;
}

/// The movements of one account.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Movements: Send + Sync {
    /// The movements of an account, ordered and merged over all segments.
    fn postings<'a>(&'a self, account: &Account, scan: &Scan) -> Result<Postings<'a>>;

    /// The first movements of a scan, at most so many: what [`Movements::postings`] begins with, in one piece.
    fn page(&self, account: &Account, scan: &Scan, limit: usize) -> Result<Vec<Posting>> {
        self.postings(account, scan)?.take(limit).collect()
    }

    /// The movements of an account column by column, in batches that `visit` may break off: each batch in the order of
    /// the chain, the batches in any order. The order of the scan decides only the side of `after`.
    fn posting_columns(
        &self,
        account: &Account,
        scan: &Scan,
        wanted: (ColumnSet, &Cancel),
        visit: ColumnVisit<'_>,
    ) -> Result<()>;

    /// Number of postings of a scan; reads none of them unless a filter needs it.
    fn count_postings(&self, account: &Account, scan: &Scan, cancel: &Cancel) -> Result<u64>;

    /// Divides a scan into at most `parts` that together show what it shows, each transaction in one part: ranges of
    /// blocks of about equal length, for threads.
    fn split(&self, account: &Account, scan: &Scan, parts: usize) -> Result<Vec<Scan>>;
}

/// The movements of all accounts, for measures over a whole chain.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Sweeps: Send + Sync {
    /// The movements of all accounts of a chain in a range of addresses, in order of address; the batches of one address
    /// come one after the other, each in the order of the chain. Accounts without postings are left out.
    fn sweep(
        &self,
        chain: Chain,
        range: &AddressRange,
        wanted: (ColumnSet, &Cancel),
        visit: SweepVisit<'_>,
    ) -> Result<()>;

    /// Divides the addresses of a chain into at most `parts` ranges of about equal numbers of postings, for threads.
    fn split_addresses(&self, chain: Chain, parts: usize) -> Result<Vec<AddressRange>>;
}

/// Transactions and blocks.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Transactions: Send + Sync {
    /// Hash and position of the transaction behind a handle.
    fn transaction_head(&self, transaction: TransactionRef) -> Result<TransactionHead>;

    /// The whole transaction behind a handle.
    fn transaction(&self, transaction: TransactionRef) -> Result<Transaction>;

    /// The fee of the transaction behind a handle, where it is known without looking at what it spends: chains of
    /// accounts.
    fn fee(&self, transaction: TransactionRef) -> Result<Option<Amount>>;

    /// Finds a transaction by its hash.
    fn find_transaction(&self, chain: Chain, hash: &TxHash) -> Result<Option<TransactionRef>>;

    /// Finds a transaction by its place.
    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TransactionRef>>;

    /// Time and hash of a block; `None` when it is not held.
    fn block(&self, chain: Chain, number: u64) -> Result<Option<Block>>;
}

/// The transactions of a whole chain, in its order.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait History: Send + Sync {
    /// The transactions of a range of a chain in order, in runs of at most `max_length`; each is in one run. Where times
    /// fall from block to block, a window leaves in transactions outside of it.
    fn transaction_runs<'a>(&'a self, chain: Chain, range: &ChainRange, max_length: u32)
    -> Result<TransactionRuns<'a>>;

    /// The movements of a run in order: transaction, kind, ordinal. Each is shown once, whichever of its ends is known;
    /// on UTXO chains there is one for each address of a transaction.
    fn visit_movements(&self, run: &TransactionRun, visit: VisitMovement<'_>) -> Result<()>;
}

/// The spenders of outputs, on UTXO chains.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Outputs: Send + Sync {
    /// The input that spends an output, as (transaction, position of the input).
    fn spender(&self, chain: Chain, output: &OutPoint) -> Result<Option<(TxHash, u32)>>;
}

/// The link keys of bridge transfers, on all chains.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Bridges: Send + Sync {
    /// The transactions of all chains that may have legs with a key of a family; `None` where an index is missing and there
    /// is too much to look through. The first call of a generation reads segments without an index.
    fn with_link_key(&self, family: &str, key: &LinkKey, cancel: &Cancel) -> Result<Option<Vec<TransactionRef>>>;

    /// Returns whether a transaction has legs of bridge transfers, for a look-up in memory once the first call of a
    /// generation has read where legs are; `None` where an index is missing and there is too much to look through.
    fn has_bridge_legs(&self, transaction: TransactionRef, cancel: &Cancel) -> Result<Option<bool>>;
}

/// The clusters of addresses of one person, on UTXO chains.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait ClusterReader: Send + Sync {
    /// The clusters of a chain; `None` where no table of them is built and there is too much to look through. The first
    /// call of a generation reads what came behind the table.
    fn clusters(&self, chain: Chain, cancel: &Cancel) -> Result<Option<Clusters<'_>>>;

    /// The addresses of a cluster that a list of labels names, in order of their bytes. The first call of a generation looks
    /// at all labelled addresses of the chain; none where the clusters are not built.
    fn labelled(&self, chain: Chain, cluster: &Cluster, cancel: &Cancel) -> Result<&[Address]>;
}

/// The holders and their balances.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Balances: Send + Sync {
    /// The beginning of the history of an asset, if not with the first movement held of it: the latest opening there is.
    /// What moved at or before it is listed and counted, but is in no balance.
    fn opening(&self, chain: Chain, asset: &Asset) -> Option<Opening>;

    /// Sums of an account by asset over all it did, fees and opening balances included, in order of asset.
    fn holdings(&self, account: &Account) -> Result<Vec<Holding>>;

    /// The holders of an asset by balance, largest first, then by address; `None` where no table of them is built and
    /// there is too much to look through.
    fn holders(&self, chain: Chain, asset: &Asset) -> Result<Option<Holders<'_>>>;
}

/// The edges of an account: its counterparties with sums over all time.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]")]
pub trait Counterparties: Send + Sync {
    /// The counterparties of an account in an order, at most `limit` of them, with sums over all time; `None` where they
    /// are not built, or not under the registry and prices in force: the postings answer the same. UTXO chains have none.
    fn edges(&self, account: &Account, order: EdgeOrder, limit: usize, cancel: &Cancel) -> Result<Option<Edges>>;

    /// The same of these counterparties only, in the order of [`EdgeOrder::Total`].
    fn edges_with(&self, account: &Account, others: &[AccountRef], cancel: &Cancel) -> Result<Option<Edges>>;

    /// The counterparties and assets of an account with most movements over all time, at most `limit` of them: most
    /// movements first, then in the order of [`EdgeOrder::Total`] and of [`Edges::assets`]; `None` as for
    /// [`Counterparties::edges`]. Where one segment holds the account, only movements are read of those that are not among them.
    fn busiest_edges(
        &self,
        account: &Account,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<(AccountRef, AssetEdge)>>>;

    /// Numbers of counterparties that an account has at least and at most, going by the edges of its segments: those in one of
    /// them, and those in all of them and one for each movement that they leave out. Without edges 0 and all movements.
    fn counterparty_bounds(&self, account: &Account) -> Result<RangeInclusive<u64>>;

    /// Shows the counterparties of an account in an order until `visit` breaks off; `None` as for [`Counterparties::edges`].
    /// Where one segment holds the account, nothing is allocated and only what is shown is read.
    fn visit_edges(
        &self,
        account: &Account,
        order: EdgeOrder,
        cancel: &Cancel,
        visit: VisitEdge<'_>,
    ) -> Result<Option<()>>;

    /// The same of the account behind a handle, with the US dollars of the order alone.
    fn visit_weights(
        &self,
        account: AccountRef,
        order: EdgeOrder,
        cancel: &Cancel,
        visit: VisitWeight<'_>,
    ) -> Result<Option<()>>;
}

/// The function that takes each counterparty; breaking ends the visit.
pub type VisitEdge<'v> = &'v mut dyn FnMut(AccountRef, &EdgeFlows) -> ControlFlow<()>;

/// The same with US dollars instead of all sums.
pub type VisitWeight<'v> = &'v mut dyn FnMut(AccountRef, Usd) -> ControlFlow<()>;

/// Event logs. UTXO chains have none.
#[expect(clippy::missing_errors_doc, reason = "said once, at [`Ledger`]; a scan also ends when it is cancelled")]
pub trait Logs: Send + Sync {
    /// The logs of a contract in the order of the chain: block, position of the transaction (unknown last), log index.
    /// Merged over all segments, in memory of one log at a time. See [`crate::logs`] for the cost.
    fn logs<'a>(&'a self, chain: Chain, filter: &LogFilter, cancel: &Cancel) -> Result<LogScan<'a>>;

    /// The first logs of a scan, at most so many. The next page begins behind the [key](Log::key) of the last log.
    fn log_page(&self, chain: Chain, filter: &LogFilter, limit: usize, cancel: &Cancel) -> Result<Vec<Log>> {
        self.logs(chain, filter, cancel)?.take(limit).collect()
    }

    /// The logs of the transaction behind a handle, by log index.
    fn transaction_logs(&self, transaction: TransactionRef) -> Result<Vec<Log>>;
}

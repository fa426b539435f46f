//! Errors between an analysis and the disk.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_types::{Address, Chain, Network, SumOverflow, Timestamp};

use crate::cancel::Cancelled;
use crate::memory::OverBudget;

/// A result of the ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// The writer that has the lock of a store, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process.
    pub process: u32,
    /// The machine of the process, if it is another one.
    pub host: Option<String>,
    /// Its name, such as `headwater ingest`.
    pub command: String,
    /// Seconds since its turn began.
    pub secs: u64,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, host, command, secs } = self;
        let host = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        write!(out, "{command} (process {process}{host}), which has been writing for {secs} s")
    }
}

/// The two parties to a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictParties {
    /// Two rows of one load.
    Rows,
    /// The store and what is offered to it.
    StoreAndRow,
}

impl ConflictParties {
    const fn held(self) -> &'static str {
        match self {
            Self::Rows => "in one row",
            Self::StoreAndRow => "in the store",
        }
    }

    const fn offered(self) -> &'static str {
        match self {
            Self::Rows => "in another",
            Self::StoreAndRow => "in the new data",
        }
    }
}

/// The reason why a dispute or a confirmation was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisputeRefusal {
    /// No list in force makes such a claim.
    #[error("{address} has no claim{selection}: {held}")]
    NoClaim {
        /// The address.
        address: Address,
        /// The selection that was asked for, in words.
        selection: String,
        /// The claims that are held of the address, or how to look.
        held: String,
    },
    /// All claims that were meant are disputed.
    #[error("{claim} is disputed already, by {by} since {at}: {reason:?}; confirm it before it can be disputed again")]
    AlreadyDisputed {
        /// The first of them, in words.
        claim: String,
        /// The person who disputed it.
        by: Arc<str>,
        /// When.
        at: Timestamp,
        /// The reason that was given.
        reason: Arc<str>,
    },
    /// None of the claims that were meant is disputed.
    #[error("{address} has no disputed claim{selection}: {held}")]
    NotDisputed {
        /// The address.
        address: Address,
        /// The selection that was asked for, in words.
        selection: String,
        /// The claims that are disputed, or that none is.
        held: String,
    },
    /// A reason that is not one.
    #[error("the reason has {length} characters{control}; expected 1 to {limit} in one line")]
    BadReason {
        /// Its length in characters.
        length: usize,
        /// The longest one.
        limit: usize,
        /// Control characters that it has, in words.
        control: &'static str,
    },
}

/// Everything a ledger can fail with.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// The failed action: `cannot open`, `cannot write`, ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// Stored bytes are not what was written.
    #[error("{} is damaged at byte {offset}: {what}; restore the file from a copy, or ingest its data again", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// The place of the damage, a byte offset in the file.
        offset: u64,
        /// The mismatch.
        what: String,
    },
    /// A file was written by another version, whose stores are not read.
    #[error("{} has format {found}, this version reads format {expected}: build the store again with `headwater ingest --store NEW_FOLDER FILES`", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Format found.
        found: u32,
        /// The one format that is read.
        expected: u32,
    },
    /// There is no store at this place.
    #[error("{} is no headwater store: create one with `headwater ingest --store {}`", path.display(), path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// Another writer did not end its turn within the longest wait.
    #[error(
        "{} is locked by {}: gave up after a wait of {waited_secs} s; try again when that has ended, or stop it",
        path.display(),
        holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string)
    )]
    Locked {
        /// The store.
        path: PathBuf,
        /// The wait in seconds.
        waited_secs: u64,
        /// The writer that has the lock; `None` where it cannot be read.
        holder: Option<LockHolder>,
    },
    /// Two sources say different things about one transaction, block or token.
    #[error("{chain} {what} {id}: {field} is {held} {} and {offered} {}", between.held(), between.offered())]
    Conflict {
        /// The chain.
        chain: Chain,
        /// `transaction` or `block`.
        what: &'static str,
        /// Its hash or number.
        id: String,
        /// The field they disagree about.
        field: &'static str,
        /// The statement that is held already.
        held: String,
        /// The statement that was offered.
        offered: String,
        /// The parties to the conflict.
        between: ConflictParties,
    },
    /// A transaction was offered whose block has no known time.
    #[error(
        "{chain} block {block} has no known time (transaction {transaction}): ingest the blocks of this range first or together with it"
    )]
    UnknownTime {
        /// The chain.
        chain: Chain,
        /// The block.
        block: u64,
        /// A transaction of it.
        transaction: String,
    },
    /// One store holds one network per chain.
    #[error("the store holds {chain} {held}, the data is of {offered}: use another store")]
    NetworkMismatch {
        /// The chain.
        chain: Chain,
        /// The network held.
        held: Network,
        /// The network offered.
        offered: Network,
    },
    /// Facts of one chain name an address of another family.
    #[error("{address} is no address of {chain}")]
    ForeignAddress {
        /// The chain.
        chain: Chain,
        /// The address.
        address: Address,
    },
    /// The generation asked for is no longer readable.
    #[error("generation {generation} is no longer kept")]
    GenerationGone {
        /// The generation.
        generation: u64,
    },
    /// The folder of a store does not have the generation that was asked for.
    #[error("{} does not have generation {generation}, it has {}; name one of these, or none for the newest", path.display(), ranges(kept))]
    UnknownGeneration {
        /// The store.
        path: PathBuf,
        /// The generation.
        generation: u64,
        /// The generations that it has, ascending.
        kept: Vec<u64>,
    },
    /// An item of the feed is no longer kept.
    #[error("item {position} of the change feed is no longer kept: the oldest one is {oldest}")]
    FeedGone {
        /// The item asked for.
        position: u64,
        /// The oldest one that is kept.
        oldest: u64,
    },
    /// A segment would pass what its row numbers can count.
    #[error("a segment holds at most {limit} {what}: ingest in smaller parts")]
    SegmentFull {
        /// The things that are counted.
        what: &'static str,
        /// The number that fits.
        limit: u64,
    },
    /// A version of an import was named that is not there.
    #[error("there is no import version {0}")]
    UnknownVersion(u64),
    /// An edition of a list of labels says again too little of the one before it.
    #[error(
        "list {list:?} of {source_name} repeats {kept} of the {before} claims of the edition before it: check that the file is whole, \
         or import it with --accept-shrinking"
    )]
    ListShrank {
        /// The source.
        source_name: String,
        /// The list.
        list: String,
        /// Claims of the edition before that the new one makes too.
        kept: u64,
        /// Claims of the edition before.
        before: u64,
    },
    /// An edition of a list of labels is older than the one that is held.
    #[error(
        "list {list:?} of {source_name} is of {date}, the edition that is held is of {held}: import the newer file, or this one with \
         --accept-shrinking"
    )]
    OlderEdition {
        /// The source.
        source_name: String,
        /// The list.
        list: String,
        /// Its date.
        date: Timestamp,
        /// The date of the edition that is held.
        held: Timestamp,
    },
    /// A price that is negative, infinite or no number, or of no symbol.
    #[error("{usd} is no price of {symbol:?} at {time}: expected a finite number of US dollars, not negative")]
    InvalidPrice {
        /// The rate symbol.
        symbol: String,
        /// The time of the price.
        time: Timestamp,
        /// The price that was offered.
        usd: f64,
    },
    /// An exchange rate that is not above zero, infinite or no number, or of no currency.
    #[error(
        "{per_usd} is no exchange rate of {currency:?} at {time}: expected a finite number of units per US dollar above \
         zero, and a currency code of three letters"
    )]
    InvalidExchangeRate {
        /// The currency.
        currency: String,
        /// The time of the rate.
        time: Timestamp,
        /// The rate that was offered.
        per_usd: f64,
    },
    /// A batch is not a block that the tail could take.
    #[error("{chain} block cannot be followed: {what}")]
    TailBlock {
        /// The chain.
        chain: Chain,
        /// The fault.
        what: &'static str,
    },
    /// A followed block does not continue the chain that is held.
    #[error("{chain} block {number} does not follow: its parent is {parent}, expected {expected}; roll back first")]
    TailBroken {
        /// The chain.
        chain: Chain,
        /// Number of the block offered.
        number: u64,
        /// The parent it names.
        parent: String,
        /// The newest block held: its number and hash.
        expected: String,
    },
    /// Blocks below the tail are final and cannot be taken back.
    #[error("{chain} cannot be rolled back to block {block}: the tail begins at block {lowest}")]
    BelowTail {
        /// The chain.
        chain: Chain,
        /// The block asked for.
        block: u64,
        /// Lowest block of the tail.
        lowest: u64,
    },
    /// A dispute or a confirmation that is not recorded.
    #[error(transparent)]
    Dispute(#[from] DisputeRefusal),
    /// A sum passed 256 bits.
    #[error(transparent)]
    SumOverflow(#[from] SumOverflow),
    /// The work was stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// There is not as much memory as the work needs.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// A write or sync failed earlier: what is on disk is unknown, so this handle refuses further writes.
    #[error("an earlier write to {} failed: open the store again", path.display())]
    Latched {
        /// The store.
        path: PathBuf,
    },
}

/// Writes ascending numbers as ranges: `3, 20 to 25`.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|before, after| before.checked_add(1) == Some(*after));
    let texts = runs.filter_map(|run| match run {
        [first, .., last] => Some(format!("{first} to {last}")),
        [only] => Some(only.to_string()),
        [] => None,
    });
    texts.collect::<Vec<_>>().join(", ")
}

impl LedgerError {
    /// The same error about what the store holds, where it is a conflict.
    pub(crate) fn with_the_store(mut self) -> Self {
        if let Self::Conflict { between, .. } = &mut self {
            *between = ConflictParties::StoreAndRow;
        }
        self
    }
}

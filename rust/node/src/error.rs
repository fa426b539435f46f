//! The errors of calls to nodes.

use std::io;
use std::time::Duration;

use headwater_ingest::IngestError;
use headwater_ledger::LedgerError;
use headwater_types::Chain;

use headwater_verify::{FailureKind, VerificationError};

/// The reason for which one call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The provider wants fewer requests.
    #[error("it limits the rate of requests{}", after.map(|wait| format!(", the next after {} s", wait.as_secs())).unwrap_or_default())]
    RateLimited {
        /// The wait that it asks for.
        after: Option<Duration>,
    },
    /// The answer would be too large for the provider: fewer blocks or calls at once are the remedy.
    #[error("it refuses so much at once: {0}")]
    TooMuch(String),
    /// The provider does not have the method.
    #[error("it does not have {0}")]
    NoMethod(String),
    /// The key, the login or the plan is refused.
    #[error("it refuses the caller with status {0}: check the key or login in the address")]
    Refused(u16),
    /// It has no such data.
    #[error("it has no {0}")]
    Missing(String),
    /// The connection failed or was cut, or the provider reports an internal failure.
    #[error("{0}")]
    Failed(String),
    /// Nothing listens at the address. Fewer calls at once do not help.
    #[error("{0}")]
    Unreachable(String),
    /// The answer is not that of such a node.
    #[error("its answer is not understood: {0}")]
    Malformed(String),
    /// The work was cancelled.
    #[error("the work was cancelled")]
    Cancelled,
}

impl CallError {
    /// Returns whether the same call may succeed later.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Failed(_) | Self::Unreachable(_))
    }

    /// Sorts the reason for which a request was not sent.
    pub(crate) fn of_connection(error: &ureq::Error, text: String) -> Self {
        let is_unreachable = match error {
            ureq::Error::HostNotFound | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
            ureq::Error::Io(error) => {
                use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
                matches!(error.kind(), AddrNotAvailable | ConnectionRefused | HostUnreachable | NetworkUnreachable)
            }
            _ => false,
        };
        if is_unreachable { Self::Unreachable(text) } else { Self::Failed(text) }
    }
}

/// The reason for which blocks of a provider are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// A call has no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// An answer contradicts the block that it is about.
    #[error("{text}")]
    Lie {
        /// The stable name of the contradiction.
        code: &'static str,
        /// The block.
        block: u64,
        /// The contradiction, in a sentence.
        text: String,
    },
    /// An answer has a form that this version does not read.
    #[error("{0}")]
    Unknown(String),
    /// A file of the store cannot be read.
    #[error("{0}")]
    Store(String),
}

impl FetchError {
    /// Returns whether the same question has the same answer later.
    pub(crate) const fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Lie { .. } | Self::Call(CallError::Refused(_) | CallError::NoMethod(_) | CallError::Malformed(_))
        )
    }
}

impl From<VerificationError> for FetchError {
    fn from(error: VerificationError) -> Self {
        match error.mismatch.kind() {
            FailureKind::Unsupported => Self::Unknown(error.to_string()),
            FailureKind::Malformed | FailureKind::Contradiction => {
                Self::Lie { code: error.mismatch.code(), block: error.block, text: error.to_string() }
            }
        }
    }
}

/// The reason for which a load from nodes ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// An address cannot be used.
    #[error("{text:?} is not the address of a node: expected http://HOST:PORT or https://HOST/PATH")]
    Address {
        /// The host of the address, without what may be a secret.
        text: String,
    },
    /// No address of a node is named.
    #[error(
        "no address of a node is named: expected http://HOST:PORT or https://HOST/PATH; a ws:// address only announces blocks beside one"
    )]
    NoAddress,
    /// No node answers a question about its newest blocks.
    #[error("no node answers:\n{}", reasons.join("\n"))]
    NoAnswer {
        /// The failure of each node.
        reasons: Vec<String>,
        /// True if no node can answer later: each is of another chain, refuses the caller or is not such a node.
        is_lasting: bool,
    },
    /// No provider is left for a range.
    #[error("no provider answers for {}:\n{}", blocks(*first, *last), reasons.join("\n"))]
    NoProvider {
        /// The first block.
        first: u64,
        /// The last block.
        last: u64,
        /// The answer of each provider.
        reasons: Vec<String>,
        /// True if a provider that is still asked says that it does not have them.
        is_gap: bool,
    },
    /// Verified blocks contradict what another source brought into the store.
    #[error(
        "{} of the nodes, verified, contradict rows that another source brought: load the chain into a new store without \
         that source",
        blocks(*first, *last)
    )]
    Contradiction {
        /// The first block.
        first: u64,
        /// The last block.
        last: u64,
        /// The contradiction.
        source: IngestError,
    },
    /// A file of the store cannot be read.
    #[error("{0}")]
    Store(String),
    /// A rate is not one.
    #[error("{0} requests a second: expected a number of at least 0.001")]
    Rate(f64),
    /// Two providers answer different chains.
    #[error(
        "block {block} of {provider} does not follow block {before} of {other}: they are on different branches of the chain; \
         load again later, or name one provider only"
    )]
    Branches {
        /// The block.
        block: u64,
        /// The provider that answered it.
        provider: String,
        /// The block before.
        before: u64,
        /// The provider that answered that.
        other: String,
    },
    /// Providers state different blocks at one height, and no more than half of them the same.
    #[error("providers do not agree on block {block}: {}", hashes.join("; "))]
    Disagreement {
        /// The block.
        block: u64,
        /// The hashes, with the providers that state them.
        hashes: Vec<String>,
    },
    /// The nodes replaced blocks while they were fetched.
    #[error("block {block} was replaced while it was fetched")]
    Moved {
        /// The block.
        block: u64,
    },
    /// The nodes replaced blocks that are final in the store.
    #[error(
        "the nodes have another block {block} than the store, which is below the {tail} blocks that can be taken back: \
         check that the nodes are on the right chain; if they are, load the chain into a new store"
    )]
    DeepReorg {
        /// The block below those that can be taken back.
        block: u64,
        /// The number of blocks that can be taken back.
        tail: u64,
    },
    /// Another process follows the chain.
    #[error(
        "another process follows {chain} into this store: stop it first, or leave it running and read from the store"
    )]
    FollowedAlready {
        /// The chain.
        chain: Chain,
    },
    /// An address of a WebSocket interface cannot be used.
    #[error("{0}")]
    Socket(String),
    /// The range is not one that can be loaded.
    #[error("{0}")]
    Range(String),
    /// Reading the blocks failed.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The store failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file beside the store failed.
    #[error("cannot write {file}")]
    Io {
        /// The file.
        file: String,
        /// The reason.
        source: io::Error,
    },
}

impl NodeError {
    /// Returns whether verified blocks contradict the store, so that a person has to act.
    #[must_use]
    pub const fn halts(&self) -> bool {
        matches!(self, Self::DeepReorg { .. } | Self::Contradiction { .. } | Self::Ledger(LedgerError::Conflict { .. }))
    }

    /// Returns whether the same work may succeed later.
    pub(crate) const fn passes(&self) -> bool {
        match self {
            Self::NoAnswer { .. }
            | Self::NoProvider { .. }
            | Self::Branches { .. }
            | Self::Disagreement { .. }
            | Self::Moved { .. }
            | Self::Range(_)
            | Self::Ledger(LedgerError::Locked { .. } | LedgerError::TailBroken { .. }) => true,
            Self::Address { .. }
            | Self::NoAddress
            | Self::Contradiction { .. }
            | Self::DeepReorg { .. }
            | Self::FollowedAlready { .. }
            | Self::Ingest(_)
            | Self::Io { .. }
            | Self::Ledger(_)
            | Self::Rate(_)
            | Self::Socket(_)
            | Self::Store(_) => false,
        }
    }
}

/// Names a range of blocks.
fn blocks(first: u64, last: u64) -> String {
    if first == last { format!("block {first}") } else { format!("blocks {first} to {last}") }
}

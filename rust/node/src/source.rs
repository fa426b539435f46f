//! The part of a load that differs between the families of chains.

use headwater_ledger::Cancel;
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Network, TxHash};
use serde_json::Value;

use crate::error::{CallError, FetchError};
use crate::transport::Provider;

/// Blocks of a chain from a provider, verified.
pub(crate) trait Source: Sync {
    /// The format that reads what [`Source::fetch`] returns, as `--format` names it.
    fn format(&self) -> &'static str;

    /// Returns the name of a file with blocks, as its reader wants it.
    fn file_name(&self, first: u64, last: u64) -> String {
        format!("{first}-{last}.jsonl")
    }

    /// The tables that a load is complete with. Blocks that lack one of them are fetched.
    fn tables(&self) -> &'static [CoverageTable];

    /// The network of the blocks, where the content does not name it; known after [`Source::check_chain`].
    fn network(&self) -> Option<Network> {
        None
    }

    /// Checks that a provider is of the chain, and of the network of the store.
    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError>;

    /// Returns the newest block of a provider, and the newest one that it calls final; without such a word the newest one
    /// less the usual depth.
    fn heads(&self, provider: &Provider, cancel: &Cancel) -> Result<NodeHeads, CallError>;

    /// Returns the hashes of blocks on the chain of a provider, unverified; `None` of those that it does not have.
    fn hashes(
        &self,
        provider: &Provider,
        numbers: &[u64],
        cancel: &Cancel,
    ) -> Result<Vec<Option<BlockHash>>, CallError>;

    /// Fetches blocks, both ends included, and verifies them.
    fn fetch(&self, provider: &Provider, range: (u64, u64), cancel: &Cancel) -> Result<FetchedBlocks, FetchError>;

    /// Returns what the fetched blocks lack although they are verified, each in a sentence.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether internal movements of the chain are fetched apart.
    fn has_traces(&self) -> bool {
        false
    }

    /// Fetches internal movements of blocks that are held already, where [`Source::has_traces`] says so.
    fn fetch_traces(&self, _: &Provider, _: &[HeldBlock], _: &Cancel) -> Result<FetchedBlocks, FetchError> {
        Err(CallError::NoMethod("internal movements".to_owned()).into())
    }
}

/// The newest blocks of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeHeads {
    /// The newest block.
    pub newest: u64,
    /// Its hash, as the provider states it.
    pub hash: Option<BlockHash>,
    /// The newest block that is final.
    pub newest_final: u64,
}

/// A block of the store whose internal movements are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldBlock {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: BlockHash,
    /// Its transactions, in order.
    pub transactions: Vec<TxHash>,
}

/// The numbers of transactions and logs of a verified block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockCounts {
    /// Transactions.
    pub transactions: u64,
    /// Logs; `None` where they were not verified.
    pub logs: Option<u64>,
}

/// Blocks of a provider, verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FetchedBlocks {
    /// The answers as a file would have them.
    pub content: Vec<u8>,
    /// The number of blocks.
    pub blocks: u64,
    /// The transactions and logs of each block, where they were verified.
    pub counts: Vec<BlockCounts>,
    /// The hash of the parent of the first block, where it was verified.
    pub parent: Option<BlockHash>,
    /// The hashes of the blocks, in order.
    pub hashes: Vec<BlockHash>,
    /// The blocks with their transactions, where internal movements are fetched apart.
    pub held: Vec<HeldBlock>,
    /// The name of the provider.
    pub provider: String,
    /// The tables that are complete besides those that the reader of the content finds so: what was verified against the
    /// headers, and what may be empty.
    pub complete: Vec<CoverageTable>,
}

impl FetchedBlocks {
    /// Returns the number of transactions.
    pub fn transactions(&self) -> u64 {
        self.counts.iter().map(|counts| counts.transactions).sum()
    }

    /// Adds answers, one per line.
    pub fn add_lines<const N: usize>(&mut self, answers: [&Value; N]) {
        for answer in answers {
            self.content.extend(answer.to_string().into_bytes());
            self.content.push(b'\n');
        }
    }
}

//! The formats that are read: one file and one line in the table each.

mod aws;
mod bigquery;
mod bitcoin_blocks;
mod bitcoin_core;
mod bitcoin_etl;
mod bitcoin_json;
mod blockchair;
mod cryo;
mod documents;
mod era;
mod ethereum_etl;
mod etherscan;
mod etherscan_web;
mod evm_frames;
mod evm_logs;
mod evm_receipt;
mod evm_rpc;
mod evm_system;
mod graphsense_account;
mod graphsense_bitcoin;
mod holder_snapshot;
mod stated_amount;
mod tron_node;
mod tron_trc20;

use headwater_types::Chain;

use crate::source::{Content, Input, Probe};
use crate::{IngestError, Options, Sink};

/// A format of files.
pub trait Format: Sync {
    /// Its name, as `--format` takes it.
    fn name(&self) -> &'static str;

    /// One sentence on what it is and where such files come from.
    fn describe(&self) -> &'static str;

    /// Its tables, with the columns that each needs: what is missing of them can be named.
    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        Vec::new()
    }

    /// Detects the format from the beginning of a file.
    fn sniff(&self, probe: &Probe) -> Option<Sniffed>;

    /// Returns true if the caller's choices mean files of this format that lie in a folder by chance. Files named themselves are
    /// meant.
    fn is_meant(&self, _options: &Options) -> bool {
        true
    }

    /// Reads a file. Rows that cannot be understood go to [`Sink::reject`]; [`Sink::boundary`] is called wherever a
    /// commit may fall.
    ///
    /// # Errors
    /// When the file is damaged, a row is wrong and the ingest stops at the first, or the target refuses.
    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError>;

    /// Returns true if the files of this format have to be seen together (blocks out of order over several files).
    fn reads_together(&self) -> bool {
        false
    }

    /// Reads files that have to be seen together. `next(n, sink)` is called before the first row of file `n` is counted,
    /// with growing `n` from 0.
    ///
    /// # Errors
    /// As [`Format::read`].
    fn read_all(
        &self,
        jobs: &[&Job],
        next: &mut dyn FnMut(usize, &mut Sink<'_>) -> Result<(), IngestError>,
        sink: &mut Sink<'_>,
    ) -> Result<(), IngestError> {
        for (number, job) in jobs.iter().enumerate() {
            next(number, sink)?;
            self.read(job, sink)?;
        }
        Ok(())
    }
}

/// A file that is to be read, with what is known of it.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file.
    pub input: Input,
    /// Its content.
    pub content: Content,
    /// The result of the detection of its format.
    pub sniffed: Sniffed,
}

/// The detection of a format from the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sniffed {
    /// The chain.
    pub chain: SniffedChain,
    /// The table of the format, by the format's own number.
    pub table: u8,
    /// Order among files that begin at the same block: what others refer to comes first.
    pub rank: u8,
    /// The first block, where the beginning shows it; files without one come last.
    pub first_block: Option<u64>,
}

/// The chains that a file may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SniffedChain {
    /// It is this one.
    Is(Chain),
    /// It is usually this one, but another of the same family looks alike.
    Usually(Chain),
    /// It is one of these, of whatever family; usually the first.
    OneOf(&'static [Chain]),
}

impl SniffedChain {
    /// The chain, however sure.
    #[must_use]
    pub const fn chain(self) -> Chain {
        match self {
            Self::Is(chain) | Self::Usually(chain) => chain,
            Self::OneOf(chains) => chains[0],
        }
    }

    /// Returns true if the file may be of this chain: of those of one family, one looks like the other.
    #[must_use]
    pub fn may_be(self, chain: Chain) -> bool {
        let alike = |one: Chain| one.family() == chain.family();
        match self {
            Self::Is(one) | Self::Usually(one) => alike(one),
            Self::OneOf(chains) => chains.iter().copied().any(alike),
        }
    }
}

/// All formats, in the order in which they are asked.
pub const FORMATS: &[&dyn Format] = &[
    &aws::AwsEthereum,
    &aws::AwsBitcoin,
    &bigquery::BigQueryEthereum,
    &bigquery::BigQueryBitcoin,
    &ethereum_etl::EthereumEtl,
    &cryo::Cryo,
    &bigquery::BigQueryBlockchain,
    &blockchair::BlockchairEthereum,
    &blockchair::BlockchairBitcoin,
    &etherscan::EtherscanExport,
    &etherscan_web::EtherscanWeb,
    &evm_rpc::EvmRpc,
    &bitcoin_etl::BitcoinEtl,
    &bitcoin_core::BitcoinCore,
    &graphsense_bitcoin::GraphsenseBitcoin,
    &graphsense_account::GraphsenseAccount,
    &tron_node::TronNode,
    &tron_trc20::TronTrc20,
    &bitcoin_blocks::BitcoinBlocks,
    &era::Era1,
    &era::Ere,
    &holder_snapshot::HolderSnapshot,
];

//! The formats of label files. A further one is a file here and a line in [`FORMATS`].

mod actorpack;
mod bitcoinabuse;
mod chainabuse;
#[cfg(test)]
mod corpus;
mod cryptoscamdb;
mod darklist;
mod defillama;
mod dune;
mod eth_labels;
mod etherscan_labels;
mod etherscan_metadata;
mod etherscan_pages;
mod exchange_reserves;
mod forta;
mod hop;
mod mining_pools;
mod name_tag;
mod oli;
mod ransomwhere;
mod reading;
mod scamsniffer;
mod script;
mod tagpack;
mod tornado;
mod walletexplorer;

use headwater_ledger::labels::Level;
use headwater_types::Chain;

pub use mining_pools::{PoolTag, read_pool_tags};

use super::raw::{RawLabels, Vocabulary};
use crate::IngestError;
use crate::source::Probe;

/// One format.
pub(crate) struct Format {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The source of its claims, where the caller names none.
    pub(crate) source: &'static str,
    /// The provenance group, where neither the caller nor the row nor the site of the row's source names one.
    pub(crate) group: &'static str,
    /// The level, where neither the caller nor the row states one.
    pub(crate) level: Level,
    /// The words of its concepts.
    pub(crate) vocabulary: Vocabulary,
    /// The chain of EVM addresses without a hint, where the caller names none; `None` when the caller must.
    pub(crate) chain: Option<Chain>,
    /// Whether a list without any address is refused, as a list of sanctions is.
    pub(crate) refuses_empty: bool,
    /// Whether it reads a file, by its beginning. The first format of the table that does takes the file.
    pub(crate) reads: fn(&Probe) -> bool,
    /// Reads the files of one import.
    pub(crate) read: fn(&[Probe], &Given) -> Result<RawLabels, IngestError>,
}

/// What the caller says of the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    /// The chain, where the files name none.
    pub(crate) chain: Option<Chain>,
    /// The entity, where the files name none.
    pub(crate) entity: Option<String>,
    /// The code, where the files name none.
    pub(crate) code: Option<String>,
    /// Names of columns: ours and the file's.
    pub(crate) columns: Vec<(String, String)>,
}

/// All formats, narrowest first.
pub(crate) const FORMATS: &[&Format] = &[
    &tagpack::FORMAT,
    &ransomwhere::FORMAT,
    &mining_pools::FORMAT,
    &forta::FORMAT,
    &eth_labels::FORMAT,
    &etherscan_metadata::FORMAT,
    &etherscan_pages::FORMAT,
    &etherscan_labels::FORMAT,
    &oli::FORMAT,
    &bitcoinabuse::FORMAT,
    &exchange_reserves::FORMAT,
    &scamsniffer::FORMAT,
    &darklist::FORMAT,
    &cryptoscamdb::FORMAT,
    &hop::FORMAT,
    &chainabuse::FORMAT,
    &dune::FORMAT,
    &walletexplorer::FORMAT,
    &tornado::FORMAT,
    &defillama::FORMAT,
];

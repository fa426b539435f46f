//! The formats of label files. A further one is a file here and a line in [`FORMATS`].

mod actorpack;
mod address_lines;
mod address_list;
mod arkham;
mod bitcoinabuse;
mod chainabuse;
mod coins;
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
mod eu_csv;
mod exchange_reserves;
mod fbi_lazarus;
mod forta;
mod hop;
mod il_nbctf;
mod licences;
mod mining_pools;
mod name_tag;
mod ofac;
mod ofac_advanced;
mod ofac_csv;
mod ofac_enhanced;
mod ofac_lists;
mod ofac_text;
mod ofac_xml;
mod official;
mod official_xml;
mod oli;
mod opensanctions;
mod opensanctions_csv;
mod opensanctions_ftm;
mod opensanctions_statements;
mod ransomwhere;
mod reading;
mod refused;
mod running_text;
mod scamsniffer;
mod script;
mod table;
mod tagpack;
mod tagpack_context;
mod tornado;
mod uk_csv;
mod walletexplorer;

use headwater_ledger::labels::Level;
use headwater_types::Chain;

pub use mining_pools::{PoolTag, read_pool_tags};

use super::raw::{RawLabels, Vocabulary};
use crate::IngestError;
use crate::error::in_lines;
use crate::source::Probe;

pub(super) use licences::licence_of;
pub(super) use refused::refused;
pub(crate) use table::{TABLE, has_address, read_frame, tells};

/// One format.
pub(crate) struct Format {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The source of its claims, where the caller names none; empty where that is the list.
    pub(crate) source: &'static str,
    /// The provenance group, where neither the caller nor the row nor the site of the row's source names one; empty
    /// where each source is its own group.
    pub(crate) group: &'static str,
    /// The level, where neither the caller nor the row states one.
    pub(crate) level: Level,
    /// The words of its concepts.
    pub(crate) vocabulary: Vocabulary,
    /// The chain of EVM addresses without a hint, where the caller names none; `None` when the caller must.
    pub(crate) chain: Option<Chain>,
    /// True if a list without any address is refused, as a list of sanctions is.
    pub(crate) refuses_empty: bool,
    /// The reading mode of the files of one import.
    pub(crate) files: Files,
    /// True if it reads a file, by its beginning. The first format of the table that does takes the file.
    pub(crate) reads: fn(&Probe) -> bool,
    /// Reads the files of one import.
    pub(crate) read: fn(&[Probe], &Given) -> Result<RawLabels, IngestError>,
}

impl Format {
    /// Reads the files of one import.
    pub(crate) fn read(&self, probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
        match self.files {
            Files::Together => (self.read)(probes, given),
            Files::Apart => {
                let mut labels = RawLabels::default();
                for probe in probes {
                    labels.append((self.read)(std::slice::from_ref(probe), given)?);
                    labels.end_file(probe.path());
                }
                Ok(labels)
            }
        }
    }
}

/// The reading mode of the files of one import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// One by one.
    Apart,
    /// Together, since they complete one another; the reader says where each of them ends.
    Together,
}

/// The options of the caller for the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    /// The entity, where the files name none.
    pub(crate) entity: Option<String>,
    /// The code, where the files name none.
    pub(crate) code: Option<String>,
    /// Names of columns: ours and the file's.
    pub(crate) columns: Vec<(String, String)>,
}

/// All formats, narrowest first.
pub(crate) const FORMATS: &[&Format] = &[
    &ofac_lists::FORMAT,
    &ofac_xml::FORMAT,
    &ofac_advanced::FORMAT,
    &ofac_enhanced::FORMAT,
    &ofac_csv::FORMAT,
    &ofac_text::FORMAT,
    &opensanctions_csv::FORMAT,
    &opensanctions_ftm::FORMAT,
    &opensanctions_statements::FORMAT,
    &eu_csv::FORMAT,
    &official_xml::EU,
    &uk_csv::FORMAT,
    &official_xml::UK,
    &official_xml::UN,
    &il_nbctf::FORMAT,
    &fbi_lazarus::FORMAT,
    &tagpack::FORMAT,
    &arkham::FORMAT,
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
    &TABLE,
    &address_list::FORMAT,
];

/// Returns the format of a name.
pub(super) fn format_of(name: &str) -> Result<&'static Format, IngestError> {
    let found = FORMATS.iter().copied().find(|format| format.name == name);
    found.ok_or_else(|| {
        let known = in_lines(FORMATS.iter().map(|format| format.name));
        IngestError::NoLabelFormat { name: name.to_owned(), known }
    })
}

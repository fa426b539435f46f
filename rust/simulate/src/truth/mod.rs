//! What is really so: the answers that no chain carries, kept beside the economy to judge analyses by.

mod address;
mod flow;
mod table;
mod utxo;

use std::path::{Path, PathBuf};

pub use address::{AddressTruth, PublicLabel, Role};
pub use flow::{BridgeLeg, BridgeTransfer, CaseStep, MixerLink};
pub use table::TruthError;
pub use utxo::{ChangeOutput, ClusterMember};

/// Everything that is really so, each table in a total order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Truth {
    /// Role and owner of every address that occurs on a chain.
    pub addresses: Vec<AddressTruth>,
    /// The paths of the scams, step by step.
    pub cases: Vec<CaseStep>,
    /// Both legs of every bridge transfer.
    pub bridge_transfers: Vec<BridgeTransfer>,
    /// Which withdrawal of a mixer belongs to which deposit.
    pub mixer_links: Vec<MixerLink>,
    /// The change of every bitcoin payment that has some.
    pub change_outputs: Vec<ChangeOutput>,
    /// Which wallet every bitcoin address belongs to.
    pub clusters: Vec<ClusterMember>,
    /// What public lists say: partial, and partly wrong.
    pub labels: Vec<PublicLabel>,
}

impl Truth {
    /// Writes one Parquet file per table, and the public labels once more as `labels.csv` without the column that
    /// tells which of them are right.
    ///
    /// # Errors
    /// When the folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TruthError> {
        std::fs::create_dir_all(folder).map_err(|source| TruthError::io(folder, source))?;
        table::write(folder, &self.addresses)?;
        table::write(folder, &self.cases)?;
        table::write(folder, &self.bridge_transfers)?;
        table::write(folder, &self.mixer_links)?;
        table::write(folder, &self.change_outputs)?;
        table::write(folder, &self.clusters)?;
        table::write(folder, &self.labels)?;
        let path = labels_path(folder);
        std::fs::write(&path, self.labels_csv()).map_err(|source| TruthError::io(&path, source))
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// When a file is missing, is no Parquet, or holds what no truth holds.
    pub fn read(folder: &Path) -> Result<Self, TruthError> {
        Ok(Self {
            addresses: table::read(folder)?,
            cases: table::read(folder)?,
            bridge_transfers: table::read(folder)?,
            mixer_links: table::read(folder)?,
            change_outputs: table::read(folder)?,
            clusters: table::read(folder)?,
            labels: table::read(folder)?,
        })
    }

    /// The public labels as a label list is published: one line per claim.
    #[must_use]
    pub fn labels_csv(&self) -> String {
        let mut text = String::from("blockchain,address,code,entity,source\n");
        for label in &self.labels {
            let PublicLabel { chain, address, code, entity, source, .. } = label;
            text.extend([chain.name(), ",", &address.to_string(), ",", code, ",", entity, ",", source, "\n"]);
        }
        text
    }
}

fn labels_path(folder: &Path) -> PathBuf {
    folder.join("labels.csv")
}

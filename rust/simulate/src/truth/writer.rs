//! Truth into files, slice by slice.

use std::path::Path;

use super::table::TableWriter;
use super::{
    AddressTruth, BridgeTransfer, CaseStep, ChangeOutput, ClusterMember, DayPrice, JointTransaction, MixerLink,
    PlantedBehaviour, PublicLabel, TrueBalance, Truth, TruthError, WalletTruth,
};

/// Writes the tables of a truth as it becomes known; a row group of each at a time is in memory. The files get their
/// names in [`Self::finish`], so that a stopped run leaves no half table behind under the name of a whole one.
pub struct TruthWriter {
    addresses: TableWriter<AddressTruth>,
    cases: TableWriter<CaseStep>,
    behaviours: TableWriter<PlantedBehaviour>,
    bridge_transfers: TableWriter<BridgeTransfer>,
    mixer_links: TableWriter<MixerLink>,
    true_balances: TableWriter<TrueBalance>,
    change_outputs: TableWriter<ChangeOutput>,
    clusters: TableWriter<ClusterMember>,
    wallets: TableWriter<WalletTruth>,
    joints: TableWriter<JointTransaction>,
    labels: TableWriter<PublicLabel>,
    prices: TableWriter<DayPrice>,
}

impl TruthWriter {
    /// Makes the folder and opens the files.
    ///
    /// # Errors
    /// When the folder or a file cannot be written.
    pub fn create(folder: &Path) -> Result<Self, TruthError> {
        std::fs::create_dir_all(folder).map_err(|source| TruthError::io(folder, source))?;
        Ok(Self {
            addresses: TableWriter::create(folder)?,
            cases: TableWriter::create(folder)?,
            behaviours: TableWriter::create(folder)?,
            bridge_transfers: TableWriter::create(folder)?,
            mixer_links: TableWriter::create(folder)?,
            true_balances: TableWriter::create(folder)?,
            change_outputs: TableWriter::create(folder)?,
            clusters: TableWriter::create(folder)?,
            wallets: TableWriter::create(folder)?,
            joints: TableWriter::create(folder)?,
            labels: TableWriter::create(folder)?,
            prices: TableWriter::create(folder)?,
        })
    }

    /// Adds the truth of a slice.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn append(&mut self, truth: &Truth) -> Result<(), TruthError> {
        self.addresses.append(&truth.addresses)?;
        self.cases.append(&truth.cases)?;
        self.behaviours.append(&truth.behaviours)?;
        self.bridge_transfers.append(&truth.bridge_transfers)?;
        self.mixer_links.append(&truth.mixer_links)?;
        self.true_balances.append(&truth.true_balances)?;
        self.change_outputs.append(&truth.change_outputs)?;
        self.clusters.append(&truth.clusters)?;
        self.wallets.append(&truth.wallets)?;
        self.joints.append(&truth.joints)?;
        self.labels.append(&truth.labels)?;
        self.prices.append(&truth.prices)
    }

    /// Closes the files and gives them their names.
    ///
    /// # Errors
    /// When a file cannot be written or named.
    pub fn finish(self) -> Result<(), TruthError> {
        self.addresses.finish()?;
        self.cases.finish()?;
        self.behaviours.finish()?;
        self.bridge_transfers.finish()?;
        self.mixer_links.finish()?;
        self.true_balances.finish()?;
        self.change_outputs.finish()?;
        self.clusters.finish()?;
        self.wallets.finish()?;
        self.joints.finish()?;
        self.labels.finish()?;
        self.prices.finish()
    }
}

//! The knowledge of judgements beside the ledger: parameters of risk, classifiers, a provider of claims, a clock.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, LazyLock};

use headwater_ledger::labels::{Claim, Level};
use headwater_types::{Address, Chain};

use super::parameters::Parameters;
use crate::classify::{Classifier, Classifiers};

/// A service outside that makes claims about addresses which no list of the store makes.
pub trait ClaimProvider: Send + Sync {
    /// Returns its name, under which its claims are shown.
    fn name(&self) -> &str;

    /// Returns how far its claims are believed, by their kind.
    fn level(&self) -> Level;

    /// Returns its claims about an address on a chain (`evm` for every EVM chain). May wait for a network, within its own
    /// time limit.
    ///
    /// # Errors
    /// The reason why it could not be asked, in words for the caller.
    fn claims(&self, chain: &str, address: &Address) -> Result<Vec<Claim>, String>;
}

/// When an assessor asks the provider of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderPolicy {
    /// Never.
    #[default]
    Never,
    /// If its claims could change level or gate.
    IfDecisive,
    /// For every address.
    Always,
}

/// The part of the provider in one assessment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderUse {
    /// It was not asked.
    Unused,
    /// It should have been asked, and none is configured.
    Unconfigured,
    /// It could not be asked.
    Failed {
        /// Its name.
        provider: String,
        /// Its error.
        reason: String,
    },
    /// It was asked; its claims count.
    Used,
}

/// The knowledge of judgements beside the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Intelligence {
    /// The parameters of the risk score.
    pub parameters: Arc<Parameters>,
    /// The classifiers of addresses by chain.
    pub classifiers: Arc<Classifiers>,
    /// The provider of further claims; none by default.
    pub provider: Option<Arc<dyn ClaimProvider>>,
    /// Seconds since 1970 at which a score is computed; without a clock that is the end of the data.
    pub now_secs: Option<fn() -> i64>,
}

impl Default for Intelligence {
    fn default() -> Self {
        static STANDARD: LazyLock<Arc<Parameters>> = LazyLock::new(|| Arc::new(Parameters::standard().clone()));
        static SHIPPED: LazyLock<Arc<Classifiers>> = LazyLock::new(|| Arc::new(Classifiers::standard().clone()));
        Self { parameters: Arc::clone(&STANDARD), classifiers: Arc::clone(&SHIPPED), provider: None, now_secs: None }
    }
}

impl Intelligence {
    /// Replaces the classifiers of chains by those of model files. Files come with their names, as they could be read.
    ///
    /// # Errors
    /// The file that cannot be used, and the reason: it cannot be read, it is not a model of this version, or two are of one chain.
    pub fn with_models(
        mut self,
        files: impl IntoIterator<Item = (String, io::Result<Vec<u8>>)>,
    ) -> Result<Self, String> {
        let mut of_chain: BTreeMap<Chain, String> = BTreeMap::new();
        for (name, bytes) in files {
            let bytes = bytes.map_err(|error| format!("{name} cannot be read: {error}"))?;
            let classifier = Classifier::parse(&bytes).map_err(|error| format!("{name} cannot be used: {error}"))?;
            let chain = classifier.model().chain();
            if let Some(other) = of_chain.insert(chain, name.clone()) {
                return Err(format!("{other} and {name} are both models of {chain}; name one per chain"));
            }
            self.classifiers = Arc::new(Classifiers::clone(&self.classifiers).with(classifier));
        }
        Ok(self)
    }
}

impl fmt::Debug for Intelligence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provider = self.provider.as_ref().map(|provider| provider.name());
        f.debug_struct("Intelligence")
            .field("parameters", &self.parameters.version)
            .field("provider", &provider)
            .finish_non_exhaustive()
    }
}

//! What judgements rest on besides the ledger: the parameters of risk, classifiers, a provider of further claims, a clock.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, LazyLock};

use headwater_intel::classify::{Classifier, Classifiers};
use headwater_intel::risk::Parameters;
use headwater_ledger::labels::{Claim, Level};
use headwater_types::{Address, Chain};

/// Whoever can be asked for claims about an address that no list of the store makes.
pub trait ClaimProvider: Send + Sync {
    /// Its name, under which its claims are shown.
    fn name(&self) -> &str;

    /// How far its claims are believed, by their kind.
    fn level(&self) -> Level;

    /// What it says of an address on a chain (`evm` for every EVM chain). May wait for a network, within its own time limit.
    ///
    /// # Errors
    /// Why it could not be asked, in words for the caller.
    fn claims(&self, chain: &str, address: &Address) -> Result<Vec<Claim>, String>;
}

/// What judgements rest on besides the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Intelligence {
    /// The parameters of the risk score.
    pub parameters: Arc<Parameters>,
    /// What classifies addresses by their behaviour, by chain.
    pub classifiers: Arc<Classifiers>,
    /// Whom to ask for further claims; nobody by default.
    pub provider: Option<Arc<dyn ClaimProvider>>,
    /// Seconds since 1970, to say when a score was computed; without a clock that is the end of the data.
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
    /// These, with the classifiers of model files, each in the place of that of its chain. Files come with their names, as
    /// they could be read.
    ///
    /// # Errors
    /// Which file cannot be used, and why: it cannot be read, it is not a model of this version, or two are of one chain.
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

//! Trust in a source, and the ways in which its claim reaches an address.

/// The trust in a source by its kind.
///
/// The first twelve and their values are the confidence levels of `GraphSense` `TagPacks`, divided by 100; the last four are
/// our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// A curator of this store.
    Override,
    /// Control of the key was shown.
    Ownership,
    /// Read from the ledger.
    LedgerImmanent,
    /// A payment of one's own.
    ManualTransaction,
    /// An interface of the service itself.
    ServiceApi,
    /// A forensic investigation.
    ForensicInvestigation,
    /// Data of an authority.
    AuthorityData,
    /// A provider with a reputation.
    TrustedProvider,
    /// A file from the service itself.
    ServiceData,
    /// A report or a paper.
    Forensic,
    /// A transaction that somebody reports.
    UntrustedTransaction,
    /// Gathered from the web.
    WebCrawl,
    /// A rule of thumb.
    Heuristic,
    /// Not known.
    Unknown,
    /// Printed in a list of sanctions.
    SanctionsList,
    /// An event of a token contract.
    IssuerFreeze,
    /// The calibrated probability of a classifier, times 0.8.
    ModelClassifier,
    /// A detector of behaviour.
    BehaviourDetector,
}

impl Level {
    /// All levels.
    pub const ALL: &'static [Self] = &[
        Self::Override,
        Self::Ownership,
        Self::LedgerImmanent,
        Self::ManualTransaction,
        Self::ServiceApi,
        Self::ForensicInvestigation,
        Self::AuthorityData,
        Self::TrustedProvider,
        Self::ServiceData,
        Self::Forensic,
        Self::UntrustedTransaction,
        Self::WebCrawl,
        Self::Heuristic,
        Self::Unknown,
        Self::SanctionsList,
        Self::IssuerFreeze,
        Self::ModelClassifier,
        Self::BehaviourDetector,
    ];

    /// The id in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Ownership => "ownership",
            Self::LedgerImmanent => "ledger_immanent",
            Self::ManualTransaction => "manual_transaction",
            Self::ServiceApi => "service_api",
            Self::ForensicInvestigation => "forensic_investigation",
            Self::AuthorityData => "authority_data",
            Self::TrustedProvider => "trusted_provider",
            Self::ServiceData => "service_data",
            Self::Forensic => "forensic",
            Self::UntrustedTransaction => "untrusted_transaction",
            Self::WebCrawl => "web_crawl",
            Self::Heuristic => "heuristic",
            Self::Unknown => "unknown",
            Self::SanctionsList => "sanctions_list",
            Self::IssuerFreeze => "issuer_freeze",
            Self::ModelClassifier => "model_classifier",
            Self::BehaviourDetector => "behaviour_detector",
        }
    }

    /// The reliability of such a source, in thousandths. A classifier states its own; this is the most it can state.
    #[must_use]
    pub const fn thousandths(self) -> u16 {
        match self {
            Self::Override | Self::Ownership | Self::LedgerImmanent | Self::SanctionsList | Self::IssuerFreeze => 1_000,
            Self::ManualTransaction => 900,
            Self::ModelClassifier => 800,
            Self::ServiceApi | Self::ForensicInvestigation => 700,
            Self::AuthorityData => 600,
            Self::TrustedProvider | Self::ServiceData | Self::Forensic => 500,
            Self::UntrustedTransaction => 400,
            Self::BehaviourDetector => 300,
            Self::WebCrawl => 200,
            Self::Heuristic => 100,
            Self::Unknown => 50,
        }
    }

    /// Returns whether a claim of this level states a fact that does not fade: a listing, an event, a shown key.
    #[must_use]
    pub const fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::Override | Self::Ownership | Self::LedgerImmanent | Self::SanctionsList | Self::IssuerFreeze
        )
    }

    /// Returns whether a dispute takes nothing from the weight of such a claim: it repeats what an authority printed,
    /// what an issuer did on chain, or what the ledger shows, and anybody can look it up.
    #[must_use]
    pub const fn is_beyond_dispute(self) -> bool {
        matches!(self, Self::SanctionsList | Self::IssuerFreeze | Self::LedgerImmanent)
    }

    /// The level of an id.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|level| level.name() == name)
    }
}

/// The way in which a claim reaches an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Link {
    /// The claim names the address.
    Exact,
    /// The claim names the address, and its source says that it does not hold for the cluster of the address.
    ExactOnly,
    /// Another address of the same multi-input cluster.
    Cluster,
    /// Another address of a cluster that was merged through a guess of change.
    ChangeCluster,
    /// The address pays into a labelled exchange as deposit addresses do.
    DepositPattern,
    /// A contract that a labelled address deployed.
    Deployer,
    /// An account that a labelled address paid the first fees of.
    GasFunder,
}

impl Link {
    /// Returns whether the claim names the address itself, so that nothing is inferred.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exact | Self::ExactOnly)
    }

    /// The factor of such a claim, in thousandths.
    #[must_use]
    pub const fn thousandths(self) -> u16 {
        match self {
            Self::Exact | Self::ExactOnly => 1_000,
            Self::Cluster => 900,
            Self::ChangeCluster | Self::DepositPattern => 700,
            Self::Deployer => 600,
            Self::GasFunder => 400,
        }
    }
}

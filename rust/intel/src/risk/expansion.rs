//! Whether counterparties are looked at.

/// Whether counterparties were looked at, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expansion {
    /// They were: labels and behaviours do not decide.
    Undecided,
    /// A gate is open already.
    IntelGate,
    /// The address is a trusted service.
    IntelDecisive,
    /// The score is high already.
    AlreadyHigh,
    /// The address did nothing.
    NoActivity,
    /// The chain has no counterparties here.
    UnsupportedChain,
    /// The ledger holds nothing of the chain.
    DataUnavailable,
    /// It would have cost too much.
    BudgetExhausted,
}

impl Expansion {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::IntelGate => "intel_gate",
            Self::IntelDecisive => "intel_decisive",
            Self::AlreadyHigh => "already_high",
            Self::NoActivity => "no_activity",
            Self::UnsupportedChain => "unsupported_chain",
            Self::DataUnavailable => "data_unavailable",
            Self::BudgetExhausted => "budget_exhausted",
        }
    }

    /// Whether counterparties could not be looked at, where they might have counted.
    pub(super) const fn is_missing(self) -> bool {
        match self {
            Self::NoActivity | Self::UnsupportedChain | Self::DataUnavailable | Self::BudgetExhausted => true,
            Self::Undecided | Self::IntelGate | Self::IntelDecisive | Self::AlreadyHigh => false,
        }
    }
}

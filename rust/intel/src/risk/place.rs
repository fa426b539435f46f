//! Where an address is judged.

use headwater_ledger::labels::Scope;
use headwater_types::{Chain, Family};

/// Where an address is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On one chain.
    Chain(Chain),
    /// As one account on every EVM chain: by its labels alone.
    Evm,
}

impl Place {
    /// The text in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain(chain) => chain.name(),
            Self::Evm => "evm",
        }
    }

    /// The chain whose forms of addresses are valid.
    #[must_use]
    pub const fn chain(self) -> Chain {
        match self {
            Self::Chain(chain) => chain,
            Self::Evm => Chain::ETHEREUM,
        }
    }

    /// The chains that it stands for.
    #[must_use]
    pub fn chains(self) -> Vec<Chain> {
        match self {
            Self::Chain(chain) => vec![chain],
            Self::Evm => Chain::all().filter(|chain| chain.family() == Family::Evm).collect(),
        }
    }

    /// The chain whose movements are judged; `None` where labels alone are judged.
    #[must_use]
    pub fn judged_chain(self) -> Option<Chain> {
        match self {
            Self::Chain(chain @ (Chain::ETHEREUM | Chain::TRON)) => Some(chain),
            Self::Chain(_) | Self::Evm => None,
        }
    }

    /// Whether a claim of this scope is about it.
    #[must_use]
    pub fn holds(self, scope: Scope) -> bool {
        match self {
            Self::Chain(chain) => scope.contains(chain),
            Self::Evm => Chain::all().any(|chain| chain.family() == Family::Evm && scope.contains(chain)),
        }
    }
}

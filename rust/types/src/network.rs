//! Bitcoin networks: one store holds one network per chain.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A network of a UTXO chain. Account chains are always [`Network::Mainnet`] here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// The main network.
    #[default]
    Mainnet,
    /// testnet3 and testnet4, which share their address forms.
    Testnet,
    /// signet; its addresses look like those of testnet.
    Signet,
    /// A private regression-test chain.
    Regtest,
}

impl Network {
    /// Lowercase name, as `--network` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "mainnet",
            Self::Testnet => "testnet",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not a network name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown network {0:?}: expected mainnet, testnet, signet or regtest")]
pub struct UnknownNetwork(pub String);

impl std::str::FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Mainnet, Self::Testnet, Self::Signet, Self::Regtest]
            .into_iter()
            .find(|network| network.name() == text)
            .ok_or_else(|| UnknownNetwork(text.to_owned()))
    }
}

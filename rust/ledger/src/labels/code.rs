//! The codes that labels carry, one table.

use std::fmt;

macro_rules! codes {
    ($($variant:ident $text:literal $category:ident,)+) => {
        /// The code of a label of an address. Answers show the text of [`Code::name`].
        ///
        /// Source: the table of categories in `docs/labels.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = concat!("`", $text, "`")] $variant,)+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The text in answers and files, in snake case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// The family of the code. Risk counts each family once.
            #[must_use]
            pub const fn category(self) -> Category {
                match self {
                    $(Self::$variant => Category::$category,)+
                }
            }
        }
    };
}

codes! {
    Sanction "sanction" Sanctions,
    TerroristFinancing "terrorist_financing" Terrorism,
    Csam "csam" Terrorism,
    Theft "theft" Theft,
    Exploit "exploit" Theft,
    Hack "hack" Theft,
    StolenFunds "stolen_funds" Theft,
    Ransomware "ransomware" Ransomware,
    Extortion "extortion" Ransomware,
    DarknetMarket "darknet_market" Darknet,
    IllicitGoods "illicit_goods" Darknet,
    Phishing "phishing" Scam,
    Drainer "drainer" Scam,
    Scam "scam" Scam,
    PigButchering "pig_butchering" Scam,
    Ponzi "ponzi" Scam,
    RugPull "rug_pull" Scam,
    AddressPoisoning "address_poisoning" Scam,
    IssuerFrozen "issuer_frozen" Frozen,
    Mixer "mixer" Mixing,
    CoinjoinCoordinator "coinjoin_coordinator" Mixing,
    Coinjoin "coinjoin" Mixing,
    GuaranteeMarket "guarantee_market" UnlicensedTransfer,
    UndergroundBanking "underground_banking" UnlicensedTransfer,
    NoKycExchange "no_kyc_exchange" UnlicensedTransfer,
    Gambling "gambling" Gambling,
    HighRiskExchange "high_risk_exchange" HighRiskService,
    PrivacyProtocol "privacy_protocol" HighRiskService,
    SanctionDelisted "sanction_delisted" Historical,
    ReportedOnce "reported_once" Historical,
    MevBot "mev_bot" Activity,
    Treasury "treasury" Activity,
    Exchange "exchange" Identity,
    ExchangeHotWallet "exchange_hot_wallet" Identity,
    Deposit "deposit" Identity,
    Dex "dex" Identity,
    Defi "defi" Identity,
    Bridge "bridge" Identity,
    MiningPool "mining_pool" Identity,
    Payment "payment" Identity,
    Merchant "merchant" Identity,
    ColdWallet "cold_wallet" Identity,
}

impl Code {
    /// The code of a text.
    ///
    /// ```
    /// use headwater_ledger::labels::Code;
    /// assert_eq!(Code::from_name("mixer"), Some(Code::Mixer));
    /// assert_eq!(Code::from_name("Mixer"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The kind of business that the code names. An address has one kind, so codes of different kinds weaken each
    /// other; codes without a kind do not.
    #[must_use]
    pub const fn business(self) -> Option<Business> {
        match self {
            Self::Exchange | Self::ExchangeHotWallet => Some(Business::Exchange),
            Self::Mixer => Some(Business::Mixer),
            Self::Dex | Self::Defi | Self::Bridge => Some(Business::Protocol),
            Self::MiningPool => Some(Business::MiningPool),
            Self::Payment | Self::Merchant | Self::Gambling => Some(Business::Commerce),
            _ => None,
        }
    }

    /// Returns whether claims of the code lose weight as they age: who uses an address changes, what was done does not.
    #[must_use]
    pub fn ages(self) -> bool {
        self.category() == Category::Identity
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The family of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// On a list of sanctions.
    Sanctions,
    /// Terrorist financing, child abuse.
    Terrorism,
    /// Theft and exploits.
    Theft,
    /// Ransomware and extortion.
    Ransomware,
    /// Darknet markets and illicit goods.
    Darknet,
    /// Fraud.
    Scam,
    /// Frozen by the issuer of a token.
    Frozen,
    /// Mixing.
    Mixing,
    /// Value transfer without a licence.
    UnlicensedTransfer,
    /// Gambling.
    Gambling,
    /// Services of high risk.
    HighRiskService,
    /// Was listed or reported earlier.
    Historical,
    /// An activity of an address, without a judgement.
    Activity,
    /// An owner of an address.
    Identity,
}

impl Category {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sanctions => "sanctions",
            Self::Terrorism => "terrorism",
            Self::Theft => "theft",
            Self::Ransomware => "ransomware",
            Self::Darknet => "darknet",
            Self::Scam => "scam",
            Self::Frozen => "frozen",
            Self::Mixing => "mixing",
            Self::UnlicensedTransfer => "unlicensed_transfer",
            Self::Gambling => "gambling",
            Self::HighRiskService => "high_risk_service",
            Self::Historical => "historical",
            Self::Activity => "activity",
            Self::Identity => "identity",
        }
    }
}

/// Kinds of business that exclude each other, see [`Code::business`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Business {
    /// Exchanges.
    Exchange,
    /// Mixers.
    Mixer,
    /// Decentralised exchanges, lending, bridges.
    Protocol,
    /// Mining pools.
    MiningPool,
    /// Payment services, merchants, gambling.
    Commerce,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_names_are_unique_snake_case() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
        assert!(Code::ALL.iter().all(|code| Code::from_name(code.name()) == Some(*code)));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}

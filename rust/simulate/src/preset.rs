//! Sizes of the economy.

use std::fmt;
use std::str::FromStr;

use headwater_types::Chain;

/// The size of the economy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Preset {
    /// About 50 thousand transfers over 400 days: for looking around.
    #[default]
    Demo,
    /// About 1 million transfers between 130 thousand addresses over 400 days, made in 300 MB of memory.
    S,
    /// About 20 million transfers between 2.5 million addresses over two years. Seed 1 in a release build on two cores
    /// shared with other work: 20,470,090 transfers, 2,566,204 addresses, 279 seconds of processor time, 1.9 GB of memory
    /// at the most; what a store does with them comes on top.
    M,
    /// About 200 million transfers over two years; for machines with memory and time to spare. Nobody has made it to the
    /// end: what it costs, and its exact size, are not known.
    L,
}

/// The text is not a preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {0:?}: expected demo, s, m or l")]
pub struct UnknownPreset(pub String);

impl Preset {
    /// All presets, smallest first.
    pub const ALL: [Self; 4] = [Self::Demo, Self::S, Self::M, Self::L];

    /// The name that `--preset` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::S => "s",
            Self::M => "m",
            Self::L => "l",
        }
    }

    /// Length of the period in days.
    #[must_use]
    pub const fn days(self) -> i64 {
        match self {
            Self::Demo | Self::S => 400,
            Self::M | Self::L => 730,
        }
    }

    /// About how many transfers it has.
    #[must_use]
    pub const fn transfers(self) -> u64 {
        match self {
            Self::Demo => 50_000,
            Self::S => 1_000_000,
            Self::M => 20_000_000,
            Self::L => 200_000_000,
        }
    }

    /// Returns the number of people that live in it.
    #[must_use]
    pub const fn people(self) -> usize {
        match self {
            Self::Demo => 620,
            Self::S => 12_500,
            Self::M => 250_000,
            Self::L => 2_500_000,
        }
    }

    /// Returns the number of services of a kind when the demo has this many. Services grow slower than their customers,
    /// so that the largest of them grow with the economy.
    pub(crate) const fn services(self, demo: usize) -> usize {
        match self {
            Self::Demo => demo,
            Self::S => demo * 2,
            Self::M => demo * 5,
            Self::L => demo * 10,
        }
    }

    /// Share of people who use bitcoin, where most payments make two new addresses. Only the demo has many, for the sake
    /// of its few wallets.
    pub(crate) const fn bitcoin_users_ratio(self) -> f64 {
        match self {
            Self::Demo => 0.26,
            Self::S | Self::M | Self::L => 0.07,
        }
    }

    /// Returns the median number of actions of people on a day.
    pub(crate) const fn deeds_per_day(self) -> f64 {
        match self {
            Self::Demo => 0.32,
            Self::S | Self::M | Self::L => 0.60,
        }
    }

    /// Returns how much larger the purses of services are than those of the demo, which grow with their customers.
    pub(crate) const fn wealth(self) -> u64 {
        match self {
            Self::Demo => 1,
            Self::S => 12,
            Self::M => 100,
            Self::L => 500,
        }
    }

    /// Returns how often something rare is planted when the demo has it once.
    pub(crate) const fn rarities(self, demo: usize) -> usize {
        match self {
            Self::Demo => demo,
            Self::S => demo * 4,
            Self::M => demo * 20,
            Self::L => demo * 60,
        }
    }

    /// Returns the number of people for each thing that is rare, beside the demo.
    pub(crate) const fn people_per_rarity(self) -> u64 {
        (self.people() / self.rarities(Self::Demo.people())) as u64
    }

    /// Seconds from block to block, on the average. Blocks of the demo are farther apart than in reality, so that it
    /// is not mostly coinbases.
    pub(crate) const fn block_secs(self, chain: Chain) -> i64 {
        match (self, chain) {
            (Self::Demo, Chain::ETHEREUM) => 60,
            (Self::Demo, Chain::BITCOIN) => 7_200,
            (Self::Demo, _) => 30,
            (_, Chain::ETHEREUM) => 12,
            (_, Chain::BITCOIN) => 600,
            (_, _) => 3,
        }
    }

    /// Transactions of one commit, about.
    pub(crate) const fn batch_transactions(self) -> usize {
        match self {
            Self::Demo => 10_000,
            Self::S => 50_000,
            Self::M | Self::L => 200_000,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_go_by_their_names() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        let error = "huge".parse::<Preset>().unwrap_err();
        assert_eq!(error.to_string(), "unknown preset \"huge\": expected demo, s, m or l");
    }
}

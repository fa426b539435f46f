//! Sizes of the economy.

use std::fmt;
use std::str::FromStr;

/// How large the economy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// About 50 thousand transfers over 120 days: for looking around.
    #[default]
    Demo,
}

/// The text is no preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPreset {
    /// A size that is planned but not built.
    #[error("preset {0:?} is not available in this version: use demo")]
    NotYet(String),
    /// Anything else.
    #[error("unknown preset {0:?}: expected demo")]
    Unknown(String),
}

impl Preset {
    /// The name that `--preset` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
        }
    }

    /// Length of the period in days.
    #[must_use]
    pub const fn days(self) -> i64 {
        match self {
            Self::Demo => 120,
        }
    }

    /// How many people live in it.
    #[must_use]
    pub const fn people(self) -> usize {
        match self {
            Self::Demo => 1_150,
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
        match text {
            "demo" => Ok(Self::Demo),
            "s" | "m" | "l" => Err(UnknownPreset::NotYet(text.to_owned())),
            _ => Err(UnknownPreset::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_not_built_say_so() {
        assert_eq!("demo".parse(), Ok(Preset::Demo));
        assert_eq!(
            "m".parse::<Preset>().unwrap_err().to_string(),
            "preset \"m\" is not available in this version: use demo"
        );
        assert!(matches!("huge".parse::<Preset>(), Err(UnknownPreset::Unknown(_))));
    }
}

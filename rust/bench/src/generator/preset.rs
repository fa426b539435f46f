//! The sizes of generated data.

use std::fmt;
use std::str::FromStr;

/// Rows of a chunk; the last one may be shorter.
pub const CHUNK_ROWS: u64 = 1_000_000;

/// Tokens.
pub const TOKENS: u32 = 200;

/// A size: transfers, and an eighth as many accounts to draw from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    transfers: u64,
}

impl Preset {
    /// 1 M transfers among 125 k accounts: for continuous integration.
    pub const S: Self = Self { transfers: 1_000_000 };
    /// 20 M transfers among 2.5 M accounts: what the targets are stated for.
    pub const M: Self = Self { transfers: 20_000_000 };
    /// 200 M transfers among 25 M accounts: by hand.
    pub const L: Self = Self { transfers: 200_000_000 };

    /// Any other number of transfers, up to four thousand million.
    #[must_use]
    pub const fn of(transfers: u64) -> Self {
        Self { transfers }
    }

    /// Number of transfers.
    #[must_use]
    pub const fn transfers(self) -> u64 {
        self.transfers
    }

    /// Number of accounts that transfers are drawn from; not all of them occur.
    #[must_use]
    pub fn accounts(self) -> u32 {
        u32::try_from(self.transfers / 8).unwrap_or(u32::MAX).max(16)
    }

    /// Number of chunks.
    #[must_use]
    pub const fn chunks(self) -> u64 {
        self.transfers.div_ceil(CHUNK_ROWS)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::S => f.write_str("s"),
            Self::M => f.write_str("m"),
            Self::L => f.write_str("l"),
            Self { transfers } => write!(f, "{transfers}"),
        }
    }
}

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetError(String);

impl fmt::Display for PresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a size: expected s, m, l or a number of transfers from 1 to 4000000000", self.0)
    }
}

impl std::error::Error for PresetError {}

impl FromStr for Preset {
    type Err = PresetError;

    fn from_str(text: &str) -> Result<Self, PresetError> {
        match text {
            "s" => Ok(Self::S),
            "m" => Ok(Self::M),
            "l" => Ok(Self::L),
            _ => match text.parse() {
                Ok(transfers @ 1..=4_000_000_000) => Ok(Self { transfers }),
                Ok(_) | Err(_) => Err(PresetError(text.to_owned())),
            },
        }
    }
}

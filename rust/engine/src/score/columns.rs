//! The columns of rows of scores.

use std::fmt;
use std::str::FromStr;

/// The columns of rows of scores, besides the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreColumns {
    /// The risk score and what leads to it.
    pub risk: bool,
    /// The class with its probabilities.
    pub class: bool,
    /// All features.
    pub features: bool,
}

impl ScoreColumns {
    const NAMES: [&'static str; 3] = ["risk", "class", "features"];

    const fn flags(self) -> [bool; 3] {
        [self.risk, self.class, self.features]
    }
}

impl fmt::Display for ScoreColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = Self::NAMES.iter().zip(self.flags()).filter(|(_, wanted)| *wanted).map(|(name, _)| *name);
        f.write_str(&wanted.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for ScoreColumns {
    type Err = String;

    /// Reads names with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut columns = Self { risk: false, class: false, features: false };
        for name in text.split(',').map(str::trim) {
            match name {
                "risk" => columns.risk = true,
                "class" => columns.class = true,
                "features" => columns.features = true,
                _ => {
                    return Err(format!("unknown columns {name:?}; name one or more of risk, class, features"));
                }
            }
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_they_are_written() {
        for text in ["risk", "risk,class", "class,features", "risk,class,features"] {
            assert_eq!(text.parse::<ScoreColumns>().unwrap().to_string(), text);
        }
        assert_eq!("class, risk".parse::<ScoreColumns>().unwrap().to_string(), "risk,class");
        assert!("".parse::<ScoreColumns>().is_err() && "risk,age".parse::<ScoreColumns>().is_err());
    }
}

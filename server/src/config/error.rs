//! Why a configuration is refused.

use std::fmt;
use std::path::PathBuf;

/// Where a setting came from, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// `--set` or a flag of its own.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the configuration {} is no TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// There is no such key.
    #[error("{origin} sets {key:?}, which does not exist: the keys are {known}")]
    UnknownKey {
        /// Where it stands.
        origin: Origin,
        /// The key.
        key: String,
        /// All keys.
        known: String,
    },
    /// A value that the key cannot have.
    #[error("{origin} sets {key} to {value}: expected {expected}")]
    BadValue {
        /// Where it stands.
        origin: Origin,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What it could be.
        expected: &'static str,
    },
    /// A `--set` without `=`.
    #[error("--set {0:?} is not of the form section.name=value")]
    NotAssigned(String),
}

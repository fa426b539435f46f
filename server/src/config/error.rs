//! The reasons why a configuration is refused.

use std::fmt;
use std::path::PathBuf;

/// The origin of a setting, for messages.
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

/// The reason why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration {} is no TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The key is unknown.
    #[error("{origin} sets {key:?}, which does not exist: the keys are {known}")]
    UnknownKey {
        /// The origin of the setting.
        origin: Origin,
        /// The key.
        key: String,
        /// All keys.
        known: String,
    },
    /// The value is invalid.
    #[error("{origin} sets {key} to {value}: expected {expected}")]
    BadValue {
        /// The origin of the setting.
        origin: Origin,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The accepted values.
        expected: String,
    },
    /// A `--set` without `=`.
    #[error("--set {0:?} is not of the form section.name=value")]
    NotAssigned(String),
}

//! The configuration of `serve`: compiled-in defaults, then a TOML file, then the environment, then flags.
//!
//! A key is `section.name` in the file, `HEADWATER_SECTION_NAME` in the environment, and `--set section.name=value` on
//! the command line. It is refused whole at the start when one key is unknown or one value does not fit.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Value;

use crate::gateway::{LimitSettings, Plan, Rate, RedisAddress, Terms};
use crate::state::Place;

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `server.listen`: address and port of the public listener; port 0 takes a free one.
    pub listen: SocketAddr,
    /// `server.admin_listen`: address and port of the admin listener; `none` switches it off. When not set it is
    /// 127.0.0.1:8081, or a free port where the public listener takes a free one.
    pub admin_listen: AdminListen,
    /// `server.drain_secs`: how long requests under way may take to end after a signal.
    pub drain_secs: u64,
    /// `store.path`: the folder of the chain data.
    pub store: Option<PathBuf>,
    /// `state.path`: the folder of keys, credits and audit, or a `postgres://` address where replicas share them;
    /// `DIR.state` beside the store when not set.
    pub state: Option<String>,
    /// `auth.secrets_dir`: the folder of `key.pepper` and `master.key`; the folder of the state when not set. A shared
    /// state needs it, with equal files on all replicas.
    pub secrets_dir: Option<PathBuf>,
    /// `audit.retention_days`: how long requests are kept in the audit; 0 keeps them for ever. The credit ledger and the
    /// counts of usage stay whatever is set here.
    pub audit_days: Option<u32>,
    /// `credits.refund_lost`: whether a start gives back what a killed server charged for answers that may never have
    /// arrived. Otherwise they are listed, and `headwater credits refund --lost` does it.
    pub refund_lost: bool,
    /// `auth.required`: whether data endpoints need a key. `false` makes calls without one free: for local use.
    pub auth_required: bool,
    /// `server.connections`: connections open at a time; more are closed as they come.
    pub connections: usize,
    /// `server.head_secs`: how long the head of a request may take.
    pub head_secs: u64,
    /// `server.idle_secs`: how long a connection is kept without a request under way.
    pub idle_secs: u64,
    /// `server.tls_cert`: certificate chain in PEM. With it and the key the server speaks TLS, and only that; both are
    /// read anew on SIGHUP and when they change.
    pub tls_certificate: Option<PathBuf>,
    /// `server.tls_key`: private key in PEM.
    pub tls_key: Option<PathBuf>,
    /// `server.trusted_proxies`: addresses whose `X-Forwarded-For` is believed, with commas between them.
    pub trusted_proxies: Vec<IpAddr>,
    /// `limits.enabled`: whether rates and calls at a time are limited, per key and endpoint. Without a key, where none
    /// is required, they are per address, and callers on this machine are not limited.
    pub limits_enabled: bool,
    /// `limits.overflow`: what becomes of requests above the rate.
    pub limits_overflow: Overflow,
    /// `limits.free`: calls per second and burst of each free endpoint, for keys without a plan of their own.
    pub limits_free: Rate,
    /// `limits.light`: the same of light endpoints.
    pub limits_light: Rate,
    /// `limits.medium`: the same of medium endpoints.
    pub limits_medium: Rate,
    /// `limits.heavy`: the same of heavy endpoints.
    pub limits_heavy: Rate,
    /// `limits.concurrency`: calls of one key at a time.
    pub limits_concurrency: u32,
    /// `limits.wrong_keys`: refused keys per second and burst of one address; beyond it nothing from there is looked at.
    pub limits_wrong_keys: Rate,
    /// `limits.redis`: a Redis in which several gateways keep their rates together.
    pub limits_redis: Option<RedisAddress>,
    /// `limits.replicas`: how many gateways share that Redis. While it cannot be reached each keeps its share of the
    /// rate, so with a number too small all of them together admit too much, with one too large too little.
    pub limits_replicas: u32,
    /// `webhooks.allow_private_targets`: whether deliveries may go to private addresses, over http and to any port: for
    /// local use.
    pub webhooks_allow_private_targets: bool,
    /// `webhooks.second_ms`: milliseconds that a second of the schedule of retries takes; fewer than 1,000 for tests.
    pub webhooks_second_ms: u32,
    /// `stream.origins`: web pages of these origins may open a stream, besides the gateway's own.
    pub stream_origins: Vec<String>,
    /// `limits.body_bytes`: largest body.
    pub body_bytes: usize,
    /// `state.backup_dir`: the folder that the admin listener makes backups in; it makes none without one.
    pub backup_dir: Option<PathBuf>,
    /// `metrics.open`: whether `/metrics` on the admin listener needs no admin key.
    pub metrics_open: bool,
    /// `telemetry.otlp`: where traces are sent, such as `http://127.0.0.1:4318`; nowhere when not set.
    pub otlp: Option<String>,
    /// `log.format`: `text` or `json`.
    pub log_format: LogFormat,
    /// `log.filter`: what is logged, such as `info` or `headwater_server=debug`.
    pub log_filter: String,
}

impl Default for Config {
    fn default() -> Self {
        let (terms, limits) = (Terms::default(), LimitSettings::default());
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: AdminListen::Usual,
            drain_secs: 30,
            store: None,
            state: None,
            secrets_dir: None,
            audit_days: Some(400),
            refund_lost: false,
            auth_required: true,
            connections: terms.connections,
            head_secs: terms.head.as_secs(),
            idle_secs: terms.idle.as_secs(),
            tls_certificate: None,
            tls_key: None,
            trusted_proxies: Vec::new(),
            limits_enabled: true,
            limits_overflow: limits.overflow,
            limits_free: limits.plan.free,
            limits_light: limits.plan.light,
            limits_medium: limits.plan.medium,
            limits_heavy: limits.plan.heavy,
            limits_concurrency: limits.plan.concurrency,
            limits_wrong_keys: limits.wrong_keys,
            limits_redis: None,
            limits_replicas: limits.replicas,
            webhooks_allow_private_targets: false,
            webhooks_second_ms: 1000,
            stream_origins: Vec::new(),
            body_bytes: 1 << 20,
            backup_dir: None,
            metrics_open: false,
            otlp: None,
            log_format: LogFormat::Text,
            log_filter: "info".to_owned(),
        }
    }
}

/// Where the admin listener is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminListen {
    /// Where it is when nothing is said.
    Usual,
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

impl std::str::FromStr for AdminListen {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

/// What becomes of a request above a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is refused with 429.
    Reject,
    /// It waits for a while.
    Queue,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

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

/// One key: how it is set and how it is shown.
struct Key {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Config, &Value) -> Option<()>,
    show: fn(&Config) -> String,
}

/// Every key, one entry each.
const KEYS: &[Key] = &[
    Key {
        name: "server.listen",
        expected: "an address with a port, such as \"127.0.0.1:8080\"",
        set: |config, value| text(value)?.parse().ok().map(|listen| config.listen = listen),
        show: |config| config.listen.to_string(),
    },
    Key {
        name: "server.admin_listen",
        expected: "an address with a port, such as \"127.0.0.1:8081\", or \"none\"",
        set: |config, value| text(value)?.parse().ok().map(|listen| config.admin_listen = listen),
        show: |config| config.admin_address().map_or("none".to_owned(), |address| address.to_string()),
    },
    Key {
        name: "server.drain_secs",
        expected: "a number of seconds up to 3600",
        set: |config, value| number(value).filter(|secs| *secs <= 3600).map(|secs| config.drain_secs = secs),
        show: |config| config.drain_secs.to_string(),
    },
    Key {
        name: "server.connections",
        expected: "a number from 1 to 1000000",
        set: |config, value| between(value, 1, 1_000_000).map(|count| config.connections = count),
        show: |config| config.connections.to_string(),
    },
    Key {
        name: "server.head_secs",
        expected: "a number of seconds from 1 to 3600",
        set: |config, value| between(value, 1, 3600).map(|secs| config.head_secs = secs),
        show: |config| config.head_secs.to_string(),
    },
    Key {
        name: "server.idle_secs",
        expected: "a number of seconds from 1 to 3600",
        set: |config, value| between(value, 1, 3600).map(|secs| config.idle_secs = secs),
        show: |config| config.idle_secs.to_string(),
    },
    Key {
        name: "server.tls_cert",
        expected: "the path of a PEM file",
        set: |config, value| path(value).map(|path| config.tls_certificate = Some(path)),
        show: |config| config.tls_certificate.as_ref().map_or_else(nothing, |path| path.display().to_string()),
    },
    Key {
        name: "server.tls_key",
        expected: "the path of a PEM file",
        set: |config, value| path(value).map(|path| config.tls_key = Some(path)),
        show: |config| config.tls_key.as_ref().map_or_else(nothing, |path| path.display().to_string()),
    },
    Key {
        name: "server.trusted_proxies",
        expected: "IP addresses with commas between them, such as \"10.0.0.1, 10.0.0.2\"",
        set: |config, value| {
            let listed = text(value)?.split(',').map(str::trim).filter(|one| !one.is_empty());
            config.trusted_proxies = listed.map(|one| one.parse().ok()).collect::<Option<_>>()?;
            Some(())
        },
        show: |config| {
            let listed: Vec<String> = config.trusted_proxies.iter().map(ToString::to_string).collect();
            if listed.is_empty() { nothing() } else { listed.join(", ") }
        },
    },
    Key {
        name: "store.path",
        expected: "the path of a folder",
        set: |config, value| path(value).map(|path| config.store = Some(path)),
        show: |config| shown_path(config.store.as_deref()),
    },
    Key {
        name: "state.path",
        expected: "the path of a folder, or an address such as postgres://user:password@host/database",
        set: |config, value| {
            let state = text(value).filter(|text| !text.is_empty())?;
            Place::parse(state).ok()?;
            config.state = Some(state.to_owned());
            Some(())
        },
        show: |config| match config.state.as_deref().map(Place::parse) {
            Some(Ok(Place::Postgres(address))) => address.to_string(),
            Some(Ok(Place::Folder(path))) => path.display().to_string(),
            Some(Err(_)) | None => shown_path(None),
        },
    },
    Key {
        name: "auth.secrets_dir",
        expected: "the path of a folder",
        set: |config, value| path(value).map(|path| config.secrets_dir = Some(path)),
        show: |config| {
            config.secrets_dir.as_ref().map_or("(in the state)".to_owned(), |path| path.display().to_string())
        },
    },
    Key {
        name: "audit.retention_days",
        expected: "a number of days up to 36500; 0 keeps rows for ever",
        set: |config, value| {
            let days = u32::try_from(number(value)?).ok().filter(|days| *days <= 36_500)?;
            config.audit_days = (days > 0).then_some(days);
            Some(())
        },
        show: |config| config.audit_days.unwrap_or(0).to_string(),
    },
    Key {
        name: "credits.refund_lost",
        expected: "true or false",
        set: |config, value| truth(value).map(|refund| config.refund_lost = refund),
        show: |config| config.refund_lost.to_string(),
    },
    Key {
        name: "auth.required",
        expected: "true or false",
        set: |config, value| truth(value).map(|required| config.auth_required = required),
        show: |config| config.auth_required.to_string(),
    },
    Key {
        name: "limits.enabled",
        expected: "true or false",
        set: |config, value| truth(value).map(|enabled| config.limits_enabled = enabled),
        show: |config| config.limits_enabled.to_string(),
    },
    Key {
        name: "limits.overflow",
        expected: "\"reject\" or \"queue\"",
        set: |config, value| {
            config.limits_overflow = match text(value)? {
                "reject" => Overflow::Reject,
                "queue" => Overflow::Queue,
                _ => return None,
            };
            Some(())
        },
        show: |config| match config.limits_overflow {
            Overflow::Reject => "reject".to_owned(),
            Overflow::Queue => "queue".to_owned(),
        },
    },
    Key {
        name: "limits.free",
        expected: RATE,
        set: |config, value| rate(value).map(|rate| config.limits_free = rate),
        show: |config| config.limits_free.to_string(),
    },
    Key {
        name: "limits.light",
        expected: RATE,
        set: |config, value| rate(value).map(|rate| config.limits_light = rate),
        show: |config| config.limits_light.to_string(),
    },
    Key {
        name: "limits.medium",
        expected: RATE,
        set: |config, value| rate(value).map(|rate| config.limits_medium = rate),
        show: |config| config.limits_medium.to_string(),
    },
    Key {
        name: "limits.heavy",
        expected: RATE,
        set: |config, value| rate(value).map(|rate| config.limits_heavy = rate),
        show: |config| config.limits_heavy.to_string(),
    },
    Key {
        name: "limits.concurrency",
        expected: "a number of calls from 1 to 100000",
        set: |config, value| between(value, 1, 100_000).map(|count| config.limits_concurrency = count),
        show: |config| config.limits_concurrency.to_string(),
    },
    Key {
        name: "limits.wrong_keys",
        expected: RATE,
        set: |config, value| rate(value).map(|rate| config.limits_wrong_keys = rate),
        show: |config| config.limits_wrong_keys.to_string(),
    },
    Key {
        name: "limits.redis",
        expected: "the address of a Redis, such as \"redis://127.0.0.1:6379/0\"",
        set: |config, value| text(value)?.parse().ok().map(|address| config.limits_redis = Some(address)),
        show: |config| config.limits_redis.as_ref().map_or_else(nothing, ToString::to_string),
    },
    Key {
        name: "limits.replicas",
        expected: "a number of gateways from 1 to 1000",
        set: |config, value| between(value, 1, 1000).map(|count| config.limits_replicas = count),
        show: |config| config.limits_replicas.to_string(),
    },
    Key {
        name: "webhooks.allow_private_targets",
        expected: "true or false",
        set: |config, value| truth(value).map(|allowed| config.webhooks_allow_private_targets = allowed),
        show: |config| config.webhooks_allow_private_targets.to_string(),
    },
    Key {
        name: "webhooks.second_ms",
        expected: "a number of milliseconds from 1 to 1000",
        set: |config, value| {
            let milliseconds = u32::try_from(number(value)?).ok().filter(|one| (1..=1000).contains(one))?;
            config.webhooks_second_ms = milliseconds;
            Some(())
        },
        show: |config| config.webhooks_second_ms.to_string(),
    },
    Key {
        name: "stream.origins",
        expected: "origins with commas between, such as \"https://app.example.com\"",
        set: |config, value| {
            let origins = list(value)?;
            let whole = |origin: &String| {
                let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
                host.is_some_and(|host| !host.is_empty() && !host.contains('/'))
            };
            origins.iter().all(whole).then(|| config.stream_origins = origins)
        },
        show: |config| config.stream_origins.join(","),
    },
    Key {
        name: "limits.body_bytes",
        expected: "a number of bytes from 1024 to 16777216",
        set: |config, value| {
            let bytes = usize::try_from(number(value)?).ok().filter(|bytes| (1 << 10..=1 << 24).contains(bytes))?;
            config.body_bytes = bytes;
            Some(())
        },
        show: |config| config.body_bytes.to_string(),
    },
    Key {
        name: "state.backup_dir",
        expected: "the path of a folder",
        set: |config, value| path(value).map(|path| config.backup_dir = Some(path)),
        show: |config| config.backup_dir.as_ref().map_or("(none)".to_owned(), |path| path.display().to_string()),
    },
    Key {
        name: "metrics.open",
        expected: "true or false",
        set: |config, value| truth(value).map(|open| config.metrics_open = open),
        show: |config| config.metrics_open.to_string(),
    },
    Key {
        name: "telemetry.otlp",
        expected: "the address of a collector, such as \"http://127.0.0.1:4318\", without a password",
        set: |config, value| {
            let address = text(value)?;
            let uri: hyper::Uri = address.parse().ok()?;
            // It is shown at the start, so it must hold no secret.
            let plain = uri.scheme_str() == Some("http") && !uri.authority()?.as_str().contains('@');
            plain.then(|| config.otlp = Some(address.to_owned()))
        },
        show: |config| config.otlp.clone().unwrap_or_else(|| "(none)".to_owned()),
    },
    Key {
        name: "log.format",
        expected: "\"text\" or \"json\"",
        set: |config, value| {
            config.log_format = match text(value)? {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return None,
            };
            Some(())
        },
        show: |config| match config.log_format {
            LogFormat::Text => "text".to_owned(),
            LogFormat::Json => "json".to_owned(),
        },
    },
    Key {
        name: "log.filter",
        expected: "a level or a list of targets with levels, such as \"info\" or \"headwater_server=debug\"",
        set: |config, value| {
            let filter = text(value)?;
            filter.parse::<tracing_subscriber::EnvFilter>().ok()?;
            filter.clone_into(&mut config.log_filter);
            Some(())
        },
        show: |config| config.log_filter.clone(),
    },
];

impl Config {
    /// Where the admin listener is; `None` where it is off.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        const PORT: u16 = 8081;
        match self.admin_listen {
            AdminListen::Off => None,
            AdminListen::At(address) => Some(address),
            AdminListen::Usual => {
                Some(SocketAddr::from(([127, 0, 0, 1], if self.listen.port() == 0 { 0 } else { PORT })))
            }
        }
    }

    /// What the limits of the gateway go by.
    #[must_use]
    pub fn limits(&self) -> LimitSettings {
        LimitSettings {
            enabled: self.limits_enabled,
            overflow: self.limits_overflow,
            plan: Arc::new(Plan {
                free: self.limits_free,
                light: self.limits_light,
                medium: self.limits_medium,
                heavy: self.limits_heavy,
                concurrency: self.limits_concurrency,
                ..Plan::default()
            }),
            wrong_keys: self.limits_wrong_keys,
            redis: self.limits_redis.clone(),
            replicas: self.limits_replicas,
        }
    }

    /// Sets the keys of a TOML file.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, or holds a key or value that does not exist.
    pub fn read_file(&mut self, file: &Path) -> Result<(), ConfigError> {
        let content =
            std::fs::read_to_string(file).map_err(|source| ConfigError::Io { path: file.to_owned(), source })?;
        let table: toml::Table = content
            .parse()
            .map_err(|source| ConfigError::Syntax { path: file.to_owned(), source: Box::new(source) })?;
        let origin = Origin::File(file.to_owned());
        for (section, value) in &table {
            match value {
                Value::Table(names) => {
                    for (name, value) in names {
                        self.set(&format!("{section}.{name}"), value, &origin)?;
                    }
                }
                other => self.set(section, other, &origin)?,
            }
        }
        Ok(())
    }

    /// Sets the keys that environment variables name. Variables of other sections are other people's.
    ///
    /// # Errors
    /// When a variable of one of our sections holds a key or value that does not exist.
    pub fn read_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            let Some((section, name)) = variable.strip_prefix("HEADWATER_").and_then(|rest| rest.split_once('_'))
            else {
                continue;
            };
            let key = format!("{}.{}", section.to_lowercase(), name.to_lowercase());
            let ours = KEYS
                .iter()
                .any(|known| known.name.split_once('.').is_some_and(|(one, _)| key.starts_with(&format!("{one}."))));
            if ours {
                self.set(&key, &Value::String(value), &Origin::Environment(variable))?;
            }
        }
        Ok(())
    }

    /// Sets one key from `section.name=value`.
    ///
    /// # Errors
    /// When it is no assignment, or the key or value does not exist.
    pub fn assign(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let (key, value) = assignment.split_once('=').ok_or_else(|| ConfigError::NotAssigned(assignment.to_owned()))?;
        self.set(key.trim(), &Value::String(value.trim().to_owned()), &Origin::Flag)
    }

    fn set(&mut self, key: &str, value: &Value, origin: &Origin) -> Result<(), ConfigError> {
        let known = KEYS.iter().find(|known| known.name == key).ok_or_else(|| ConfigError::UnknownKey {
            origin: origin.clone(),
            key: key.to_owned(),
            known: KEYS.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
        })?;
        (known.set)(self, value).ok_or_else(|| ConfigError::BadValue {
            origin: origin.clone(),
            key: known.name,
            value: repeatable(value),
            expected: known.expected,
        })
    }
}

/// All keys with their values, one per line. There is no secret among them.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, key) in KEYS.iter().enumerate() {
            write!(f, "{}{} = {}", if place == 0 { "" } else { "\n" }, key.name, (key.show)(self))?;
        }
        Ok(())
    }
}

/// A value as a message may repeat it: an address may hold a password.
fn repeatable(value: &Value) -> String {
    let text = value.to_string();
    if text.contains("://") && text.contains('@') { "an address with a password".to_owned() } else { text }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// A list, or its text with commas between.
fn list(value: &Value) -> Option<Vec<String>> {
    let item = |text: &str| text.trim().to_owned();
    match value {
        Value::Array(items) => items.iter().map(|one| text(one).map(item)).collect(),
        other => Some(text(other)?.split(',').map(item).filter(|one| !one.is_empty()).collect()),
    }
}

/// A number, or the text of one: the environment knows text only.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A number of any kind within bounds, both included.
fn between<T: TryFrom<u64>>(value: &Value, least: u64, most: u64) -> Option<T> {
    T::try_from(number(value).filter(|number| (least..=most).contains(number))?).ok()
}

const RATE: &str = "calls per second (1 to 100000), a slash and the burst (1 to 1000000), such as \"50/100\"";

fn rate(value: &Value) -> Option<Rate> {
    text(value)?.parse().ok()
}

fn nothing() -> String {
    "(none)".to_owned()
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(truth) => Some(*truth),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn path(value: &Value) -> Option<PathBuf> {
    text(value).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn shown_path(path: Option<&Path>) -> String {
    path.map_or_else(|| "(beside the store)".to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_file(content: &str) -> Result<Config, ConfigError> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("headwater.toml");
        std::fs::write(&file, content).unwrap();
        let mut config = Config::default();
        config.read_file(&file).map(|()| config)
    }

    #[test]
    fn later_sources_stand_before_earlier_ones() {
        let mut config =
            from_file("[server]\nlisten = \"127.0.0.1:1\"\ndrain_secs = 5\n[auth]\nrequired = false\n").unwrap();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        config
            .read_environment([
                set("HEADWATER_SERVER_LISTEN", "127.0.0.1:2"),
                set("HEADWATER_STORE", "x"),
                set("PATH", "y"),
            ])
            .unwrap();
        assert_eq!(config.listen.port(), 2);
        config.assign("server.listen=127.0.0.1:3").unwrap();
        assert_eq!((config.listen.port(), config.drain_secs, config.auth_required), (3, 5, false));
        assert_eq!(config.store, None);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name_with_its_place() {
        for (content, named) in
            [("[auth]\nrequire = false", "auth.require"), ("listen = 1", "\"listen\""), ("[x]\ny = 1", "x.y")]
        {
            let text = from_file(content).unwrap_err().to_string();
            assert!(text.contains(named) && text.contains("headwater.toml"), "{text}");
        }
        let variable = ("HEADWATER_AUTH_REQUIRE".to_owned(), "false".to_owned());
        let text = Config::default().read_environment([variable]).unwrap_err().to_string();
        assert!(text.contains("HEADWATER_AUTH_REQUIRE"), "{text}");
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_with_what_would() {
        for (assignment, named) in [
            ("auth.required=no", "true or false"),
            ("server.listen=8080", "127.0.0.1:8080"),
            ("limits.body_bytes=-1", "1024"),
            ("log.format=xml", "json"),
            ("stream.origins=app.example.com", "https://app.example.com"),
            ("webhooks.second_ms=0", "from 1 to 1000"),
            ("store.path=", "folder"),
            ("limits.light=50", "50/100"),
            ("limits.redis=localhost", "redis://"),
            ("server.trusted_proxies=10.0.0.1, proxy", "10.0.0.1"),
        ] {
            let text = Config::default().assign(assignment).unwrap_err().to_string();
            assert!(text.contains(named), "{text}");
        }
        for key in ["state.path", "telemetry.otlp"] {
            let assignment = format!("{key}=postgres://me:canary@[::");
            let text = Config::default().assign(&assignment).unwrap_err().to_string();
            assert!(!text.contains("canary") && text.contains(key), "{text}");
        }
        assert!(matches!(from_file("[auth]\nrequired = \"maybe\""), Err(ConfigError::BadValue { .. })));
        assert!(matches!(from_file("[auth"), Err(ConfigError::Syntax { .. })));
    }

    #[test]
    fn every_key_is_shown() {
        let shown = Config::default().to_string();
        for key in KEYS {
            assert!(shown.contains(&format!("{} = ", key.name)), "{}", key.name);
        }
    }
}

//! The configuration of `serve`: compiled-in defaults, then a TOML file, then the environment, then flags.
//!
//! A key is `section.name` in the file, `HEADWATER_SECTION_NAME` in the environment, and `--set section.name=value` on
//! the command line. It is refused whole at the start when one key is unknown or one value does not fit.

mod error;
mod keys;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_ledger::labels::Level;
use headwater_state::{Plan, Rate};
use toml::Value;

use crate::gateway::{Deadlines, LimitSettings, ListenerConfig, Overflow, RedisAddress};
use crate::provider::{ProviderKey, ProviderUrl};

pub use error::{ConfigError, Origin};
use keys::{KEYS, SECRETS};

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
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
    /// `audit.parameters`: whether the audit keeps the parameters of calls of data, which say who asked about whom, or
    /// only a digest of them.
    pub audit_parameters: bool,
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
    /// `limits.queue_ms`: how long a request may wait, where they do.
    pub limits_queue_ms: u64,
    /// `limits.queue_length`: requests of one key and endpoint that may wait at a time.
    pub limits_queue_length: usize,
    /// `limits.free`: calls per second and burst of each free endpoint, for keys without a plan of their own.
    pub limits_free: Rate,
    /// `limits.light`: the same of light endpoints.
    pub limits_light: Rate,
    /// `limits.medium`: the same of medium endpoints.
    pub limits_medium: Rate,
    /// `limits.heavy`: the same of heavy endpoints.
    pub limits_heavy: Rate,
    /// `limits.free_secs`, `light_secs`, `medium_secs`, `heavy_secs`: how long a call of the class may take, and
    /// `limits.endpoint_secs`: how long calls of single endpoints may.
    pub deadlines: Deadlines,
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
    /// `webhooks.authorities`: a PEM file of authorities that receivers' certificates may come from, besides the public
    /// ones.
    pub webhooks_authorities: Option<PathBuf>,
    /// `webhooks.second_ms`: milliseconds that a second of the schedule of retries takes; fewer than 1,000 for tests.
    pub webhooks_second_ms: u32,
    /// `stream.origins`: web pages of these origins may open a stream, besides the gateway's own.
    pub stream_origins: Vec<String>,
    /// `intel.risk_parameters`: a file of parameters of the risk score in place of the built-in ones.
    pub risk_parameters: Option<PathBuf>,
    /// `intel.classifiers`: model files, each of which classifies the addresses of its chain in place of the built-in one.
    pub classifiers: Vec<PathBuf>,
    /// `intel.provider_url`: where a provider of further claims about addresses is asked; nobody is when not set.
    pub provider_url: Option<ProviderUrl>,
    /// `intel.provider_name`: the name that its claims are shown under; its host when not set.
    pub provider_name: Option<String>,
    /// `intel.provider_key`: the secret that it knows this server by. Never shown.
    pub provider_key: Option<ProviderKey>,
    /// `intel.provider_level`: how far its claims are believed at most.
    pub provider_level: Level,
    /// `intel.provider_timeout_ms`: how long one answer of it may take.
    pub provider_timeout_ms: u64,
    /// `intel.provider_cache_secs`: how long an answer of it is used again; 0 asks it each time.
    pub provider_cache_secs: u64,
    /// `limits.memory_mib`: memory that all queries under way may take together.
    pub memory_mib: u64,
    /// `limits.query_memory_mib`: memory that one of them may take.
    pub query_memory_mib: u64,
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
        let (terms, limits) = (ListenerConfig::default(), LimitSettings::default());
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: AdminListen::Usual,
            drain_secs: 30,
            store: None,
            state: None,
            secrets_dir: None,
            audit_days: Some(400),
            audit_parameters: false,
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
            limits_queue_ms: u64::try_from(limits.longest_wait.as_millis()).unwrap_or(u64::MAX),
            limits_queue_length: limits.longest_line,
            limits_free: limits.plan.free,
            limits_light: limits.plan.light,
            limits_medium: limits.plan.medium,
            limits_heavy: limits.plan.heavy,
            deadlines: Deadlines::default(),
            limits_concurrency: limits.plan.concurrency,
            limits_wrong_keys: limits.wrong_keys,
            limits_redis: None,
            limits_replicas: limits.replicas,
            webhooks_allow_private_targets: false,
            webhooks_authorities: None,
            webhooks_second_ms: 1000,
            stream_origins: Vec::new(),
            risk_parameters: None,
            classifiers: Vec::new(),
            provider_url: None,
            provider_name: None,
            provider_key: None,
            provider_level: Level::TrustedProvider,
            provider_timeout_ms: 2000,
            provider_cache_secs: 3600,
            memory_mib: 512,
            query_memory_mib: 128,
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

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

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
            longest_wait: Duration::from_millis(self.limits_queue_ms),
            longest_line: self.limits_queue_length,
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

    /// Sets the keys that environment variables name. What names no section of ours is somebody else's.
    ///
    /// # Errors
    /// When a variable names a key that does not exist, or holds a value that does not fit.
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
            // Of a section of ours, or of one that is written much like it with a key of ours: a slip of the pen.
            let mut names = KEYS.iter().filter_map(|known| known.name.split_once('.'));
            let ours = names.any(|(one, other)| {
                section.eq_ignore_ascii_case(one)
                    || name.eq_ignore_ascii_case(other) && strsim::osa_distance(&section.to_lowercase(), one) <= 2
            });
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
            value: if SECRETS.contains(&known.name) { "something else".to_owned() } else { repeatable(value) },
            expected: known.expected,
        })
    }
}

/// All keys with their values, one per line, without secrets.
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
        for name in ["HEADWATER_AUTH_REQUIRE", "HEADWATER_LIMTS_ENABLED"] {
            let text =
                Config::default().read_environment([(name.to_owned(), "false".to_owned())]).unwrap_err().to_string();
            assert!(text.contains(name), "{text}");
        }
        for name in ["HEADWATER_CORPUS", "HEADWATER_BENCH_PYTHON", "HEADWATER_DATA_PATH", "LIMTS_ENABLED"] {
            Config::default().read_environment([(name.to_owned(), "false".to_owned())]).unwrap();
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_with_what_would() {
        for (assignment, named) in [
            ("auth.required=no", "true or false"),
            ("server.listen=8080", "127.0.0.1:8080"),
            ("limits.body_bytes=-1", "1024"),
            ("limits.memory_mib=0", "from 1 to"),
            ("log.format=xml", "json"),
            ("stream.origins=app.example.com", "https://app.example.com"),
            ("webhooks.second_ms=0", "from 1 to 1000"),
            ("store.path=", "folder"),
            ("limits.light=50", "50/100"),
            ("limits.heavy_secs=0", "from 1 to 3600"),
            ("limits.endpoint_secs=/v1/holders=5", "/v1/token/holders=120"),
            ("limits.queue_ms=two", "from 1 to 60000"),
            ("limits.redis=localhost", "redis://"),
            ("server.trusted_proxies=10.0.0.1, proxy", "10.0.0.1"),
            ("server.trusted_proxies=10.0.0.1, ", "server.trusted_proxies"),
            ("stream.origins= , ", "stream.origins"),
            ("stream.origins=https://app.example.com,", "stream.origins"),
            ("stream.origins=https://app example.com", "stream.origins"),
            ("stream.origins=https://", "stream.origins"),
            ("log.filter=inf0=,", "log.filter"),
            ("log.filter=inf0=", "log.filter"),
            ("log.filter=info,", "log.filter"),
            ("log.filter==debug", "log.filter"),
            ("log.filter=inf0", "log.filter"),
            ("log.filter=", "log.filter"),
        ] {
            let text = Config::default().assign(assignment).unwrap_err().to_string();
            assert!(text.contains(named), "{text}");
        }
        for key in ["state.path", "telemetry.otlp"] {
            let assignment = format!("{key}=postgres://me:canary@[::");
            let text = Config::default().assign(&assignment).unwrap_err().to_string();
            assert!(!text.contains("canary") && text.contains(key), "{text}");
        }
        for assignment in
            ["intel.provider_key=can ary", "intel.provider_url=canary", "intel.provider_url=https://a@b/?canary"]
        {
            let text = Config::default().assign(assignment).unwrap_err().to_string();
            assert!(!text.contains("ary") && text.contains("to something else: expected"), "{text}");
        }
        assert!(matches!(from_file("[stream]\norigins = [\"  \"]"), Err(ConfigError::BadValue { .. })));
        assert!(matches!(from_file("[auth]\nrequired = \"maybe\""), Err(ConfigError::BadValue { .. })));
        assert!(matches!(from_file("[auth"), Err(ConfigError::Syntax { .. })));
    }

    #[test]
    fn a_filter_and_origins_that_are_meant_are_taken() {
        let origins = ["", "https://app.example.com, http://localhost:3000", "https://[::1]:8443"]
            .map(|one| ("stream.origins", one));
        let filters = ["info", "WARN", "warn,headwater_server=debug", "headwater_server[a{b=c}]=trace,off", "[call]"];
        for (key, value) in filters.map(|one| ("log.filter", one)).into_iter().chain(origins) {
            Config::default().assign(&format!("{key}={value}")).unwrap();
        }
    }

    #[test]
    fn provider_of_claims_is_set_and_shown_without_its_secrets() {
        let mut config = from_file(
            "[intel]\nprovider_url = \"https://claims.example.com/canary?a=canary\"\nprovider_level = \"authority_data\"\n\
             provider_timeout_ms = 500\nprovider_cache_secs = 0\nprovider_name = \"Acme Claims\"\n",
        )
        .unwrap();
        config.read_environment([("HEADWATER_INTEL_PROVIDER_KEY".to_owned(), "canary".to_owned())]).unwrap();
        assert!(config.provider_key.is_some());
        let shown = format!("{config}\n{config:?}");
        assert!(!shown.contains("canary"), "{shown}");
        for line in [
            "intel.provider_url = https://claims.example.com/...",
            "intel.provider_key = (set)",
            "intel.provider_level = authority_data",
            "intel.provider_timeout_ms = 500",
        ] {
            assert!(shown.contains(line), "{line} is not in {shown}");
        }
        for (assignment, named) in [
            ("intel.provider_level=trusted", "trusted_provider"),
            ("intel.provider_timeout_ms=0", "from 1 to 60000"),
            ("intel.provider_name=", "1 to 64"),
            ("intel.classifiers=a.json,,b.json", "paths of model files"),
        ] {
            let text = Config::default().assign(assignment).unwrap_err().to_string();
            assert!(text.contains(named), "{text}");
        }
    }

    #[test]
    fn classifiers_are_a_list_or_a_text_with_commas() {
        let listed = from_file("[intel]\nclassifiers = [\"a.json\", \"b c.json.gz\"]").unwrap();
        let mut assigned = Config::default();
        assigned.assign("intel.classifiers=a.json, b c.json.gz").unwrap();
        assert_eq!(listed.classifiers, ["a.json", "b c.json.gz"].map(PathBuf::from));
        assert_eq!(assigned, listed);
        assert!(assigned.to_string().contains("intel.classifiers = a.json, b c.json.gz"));
        assert!(Config::default().to_string().contains("intel.classifiers = (built in)"));
        assigned.assign("intel.classifiers=").unwrap();
        assert_eq!(assigned, Config::default());
    }

    #[test]
    fn every_key_is_shown() {
        let shown = Config::default().to_string();
        for key in KEYS {
            assert!(shown.contains(&format!("{} = ", key.name)), "{}", key.name);
        }
    }
}

//! The configuration of `serve`: compiled-in defaults, then a TOML file, then the environment, then flags.
//!
//! # Add a setting
//!
//! 1. Add a field with its default to the settings struct of the part of the server that uses it.
//! 2. Add its key to `KEYS` in `keys.rs`; `deploy/headwater.toml` is written from them.
//!
//! A key is `section.name` in the file, `HEADWATER_SECTION_NAME` in the environment, and `--set section.name=value` on
//! the command line. It is refused whole at the start when one key is unknown or one value does not fit.

mod error;
mod keys;
mod value;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_ledger::labels::Level;
use headwater_state::{LogSettings, Options};
use headwater_types::Chain;
use toml::Value;

use crate::admin;
use crate::events::EventSettings;
use crate::gateway::{LimitSettings, ListenerConfig, Settings};
use crate::live::NodeList;
use crate::provider::{ProviderKey, ProviderUrl};

pub use error::{ConfigError, Origin};
use keys::{KEYS, SECTIONS, SET_IN_SAMPLE};

/// Every setting. A part of the server has its settings in a struct of its own, with their defaults; the keys are in
/// `keys.rs`.
#[derive(Clone)]
pub struct Config {
    /// Address and port of the public listener; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Address and port of the admin listener.
    pub admin_listen: AdminListen,
    /// The time that open requests have to end after a signal.
    pub drain: Duration,
    /// The folder of the chain data.
    pub store: Option<PathBuf>,
    /// True if a missing store is created at the start.
    pub create_store: bool,
    /// The folder of keys, credits and audit, or a `postgres://` address that replicas share; by default `DIR.state` beside
    /// the store.
    pub state: Option<String>,
    /// The folder of `key.pepper` and `master.key`; by default that of the state. A shared state needs it, with equal files on
    /// all replicas.
    pub secrets_dir: Option<PathBuf>,
    /// The settings of the state.
    pub options: Options,
    /// The settings of the gateway.
    pub gateway: Settings,
    /// The settings of the listener, without its certificate.
    pub listener: ListenerConfig,
    /// The certificate chain in PEM. With it and the key the server speaks TLS alone.
    pub tls_certificate: Option<PathBuf>,
    /// The private key in PEM.
    pub tls_key: Option<PathBuf>,
    /// The settings of webhooks and streams, without further authorities.
    pub events: EventSettings,
    /// A PEM file of certificate authorities of receivers besides the public ones.
    pub webhooks_authorities: Option<PathBuf>,
    /// The settings of the admin listener.
    pub admin: admin::Settings,
    /// A file of parameters of the risk score.
    pub risk_parameters: Option<PathBuf>,
    /// Model files of classifiers.
    pub classifiers: Vec<PathBuf>,
    /// The address of a provider of claims.
    pub provider_url: Option<ProviderUrl>,
    /// The source name of its claims; by default its host.
    pub provider_name: Option<String>,
    /// The secret for it. Never shown.
    pub provider_key: Option<ProviderKey>,
    /// The maximum level of its claims.
    pub provider_level: Level,
    /// The time limit of one of its answers.
    pub provider_timeout: Duration,
    /// The time that its answers are cached.
    pub provider_cache: Duration,
    /// The nodes of the chains that the server follows.
    pub follow: BTreeMap<Chain, NodeList>,
    /// The collector of traces.
    pub otlp: Option<String>,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The filter of log lines.
    pub log_filter: String,
}

impl Default for Config {
    fn default() -> Self {
        let limits = LimitSettings { enabled: true, ..LimitSettings::default() };
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: AdminListen::Usual,
            drain: Duration::from_secs(30),
            store: None,
            create_store: false,
            state: None,
            secrets_dir: None,
            options: Options { audit_days: Some(400), ..Options::default() },
            gateway: Settings { limits, ..Settings::default() },
            listener: ListenerConfig::default(),
            tls_certificate: None,
            tls_key: None,
            events: EventSettings::default(),
            webhooks_authorities: None,
            admin: admin::Settings::default(),
            risk_parameters: None,
            classifiers: Vec::new(),
            provider_url: None,
            provider_name: None,
            provider_key: None,
            provider_level: Level::TrustedProvider,
            provider_timeout: Duration::from_secs(2),
            provider_cache: Duration::from_hours(1),
            follow: BTreeMap::new(),
            otlp: None,
            log_format: LogFormat::Text,
            log_filter: "info".to_owned(),
        }
    }
}

/// The address of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminListen {
    /// 127.0.0.1:8081, or a free port if the public listener takes a free one.
    Usual,
    /// No admin listener.
    Off,
    /// This address.
    At(SocketAddr),
}

impl std::str::FromStr for AdminListen {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Config {
    /// Returns the address of the admin listener; `None` if it is off.
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

    /// Returns the settings of the audit log: beside the store where a shared state has no folder for it.
    #[must_use]
    pub fn log_settings(&self) -> LogSettings {
        let is_shared = self.state.as_deref().is_some_and(|state| state.contains("://"));
        let beside = self.store.as_deref().filter(|_| is_shared).map(|store| {
            let mut name = store.file_name().unwrap_or("store".as_ref()).to_os_string();
            name.push(".audit");
            store.with_file_name(name)
        });
        LogSettings { folder: self.options.log.folder.clone().or(beside), ..self.options.log.clone() }
    }

    /// Sets the keys of a TOML file.
    ///
    /// # Errors
    /// When the file cannot be read, is not TOML, or contains an unknown key or an invalid value.
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

    /// Sets the keys of environment variables. Variables of other sections belong to others.
    ///
    /// # Errors
    /// When a variable has an unknown key or an invalid value.
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
            // A section of ours, or a similar one with a key of ours: a typing error.
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
    /// When it is not an assignment, or has an unknown key or an invalid value.
    pub fn assign(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let (key, value) = assignment.split_once('=').ok_or_else(|| ConfigError::NotAssigned(assignment.to_owned()))?;
        self.set(key.trim(), &Value::String(value.trim().to_owned()), &Origin::Flag)
    }

    /// Returns all keys with their values, without secrets.
    #[must_use]
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        // Keys have one accessor, which borrows mutably.
        let mut config = self.clone();
        KEYS.iter().map(|key| (key.name, key.value.show(&mut config))).collect()
    }

    fn set(&mut self, key: &str, value: &Value, origin: &Origin) -> Result<(), ConfigError> {
        let known = KEYS.iter().find(|known| known.name == key).ok_or_else(|| ConfigError::UnknownKey {
            origin: origin.clone(),
            key: key.to_owned(),
            known: KEYS.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
        })?;
        known.value.set(self, value).ok_or_else(|| ConfigError::BadValue {
            origin: origin.clone(),
            key: known.name,
            value: if known.is_secret() { "something else".to_owned() } else { repeatable(value) },
            expected: known.value.expected(),
        })
    }
}

/// All keys with their values, one per line, without secrets.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.shown().into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the sample file `deploy/headwater.toml`: every key with its effect, most of them commented out.
#[must_use]
pub fn sample() -> String {
    let mut sample = "# Settings of `headwater serve --config`, with their defaults. Each key can also be set in the environment\n\
                      # (HEADWATER_SERVER_LISTEN) and by --set server.listen=...; the command line overrides the environment, the\n\
                      # environment this file. Unknown keys and invalid values are refused at the start, by name.\n\
                      # Written by `HEADWATER_WRITE=1 cargo test -p headwater-tests settings_sample`.\n"
        .to_owned();
    for section in SECTIONS {
        writeln!(sample, "\n[{section}]").expect("text takes any text");
        for key in KEYS {
            let Some(name) = key.name.strip_prefix(section).and_then(|name| name.strip_prefix('.')) else { continue };
            let mark = if SET_IN_SAMPLE.contains(&key.name) { "" } else { "# " };
            writeln!(sample, "# {}\n{mark}{name} = {}", key.about, key.sample).expect("text takes any text");
        }
    }
    sample
}

/// Shows a value in a message; an address may contain a password.
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
    fn later_sources_override_earlier_ones() {
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
        assert_eq!((config.listen.port(), config.drain.as_secs(), config.gateway.auth_required), (3, 5, false));
        assert_eq!(config.store, None);
    }

    #[test]
    fn unknown_keys_are_refused_by_name_and_origin() {
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
    fn invalid_values_are_refused_with_the_expected_form() {
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
            ("server.trusted_proxies=10.0.0.1/8", "10.0.0.0/8"),
            ("server.trusted_proxies=10.0.0.0/33", "10.0.0.0/8"),
            ("server.trusted_proxies=fd00::/129", "fd00::/8"),
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
    fn valid_filters_and_origins_are_accepted() {
        let origins = ["", "https://app.example.com, http://localhost:3000", "https://[::1]:8443"]
            .map(|one| ("stream.origins", one));
        let filters = ["info", "WARN", "warn,headwater_server=debug", "headwater_server[a{b=c}]=trace,off", "[call]"];
        for (key, value) in filters.map(|one| ("log.filter", one)).into_iter().chain(origins) {
            Config::default().assign(&format!("{key}={value}")).unwrap();
        }
    }

    #[test]
    fn trusted_proxies_are_networks_and_addresses() {
        let mut config = Config::default();
        config.assign("server.trusted_proxies=10.0.0.0/8, fd00::/8, 192.0.2.1, ::ffff:192.0.2.2").unwrap();
        assert!(config.to_string().contains("\nserver.trusted_proxies = 10.0.0.0/8, fd00::/8, 192.0.2.1, 192.0.2.2\n"));
        let trusts = |address: &str| {
            let address = address.parse::<std::net::IpAddr>().unwrap();
            config.gateway.trusted_proxies.iter().any(|network| network.contains(&address))
        };
        assert!(["10.1.2.3", "fd12::1", "192.0.2.1", "192.0.2.2"].into_iter().all(trusts));
        assert!(!["11.0.0.0", "fe00::", "192.0.2.3"].into_iter().any(trusts));
        let listed = from_file("[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"192.0.2.1\"]").unwrap();
        assert_eq!(listed.gateway.trusted_proxies.len(), 2);
    }

    #[test]
    fn provider_settings_are_shown_without_secrets() {
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
    fn every_chain_has_a_key_for_its_nodes_that_shows_no_secret() {
        for chain in Chain::all() {
            let mut config = Config::default();
            assert!(config.to_string().contains(&format!("follow.{chain} = (none)")));
            config
                .assign(&format!("follow.{chain}=https://me:canary@node.example/canary, ws://127.0.0.1:8546"))
                .unwrap();
            let nodes: Vec<_> = config.follow.keys().copied().collect();
            assert_eq!(nodes, [chain]);
            let shown = format!("{config}\n{config:?}");
            assert!(shown.contains(&format!("follow.{chain} = https://node.example, ws://127.0.0.1:8546")), "{shown}");
            assert!(!shown.contains("canary"), "{shown}");
            let error = config.assign(&format!("follow.{chain}=canary")).unwrap_err().to_string();
            assert!(error.contains("addresses of nodes") && !error.contains("canary"), "{error}");
            config.assign(&format!("follow.{chain}=")).unwrap();
            assert!(config.follow.is_empty());
        }
        let listed = from_file("[follow]\nethereum = [\"http://127.0.0.1:8545\"]\nmax_lag_secs = 60\n").unwrap();
        assert_eq!(listed.follow[&Chain::ETHEREUM].addresses(), ["http://127.0.0.1:8545"]);
        assert_eq!(listed.gateway.max_lag_secs, 60);
    }

    #[test]
    fn classifiers_are_a_list_or_text_with_commas() {
        let listed = from_file("[intel]\nclassifiers = [\"a.json\", \"b c.json.gz\"]").unwrap();
        let mut assigned = Config::default();
        assigned.assign("intel.classifiers=a.json, b c.json.gz").unwrap();
        assert_eq!(listed.classifiers, ["a.json", "b c.json.gz"].map(PathBuf::from));
        assert_eq!(assigned.to_string(), listed.to_string());
        assert!(assigned.to_string().contains("intel.classifiers = a.json, b c.json.gz"));
        assert!(Config::default().to_string().contains("intel.classifiers = (built in)"));
        assigned.assign("intel.classifiers=").unwrap();
        assert_eq!(assigned.to_string(), Config::default().to_string());
    }

    #[test]
    fn every_key_is_shown_and_has_a_section() {
        let shown = Config::default().to_string();
        for key in KEYS {
            assert!(shown.contains(&format!("{} = ", key.name)), "{}", key.name);
            let section = key.name.split_once('.').unwrap().0;
            assert!(SECTIONS.contains(&section), "{section}");
        }
    }
}

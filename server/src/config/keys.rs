//! Every key of the configuration: its name, its value, its line in the sample file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headwater_ledger::labels::Level;
use headwater_state::{StateLocation, is_endpoint};
use headwater_types::Chain;
use toml::Value;

use super::LogFormat;
use super::value::KeyValue::{self, Count, Mebibytes, Milliseconds, Nodes, Other, Path, RateOf, Seconds, Texts, Truth};
use super::value::{
    HOSTS, ORIGINS, TRUTH, are_directives, between, is_host, is_origin, list, listed, network, shown, shown_network,
    text, truth,
};
use crate::events::webhook::egress::Policy;
use crate::gateway::Overflow;
use crate::provider::{ProviderKey, ProviderUrl};

/// A key of the configuration.
pub(super) struct Key {
    /// The section and the name, with a dot between them.
    pub name: &'static str,
    /// The value in the sample file, as TOML; the default if there is one.
    pub sample: &'static str,
    /// The effect.
    pub about: &'static str,
    /// The place of the value in the configuration.
    pub value: KeyValue,
}

/// Keys whose values are, or may contain, a secret: no message repeats them.
const SECRETS: [&str; 2] = ["intel.provider_key", "intel.provider_url"];

impl Key {
    /// Returns whether its value is, or may contain, a secret.
    pub(super) fn is_secret(&self) -> bool {
        SECRETS.contains(&self.name) || matches!(self.value, KeyValue::Nodes(_))
    }
}

/// The sections, in the order of the sample file.
pub(super) const SECTIONS: [&str; 15] = [
    "server",
    "http",
    "store",
    "state",
    "auth",
    "audit",
    "credits",
    "limits",
    "webhooks",
    "stream",
    "intel",
    "follow",
    "metrics",
    "telemetry",
    "log",
];

/// The keys that the sample file sets.
pub(super) const SET_IN_SAMPLE: [&str; 4] = ["server.listen", "store.path", "auth.required", "log.format"];

/// The text for an absent value.
const NONE: &str = "(none)";

/// Every key.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "server.listen",
        sample: "\"127.0.0.1:8080\"",
        about: "Address and port of the public listener; port 0 takes a free one.",
        value: Other {
            expected: "an address with a port, such as \"127.0.0.1:8080\"",
            set: |config, value| text(value)?.parse().ok().map(|listen| config.listen = listen),
            show: |config| config.listen.to_string(),
        },
    },
    Key {
        name: "server.admin_listen",
        sample: "\"127.0.0.1:8081\"",
        about: "Listener of keys, plans, credits, audit and /metrics; \"none\" switches it off.",
        value: Other {
            expected: "an address with a port, such as \"127.0.0.1:8081\", or \"none\"",
            set: |config, value| text(value)?.parse().ok().map(|listen| config.admin_listen = listen),
            show: |config| config.admin_address().map_or("none".to_owned(), |address| address.to_string()),
        },
    },
    Key {
        name: "server.drain_secs",
        sample: "30",
        about: "Time that open requests have to end after SIGTERM.",
        value: Seconds(0..=3600, |config| &mut config.drain),
    },
    Key {
        name: "server.connections",
        sample: "10240",
        about: "Maximum number of open connections; further ones are closed at once.",
        value: Count("", 1..=1_000_000, |config| &mut config.listener.connections),
    },
    Key {
        name: "server.head_secs",
        sample: "5",
        about: "Time limit for the head of a request.",
        value: Seconds(1..=3600, |config| &mut config.listener.head),
    },
    Key {
        name: "server.idle_secs",
        sample: "60",
        about: "Time limit of a connection without a request.",
        value: Seconds(1..=3600, |config| &mut config.listener.idle),
    },
    Key {
        name: "server.tls_cert",
        sample: "\"/etc/headwater/tls/chain.pem\"",
        about: "Certificate chain; with it and tls_key the server speaks TLS alone. Both are read again when they change.",
        value: Path("a PEM file", "(none)", |config| &mut config.tls_certificate),
    },
    Key {
        name: "server.tls_key",
        sample: "\"/etc/headwater/tls/key.pem\"",
        about: "Private key of the certificate.",
        value: Path("a PEM file", "(none)", |config| &mut config.tls_key),
    },
    Key {
        name: "server.trusted_proxies",
        sample: "\"10.0.0.0/8, fd00::/8, 192.0.2.1\"",
        about: "Proxies whose X-Forwarded-For is trusted: networks and addresses.",
        value: Other {
            expected: "networks and IP addresses with commas between them, such as \"10.0.0.0/8, fd00::/8, 192.0.2.1\"; \
                       a network ends with zeros behind its prefix: 10.0.0.0/8, not 10.0.0.1/8",
            set: |config, value| {
                config.gateway.trusted_proxies = list(value)?.iter().map(|one| network(one)).collect::<Option<_>>()?;
                Some(())
            },
            show: |config| listed(config.gateway.trusted_proxies.iter().map(shown_network), NONE),
        },
    },
    Key {
        name: "http.allowed_hosts",
        sample: "\"gateway.internal\"",
        about: "Host names that are answered besides those of loopback while auth.required is false.",
        value: Texts(HOSTS, is_host, |config| &mut config.gateway.allowed_hosts),
    },
    Key {
        name: "http.cors_origins",
        sample: "\"https://app.example.com\"",
        about: "Origins of web pages that may call the API from a browser. Default: none.",
        value: Texts(ORIGINS, is_origin, |config| &mut config.gateway.cors_origins),
    },
    Key {
        name: "store.path",
        sample: "\"/var/lib/headwater/chain.hw\"",
        about: "Folder of the chain data.",
        value: Path("a folder", "(beside the store)", |config| &mut config.store),
    },
    Key {
        name: "store.create",
        sample: "false",
        about: "Create an empty store at the start if the folder does not exist; otherwise the server does not start.",
        value: Truth(|config| &mut config.create_store),
    },
    Key {
        name: "state.path",
        sample: "\"postgres://headwater@db.internal/headwater\"",
        about: "Folder of keys, credits and audit, or a PostgreSQL address; one with a password belongs in HEADWATER_STATE.",
        value: Other {
            expected: "the path of a folder, or an address such as postgres://user:password@host/database",
            set: |config, value| {
                let state = text(value).filter(|text| !text.is_empty())?;
                StateLocation::parse(state).ok()?;
                config.state = Some(state.to_owned());
                Some(())
            },
            show: |config| match config.state.as_deref().map(StateLocation::parse) {
                Some(Ok(StateLocation::Postgres(address))) => address.to_string(),
                Some(Ok(StateLocation::Folder(path))) => path.display().to_string(),
                Some(Err(_)) | None => "(beside the store)".to_owned(),
            },
        },
    },
    Key {
        name: "auth.secrets_dir",
        sample: "\"/etc/headwater/secrets\"",
        about: "Folder of key.pepper and master.key, equal on all replicas. Default: the folder of the state.",
        value: Path("a folder", "(in the state)", |config| &mut config.secrets_dir),
    },
    Key {
        name: "audit.retention_days",
        sample: "400",
        about: "Days that the audit stores requests and sums; 0 stores them for ever. The credit ledger is never deleted.",
        value: Other {
            expected: "a number of days up to 36500; 0 keeps rows for ever",
            set: |config, value| {
                let days: u32 = between(value, &(0..=36_500))?;
                config.options.audit_days = (days > 0).then_some(days);
                Some(())
            },
            show: |config| config.options.audit_days.unwrap_or(0).to_string(),
        },
    },
    Key {
        name: "audit.parameters",
        sample: "false",
        about: "Store the parameters of requests besides their digest: they say who asked about whom.",
        value: Truth(|config| &mut config.gateway.audit_parameters),
    },
    Key {
        name: "audit.log_dir",
        sample: "\"/var/log/headwater\"",
        about: "Folder of the audit log: a line per refused or keyless request. Default: audit in the state; with PostgreSQL beside the store.",
        value: Path("a folder", "(in the state)", |config| &mut config.options.log.folder),
    },
    Key {
        name: "audit.log_file_mib",
        sample: "32",
        about: "Maximum size of a file of the audit log; then the next one begins.",
        value: Mebibytes(|config| &mut config.options.log.file_bytes),
    },
    Key {
        name: "audit.log_files",
        sample: "8",
        about: "Maximum number of files of the audit log; the oldest one is deleted.",
        value: Count("files", 1..=1000, |config| &mut config.options.log.files),
    },
    Key {
        name: "credits.refund_lost",
        sample: "false",
        about: "Refund at a start the charges of a killed server whose answers may be lost.",
        value: Truth(|config| &mut config.options.refund_lost),
    },
    Key {
        name: "auth.required",
        sample: "true",
        about: "Require a key. \"false\" makes calls without one free: for local use.",
        value: Truth(|config| &mut config.gateway.auth_required),
    },
    Key {
        name: "limits.enabled",
        sample: "true",
        about: "Limit the rates and the concurrent calls of callers.",
        value: Truth(|config| &mut config.gateway.limits.enabled),
    },
    Key {
        name: "limits.overflow",
        sample: "\"reject\"",
        about: "Calls above the rate: \"reject\" refuses them, \"queue\" lets them wait first.",
        value: Other {
            expected: "\"reject\" or \"queue\"",
            set: |config, value| {
                config.gateway.limits.overflow = match text(value)? {
                    "reject" => Overflow::Reject,
                    "queue" => Overflow::Queue,
                    _ => return None,
                };
                Some(())
            },
            show: |config| match config.gateway.limits.overflow {
                Overflow::Reject => "reject".to_owned(),
                Overflow::Queue => "queue".to_owned(),
            },
        },
    },
    Key {
        name: "limits.queue_ms",
        sample: "2000",
        about: "Maximum time in the queue.",
        value: Milliseconds(1..=60_000, |config| &mut config.gateway.limits.longest_wait),
    },
    Key {
        name: "limits.queue_length",
        sample: "100",
        about: "Maximum number of queued calls per key and endpoint.",
        value: Count("calls", 1..=100_000, |config| &mut config.gateway.limits.longest_line),
    },
    Key {
        name: "limits.free",
        sample: "\"100/200\"",
        about: "Calls per second and burst of each free endpoint, for keys without a plan.",
        value: RateOf(|config| &mut Arc::make_mut(&mut config.gateway.limits.plan).free),
    },
    Key {
        name: "limits.light",
        sample: "\"50/100\"",
        about: "The same for light endpoints.",
        value: RateOf(|config| &mut Arc::make_mut(&mut config.gateway.limits.plan).light),
    },
    Key {
        name: "limits.medium",
        sample: "\"20/40\"",
        about: "The same for medium endpoints.",
        value: RateOf(|config| &mut Arc::make_mut(&mut config.gateway.limits.plan).medium),
    },
    Key {
        name: "limits.heavy",
        sample: "\"5/10\"",
        about: "The same for heavy endpoints.",
        value: RateOf(|config| &mut Arc::make_mut(&mut config.gateway.limits.plan).heavy),
    },
    Key {
        name: "limits.free_secs",
        sample: "5",
        about: "Time limit of a call of a free endpoint; a 504 follows.",
        value: Seconds(1..=3600, |config| &mut config.gateway.deadlines.free),
    },
    Key {
        name: "limits.light_secs",
        sample: "10",
        about: "The same for light endpoints.",
        value: Seconds(1..=3600, |config| &mut config.gateway.deadlines.light),
    },
    Key {
        name: "limits.medium_secs",
        sample: "30",
        about: "The same for medium endpoints.",
        value: Seconds(1..=3600, |config| &mut config.gateway.deadlines.medium),
    },
    Key {
        name: "limits.heavy_secs",
        sample: "60",
        about: "The same for heavy endpoints.",
        value: Seconds(1..=3600, |config| &mut config.gateway.deadlines.heavy),
    },
    Key {
        name: "limits.endpoint_secs",
        sample: "\"/v1/token/holders=120, /v1/token/concentration=120\"",
        about: "Time limits of single endpoints.",
        value: Other {
            expected: "paths of endpoints with a number of seconds from 1 to 3600, such as \"/v1/token/holders=120\"",
            set: |config, value| {
                let timed = |text: &String| {
                    let (path, time) = text.split_once('=')?;
                    let path = Some(path.trim()).filter(|path| is_endpoint(path))?.to_owned();
                    let secs = between(&Value::String(time.trim().to_owned()), &(1..=3600))?;
                    Some((path, Duration::from_secs(secs)))
                };
                config.gateway.deadlines.endpoints = list(value)?.iter().map(timed).collect::<Option<_>>()?;
                Some(())
            },
            show: |config| {
                let timed = config.gateway.deadlines.endpoints.iter();
                listed(timed.map(|(path, time)| format!("{path}={}", time.as_secs())), NONE)
            },
        },
    },
    Key {
        name: "limits.concurrency",
        sample: "20",
        about: "Maximum number of concurrent calls of a key.",
        value: Count("calls", 1..=100_000, |config| &mut Arc::make_mut(&mut config.gateway.limits.plan).concurrency),
    },
    Key {
        name: "limits.wrong_keys",
        sample: "\"20/100\"",
        about: "Rate and burst of refused keys per address; above it refused keys from there get 429. Valid keys pass.",
        value: RateOf(|config| &mut config.gateway.limits.wrong_keys),
    },
    Key {
        name: "limits.redis",
        sample: "\"redis://127.0.0.1:6379/0\"",
        about: "Redis in which several gateways share their rates.",
        value: Other {
            expected: "the address of a Redis, such as \"redis://127.0.0.1:6379/0\"",
            set: |config, value| text(value)?.parse().ok().map(|address| config.gateway.limits.redis = Some(address)),
            show: |config| shown(config.gateway.limits.redis.as_ref(), NONE),
        },
    },
    Key {
        name: "limits.replicas",
        sample: "1",
        about: "Number of gateways that share it; while it is unreachable, each applies its part of the rate.",
        value: Count("gateways", 1..=1000, |config| &mut config.gateway.limits.replicas),
    },
    Key {
        name: "webhooks.allow_private_targets",
        sample: "false",
        about: "Allow deliveries to private networks, over http and to any port: for receivers of your own only.",
        value: Other {
            expected: TRUTH,
            set: |config, value| {
                config.events.egress.policy = if truth(value)? { Policy::LOCAL } else { Policy::PUBLIC };
                Some(())
            },
            show: |config| (config.events.egress.policy == Policy::LOCAL).to_string(),
        },
    },
    Key {
        name: "webhooks.authorities",
        sample: "\"/etc/headwater/ca.pem\"",
        about: "Certificate authorities of receivers besides the public ones.",
        value: Path("a PEM file", "(none)", |config| &mut config.webhooks_authorities),
    },
    Key {
        name: "webhooks.second_ms",
        sample: "1000",
        about: "Milliseconds of a second of the retry schedule; below 1000 in tests only.",
        value: Count("milliseconds", 1..=1000, |config| &mut config.events.pace.second_ms),
    },
    Key {
        name: "stream.origins",
        sample: "\"https://app.example.com\"",
        about: "Origins of web pages that may open a stream besides the gateway's own.",
        value: Texts(ORIGINS, is_origin, |config| &mut config.events.origins),
    },
    Key {
        name: "intel.risk_parameters",
        sample: "\"/etc/headwater/risk.toml\"",
        about: "Parameters of the risk score, which replace the built-in ones as a whole.",
        value: Path("a TOML file", "(built in)", |config| &mut config.risk_parameters),
    },
    Key {
        name: "intel.classifiers",
        sample: "[\"/etc/headwater/ethereum.json.gz\"]",
        about: "Models of classifiers; each replaces the built-in one of its chain.",
        value: Other {
            expected: "paths of model files with commas between them",
            set: |config, value| {
                let path = |path: String| (!path.is_empty()).then(|| PathBuf::from(path));
                config.classifiers = list(value)?.into_iter().map(path).collect::<Option<_>>()?;
                Some(())
            },
            show: |config| listed(config.classifiers.iter().map(|path| path.display()), "(built in)"),
        },
    },
    Key {
        name: "intel.provider_url",
        sample: "\"https://claims.example.com/v1/claims\"",
        about: "Provider of claims about addresses. Without it nobody outside is asked.",
        value: Other {
            expected: "a URL such as \"https://claims.example.com/v1/claims\", without user and password",
            set: |config, value| ProviderUrl::parse(text(value)?).ok().map(|url| config.provider_url = Some(url)),
            show: |config| shown(config.provider_url.as_ref(), NONE),
        },
    },
    Key {
        name: "intel.provider_name",
        sample: "\"acme\"",
        about: "Source name of its claims in answers. Default: its host.",
        value: Other {
            expected: "a name of 1 to 64 characters",
            set: |config, value| {
                let name = text(value)?.trim();
                let fits = (1..=64).contains(&name.chars().count()) && !name.chars().any(char::is_control);
                fits.then(|| config.provider_name = Some(name.to_owned()))
            },
            show: |config| shown(config.provider_name.as_ref(), "(its host)"),
        },
    },
    Key {
        name: "intel.provider_key",
        sample: "\"...\"",
        about: "Bearer token for it; it belongs in the environment (HEADWATER_INTEL_PROVIDER_KEY) rather than here.",
        value: Other {
            expected: "1 to 4096 visible ASCII characters",
            set: |config, value| ProviderKey::parse(text(value)?).map(|key| config.provider_key = Some(key)),
            show: |config| shown(config.provider_key.as_ref().map(|_| "(set)"), NONE),
        },
    },
    Key {
        name: "intel.provider_level",
        sample: "\"trusted_provider\"",
        about: "Maximum level of its claims.",
        value: Other {
            expected: "a level of labels, such as \"trusted_provider\" or \"web_crawl\"",
            set: |config, value| Level::from_name(text(value)?).map(|level| config.provider_level = level),
            show: |config| config.provider_level.name().to_owned(),
        },
    },
    Key {
        name: "intel.provider_timeout_ms",
        sample: "2000",
        about: "Time limit of its answer for one address; then the call is answered without its claims.",
        value: Milliseconds(1..=60_000, |config| &mut config.provider_timeout),
    },
    Key {
        name: "intel.provider_cache_secs",
        sample: "3600",
        about: "Time that its answers are cached; 0 asks each time.",
        value: Other {
            expected: "a number of seconds up to 604800; 0 keeps nothing",
            set: |config, value| {
                config.provider_cache = Duration::from_secs(between(value, &(0..=604_800))?);
                Some(())
            },
            show: |config| config.provider_cache.as_secs().to_string(),
        },
    },
    Key {
        name: "follow.ethereum",
        sample: "\"http://127.0.0.1:8545, ws://127.0.0.1:8546\"",
        about: "Nodes that the server follows into the store. A login or a key in an address is never shown.",
        value: Nodes(Chain::ETHEREUM),
    },
    Key {
        name: "follow.bsc",
        sample: "\"http://127.0.0.1:8545\"",
        about: "The same for BNB Smart Chain.",
        value: Nodes(Chain::BSC),
    },
    Key {
        name: "follow.tron",
        sample: "\"http://127.0.0.1:8090\"",
        about: "The same for TRON.",
        value: Nodes(Chain::TRON),
    },
    Key {
        name: "follow.bitcoin",
        sample: "\"http://user:password@127.0.0.1:8332\"",
        about: "The same for Bitcoin.",
        value: Nodes(Chain::BITCOIN),
    },
    Key {
        name: "follow.max_lag_secs",
        sample: "0",
        about: "Age of the newest block of a followed chain above which /readyz answers 503; 0 for no limit.",
        value: Count("seconds", 0..=31_536_000, |config| &mut config.gateway.max_lag_secs),
    },
    Key {
        name: "limits.memory_mib",
        sample: "512",
        about: "Memory of all running queries together; a 429 above it.",
        value: Mebibytes(|config| &mut config.gateway.memory_bytes),
    },
    Key {
        name: "limits.query_memory_mib",
        sample: "128",
        about: "Memory of one query; a 400 above it, with a way to ask for less.",
        value: Mebibytes(|config| &mut config.gateway.query_memory_bytes),
    },
    Key {
        name: "limits.body_bytes",
        sample: "1048576",
        about: "Maximum size of a request body.",
        value: Count("bytes", 1024..=16_777_216, |config| &mut config.gateway.body_limit),
    },
    Key {
        name: "state.backup_dir",
        sample: "\"/var/lib/headwater/backups\"",
        about: "Folder for backups of the admin listener; without it there are none.",
        value: Path("a folder", "(none)", |config| &mut config.admin.backup_dir),
    },
    Key {
        name: "metrics.open",
        sample: "false",
        about: "Serve /metrics on the admin listener without an admin key.",
        value: Truth(|config| &mut config.admin.open_metrics),
    },
    Key {
        name: "telemetry.otlp",
        sample: "\"http://127.0.0.1:4318\"",
        about: "Collector of traces (OTLP over HTTP).",
        value: Other {
            expected: "the address of a collector, such as \"http://127.0.0.1:4318\", without a password",
            set: |config, value| {
                let address = text(value)?;
                let uri: hyper::Uri = address.parse().ok()?;
                // It is printed at the start, so it must contain no secret.
                let plain = uri.scheme_str() == Some("http") && !uri.authority()?.as_str().contains('@');
                plain.then(|| config.otlp = Some(address.to_owned()))
            },
            show: |config| shown(config.otlp.as_ref(), NONE),
        },
    },
    Key {
        name: "log.format",
        sample: "\"json\"",
        about: "\"text\" for people, \"json\" for machines. Default: \"text\".",
        value: Other {
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
    },
    Key {
        name: "log.filter",
        sample: "\"info\"",
        about: "Levels of log lines, such as \"info\" or \"headwater_server=debug\".",
        value: Other {
            expected: "a level or a list of targets with levels, such as \"info\" or \"headwater_server=debug\"",
            set: |config, value| {
                let filter = text(value)?;
                filter.parse::<tracing_subscriber::EnvFilter>().ok()?;
                are_directives(filter).then(|| filter.clone_into(&mut config.log_filter))
            },
            show: |config| config.log_filter.clone(),
        },
    },
];

//! Every key of the configuration: its name, what it takes, how it is shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_ledger::labels::Level;
use headwater_state::{Rate, StateLocation, is_endpoint};
use toml::Value;

use super::{Config, LogFormat};
use crate::gateway::Overflow;
use crate::provider::{ProviderKey, ProviderUrl};

/// One key: how it is set and how it is shown.
pub(super) struct Key {
    pub name: &'static str,
    pub expected: &'static str,
    pub set: fn(&mut Config, &Value) -> Option<()>,
    pub show: fn(&Config) -> String,
}

/// Keys whose values are, or may hold, a secret: no message repeats them.
pub(super) const SECRETS: [&str; 2] = ["intel.provider_key", "intel.provider_url"];

/// Every key, one entry each.
pub(super) const KEYS: &[Key] = &[
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
            config.trusted_proxies = list(value)?.iter().map(|one| one.parse().ok()).collect::<Option<_>>()?;
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
            StateLocation::parse(state).ok()?;
            config.state = Some(state.to_owned());
            Some(())
        },
        show: |config| match config.state.as_deref().map(StateLocation::parse) {
            Some(Ok(StateLocation::Postgres(address))) => address.to_string(),
            Some(Ok(StateLocation::Folder(path))) => path.display().to_string(),
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
        name: "audit.parameters",
        expected: "true or false",
        set: |config, value| truth(value).map(|kept| config.audit_parameters = kept),
        show: |config| config.audit_parameters.to_string(),
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
        name: "limits.queue_ms",
        expected: "a number of milliseconds from 1 to 60000",
        set: |config, value| between(value, 1, 60_000).map(|time| config.limits_queue_ms = time),
        show: |config| config.limits_queue_ms.to_string(),
    },
    Key {
        name: "limits.queue_length",
        expected: "a number of calls from 1 to 100000",
        set: |config, value| between(value, 1, 100_000).map(|count| config.limits_queue_length = count),
        show: |config| config.limits_queue_length.to_string(),
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
        name: "limits.free_secs",
        expected: SECONDS,
        set: |config, value| seconds(value).map(|time| config.deadlines.free = time),
        show: |config| config.deadlines.free.as_secs().to_string(),
    },
    Key {
        name: "limits.light_secs",
        expected: SECONDS,
        set: |config, value| seconds(value).map(|time| config.deadlines.light = time),
        show: |config| config.deadlines.light.as_secs().to_string(),
    },
    Key {
        name: "limits.medium_secs",
        expected: SECONDS,
        set: |config, value| seconds(value).map(|time| config.deadlines.medium = time),
        show: |config| config.deadlines.medium.as_secs().to_string(),
    },
    Key {
        name: "limits.heavy_secs",
        expected: SECONDS,
        set: |config, value| seconds(value).map(|time| config.deadlines.heavy = time),
        show: |config| config.deadlines.heavy.as_secs().to_string(),
    },
    Key {
        name: "limits.endpoint_secs",
        expected: "paths of endpoints with a number of seconds from 1 to 3600, such as \"/v1/token/holders=120\"",
        set: |config, value| {
            let timed = |text: &String| {
                let (path, time) = text.split_once('=')?;
                let path = Some(path.trim()).filter(|path| is_endpoint(path))?.to_owned();
                Some((path, seconds(&Value::String(time.trim().to_owned()))?))
            };
            config.deadlines.endpoints = list(value)?.iter().map(timed).collect::<Option<_>>()?;
            Some(())
        },
        show: |config| {
            let shown = |(path, time): (&String, &Duration)| format!("{path}={}", time.as_secs());
            let listed: Vec<String> = config.deadlines.endpoints.iter().map(shown).collect();
            if listed.is_empty() { nothing() } else { listed.join(", ") }
        },
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
        name: "webhooks.authorities",
        expected: "the path of a PEM file",
        set: |config, value| path(value).map(|path| config.webhooks_authorities = Some(path)),
        show: |config| config.webhooks_authorities.as_ref().map_or_else(nothing, |path| path.display().to_string()),
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
                host.is_some_and(|host| !host.contains(['/', '?', '#', '@'])) && origin.parse::<hyper::Uri>().is_ok()
            };
            origins.iter().all(whole).then(|| config.stream_origins = origins)
        },
        show: |config| config.stream_origins.join(","),
    },
    Key {
        name: "intel.risk_parameters",
        expected: "the path of a TOML file",
        set: |config, value| path(value).map(|path| config.risk_parameters = Some(path)),
        show: |config| {
            config.risk_parameters.as_ref().map_or("(built in)".to_owned(), |path| path.display().to_string())
        },
    },
    Key {
        name: "intel.classifiers",
        expected: "paths of model files with commas between them",
        set: |config, value| {
            let path = |path: String| (!path.is_empty()).then(|| PathBuf::from(path));
            config.classifiers = list(value)?.into_iter().map(path).collect::<Option<_>>()?;
            Some(())
        },
        show: |config| {
            let listed: Vec<String> = config.classifiers.iter().map(|path| path.display().to_string()).collect();
            if listed.is_empty() { "(built in)".to_owned() } else { listed.join(", ") }
        },
    },
    Key {
        name: "intel.provider_url",
        expected: "a URL such as \"https://claims.example.com/v1/claims\", without user and password",
        set: |config, value| ProviderUrl::parse(text(value)?).ok().map(|url| config.provider_url = Some(url)),
        show: |config| config.provider_url.as_ref().map_or_else(nothing, ToString::to_string),
    },
    Key {
        name: "intel.provider_name",
        expected: "a name of 1 to 64 characters",
        set: |config, value| {
            let name = text(value)?.trim();
            let fits = (1..=64).contains(&name.chars().count()) && !name.chars().any(char::is_control);
            fits.then(|| config.provider_name = Some(name.to_owned()))
        },
        show: |config| config.provider_name.clone().unwrap_or_else(|| "(its host)".to_owned()),
    },
    Key {
        name: "intel.provider_key",
        expected: "1 to 4096 visible ASCII characters",
        set: |config, value| ProviderKey::parse(text(value)?).map(|key| config.provider_key = Some(key)),
        show: |config| config.provider_key.as_ref().map_or_else(nothing, |_| "(set)".to_owned()),
    },
    Key {
        name: "intel.provider_level",
        expected: "a level of labels, such as \"trusted_provider\" or \"web_crawl\"",
        set: |config, value| Level::from_name(text(value)?).map(|level| config.provider_level = level),
        show: |config| config.provider_level.name().to_owned(),
    },
    Key {
        name: "intel.provider_timeout_ms",
        expected: "a number of milliseconds from 1 to 60000",
        set: |config, value| between(value, 1, 60_000).map(|time| config.provider_timeout_ms = time),
        show: |config| config.provider_timeout_ms.to_string(),
    },
    Key {
        name: "intel.provider_cache_secs",
        expected: "a number of seconds up to 604800; 0 keeps nothing",
        set: |config, value| between(value, 0, 604_800).map(|secs| config.provider_cache_secs = secs),
        show: |config| config.provider_cache_secs.to_string(),
    },
    Key {
        name: "limits.memory_mib",
        expected: "a number of MiB from 1 to 1048576",
        set: |config, value| between(value, 1, 1 << 20).map(|mib| config.memory_mib = mib),
        show: |config| config.memory_mib.to_string(),
    },
    Key {
        name: "limits.query_memory_mib",
        expected: "a number of MiB from 1 to 1048576",
        set: |config, value| between(value, 1, 1 << 20).map(|mib| config.query_memory_mib = mib),
        show: |config| config.query_memory_mib.to_string(),
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
            are_directives(filter).then(|| filter.clone_into(&mut config.log_filter))
        },
        show: |config| config.log_filter.clone(),
    },
];

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// Whether each part of a filter says a level. A word by itself that is none would be taken for a target, of which there
/// is nothing to log.
fn are_directives(filter: &str) -> bool {
    let is_level = |text: &str| !text.is_empty() && text.parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    let is_meant = |one: &str| {
        let (span, rest) = one.rsplit_once(']').map_or(("", one), |(span, rest)| (span, rest));
        match (span, rest.rsplit_once('=')) {
            (_, Some((target, level))) => !(span.is_empty() && target.is_empty()) && is_level(level),
            ("", None) => is_level(rest),
            // Of a span everything is logged where no level is said.
            (_, None) => rest.is_empty(),
        }
    };
    filter.split(',').map(str::trim).all(is_meant)
}

/// A list, or its text with commas between; none where that is blank.
fn list(value: &Value) -> Option<Vec<String>> {
    let item = |text: &str| text.trim().to_owned();
    match value {
        Value::Array(items) => items.iter().map(|one| text(one).map(item)).collect(),
        other => match text(other)? {
            blank if blank.trim().is_empty() => Some(Vec::new()),
            listed => Some(listed.split(',').map(item).collect()),
        },
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

const SECONDS: &str = "a number of seconds from 1 to 3600";

fn seconds(value: &Value) -> Option<Duration> {
    between(value, 1, 3600).map(Duration::from_secs)
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

//! Values of keys: how they are parsed, checked and shown.

use std::fmt::Display;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use headwater_state::Rate;
use headwater_types::Chain;
use ipnet::IpNet;
use toml::Value;

use super::Config;
use crate::live::{NodeList, nodes};

/// The expected text of a switch.
pub(super) const TRUTH: &str = "true or false";

/// The expected list of host names.
pub(super) const HOSTS: &str = "host names without a port and with commas between them, such as \"gateway.internal\"";
/// The expected list of origins.
pub(super) const ORIGINS: &str = "origins with commas between, as browsers send them: \"https://app.example.com\", in lower case, without \
                                  a path, a default port or *";

/// The largest number of MiB.
const MAX_MIB: u64 = 1 << 20;

/// The place of a value in the configuration, with its form and its bounds.
pub(super) enum KeyValue {
    /// A switch.
    Truth(fn(&mut Config) -> &mut bool),
    /// A number of a unit.
    Count(&'static str, RangeInclusive<u64>, fn(&mut Config) -> &mut dyn Number),
    /// A number of seconds.
    Seconds(RangeInclusive<u64>, fn(&mut Config) -> &mut Duration),
    /// A number of milliseconds.
    Milliseconds(RangeInclusive<u64>, fn(&mut Config) -> &mut Duration),
    /// A number of MiB, stored in bytes.
    Mebibytes(fn(&mut Config) -> &mut u64),
    /// A rate and a burst.
    RateOf(fn(&mut Config) -> &mut Rate),
    /// The path of something, and the text for its absence.
    Path(&'static str, &'static str, fn(&mut Config) -> &mut Option<PathBuf>),
    /// A list of texts of one form.
    Texts(&'static str, fn(&str) -> bool, fn(&mut Config) -> &mut Vec<String>),
    /// The nodes of a chain.
    Nodes(Chain),
    /// Any other form.
    Other {
        /// The accepted values.
        expected: &'static str,
        /// Sets a value; `None` if it does not fit.
        set: fn(&mut Config, &Value) -> Option<()>,
        /// Shows the value, without secrets.
        show: fn(&Config) -> String,
    },
}

impl KeyValue {
    /// Describes the accepted values.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Truth(_) => TRUTH.to_owned(),
            Self::Count(unit, range, _) => bounds(unit, range),
            Self::Seconds(range, _) => bounds("seconds", range),
            Self::Milliseconds(range, _) => bounds("milliseconds", range),
            Self::Mebibytes(_) => bounds("MiB", &(1..=MAX_MIB)),
            Self::RateOf(_) => {
                "calls per second (1 to 100000), a slash and the burst (1 to 1000000), such as \"50/100\"".to_owned()
            }
            Self::Path(what, ..) => format!("the path of {what}"),
            Self::Nodes(_) => nodes::EXPECTED.to_owned(),
            Self::Texts(expected, ..) | Self::Other { expected, .. } => (*expected).to_owned(),
        }
    }

    /// Sets a value; `None` if it does not fit.
    pub(super) fn set(&self, config: &mut Config, value: &Value) -> Option<()> {
        match self {
            Self::Truth(place) => *place(config) = truth(value)?,
            Self::Count(_, range, place) => place(config).set(between(value, range)?)?,
            Self::Seconds(range, place) => *place(config) = Duration::from_secs(between(value, range)?),
            Self::Milliseconds(range, place) => *place(config) = Duration::from_millis(between(value, range)?),
            Self::Mebibytes(place) => *place(config) = between::<u64>(value, &(1..=MAX_MIB))? << 20,
            Self::RateOf(place) => *place(config) = text(value)?.parse().ok()?,
            Self::Path(_, _, place) => *place(config) = Some(text(value).filter(|path| !path.is_empty())?.into()),
            Self::Texts(_, fits, place) => {
                *place(config) = list(value).filter(|texts| texts.iter().all(|text| fits(text)))?;
            }
            Self::Nodes(chain) => {
                let addresses = list(value)?;
                if addresses.is_empty() {
                    config.follow.remove(chain);
                } else {
                    config.follow.insert(*chain, NodeList::new(addresses)?);
                }
            }
            Self::Other { set, .. } => set(config, value)?,
        }
        Some(())
    }

    /// Shows the value, without secrets.
    pub(super) fn show(&self, config: &mut Config) -> String {
        match self {
            Self::Truth(place) => place(config).to_string(),
            Self::Count(_, _, place) => place(config).get().to_string(),
            Self::Seconds(_, place) => place(config).as_secs().to_string(),
            Self::Milliseconds(_, place) => place(config).as_millis().to_string(),
            Self::Mebibytes(place) => (*place(config) >> 20).to_string(),
            Self::RateOf(place) => place(config).to_string(),
            Self::Path(_, none, place) => shown(place(config).as_ref().map(|path| path.display()), none),
            Self::Texts(_, _, place) => listed(place(config).iter(), "(none)"),
            Self::Nodes(chain) => shown(config.follow.get(chain), "(none)"),
            Self::Other { show, .. } => show(config),
        }
    }
}

/// A whole number in the configuration, of any size.
pub(super) trait Number {
    /// Returns it.
    fn get(&self) -> u64;
    /// Sets it; `None` if it is too large for its type.
    fn set(&mut self, number: u64) -> Option<()>;
}

impl Number for u32 {
    fn get(&self) -> u64 {
        (*self).into()
    }

    fn set(&mut self, number: u64) -> Option<()> {
        Self::try_from(number).ok().map(|number| *self = number)
    }
}

impl Number for u64 {
    fn get(&self) -> u64 {
        *self
    }

    fn set(&mut self, number: u64) -> Option<()> {
        *self = number;
        Some(())
    }
}

impl Number for usize {
    fn get(&self) -> u64 {
        *self as u64
    }

    fn set(&mut self, number: u64) -> Option<()> {
        Self::try_from(number).ok().map(|number| *self = number)
    }
}

/// Describes a range of a unit.
fn bounds(unit: &str, range: &RangeInclusive<u64>) -> String {
    let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
    match (range.start(), range.end()) {
        (0, end) => format!("a number{of} up to {end}"),
        (start, end) => format!("a number{of} from {start} to {end}"),
    }
}

/// Returns a text.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// Returns a list, or the parts of a text with commas; none of a blank one.
pub(super) fn list(value: &Value) -> Option<Vec<String>> {
    let item = |text: &str| text.trim().to_owned();
    match value {
        Value::Array(items) => items.iter().map(|one| text(one).map(item)).collect(),
        other => match text(other)? {
            blank if blank.trim().is_empty() => Some(Vec::new()),
            listed => Some(listed.split(',').map(item).collect()),
        },
    }
}

/// Returns a network, or an address as the network of it alone; `None` also where it names a host within the network, which
/// may be meant as one or the other.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let network: IpNet =
        text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(|address| address.to_canonical().into()))?;
    (network.trunc() == network).then_some(network)
}

/// Shows a network; one of a single address as that.
pub(super) fn shown_network(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() { network.addr().to_string() } else { network.to_string() }
}

/// Returns a number in a range, or its text: the environment contains text only.
pub(super) fn between<T: TryFrom<u64>>(value: &Value, range: &RangeInclusive<u64>) -> Option<T> {
    let number = match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    T::try_from(number.filter(|number| range.contains(number))?).ok()
}

/// Returns a truth value, or its text.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(truth) => Some(*truth),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Shows a value, or the text for its absence.
pub(super) fn shown(value: Option<impl Display>, none: &str) -> String {
    value.map_or_else(|| none.to_owned(), |value| value.to_string())
}

/// Shows a list, or the text for an empty one.
pub(super) fn listed(values: impl Iterator<Item: Display>, none: &str) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() { none.to_owned() } else { values.join(", ") }
}

/// Returns whether a text is the name of a host, without a port; an IPv6 address has no brackets.
pub(super) fn is_host(host: &str) -> bool {
    let is_name = || !host.contains(['/', '@', ':', '[', '*']) && host.parse::<hyper::http::uri::Authority>().is_ok();
    host.parse::<std::net::IpAddr>().is_ok() || is_name()
}

/// Returns whether a text is the origin of a web page: scheme, host and port.
pub(super) fn is_origin(origin: &str) -> bool {
    let secure = origin.strip_prefix("https://").map(|host| (host, ":443"));
    let parts = secure.or_else(|| origin.strip_prefix("http://").map(|host| (host, ":80")));
    parts.is_some_and(|(host, default_port)| {
        let is_plain =
            !host.contains(['/', '?', '#', '@', '*']) && !host.contains(|letter: char| letter.is_ascii_uppercase());
        is_plain && !host.ends_with(default_port)
    }) && origin.parse::<hyper::Uri>().is_ok()
}

/// Returns whether each part of a filter contains a level. A single word that is not a level would be a target, and would log
/// nothing.
pub(super) fn are_directives(filter: &str) -> bool {
    let is_level = |text: &str| !text.is_empty() && text.parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    let is_meant = |one: &str| {
        let (span, rest) = one.rsplit_once(']').map_or(("", one), |(span, rest)| (span, rest));
        match (span, rest.rsplit_once('=')) {
            (_, Some((target, level))) => !(span.is_empty() && target.is_empty()) && is_level(level),
            ("", None) => is_level(rest),
            // A span without a level logs everything.
            (_, None) => rest.is_empty(),
        }
    };
    filter.split(',').map(str::trim).all(is_meant)
}

//! The rules of a `target_url`, as far as its text shows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::uri::PathAndQuery;

use super::ranges::{Reach, reach};

/// Longest URL, in characters.
pub const LONGEST: usize = 2048;

/// The policy about targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The networks that are allowed.
    pub scope: Scope,
    /// The ports that are taken; `None` for any.
    pub ports: Option<&'static [u16]>,
}

/// The networks that deliveries may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The public internet, over https.
    Public,
    /// Private networks and this machine as well, over http as well: for local use.
    Local,
}

impl Policy {
    /// Public addresses over https, ports 443 and 80.
    pub const PUBLIC: Self = Self { scope: Scope::Public, ports: Some(&[443, 80]) };
    /// Private addresses, http and any port as well: for local use.
    pub const LOCAL: Self = Self { scope: Scope::Local, ports: None };

    /// Returns whether an address may be dialled.
    #[must_use]
    pub fn admits(self, address: IpAddr) -> bool {
        match (reach(address), self.scope) {
            (Reach::Global, _) | (Reach::Private, Scope::Local) => true,
            (Reach::Private, Scope::Public) | (Reach::Never, _) => false,
        }
    }
}

/// A URL that deliveries may be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The scheme: whether the connection is encrypted.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port, the one of the scheme where none was given.
    pub port: u16,
    /// Path and query.
    pub path: PathAndQuery,
    /// Host and port as the header `Host` names them.
    pub authority: String,
}

/// The scheme of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The host of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name, in small letters and without a dot at its end.
    Name(String),
    /// An address, however it was written.
    Address(IpAddr),
}

/// The reason why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is too long.
    #[error("the URL has {0} characters, at most {LONGEST} are taken")]
    TooLong(usize),
    /// A character that a URL cannot hold.
    #[error(
        "the URL holds {0:?}: percent-encode it in the path, and write an international host name in its xn-- form"
    )]
    Character(char),
    /// Neither `https` nor `http`.
    #[error("the URL does not begin with https://")]
    NoScheme,
    /// `http` where only `https` is taken.
    #[error(
        "the URL begins with http://, but only https:// is taken: webhooks.allow_private_targets opens http for local use"
    )]
    NotEncrypted,
    /// User and password.
    #[error("the URL holds a user or password before its host: leave them out, deliveries are signed instead")]
    UserInfo,
    /// A fragment.
    #[error("the URL holds a fragment (#...), which is never sent: leave it out")]
    Fragment,
    /// No host, or one that is none.
    #[error("the host {0:?} of the URL is no host name and no address")]
    NoHost(String),
    /// The port is not a number.
    #[error("the port {0:?} of the URL is no number from 1 to 65535")]
    NoPort(String),
    /// A port that is not taken.
    #[error("the URL names the port {0}, which is not taken: use 443 or 80")]
    Port(u16),
    /// An address that is not on the public internet.
    #[error("the host {0:?} of the URL is not on the public internet")]
    NotPublic(String),
    /// A name that only private networks and clouds resolve.
    #[error(
        "the host {0:?} of the URL is a name of a private network or of cloud metadata: give a public host name, or set \
         webhooks.allow_private_targets for local use"
    )]
    PrivateName(String),
    /// A path that HTTP cannot send.
    #[error("the path of the URL cannot be sent: percent-encode what is no letter, digit or mark of URLs")]
    Path,
}

impl Target {
    /// Reads a URL and checks all that can be checked without asking anybody.
    ///
    /// # Errors
    /// When deliveries can or may not go there; the message says what to change.
    pub fn parse(url: &str, policy: Policy) -> Result<Self, TargetError> {
        let length = url.chars().count();
        if length > LONGEST {
            return Err(TargetError::TooLong(length));
        }
        // A backslash is a slash to some readers of URLs, so it is none to us.
        if let Some(odd) = url.chars().find(|letter| !letter.is_ascii_graphic() || *letter == '\\') {
            return Err(TargetError::Character(odd));
        }
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            _ => return Err(TargetError::NoScheme),
        };
        if scheme == Scheme::Http && policy.scope == Scope::Public {
            return Err(TargetError::NotEncrypted);
        }
        if rest.contains('#') {
            return Err(TargetError::Fragment);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(TargetError::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        let port = port.unwrap_or_else(|| scheme.port());
        if policy.ports.is_some_and(|ports| !ports.contains(&port)) {
            return Err(TargetError::Port(port));
        }
        let host = read_host(host, policy)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let path = PathAndQuery::try_from(path).map_err(|_| TargetError::Path)?;
        let shown = match &host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        let authority = if port == scheme.port() { shown } else { format!("{shown}:{port}") };
        Ok(Self { scheme, host, port, path, authority })
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), TargetError> {
    let end = authority.find(']').map_or(0, |end| end + 1);
    let Some(colon) = authority[end..].find(':').map(|colon| end + colon) else { return Ok((authority, None)) };
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(number) if digits && number > 0 => Ok((host, Some(number))),
        _ => Err(TargetError::NoPort(port.to_owned())),
    }
}

fn read_host(text: &str, policy: Policy) -> Result<Host, TargetError> {
    let none = || TargetError::NoHost(text.to_owned());
    let not_public = || TargetError::NotPublic(text.to_owned());
    let address = if let Some(inner) = text.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']').ok_or_else(none)?.parse().map_err(|_| none())?;
        Some(IpAddr::V6(address))
    } else if is_number(text) {
        Some(IpAddr::V4(any_form_of_four(text).ok_or_else(none)?))
    } else {
        None
    };
    if let Some(address) = address {
        return if policy.admits(address) { Ok(Host::Address(address)) } else { Err(not_public()) };
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(none());
    }
    if policy.scope == Scope::Public && is_private(&name) {
        return Err(TargetError::PrivateName(text.to_owned()));
    }
    Ok(Host::Name(name))
}

/// Domains of private networks: of this machine (RFC 6761), multicast DNS (RFC 6762), home networks (RFC 8375), and the one
/// that ICANN reserved for private use, under which clouds also name their metadata service.
const PRIVATE_DOMAINS: [&str; 4] = ["localhost", "local", "home.arpa", "internal"];
/// Names of cloud metadata services outside of these domains; `metadata` and `instance-data` have no dot.
const METADATA: [&str; 4] =
    ["metadata.goog", "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net"];

/// Returns whether a name, in small letters, belongs to no host of the public internet.
fn is_private(name: &str) -> bool {
    let is_in = |domain: &&str| name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || PRIVATE_DOMAINS.iter().any(is_in) || METADATA.contains(&name)
}

/// Returns whether a host is meant as a number: then it is an address or nothing (WHATWG URL, "ends in a number";
/// stricter here, since no name of the internet ends in a label that begins with a digit).
fn is_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    last.starts_with(|first: char| first.is_ascii_digit())
}

/// An IPv4 address in decimal, octal or hexadecimal, of one to four parts, as resolvers understand it (WHATWG URL, "IPv4
/// parser").
fn any_form_of_four(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text.strip_suffix('.').unwrap_or(text).split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let left = 4 - first.len();
    if *last >= 1 << (8 * left) {
        return None;
    }
    let head = first.iter().fold(0, |sum, part| sum << 8 | part);
    u32::try_from(head << (8 * left) | last).ok().map(Ipv4Addr::from)
}

fn number(part: &str) -> Option<u64> {
    let (digits, radix) = match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if part.len() > 1 && part.starts_with('0') => (&part[1..], 8),
        None => (part, 10),
    };
    // A sign is not a digit, though `from_str_radix` would take one; a lone `0x` is zero.
    if digits.is_empty() {
        return (radix == 16).then_some(0);
    }
    digits.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, radix).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(url: &str) -> Result<Target, TargetError> {
        Target::parse(url, Policy::PUBLIC)
    }

    #[test]
    fn a_plain_url_is_taken_apart() {
        let target = public("https://Hooks.Example.com./in?a=%20b").unwrap();
        assert_eq!(target.host, Host::Name("hooks.example.com".to_owned()));
        assert_eq!((target.port, target.path.as_str()), (443, "/in?a=%20b"));
        assert_eq!(target.authority, "hooks.example.com");
        assert_eq!(public("https://example.com?x").unwrap().path, "/?x");
        assert_eq!(public("https://example.com:80/").unwrap().authority, "example.com:80");
        assert_eq!(public("https://8.8.8.8").unwrap().host, Host::Address([8, 8, 8, 8].into()));
        let long = format!("https://example.com/{}", "a".repeat(LONGEST - 20));
        assert!(public(&long).is_ok());
        assert_eq!(public(&format!("{long}a")), Err(TargetError::TooLong(LONGEST + 1)));
    }

    #[test]
    fn every_spelling_of_an_address_is_the_address() {
        for text in ["134744072", "0x8080808", "010.8.8.8", "8.8.2056", "8.526344", "0X8.0x8.0x8.0x8", "8.8.8.8."] {
            let target = public(&format!("https://{text}/")).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(target.host, Host::Address([8, 8, 8, 8].into()), "{text}");
            assert_eq!(target.authority, "8.8.8.8");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            ".",
            "a..b",
            "-a.com",
            "a-.com",
            "a b.com",
            "[::1",
            "::1",
            "[1.2.3.4]",
            "[fe80::1%25eth0]",
            "256.1.1.1",
            "1.2.3.4.5",
            "0x100000000",
            "4294967296",
            "1.2.3.08",
            "a.%31",
            "ex%61mple.com",
            "1.+2",
            "a.0x",
        ] {
            assert!(public(&format!("https://{text}/")).is_err(), "{text}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_change() {
        for (url, expected) in [
            ("ftp://example.com", TargetError::NoScheme),
            ("example.com", TargetError::NoScheme),
            ("http://example.com", TargetError::NotEncrypted),
            ("https://user@example.com", TargetError::UserInfo),
            ("https://example.com:443@10.0.0.1/", TargetError::UserInfo),
            ("https://example.com/#top", TargetError::Fragment),
            ("https://example.com:8443/", TargetError::Port(8443)),
            ("https://example.com:/", TargetError::NoPort(String::new())),
            ("https://example.com:0/", TargetError::NoPort("0".to_owned())),
            ("https://example.com:+443/", TargetError::NoPort("+443".to_owned())),
            ("https://example.com:1:2/", TargetError::NoPort("1:2".to_owned())),
            ("https://example.com\\@10.0.0.1/", TargetError::Character('\\')),
            ("https://exämple.com/", TargetError::Character('ä')),
            ("https://example.com/\r\nX: y", TargetError::Character('\r')),
            ("https://127.0.0.1/", TargetError::NotPublic("127.0.0.1".to_owned())),
            ("https://localhost/", TargetError::PrivateName("localhost".to_owned())),
            ("https://a.localhost/", TargetError::PrivateName("a.localhost".to_owned())),
            ("https://intranet/", TargetError::PrivateName("intranet".to_owned())),
        ] {
            assert_eq!(public(url).unwrap_err(), expected, "{url}");
        }
    }

    #[test]
    fn target_on_a_private_name_is_refused() {
        for host in [
            "metadata.google.internal",
            "METADATA.GOOGLE.INTERNAL.",
            "metadata.azure.internal",
            "instance-data.ec2.internal",
            "metadata",
            "instance-data",
            "metadata.goog",
            "api.internal",
            "internal",
            "printer.local",
            "x.localhost",
            "router.home.arpa",
            "home.arpa",
        ] {
            let url = format!("https://{host}/latest");
            assert_eq!(public(&url), Err(TargetError::PrivateName(host.to_owned())));
            assert!(Target::parse(&url, Policy::LOCAL).is_ok(), "{host}");
        }
        for host in ["169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"] {
            assert_eq!(public(&format!("https://{host}/")), Err(TargetError::NotPublic(host.to_owned())));
        }
        for host in ["internal.example.com", "mylocal.com", "notinternal.net", "local.dev", "thehome.arpa.example"] {
            assert!(public(&format!("https://{host}/")).is_ok(), "{host}");
        }
    }

    #[test]
    fn local_scope_allows_private_addresses_but_not_reserved_ones() {
        let local = |url: &str| Target::parse(url, Policy::LOCAL);
        for url in [
            "http://localhost:9000/x",
            "http://127.0.0.1:1",
            "https://10.1.2.3:8443",
            "http://[::1]:8080/",
            "http://receiver",
        ] {
            assert!(local(url).is_ok(), "{url}");
        }
        for url in [
            "http://169.254.169.254/latest",
            "http://0.0.0.0:80",
            "http://224.0.0.1",
            "http://[::ffff:127.0.0.1]/",
            "http://u@127.0.0.1",
        ] {
            assert!(local(url).is_err(), "{url}");
        }
    }
}

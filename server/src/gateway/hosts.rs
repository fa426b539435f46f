//! The host names that a gateway without keys answers to. A web page can let its own host name point to this machine and
//! then read answers like its own (DNS rebinding); a key protects from that, and so does the name that the browser sends.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header;
use axum::http::uri::Authority;
use headwater_types::text::{SHOWN, shortened};

use super::Problem;
use super::problem::Status;

/// Refuses a request for a host that is neither this machine by a loopback name nor one of `allowed`.
pub(super) fn check(request: &Request, allowed: &[String]) -> Result<(), Problem> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let named = named.or_else(|| request.uri().authority().map(Authority::as_str)).unwrap_or_default();
    if is_allowed(named, allowed) {
        return Ok(());
    }
    let message = format!(
        "the host {:?} is not allowed: without keys (auth.required = false) this server answers loopback names such as \
         localhost; add the host to http.allowed_hosts, or require keys",
        shortened(named, SHOWN)
    );
    Err(Problem::new(Status::Forbidden, message).because("host_not_allowed"))
}

fn is_allowed(named: &str, allowed: &[String]) -> bool {
    let Ok(authority) = named.parse::<Authority>() else { return false };
    let host = authority.host();
    let host = host.strip_suffix('.').unwrap_or(host);
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return address.to_canonical().is_loopback() || is_listed(bare, allowed);
    }
    // Resolvers never ask anybody about names below localhost (RFC 6761, 6.3).
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || is_listed(&host, allowed)
}

fn is_listed(host: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_and_listed_ones_are_allowed() {
        let listed = ["gateway.internal".to_owned(), "192.0.2.7".to_owned(), "2001:db8::7".to_owned()];
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "explore.localhost",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "gateway.internal",
            "Gateway.Internal:8080",
            "192.0.2.7:80",
            "[2001:db8::7]:80",
        ] {
            assert!(is_allowed(host, &listed), "{host:?}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.nip.io",
            "192.0.2.8",
            "0.0.0.0",
            "[::]",
            "gateway.internal.evil.example",
            "a b",
            "evil.example@127.0.0.1:80:80",
        ] {
            assert!(!is_allowed(host, &listed), "{host:?}");
        }
    }
}

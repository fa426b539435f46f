//! Checks of whether `serve` could start.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use headwater_cli::output::date;
use headwater_state::now_ms;

use super::super::outside_access;
use super::Findings;
use crate::config::Config;
use crate::gateway::{RedisAddress, Tls};

const AREA: &str = "service";
/// A certificate that ends earlier should have been renewed.
const SOON_SECS: i64 = 14 * 86_400;

/// Returns whether the ports are free, who could come through them, and whether what `serve` leans on is there.
pub(super) fn examine(config: &Config, findings: &mut Findings) {
    port(config.listen, "--listen", findings);
    if let Some(path) = &config.tls_certificate {
        certificate(path, now_ms() / 1000, findings);
    }
    if let Some(address) = &config.gateway.limits.redis {
        redis(address, findings);
    }
    if let Some(admin) = config.admin_address() {
        port(admin, "--admin-listen", findings);
    }
    for (what, remedy) in outside_access::of(config) {
        findings.warn(AREA, what, remedy);
    }
}

/// One that cannot be read at all is a broken setting.
fn certificate(path: &Path, now: i64, findings: &mut Findings) {
    let Ok(Some(valid)) = Tls::validity(path) else { return };
    let (from, to) = (*valid.start(), *valid.end());
    let what = format!("the certificate {} is valid from {} to {}", path.display(), date(from), date(to));
    let remedy = "put a valid one in its place: a server that runs reads it within seconds";
    if !valid.contains(&now) {
        findings.broken(AREA, what, remedy);
    } else if to - now < SOON_SECS {
        findings.warn(AREA, what, remedy);
    } else {
        findings.good(AREA, what);
    }
}

fn redis(address: &RedisAddress, findings: &mut Findings) {
    match address.ping() {
        Ok(()) => findings.good(AREA, format!("Redis at {address} answers")),
        Err(error) => findings.warn(
            AREA,
            format!("Redis at {address} gives no answer: {error}"),
            "start it, or correct limits.redis: until then each server keeps its share of the limits by itself",
        ),
    }
}

fn port(address: SocketAddr, flag: &str, findings: &mut Findings) {
    if address.port() == 0 {
        return;
    }
    match TcpListener::bind(address) {
        Ok(_) => findings.good(AREA, format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => findings.warn(
            AREA,
            format!("{address} is taken"),
            format!("fine if that is Headwater itself; else give another with {flag}"),
        ),
        Err(error) => findings.broken(
            AREA,
            format!("{address} cannot be listened on: {error}"),
            format!("give another with {flag}"),
        ),
    }
}

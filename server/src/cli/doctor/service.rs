//! Whether `serve` could start.

use std::net::{SocketAddr, TcpListener};

use super::Findings;
use crate::config::Config;

const AREA: &str = "service";

/// Whether the ports are free, and who could come through them.
pub(super) fn examine(config: &Config, findings: &mut Findings) {
    port(config.listen, "--listen", findings);
    if let Some(admin) = config.admin_address() {
        port(admin, "--admin-listen", findings);
        if !admin.ip().is_loopback() {
            findings.warn(
                AREA,
                format!("the admin listener {admin} is open to other machines"),
                "let it listen on 127.0.0.1, or see that only yours reach it",
            );
        }
    }
    if !config.auth_required && !config.listen.ip().is_loopback() {
        findings.warn(
            AREA,
            format!("auth.required is false and {} is open to other machines", config.listen),
            "set auth.required, or listen on 127.0.0.1",
        );
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

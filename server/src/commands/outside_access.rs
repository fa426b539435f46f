//! The parts of a configuration that are open to other machines, as `serve` logs it at the start and `doctor` reports it.

use ipnet::IpNet;

use crate::config::Config;
use crate::events::webhook::egress::Policy;

/// Returns each thing that is open, with the remedy.
pub(super) fn of(config: &Config) -> Vec<(String, String)> {
    let mut open = Vec::new();
    // A proxy on this machine is not a reason to listen for others.
    let is_loopback = |proxies: &IpNet| proxies.network().is_loopback();
    let mut warn = |what: String, remedy: &str| open.push((what, remedy.to_owned()));
    let is_encrypted = config.tls_certificate.is_some();
    let is_outside = !config.listen.ip().is_loopback();
    if is_outside && !is_encrypted && config.gateway.trusted_proxies.iter().all(is_loopback) {
        warn(
            format!(
                "{} is open to other machines without TLS: API keys and answers go there in clear, and no trusted proxy \
                 is named",
                config.listen
            ),
            "set server.tls_cert and server.tls_key; or name the proxy that speaks TLS in server.trusted_proxies; or \
             listen on 127.0.0.1",
        );
    }
    if config.gateway.trusted_proxies.iter().any(|network| network.prefix_len() == 0) {
        warn(
            "server.trusted_proxies has every address: any caller may name another address as its own".to_owned(),
            "name the networks of your proxies alone, such as 10.0.0.0/8",
        );
    }
    if is_outside && !config.gateway.auth_required {
        warn(
            format!("auth.required is false and {} is open to other machines: anybody there may call", config.listen),
            "set auth.required, or listen on 127.0.0.1",
        );
    }
    if let Some(admin) = config.admin_address().filter(|admin| !admin.ip().is_loopback()) {
        let how = if is_encrypted { "" } else { " without TLS: admin keys go there in clear" };
        warn(
            format!("the admin listener {admin} is open to other machines{how}"),
            "let it listen on 127.0.0.1, or see that only yours reach it, and set server.tls_cert",
        );
        if config.admin.open_metrics {
            warn(
                format!("metrics.open is true and {admin} is open to other machines: anybody there may read /metrics"),
                "remove metrics.open and scrape with an admin key, or let the admin listener be on 127.0.0.1",
            );
        }
    }
    if config.events.egress.policy == Policy::LOCAL {
        warn(
            "webhooks.allow_private_targets is true: whoever has a key can let the server send requests to addresses \
             inside your network"
                .to_owned(),
            "remove webhooks.allow_private_targets, unless every holder of a key may reach your network",
        );
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of what is open under these settings.
    fn open(settings: &[&str]) -> Vec<String> {
        let mut config = Config::default();
        for setting in settings {
            config.assign(setting).unwrap();
        }
        let short = |(what, _): (String, String)| what.split(' ').take(2).collect::<Vec<_>>().join(" ");
        of(&config).into_iter().map(short).collect()
    }

    #[test]
    fn exposure_of_defaults_is_nothing() {
        assert!(open(&[]).is_empty());
        assert!(open(&["metrics.open=true", "auth.required=false"]).is_empty(), "on this machine alone");
        assert!(open(&["server.listen=[::1]:8080", "server.admin_listen=[::1]:8081"]).is_empty());
    }

    #[test]
    fn outside_listener_needs_tls_or_a_trusted_proxy() {
        for address in ["0.0.0.0:8080", "[::]:8080", "192.0.2.7:8080"] {
            let listen = format!("server.listen={address}");
            assert_eq!(open(&[&listen]), [format!("{address} is")]);
            let tls = ["server.tls_cert=/x/chain.pem", "server.tls_key=/x/key.pem"];
            assert!(open(&[&listen, tls[0], tls[1]]).is_empty());
            assert!(open(&[&listen, "server.trusted_proxies=10.0.0.0/8"]).is_empty());
            assert_eq!(open(&[&listen, "server.trusted_proxies=127.0.0.0/8, ::1"]), [format!("{address} is")]);
            assert_eq!(open(&[&listen, "server.trusted_proxies=0.0.0.0/0"]), ["server.trusted_proxies has"]);
            assert_eq!(open(&[&listen, tls[0], tls[1], "auth.required=false"]), ["auth.required is"]);
        }
    }

    #[test]
    fn outside_admin_listener_and_open_metrics_are_named() {
        let admin = "server.admin_listen=0.0.0.0:8081";
        assert_eq!(open(&[admin]), ["the admin"]);
        assert_eq!(open(&[admin, "metrics.open=true"]), ["the admin", "metrics.open is"]);
        assert!(open(&["server.admin_listen=none", "metrics.open=true"]).is_empty());
    }

    #[test]
    fn private_webhook_targets_are_named() {
        assert_eq!(open(&["webhooks.allow_private_targets=true"]), ["webhooks.allow_private_targets is"]);
    }
}

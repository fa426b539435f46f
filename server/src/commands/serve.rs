//! `headwater serve`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater_cli::interrupt::{outlive_hangups, stop_signal};
use headwater_cli::output::Output;
use headwater_cli::{Failure, check_secrets, intelligence};
use headwater_engine::Endpoint;
use headwater_ledger::store::Writer;
use headwater_ledger::{LedgerError, Store};
use headwater_state::{BootReport, Home, LogSettings, Options, State, StateLocation};
use headwater_types::Chain;

use super::claim_provider::{provider, with_provider};
use super::{GlobalOptions, log, outside_access, panics, refused};
use crate::admin;
use crate::config::{AdminListen, Config};
use crate::events::webhook::egress::{EgressSettings, authorities};
use crate::events::{EventSettings, EventTasks};
use crate::gateway::{self, Gateway, ListenerConfig, Settings, Telemetry, Tls};
use crate::live::{Followers, NodeList, follow_nodes, log_changes, log_stale, parse_follow};
use crate::service::{Service, serve_on};

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Address and port [default: 127.0.0.1:8080]; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Address and port of the admin listener, or `none` for no such listener [default: 127.0.0.1:8081].
    #[arg(long, value_name = "ADDRESS")]
    pub admin_listen: Option<AdminListen>,
    /// Follow the nodes of a chain into the store, such as ethereum=http://127.0.0.1:8545; several are separated by commas.
    /// May be given more than once.
    #[arg(long, value_name = "CHAIN=URL")]
    pub follow: Vec<String>,
    /// One setting, such as auth.required=false; takes precedence over file and environment. May be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

/// The output once the server listens, in place of its own lines; both functions take its URL.
pub(super) struct Greeting<'a> {
    /// For scripts.
    pub value: &'a dyn Fn(&str) -> serde_json::Value,
    /// For people.
    pub lines: &'a dyn Fn(&str) -> Vec<String>,
}

/// Serves until SIGINT or SIGTERM.
pub(super) fn run(
    options: &GlobalOptions,
    endpoints: &'static [Endpoint],
    arguments: &Arguments,
    (output, greeting): (Output, Option<&Greeting<'_>>),
) -> Result<(), Failure> {
    let config = configuration(options, arguments)?;
    // From here on everything is a line of the log, unless the log was started before.
    log::start(config.log_format, &config.log_filter);
    panics::log_panics();
    let store = config.store.clone().ok_or_else(|| {
        Failure::usage(
            "no store is named: give --store DIR, set HEADWATER_STORE, or set store.path in the configuration",
        )
    })?;
    let place = match &config.state {
        Some(state) => StateLocation::parse(state)?,
        None => StateLocation::Folder(Home::beside(&store)),
    };
    check_secrets(&place, config.secrets_dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // From here on a signal stops the server as it is meant to, however far the start is.
    let stop = runtime.block_on(async { stop_signal() })?;
    // Before anything is begun: what cannot be served with leaves nothing behind.
    let (listener_config, events) = (listener_config(&config)?, event_settings(&config)?);
    let intelligence = with_provider(intelligence(&config.for_commands())?, provider(&config)?, runtime.handle());
    let create = config.create_store || !config.follow.is_empty();
    let ledgers = Arc::new(open_store(&store, create)?.with_fallback());
    // A commit of unknown outcome ends the process: nothing may be answered on the strength of it.
    let home = Home::open(&place, config.secrets_dir.as_deref())?;
    let options = Options { log: log_settings(&config), ..config.options.clone() };
    let state = State::start(&home, options, Box::new(|| std::process::abort()))?;
    report_losses(&state, config.options.refund_lost);
    let settings = Settings { intelligence, endpoints, ..config.gateway.clone() };
    let service = Service::new(Gateway::new(ledgers, state, settings), events);
    for (key, value) in config.shown() {
        tracing::info!(key, value, "setting");
    }
    for (what, remedy) in outside_access::of(&config) {
        tracing::warn!(remedy, "{what}");
    }
    let served = runtime.block_on(listen(&config, listener_config, &service, ((output, greeting), stop)));
    // Work that no longer has anybody to answer is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let gateway = service.gateway().clone();
    drop(service);
    if let Some(state) = gateway.into_state() {
        state.close();
    } else {
        tracing::warn!("a request was still under way at the end of the drain");
    }
    served
}

/// Returns the settings of the audit log. Without a folder of its own a shared state has it beside the store, which may be
/// read-only on this machine: then there are sums alone.
fn log_settings(config: &Config) -> LogSettings {
    let settings = config.log_settings();
    let is_implied = config.options.log.folder.is_none();
    match &settings.folder {
        Some(folder) if is_implied => match std::fs::create_dir_all(folder) {
            Ok(()) => settings,
            Err(error) => {
                tracing::warn!(
                    %error,
                    "no audit log is written, since {} cannot be made: set audit.log_dir to a folder that can",
                    folder.display()
                );
                LogSettings { folder: None, ..settings }
            }
        },
        Some(_) | None => settings,
    }
}

/// Opens a store, and creates a missing one on request.
fn open_store(path: &Path, create: bool) -> Result<Store, LedgerError> {
    match Store::open(path) {
        Err(LedgerError::NoStore { .. }) if create => {
            drop(Writer::open_or_create(path)?);
            tracing::info!(store = %path.display(), "created an empty store");
            Store::open(path)
        }
        opened => opened,
    }
}

/// Returns whether the files that the settings name can be served with.
pub(super) fn check(config: &Config) -> Result<(), Failure> {
    listener_config(config)?;
    intelligence(&config.for_commands())?;
    provider(config)?;
    event_settings(config).map(drop)
}

/// Says what servers that were killed left behind.
fn report_losses(state: &State, refunded: bool) {
    let BootReport { killed_runs, lost_answers } = state.boot_report();
    if killed_runs == 0 {
        return;
    }
    let lost = match (lost_answers, refunded) {
        (0, _) => "every answer that was charged had been sent".to_owned(),
        (_, true) => format!("answers that were charged and may not have arrived: {lost_answers}; they were refunded"),
        (_, false) => format!(
            "answers that were charged and may not have arrived: {lost_answers}; `headwater credits refund --lost` gives \
             them back"
        ),
    };
    tracing::warn!(killed_runs, lost_answers, "an earlier server ended without saying so; {lost}");
}

fn event_settings(config: &Config) -> Result<EventSettings, Failure> {
    let trusted = config.webhooks_authorities.as_deref().map(authorities).transpose();
    let authorities = trusted.map_err(|error| Failure::from_error(&error))?.unwrap_or_default();
    let egress = EgressSettings { authorities, ..config.events.egress.clone() };
    Ok(EventSettings { egress, ..config.events.clone() })
}

async fn listen(
    config: &Config,
    listener_config: ListenerConfig,
    service: &Service,
    ((output, greeting), stop): ((Output, Option<&Greeting<'_>>), impl Future<Output = ()> + Send + 'static),
) -> Result<(), Failure> {
    outlive_hangups()?;
    let gateway = service.gateway();
    let listener = gateway::bind(config.listen).map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => "; give another port with --listen, port 0 takes a free one",
            _ => "",
        };
        Failure::failed(format!("cannot listen on {}: {error}{remedy}", config.listen))
    })?;
    let address = listener.local_addr()?;
    let scheme = if listener_config.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", reachable(address));
    let admin = start_admin(config, &listener_config, gateway)?;
    if let Some(collector) = &config.otlp {
        let telemetry = Telemetry::start(collector, tokio::runtime::Handle::current())
            .map_err(|error| Failure::failed(format!("telemetry.otlp: {collector} cannot be used: {error}")))?;
        gateway.trace_with(telemetry);
    }
    announce(&url, admin.as_ref(), (output, greeting))?;
    // No webhook may reach our own listeners.
    let own = std::iter::once(address).chain(admin.as_ref().map(admin::Listener::address)).collect();
    let events = EventTasks::start(service.events(), own);
    let followers_log = gateway.ledgers().folder().map(|store| tokio::spawn(log_changes(store.to_owned())));
    let stale_log = tokio::spawn(log_stale(Arc::clone(gateway.ledgers())));
    let followers = match gateway.ledgers().folder() {
        Some(store) if !config.follow.is_empty() => {
            Some(Followers::start(store, &config.follow, &follow_nodes(store.to_owned()))?)
        }
        _ => None,
    };
    let following = followers.as_ref().map(Followers::canceller);
    let stop = async {
        stop.await;
        // At the beginning of the drain, so that both end together.
        if let Some(following) = &following {
            following.cancel();
        }
    };
    let served = serve_on(listener_config, listener, service, stop, config.drain).await;
    if let Some(followers) = followers
        && tokio::task::spawn_blocking(|| followers.stop()).await.is_err()
    {
        tracing::warn!("the end of the followers panicked");
    }
    events.stop().await;
    if let Some(admin) = admin {
        admin.stop().await;
    }
    if let Some(log) = followers_log {
        log.abort();
    }
    stale_log.abort();
    served?;
    if let Err(error) = gateway.state().flush().await {
        tracing::warn!(error = headwater_state::causes(&error), "what waits for the state cannot be committed now");
    }
    let traced = gateway.clone();
    let stop_telemetry = move || traced.telemetry().map(Telemetry::stop);
    if tokio::task::spawn_blocking(stop_telemetry).await.is_err() {
        tracing::warn!("the end of the telemetry panicked");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Returns an address at which this machine reaches a listener: one that is bound to all addresses is not an address to call.
const fn reachable(listener: SocketAddr) -> SocketAddr {
    let ip = match listener.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listener.port())
}

/// Says where the server answers: in the log, to scripts on standard output, and for the demo as its greeting.
fn announce(
    url: &str,
    admin: Option<&admin::Listener>,
    (output, greeting): (Output, Option<&Greeting<'_>>),
) -> Result<(), Failure> {
    if let Some(greeting) = greeting {
        return output.report(&(greeting.value)(url), || (greeting.lines)(url));
    }
    let docs = format!("{url}/docs");
    tracing::info!("Headwater answers on {url}, documentation on {docs}; Ctrl-C stops it");
    let admin_url = admin.map(admin::Listener::url);
    if let Some(url) = &admin_url {
        tracing::info!("the back office is on {url}/admin/v1, figures on {url}/metrics");
    }
    if output.is_json() {
        output.json(&serde_json::json!({"url": url, "docs": docs, "admin": admin_url}))?;
    }
    Ok(())
}

/// Starts the admin listener, where it is not switched off.
fn start_admin(
    config: &Config,
    listener_config: &ListenerConfig,
    gateway: &Gateway,
) -> Result<Option<admin::Listener>, Failure> {
    let Some(address) = config.admin_address() else { return Ok(None) };
    let listener =
        admin::Listener::start(address, gateway, config.admin.clone(), listener_config).map_err(|error| {
            let remedy = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    "; give another port with --admin-listen, port 0 takes a free one, none switches it off"
                }
                _ => "",
            };
            Failure::failed(format!("the admin listener cannot listen on {address}: {error}{remedy}"))
        })?;
    Ok(Some(listener))
}

/// The configuration of the listener.
fn listener_config(config: &Config) -> Result<ListenerConfig, Failure> {
    let tls = match (&config.tls_certificate, &config.tls_key) {
        (Some(certificate), Some(key)) => {
            let tls = Tls::load(certificate, key);
            Some(Arc::new(tls.map_err(|error| Failure::failed(headwater_state::causes(&error)))?))
        }
        (None, None) => None,
        (Some(_), None) => return Err(Failure::usage("server.tls_cert is set: set server.tls_key as well")),
        (None, Some(_)) => return Err(Failure::usage("server.tls_key is set: set server.tls_cert as well")),
    };
    Ok(ListenerConfig { connections: open_files(config.listener.connections), tls, ..config.listener.clone() })
}

/// Asks the system for as many open files as the connections need; gives the connections that it has files for.
fn open_files(connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Files of the store, the state, and work under way.
    const OTHERS: u64 = 1024;
    let wanted = connections as u64 + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < wanted) else { return connections };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted)).max(current);
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    let files = if set.is_ok() { raised } else { current };
    let fitting = usize::try_from(files.saturating_sub(OTHERS).max(files / 2)).unwrap_or(connections).min(connections);
    if fitting < connections {
        tracing::warn!(files, "at most {fitting} connections are taken: raise the limit of open files for more");
    }
    fitting
}

fn configuration(options: &GlobalOptions, arguments: &Arguments) -> Result<Config, Failure> {
    let mut config = options.config(&arguments.settings).map_err(|error| refused(&error))?;
    if let Some(listen) = arguments.listen {
        config.listen = listen;
    }
    if let Some(listen) = arguments.admin_listen {
        config.admin_listen = listen;
    }
    // Flags take the place of the configured nodes of their chains.
    let mut follow: BTreeMap<Chain, NodeList> = BTreeMap::new();
    for text in &arguments.follow {
        let (chain, nodes) = parse_follow(text).map_err(Failure::usage)?;
        match follow.get_mut(&chain) {
            Some(known) => known.extend(&nodes),
            None => _ = follow.insert(chain, nodes),
        }
    }
    config.follow.extend(follow);
    Ok(config)
}

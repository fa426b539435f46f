//! `headwater serve`.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_ledger::Store;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use super::Shared;
use super::error::Failure;
use super::interrupt::stop_signal;
use super::output::Output;
use super::panics;
use crate::config::{AdminListen, Config, ConfigError, LogFormat};
use crate::admin;
use crate::gateway::{self, Gateway, Settings, Telemetry};
use crate::state::{BootReport, Home, Options, Place, State};

/// What `serve` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Address and port [default: 127.0.0.1:8080]; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Address and port of the admin listener, or none [default: 127.0.0.1:8081].
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<AdminListen>,
    /// A TOML file of settings.
    #[arg(long, env = "HEADWATER_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, such as auth.required=false; stands before file and environment.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

/// Serves until SIGINT or SIGTERM.
pub(super) fn run(shared: &Shared, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let config = configuration(shared, arguments)?;
    let store = config.store.clone().ok_or_else(|| {
        Failure::usage(
            "no store is named: give --store DIR, set HEADWATER_STORE, or set store.path in the configuration",
        )
    })?;
    let place = match &config.state {
        Some(state) => Place::parse(state)?,
        None => Place::Folder(Home::beside(&store)),
    };
    start_log(&config);
    panics::log_panics();
    let ledgers = Arc::new(Store::open(&store)?);
    // A commit of unknown outcome ends the process: nothing may be answered on the strength of it.
    let home = Home::open(&place, config.secrets_dir.as_deref())?;
    let options = Options { audit_days: config.audit_days, refund_lost: config.refund_lost };
    let state = State::start(&home, options, Box::new(|| std::process::abort()))?;
    report_losses(&state, config.refund_lost);
    let settings =
        Settings { auth_required: config.auth_required, body_limit: config.body_bytes, ..Settings::default() };
    let gateway = Gateway::new(ledgers, state, settings);
    tracing::info!("configuration:\n{config}");
    if !config.auth_required && !config.listen.ip().is_loopback() {
        tracing::warn!(
            "auth.required is false and {} is open to other machines: anybody there may call",
            config.listen
        );
    }
    if config.limits_enabled {
        tracing::warn!("limits.enabled is set, but this version limits no rates yet");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(listen(&config, &gateway, output));
    // Work that no longer has anybody to answer is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Some(state) = gateway.into_state() {
        state.close();
    } else {
        tracing::warn!("a request was still under way at the end of the drain");
    }
    served
}

/// Says what servers that were killed left behind.
fn report_losses(state: &State, refunded: bool) {
    let BootReport { killed_runs, lost_answers } = state.boot_report();
    if killed_runs > 0 {
        let remedy = if refunded { "they were refunded" } else { "`headwater credits refund --lost` gives them back" };
        tracing::warn!(
            killed_runs,
            lost_answers,
            "an earlier server ended without saying so; answers that were charged and may not have arrived: {lost_answers}; {remedy}"
        );
    }
}

async fn listen(config: &Config, gateway: &Gateway, output: Output) -> Result<(), Failure> {
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => "; give another port with --listen, port 0 takes a free one",
            _ => "",
        };
        Failure::failed(format!("cannot listen on {}: {error}{remedy}", config.listen))
    })?;
    let address = listener.local_addr()?;
    let admin = start_admin(config, gateway).await?;
    if let Some(collector) = &config.otlp {
        let telemetry = Telemetry::start(collector, tokio::runtime::Handle::current())
            .map_err(|error| Failure::failed(format!("telemetry.otlp: {collector} cannot be used: {error}")))?;
        gateway.trace_with(telemetry);
    }
    let url = format!("http://{address}");
    let admin_url = admin.as_ref().map(|admin| format!("http://{}", admin.address()));
    output.report(&serde_json::json!({"url": url, "docs": format!("{url}/docs"), "admin": admin_url}), || {
        let mut lines = vec![format!("Headwater answers on {url}, documentation on {url}/docs; Ctrl-C stops it.")];
        lines.extend(admin_url.as_ref().map(|url| format!("The back office is on {url}/admin/v1, figures on {url}/metrics.")));
        lines
    })?;
    gateway::serve(listener, gateway, stop_signal(), Duration::from_secs(config.drain_secs)).await?;
    if let Some(admin) = admin {
        admin.stop().await;
    }
    gateway.state().flush().await?;
    let traced = gateway.clone();
    let stop_telemetry = move || traced.telemetry().map(Telemetry::stop);
    if tokio::task::spawn_blocking(stop_telemetry).await.is_err() {
        tracing::warn!("the end of the telemetry panicked");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Starts the admin listener, where it is not switched off.
async fn start_admin(config: &Config, gateway: &Gateway) -> Result<Option<admin::Listener>, Failure> {
    let Some(address) = config.admin_address() else { return Ok(None) };
    let settings = admin::Settings { open_metrics: config.metrics_open, backup_dir: config.backup_dir.clone() };
    let listener = admin::Listener::start(address, gateway, settings).await.map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; give another port with --admin-listen, port 0 takes a free one, none switches it off"
            }
            _ => "",
        };
        Failure::failed(format!("the admin listener cannot listen on {address}: {error}{remedy}"))
    })?;
    if !address.ip().is_loopback() {
        tracing::warn!("the admin listener {address} is open to other machines");
    }
    Ok(Some(listener))
}

fn configuration(shared: &Shared, arguments: &Arguments) -> Result<Config, Failure> {
    let mut config = settings(shared, arguments.config.as_deref(), &arguments.settings)?;
    if let Some(listen) = arguments.listen {
        config.listen = listen;
    }
    if let Some(listen) = arguments.admin_listen {
        config.admin_listen = listen;
    }
    Ok(config)
}

/// Defaults, file, environment, flags.
pub(super) fn settings(shared: &Shared, file: Option<&Path>, assignments: &[String]) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    if let Some(file) = file {
        config.read_file(file)?;
    }
    config.read_environment(
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    )?;
    for setting in assignments {
        config.assign(setting)?;
    }
    if let Some(store) = &shared.store {
        config.store = Some(store.clone());
    }
    if let Some(state) = &shared.state {
        config.state = Some(state.clone());
    }
    if let Some(folder) = &shared.secrets_dir {
        config.secrets_dir = Some(folder.clone());
    }
    Ok(config)
}

/// Logs go to standard error. A second `serve` in one process keeps the first one's log.
fn start_log(config: &Config) {
    // What these say below `info` may repeat what went over a connection, keys included.
    const QUIET: [&str; 9] = [
        "h2=info",
        "hyper=info",
        "hyper_util=info",
        "rustls=info",
        "tokio_postgres=info",
        "tungstenite=info",
        "tokio_tungstenite=info",
        "redis=info",
        "opentelemetry_sdk=info",
    ];
    let filter = QUIET.iter().filter_map(|directive| directive.parse().ok());
    let filter = filter.fold(EnvFilter::new(&config.log_filter), EnvFilter::add_directive);
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    let _ = match config.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

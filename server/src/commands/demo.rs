//! `headwater demo`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headwater_cli::Failure;
use headwater_cli::demo::{CommandLine, Demo, Service, place_in};
use headwater_cli::output::Output;
use headwater_engine::Endpoint;
use headwater_ledger::Cancel;
use headwater_simulate::LiveBlocks;
use headwater_state::{ErrorThrottle, Home};
use serde_json::json;

use super::serve::{self, Greeting};
use super::{GlobalOptions, refused};
use crate::config::AdminListen;

/// The time between two simulated blocks.
const BLOCK_TIME: Duration = Duration::from_secs(5);
/// The most simulated blocks of one run, about an hour of them: all are in memory until they are taken back.
const MAX_BLOCKS: u64 = 720;
/// The interval at which their thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Address and port [default: 127.0.0.1:8080]; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", value_parser = serve::address)]
    listen: Option<SocketAddr>,
    /// Print every address worth a look, and how to ask about it in the shell, over HTTP and in Python.
    #[arg(long, conflicts_with_all = ["listen", "no_serve"])]
    list: bool,
    /// Do not serve: load, make a key, print and end.
    #[arg(long, conflicts_with = "listen")]
    no_serve: bool,
}

/// Loads the demo economy once, prints its story, and serves it.
pub(super) fn run(
    options: &GlobalOptions,
    endpoints: &'static [Endpoint],
    arguments: &Arguments,
    (program, output): (&str, Output),
) -> Result<(), Failure> {
    let store = match &options.store {
        Some(store) => store.clone(),
        None => place_in(&cache()?),
    };
    let demo = Demo::open(&store)?;
    let command = CommandLine { program: program.to_owned() };
    if arguments.list {
        return demo.list(&command, output);
    }
    let key = demo.create_key()?;
    let value = |url: Option<&str>| json!({"store": demo.store(), "key": key, "url": url});
    let words = |url: Option<&str>| demo.story(&command, &Service { url: url.map(str::to_owned), key: key.clone() });
    if arguments.no_serve {
        return output.report(&value(None), || words(None));
    }
    // The key is in the state beside the store, whatever the environment names.
    let state = Home::beside(demo.store()).display().to_string();
    let options = GlobalOptions { store: Some(store), state: Some(state), ..options.clone() };
    let mut settings = vec!["log.filter=warn".to_owned()];
    // The page opens on the story without a key, for this machine alone.
    let configured = options.config(&[]).map_err(|error| refused(&error))?.listen;
    if arguments.listen.unwrap_or(configured).ip().is_loopback() {
        settings.push("auth.required=false".to_owned());
    }
    let served = serve::Arguments {
        listen: arguments.listen,
        admin_listen: Some(AdminListen::Off),
        follow: Vec::new(),
        settings,
    };
    let lines = |url: &str| {
        let mut lines = words(Some(url));
        lines.push(demo.stream_line(url, &key));
        lines
    };
    let greeting = Greeting { value: &|url| value(Some(url)), lines: &lines };
    let blocks = SimulatedBlocks::start(demo.live_blocks().map_err(|error| Failure::from_error(&error))?)?;
    let result = serve::run(&options, endpoints, &served, (output, Some(&greeting)));
    blocks.stop();
    result
}

/// Adds simulated blocks to the demo store while it is served, so that the stream and webhooks have events.
struct SimulatedBlocks {
    cancel: Cancel,
    thread: JoinHandle<()>,
}

impl SimulatedBlocks {
    fn start(blocks: LiveBlocks) -> std::io::Result<Self> {
        let cancel = Cancel::new();
        let stop = cancel.clone();
        let thread = thread::Builder::new().name("simulated-blocks".to_owned());
        Ok(Self { cancel, thread: thread.spawn(move || add_blocks(blocks, &stop))? })
    }

    /// Takes the blocks back, so that the store is the economy again.
    fn stop(self) {
        self.cancel.cancel();
        if self.thread.join().is_err() {
            tracing::error!("adding simulated blocks panicked");
        }
    }
}

fn add_blocks(mut blocks: LiveBlocks, stop: &Cancel) {
    let recurring = ErrorThrottle::default();
    for _ in 0..MAX_BLOCKS {
        let began = Instant::now();
        while began.elapsed() < BLOCK_TIME && stop.check().is_ok() {
            thread::sleep(LOOK);
        }
        if stop.check().is_err() {
            break;
        }
        if let Err(error) = blocks.add() {
            recurring.met("a simulated block could not be added", &error);
        }
    }
    while stop.check().is_ok() {
        thread::sleep(LOOK);
    }
    if let Err(error) = blocks.end() {
        let error = headwater_state::causes(&error);
        tracing::warn!(error, "the simulated blocks stay until the next start of the demo");
    }
}

/// Returns the user's folder for data that can be made again.
fn cache() -> Result<PathBuf, Failure> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    cache.ok_or_else(|| Failure::usage("neither XDG_CACHE_HOME nor HOME is set: name a folder with --store"))
}

//! `headwater demo`.

use std::net::SocketAddr;
use std::path::PathBuf;

use headwater_cli::Failure;
use headwater_cli::demo::{CommandLine, Demo, Service, place_in};
use headwater_cli::output::Output;
use headwater_engine::Endpoint;
use headwater_state::Home;
use serde_json::json;

use super::GlobalOptions;
use super::serve::{self, Greeting};
use crate::config::AdminListen;

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
    if arguments.listen.is_none_or(|listen| listen.ip().is_loopback()) {
        settings.push("auth.required=false".to_owned());
    }
    let served = serve::Arguments {
        listen: arguments.listen,
        admin_listen: Some(AdminListen::Off),
        follow: Vec::new(),
        settings,
    };
    let greeting = Greeting { value: &|url| value(Some(url)), lines: &|url| words(Some(url)) };
    serve::run(&options, endpoints, &served, (output, Some(&greeting)))
}

/// Returns the user's folder for data that can be made again.
fn cache() -> Result<PathBuf, Failure> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    cache.ok_or_else(|| Failure::usage("neither XDG_CACHE_HOME nor HOME is set: name a folder with --store"))
}

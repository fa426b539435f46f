//! The demo economy: loaded into a folder once, with a key, and one story to follow.

mod story;

use std::path::{Path, PathBuf};

use headwater_ledger::{Cancel, Store};
use headwater_simulate::{BuildStep, LiveBlocks, Preset, SimulateError, build_store};
use headwater_state::{Environment, Home, StateError, StateLocation};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::actor;
use super::error::Failure;
use super::output::{Output, say, write_json};
use super::progress::{Bar, Unit};
pub use story::{CommandLine, Service, place_in};

/// The seed of the economy.
const SEED: u64 = 1;

/// Credits of the key.
const CREDITS: i64 = 100_000;

/// A store with the demo economy.
#[derive(Debug)]
pub struct Demo {
    store: PathBuf,
    addresses: Vec<DemoAddress>,
}

/// An address that is worth looking at.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DemoAddress {
    blockchain: String,
    address: String,
    title: String,
    why: String,
}

/// The file that marks a demo store and names its addresses.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    highlights: Vec<DemoAddress>,
}

impl Demo {
    /// Opens the demo store in a folder; loads the economy there the first time.
    ///
    /// # Errors
    /// When the folder contains other data, or the economy cannot be loaded.
    pub fn open(store: &Path) -> Result<Self, Failure> {
        let marker = marker(store);
        let known = std::fs::read(&marker).ok().and_then(|bytes| serde_json::from_slice::<Marker>(&bytes).ok());
        if let Some(Marker { highlights }) = known {
            // A store of an older version may be unreadable, or without the addresses of the story.
            let is_current = Store::open(store).and_then(|store| store.stats()).is_ok();
            if is_current && has_current_state(store) && story::has_theft(&highlights) {
                return Ok(Self { store: store.to_owned(), addresses: highlights });
            }
            remove(store)?;
        } else if store.exists() {
            return Err(Failure::usage(format!(
                "{} contains other data than the demo economy: name another folder with --store",
                store.display()
            )));
        }
        let highlights = load(store, &marker)?;
        Ok(Self { store: store.to_owned(), addresses: highlights })
    }

    /// Returns the folder of the store.
    #[must_use]
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Creates a key for the demo.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn create_key(&self) -> Result<String, Failure> {
        let home = Home::open(&StateLocation::Folder(Home::beside(&self.store)), None)?;
        let made = home.admin(&actor(), |admin| admin.create_key("demo", Environment::Live, CREDITS, None))?;
        Ok(made.key.expose().to_owned())
    }

    /// Begins simulated blocks behind the end of the economy.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn live_blocks(&self) -> Result<LiveBlocks, SimulateError> {
        LiveBlocks::begin(&self.store, SEED)
    }

    /// Returns a line that shows the events of these blocks.
    #[must_use]
    pub fn stream_line(&self, url: &str, key: &str) -> String {
        let address = format!("{}/v1/stream", url.replacen("http", "ws", 1));
        let wanted = json!({"action": "subscribe", "id": "1", "event_type": "large_transfer", "filters": {"min_amount_usd": 1000}});
        format!(
            "live  a block every 5 s; its events: python3 -c \"from websockets.sync.client import connect; \
             s = connect('{address}', additional_headers={{'X-API-Key': '{key}'}}).__enter__(); s.send('''{}'''); [print(m) for m in s]\" \
             (after pip install websockets)",
            wanted.to_string().replace('"', "\\\"")
        )
    }

    /// Returns the story in ten lines.
    #[must_use]
    pub fn story(&self, command: &CommandLine, service: &Service) -> Vec<String> {
        story::lines(self, command, service)
    }

    /// Prints everything else that is worth trying.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn list(&self, command: &CommandLine, output: Output) -> Result<(), Failure> {
        let value = json!({"store": self.store, "highlights": self.addresses});
        output.report(&value, || story::list(self, command))
    }
}

/// Returns the place of the marker of a store.
fn marker(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// Returns false if the state of the demo has the schema of another version: it holds nothing but keys of the demo.
fn has_current_state(store: &Path) -> bool {
    let place = Home::beside(store);
    !place.exists() || !matches!(Home::in_folder(&place), Err(StateError::OtherSchema { .. }))
}

/// Removes a demo store that an older version made, with its keys.
fn remove(store: &Path) -> Result<(), Failure> {
    for folder in [store.to_owned(), Home::beside(store)] {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .map_err(|error| Failure::failed(format!("cannot remove {}: {error}", folder.display())))?;
        }
    }
    Ok(())
}

/// Loads the economy; the marker is written last, so that a stopped load is not taken for a whole one.
fn load(store: &Path, marker: &Path) -> Result<Vec<DemoAddress>, Failure> {
    say(&format!("Loading the demo economy into {}, once.", store.display()));
    if let Some(parent) = store.parent() {
        std::fs::create_dir_all(parent)
            .map_err(|error| Failure::failed(format!("cannot create {}: {error}", parent.display())))?;
    }
    // Built beside its place and moved there whole.
    let mut partial = store.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    remove(&partial)?;
    let bar = Bar::new(Unit::Steps);
    let progress = |step: BuildStep, done, total| match step {
        BuildStep::Days => bar.update(done, total, "days"),
        BuildStep::Sidecar(kind) => bar.update(done, total, &format!("building {kind}")),
    };
    // An interrupt ends the process, and the next load begins anew: a server that follows has its own handler.
    let report = build_store(&partial, (Preset::Demo, SEED), None, &progress, &Cancel::new());
    drop(bar);
    let report = report.map_err(|error| Failure::from_error(&error))?;
    std::fs::rename(&partial, store)
        .map_err(|error| Failure::failed(format!("cannot move the store to {}: {error}", store.display())))?;
    let text = |of: &dyn std::fmt::Display| of.to_string();
    let highlights = report.highlights.iter().map(|one| DemoAddress {
        blockchain: text(&one.chain),
        address: one.address.clone(),
        title: text(&one.title),
        why: one.why.clone(),
    });
    let marked = Marker { highlights: highlights.collect() };
    write_json(marker, &marked)?;
    Ok(marked.highlights)
}

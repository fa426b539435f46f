//! The peers that live in Python: one long-lived process that answers lines of JSON, so that all engines are measured
//! in one run.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Engine;
use crate::suite::answer::{Answer, Query};
use crate::suite::counters::Cost;
use crate::suite::error::doing;
use crate::suite::{Error, Result};

/// One peer behind the process that all of them share.
pub struct Child {
    process: Arc<Mutex<Pipe>>,
    about: PeerDescription,
}

/// The description of a peer by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PeerDescription {
    /// Its name in reports.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Names of the questions that it takes.
    pub queries: Vec<String>,
    /// The cost of making its data, now or when that was.
    pub build: Cost,
    /// Bytes of its data on disk, where it has any.
    pub bytes: Option<u64>,
}

struct Pipe {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Process,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Pipe {
    fn ask<T: DeserializeOwned>(&mut self, request: &Value) -> Result<T> {
        writeln!(self.input, "{request}").map_err(doing("writing to the Python peers"))?;
        self.input.flush().map_err(doing("writing to the Python peers"))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(doing("reading from the Python peers"))?;
        let failed = |what: String| Error::Peer { peer: "python", what };
        let reply: Value = serde_json::from_str(&line)
            .map_err(|error| failed(format!("{error} in the reply {:?} to {request}", line.trim_end())))?;
        if let Some(error) = reply.get("error") {
            return Err(failed(format!("{} after {request}", error.as_str().unwrap_or_default())));
        }
        serde_json::from_value(reply).map_err(|error| failed(format!("{error} in the reply to {request}")))
    }
}

impl Child {
    /// Starts the process and has it open or build the data of the peers in a folder; `only` by name, all when empty.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(python: &Path, script: &Path, folder: &Path, only: &[String]) -> Result<Vec<Self>> {
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(doing(format!("starting {}", python.display())))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Peer { peer: "python", what: "it has no pipes".to_owned() });
        };
        let mut pipe = Pipe { input, output: BufReader::new(output), process };
        let abouts: Vec<PeerDescription> = pipe.ask(&json!({"do": "open", "only": only}))?;
        let process = Arc::new(Mutex::new(pipe));
        Ok(abouts.into_iter().map(|about| Self { process: Arc::clone(&process), about }).collect())
    }

    /// Returns its description of itself.
    #[must_use]
    pub const fn about(&self) -> &PeerDescription {
        &self.about
    }

    /// Answers once after the system forgot the peer's file, and returns what that took.
    ///
    /// # Errors
    /// When it cannot answer.
    pub fn cold(&self, query: Query) -> Result<Cost> {
        self.ask("cold", query)
    }

    fn ask<T: DeserializeOwned>(&self, what: &str, query: Query) -> Result<T> {
        let request = json!({"do": what, "engine": self.about.name, "query": query.name(), "of": query});
        self.process.lock().unwrap_or_else(PoisonError::into_inner).ask(&request)
    }
}

impl Engine for Child {
    fn name(&self) -> String {
        self.about.name.clone()
    }

    fn takes(&self, query: Query) -> bool {
        self.about.queries.iter().any(|name| name == query.name())
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        self.ask("answer", query)
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        self.ask("time", query)
    }
}

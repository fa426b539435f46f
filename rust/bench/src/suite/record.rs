//! The lines that a run writes and the report is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Cost;
use super::load::Load;
use super::memory::{ColdReads, QueryMemory};
use super::run::Timing;
use super::samples::Figures;

/// One line of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The machine and the data of a measurement; begins the lines of one run.
    About(Setup),
    /// Lines that follow are of this size.
    Of {
        /// Its transfers.
        transfers: u64,
    },
    /// The store was built.
    Load(Load),
    /// Engines answered a group of questions.
    Timing(Timing),
    /// Pages from a cold cache.
    Cold {
        /// The set of accounts that they were about.
        set: String,
        /// The engine that answered.
        engine: String,
        /// The figures.
        cold: ColdReads,
    },
    /// Memory of the queries alone.
    Memory(QueryMemory),
    /// A peer was loaded.
    Peer {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
        /// The transfers that it holds.
        transfers: u64,
        /// The cost of loading, now or when its data was made.
        build: Option<Cost>,
        /// Bytes on disk, if any.
        bytes: Option<u64>,
    },
    /// A page through a face: Python or HTTP.
    Face {
        /// The interface.
        face: String,
        /// The set of accounts that it was about.
        set: String,
        /// Median in nanoseconds.
        median_ns: u64,
        /// One in twenty was slower.
        p95_ns: u64,
        /// Times asked.
        operations: u64,
    },
}

/// The machine and the data of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The preset.
    pub preset: String,
    /// Its transfers.
    pub transfers: u64,
    /// Accounts that occur.
    pub active: u64,
    /// Degrees of the ten largest.
    pub top_degrees: Vec<u32>,
    /// Name, number of accounts, smallest and largest degree of each query set.
    pub sets: Vec<(String, u64, u32, u32)>,
    /// Processor, as the system names it.
    pub processor: String,
    /// Threads it runs at once.
    pub threads: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The system.
    pub system: String,
    /// The compiler.
    pub compiler: String,
    /// The commit measured.
    pub commit: String,
    /// Processes that wanted to run, on average of the last minute, before the run began.
    pub load: String,
}

impl Setup {
    /// Fills in what the machine says of itself.
    #[must_use]
    pub fn of_machine() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split(':').nth(1)).unwrap_or_default().trim().to_owned()
        };
        let said = |command: &str, arguments: &[&str]| {
            let output = std::process::Command::new(command).args(arguments).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let kib: u64 = memory.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            preset: String::new(),
            transfers: 0,
            active: 0,
            top_degrees: Vec::new(),
            sets: Vec::new(),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            threads: std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
            memory_bytes: kib * 1024,
            system: format!("{} {}", read("/proc/sys/kernel/ostype").trim(), read("/proc/sys/kernel/osrelease").trim()),
            compiler: said("rustc", &["--version"]),
            commit: said("git", &["describe", "--always", "--dirty"]),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

/// The lines of one run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The machine and the data.
    pub about: Setup,
    /// All other lines.
    pub records: Vec<Record>,
}

impl Run {
    /// Splits lines into runs: of each preset the lines that came last stand for it.
    #[must_use]
    pub fn split(records: Vec<Record>) -> Vec<Self> {
        let mut runs: BTreeMap<u64, Self> = BTreeMap::new();
        let mut current = 0;
        for record in records {
            match record {
                Record::About(about) => {
                    current = about.transfers;
                    let run = runs.entry(current).or_insert_with(|| Self { about: about.clone(), records: Vec::new() });
                    if about.active > 0 {
                        run.about = about;
                    }
                }
                Record::Of { transfers } => current = transfers,
                Record::Load(_)
                | Record::Timing(_)
                | Record::Cold { .. }
                | Record::Memory(_)
                | Record::Peer { .. }
                | Record::Face { .. } => {
                    if let Some(run) = runs.get_mut(&current) {
                        run.records.retain(|held| subject(held) != subject(&record));
                        run.records.push(record);
                    }
                }
            }
        }
        runs.into_values().collect()
    }

    /// The figures of an engine.
    #[must_use]
    pub fn timing(&self, query: &str, set: &str, engine: &str) -> Option<Figures> {
        self.records.iter().find_map(|record| match record {
            Record::Timing(timing)
                if (timing.query.as_str(), timing.set.as_str(), timing.engine.as_str()) == (query, set, engine) =>
            {
                Some(timing.figures)
            }
            _ => None,
        })
    }

    /// Returns the cost of building.
    #[must_use]
    pub fn load(&self) -> Option<&Load> {
        self.records.iter().find_map(|record| if let Record::Load(load) = record { Some(load) } else { None })
    }
}

/// Returns what a record is about: a later one of the same takes its place.
fn subject(record: &Record) -> (u8, String, String, String) {
    let text = str::to_owned;
    match record {
        Record::About(_) | Record::Of { .. } => (0, String::new(), String::new(), String::new()),
        Record::Load(_) => (1, String::new(), String::new(), String::new()),
        Record::Timing(timing) => (2, timing.query.clone(), timing.set.clone(), timing.engine.clone()),
        Record::Cold { set, engine, .. } => (3, set.clone(), engine.clone(), String::new()),
        Record::Memory(_) => (4, String::new(), String::new(), String::new()),
        Record::Peer { name, .. } => (5, name.clone(), String::new(), String::new()),
        Record::Face { face, set, .. } => (6, text(face), set.clone(), String::new()),
    }
}

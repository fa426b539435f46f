//! Engines that are resident together, beside the engine itself: the peers with tables first, then those with graphs,
//! so that each can hold as much as the machine has room for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Result;
use super::answer::Query;
use super::counters::available_memory;
use super::oracle::{Edges, Oracle};
use super::own::EngineUnderTest;
use super::peers::{Child, Engine, Fjall, KeyedStore, PetgraphPeer, Redb, locked_version};
use super::questions::{self, Group};
use super::record::Record;
use super::run::{Purpose, group};
use super::tables;
use super::traces::{MemoryTraces, StoredTraces};
use super::units::{grouped, nanos};
use crate::generator::{Generator, HOLDERS, Preset, QuerySets, Ranks};

/// A size: its rows, its questions and the folder with its store and the data of the peers.
pub struct Data {
    /// The size.
    pub preset: Preset,
    /// The folder of its files.
    pub folder: PathBuf,
    /// Its rows.
    pub generator: Generator,
    /// Its names.
    pub ranks: Arc<Ranks>,
    /// The accounts that questions are about.
    pub sets: QuerySets,
    /// All questions.
    pub groups: Vec<Group>,
}

impl Data {
    /// Counts all rows once, to know whom to ask about.
    #[must_use]
    pub fn of(preset: Preset, folder: &Path) -> Self {
        let generator = Generator::new(preset);
        let ranks = Arc::new(Ranks::of(preset));
        let sets = QuerySets::of(&generator);
        let groups = questions::groups(&generator, &ranks, &sets);
        Self { preset, folder: folder.to_owned(), generator, ranks, sets, groups }
    }

    /// Returns where its store is.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Balances of the preset of holders, less where there are few transfers.
    #[must_use]
    pub fn holders(&self) -> usize {
        HOLDERS.min(usize::try_from(self.preset.transfers() / 4).unwrap_or(HOLDERS))
    }
}

/// The engines that answer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The engine and the peers with postings, balances or both.
    Tables,
    /// The engine and the peers with grouped edges.
    Graphs,
}

/// Bytes of memory that networkx takes for a transfer, with room for grouping the edges: two entries of dictionaries and
/// a dictionary of its own for each edge, 205 bytes for a transfer at 200,000 of them.
const NETWORKX_BYTES: u64 = 400;
const NETWORKX: &str = "networkx";

impl Stage {
    const fn takes(self, query: Query) -> bool {
        matches!((self, query), (Self::Graphs, Query::Trace { .. }))
            || !matches!((self, query), (Self::Graphs, _) | (_, Query::Trace { .. }))
    }

    const fn peers(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &[
                "redb",
                "fjall",
                "duckdb",
                "duckdb, text in order of time",
                "polars, mapped",
                "polars, parquet",
                "duckdb, holders",
                "polars, holders",
                "numpy in doubles, holders",
            ],
            Self::Graphs => &["petgraph", "rustworkx", "igraph", NETWORKX],
        }
    }

    /// The largest size up to this that a peer can hold here.
    #[must_use]
    pub fn largest(peer: &str, preset: Preset) -> Preset {
        let fits = |bytes| preset.transfers().saturating_mul(bytes) < available_memory();
        if peer == NETWORKX && !fits(NETWORKX_BYTES) { Preset::of(preset.transfers().min(2_000_000)) } else { preset }
    }
}

type Engines = Vec<Box<dyn Engine>>;

/// The selection of questions and engines.
pub struct QuestionSelection {
    /// The Python that has the peers, and the program that it runs; without it they are left out.
    pub python: Option<(PathBuf, PathBuf)>,
    /// Only these engines, by name; the engine itself is "headwater". All when empty.
    pub only: Vec<String>,
    /// Only these questions, by name. All when empty.
    pub questions: Vec<String>,
    /// The purpose: whether answers are timed.
    pub purpose: Purpose,
}

impl QuestionSelection {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The peers of a stage that are asked.
    #[must_use]
    pub fn peers(&self, stage: Stage) -> Vec<&'static str> {
        stage.peers().iter().copied().filter(|name| self.wants(name)).collect()
    }

    /// Starts the engines of a stage, asks them and hands each result to `keep`; their names.
    ///
    /// # Errors
    /// When an answer is wrong or cannot be had.
    pub fn ask(
        &self,
        data: &Data,
        (stage, peers): (Stage, &[&str]),
        keep: &mut dyn FnMut(Vec<Record>) -> Result<()>,
    ) -> Result<Vec<String>> {
        let wanted =
            |query: &Query| self.questions.is_empty() || self.questions.iter().any(|name| name == query.name());
        let takes = |group: &&Group| group.queries.first().is_some_and(|query| stage.takes(*query) && wanted(query));
        let groups: Vec<Group> = data.groups.iter().filter(takes).cloned().collect();
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        if !peers.is_empty() {
            tables::write(&data.generator, &data.ranks, data.holders(), &data.folder)?;
        }
        let edges = if stage == Stage::Graphs { Edges::of(&data.generator, &data.ranks) } else { Edges::default() };
        let (mut engines, records) = self.engines(data, (stage, peers), &edges)?;
        keep(records)?;
        let (accounts, tokens) = (questions::accounts(&groups), questions::tokens(&groups));
        let oracle = Oracle::of(&data.generator, &data.ranks, &accounts, &tokens).with_edges(edges);
        for one in &groups {
            let timings = group(one, &mut engines, &oracle, self.purpose)?;
            for timing in &timings {
                let (figures, query, set) = (timing.figures, &timing.query, &timing.set);
                let (median, p95, cpu) = (nanos(figures.median_ns), nanos(figures.p95_ns), nanos(figures.cpu_ns));
                eprintln!("  {query} {set} {}: {median} (p95 {p95}, cpu {cpu})", timing.engine);
            }
            keep(timings.into_iter().map(Record::Timing).collect())?;
        }
        Ok(engines.iter().map(|engine| engine.name()).collect())
    }

    fn engines(&self, data: &Data, (stage, peers): (Stage, &[&str]), edges: &Edges) -> Result<(Engines, Vec<Record>)> {
        let mut engines = Engines::new();
        let mut records = Vec::new();
        let transfers = data.preset.transfers();
        let peer = |name: &str, version, build, bytes| Record::Peer {
            name: name.to_owned(),
            version,
            transfers,
            build,
            bytes,
        };
        match stage {
            Stage::Tables if self.wants("headwater") => {
                engines.push(Box::new(
                    EngineUnderTest::open(&data.store(), Arc::clone(&data.ranks))?.with_holders(data.holders()),
                ));
            }
            Stage::Graphs if self.wants("headwater") => {
                engines.push(Box::new(MemoryTraces::new(edges)));
                if data.store().exists() {
                    engines.push(Box::new(StoredTraces::open(&data.store(), Arc::clone(&data.ranks))?));
                }
            }
            Stage::Tables | Stage::Graphs => {}
        }
        let mut in_python = Vec::new();
        for &name in peers {
            match name {
                "redb" => {
                    let redb = KeyedStore::<Redb>::open(&data.folder)?;
                    records.push(peer(name, locked_version(name), Some(redb.build), Some(redb.bytes)));
                    engines.push(Box::new(redb));
                }
                "fjall" => {
                    let fjall = KeyedStore::<Fjall>::open(&data.folder)?;
                    records.push(peer(name, locked_version(name), Some(fjall.build), Some(fjall.bytes)));
                    engines.push(Box::new(fjall));
                }
                "petgraph" => {
                    records.push(peer(name, locked_version(name), None, None));
                    engines.push(Box::new(PetgraphPeer::new(edges)));
                }
                _ => in_python.push(name.to_owned()),
            }
        }
        if let Some((python, script)) = &self.python
            && !in_python.is_empty()
        {
            for child in Child::start(python, script, &data.folder, &in_python)? {
                let about = child.about();
                records.push(peer(&about.name, about.version.clone(), Some(about.build), about.bytes));
                engines.push(Box::new(child));
            }
        }
        Ok((engines, records))
    }
}

/// Marks results of a smaller size, so that they never are beside those of the whole.
#[must_use]
pub fn marked(records: Vec<Record>, transfers: u64) -> Vec<Record> {
    let mark = |name: &mut String| *name = format!("{name}, on {} transfers", grouped(transfers));
    let marked = |mut record: Record| {
        match &mut record {
            Record::Timing(timing) => mark(&mut timing.engine),
            Record::Peer { name, .. } => mark(name),
            Record::About(_)
            | Record::Of { .. }
            | Record::Load(_)
            | Record::Cold { .. }
            | Record::Memory(_)
            | Record::Face { .. } => {}
        }
        record
    };
    records.into_iter().map(marked).collect()
}

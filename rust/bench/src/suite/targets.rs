//! The targets of the engine.

use super::record::{Record, Run};
use super::traces::{MemoryTraces, StoredTraces};
use super::units::nanos;

/// The figure that is compared.
#[derive(Debug, Clone, Copy)]
enum Measure {
    /// Median by the clock: the peer's over ours.
    Wall { query: &'static str, set: &'static str, peer: &'static str },
    /// Processor time: the peer's over ours.
    Cpu { query: &'static str, set: &'static str, own: &'static str, peer: &'static str },
    /// Cold page by the clock: the peer's over ours, worst of all sets.
    ColdWall { peer: &'static str },
    /// Most kilobytes that a cold page read.
    ColdKilobytes,
    /// Page through a face: DuckDB's median over ours.
    Interface { face: &'static str, set: &'static str },
    /// Page through a face, in milliseconds.
    InterfaceMillis { face: &'static str },
    /// Million postings per second of processor.
    FeatureRate,
    /// Seconds of processor per million transfers.
    BuildSecs,
    /// Megabytes.
    BuildMegabytes(Pages),
    /// Megabytes.
    QueryMegabytes,
    /// Bytes per transfer in the posting sections.
    PostingBytes,
    /// Bytes per transfer without hashes and edges.
    PlainBytes,
}

/// The pages of memory that count.
#[derive(Debug, Clone, Copy)]
enum Pages {
    /// Those of no file.
    Anonymous,
    /// Those of mapped files too.
    Resident,
}

/// One target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The subject.
    pub label: &'static str,
    measure: Measure,
    bound: f64,
}

/// The verdict on a target, with the figure seen.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is.
    Met(String),
    /// It is not.
    Missed(String),
    /// Something was not measured.
    Unknown,
}

const fn wall(label: &'static str, query: &'static str, set: &'static str, peer: &'static str, bound: f64) -> Target {
    Target { label, measure: Measure::Wall { query, set, peer }, bound }
}

const fn cpu(label: &'static str, query: &'static str, set: &'static str, peer: &'static str, bound: f64) -> Target {
    Target { label, measure: Measure::Cpu { query, set, own: "headwater", peer }, bound }
}

const fn trace(label: &'static str, own: &'static str, set: &'static str, peer: &'static str, bound: f64) -> Target {
    Target { label, measure: Measure::Cpu { query: "trace, cap 50", set, own, peer }, bound }
}

const fn other(label: &'static str, measure: Measure, bound: f64) -> Target {
    Target { label, measure, bound }
}

/// All targets, in the order of the design.
pub const TARGETS: &[Target] = &[
    wall("page, light: DuckDB", "page", "light", "duckdb", 1000.0),
    wall("page, medium: DuckDB", "page", "medium", "duckdb", 1000.0),
    wall("page, heavy: DuckDB", "page", "heavy", "duckdb", 1000.0),
    other(
        "page through Python with Arrow export, light: DuckDB",
        Measure::Interface { face: "python, arrow", set: "light" },
        30.0,
    ),
    other("page over HTTP, median", Measure::InterfaceMillis { face: "http" }, 1.0),
    wall("page, light: redb", "page", "light", "redb", 10.0),
    wall("page, medium: redb", "page", "medium", "redb", 10.0),
    wall("page, heavy: redb", "page", "heavy", "redb", 10.0),
    wall("page, light: fjall", "page", "light", "fjall", 20.0),
    wall("page, medium: fjall", "page", "medium", "fjall", 20.0),
    wall("page, heavy: fjall", "page", "heavy", "fjall", 20.0),
    other("cold page, most bytes read", Measure::ColdKilobytes, 128.0),
    other("cold page: polars on Parquet", Measure::ColdWall { peer: "polars, parquet" }, 20.0),
    cpu("counterparties by count, heavy: DuckDB", "count", "heavy", "duckdb", 3.0),
    cpu("counterparties by count, heavy: polars", "count", "heavy", "polars, mapped", 3.0),
    cpu("counterparties in full, heavy, windowed: DuckDB", "full, windowed", "heavy", "duckdb", 2.5),
    cpu("counterparties in full, heavy, windowed: polars", "full, windowed", "heavy", "polars, mapped", 2.5),
    cpu("counterparties in full, heavy: DuckDB", "full", "heavy", "duckdb", 20.0),
    cpu("counterparties in full, heavy: polars", "full", "heavy", "polars, mapped", 20.0),
    cpu("counterparties in full, medium, windowed: DuckDB", "full, windowed", "medium", "duckdb", 10.0),
    cpu("counterparties in full, medium: DuckDB", "full", "medium", "duckdb", 40.0),
    trace("trace in memory, cap 50, medium: petgraph", MemoryTraces::NAME, "medium", "petgraph", 10.0),
    trace("trace in memory, cap 50, heavy: petgraph", MemoryTraces::NAME, "heavy", "petgraph", 10.0),
    trace("trace in memory, cap 50, heavy: rustworkx", MemoryTraces::NAME, "heavy", "rustworkx", 300.0),
    trace("trace in memory, cap 50, heavy: igraph", MemoryTraces::NAME, "heavy", "igraph", 300.0),
    trace("trace over stored edges, cap 50, medium: petgraph", StoredTraces::NAME, "medium", "petgraph", 10.0),
    trace("trace over stored edges, cap 50, heavy: petgraph", StoredTraces::NAME, "heavy", "petgraph", 10.0),
    trace("trace over stored edges, cap 50, heavy: rustworkx", StoredTraces::NAME, "heavy", "rustworkx", 300.0),
    trace("trace over stored edges, cap 50, heavy: igraph", StoredTraces::NAME, "heavy", "igraph", 300.0),
    cpu("concentration: DuckDB", "concentration", "all", "duckdb, holders", 10.0),
    cpu("concentration: polars", "concentration", "all", "polars, holders", 3.0),
    cpu("concentration: numpy in doubles", "concentration", "all", "numpy in doubles, holders", 1.0),
    cpu("balances of every account: polars", "balances", "all", "polars, mapped", 5.0),
    cpu("balances of every account: DuckDB", "balances", "all", "duckdb", 6.0),
    other("features of every account, M postings per core-second", Measure::FeatureRate, 20.0),
    other("build, seconds of processor per M transfers", Measure::BuildSecs, 1.2),
    other("build, anonymous memory in MB at most", Measure::BuildMegabytes(Pages::Anonymous), 2500.0),
    other(
        "build, resident memory with pages of mapped files, in MB at most",
        Measure::BuildMegabytes(Pages::Resident),
        2500.0,
    ),
    other("queries, anonymous memory in MB", Measure::QueryMegabytes, 256.0),
    other("postings, bytes per transfer", Measure::PostingBytes, 28.0),
    other("all without hashes and edges, bytes per transfer", Measure::PlainBytes, 45.0),
];

/// Sections that are not counted as plain data: the hash column with its look-up, and what is grouped ahead.
const APART: [&str; 4] = ["tx.hashes", "hash.", "edge", "holder"];

impl Target {
    /// The bound in words.
    #[must_use]
    pub fn wanted(&self) -> String {
        match self.measure {
            Measure::Wall { .. } | Measure::ColdWall { .. } | Measure::Interface { .. } => {
                format!("≥ {}x (clock)", self.bound)
            }
            Measure::Cpu { .. } => format!("≥ {}x (cpu)", self.bound),
            Measure::ColdKilobytes => format!("≤ {} KB", self.bound),
            Measure::InterfaceMillis { .. } => format!("< {} ms", self.bound),
            Measure::FeatureRate => format!("≥ {}", self.bound),
            Measure::BuildSecs
            | Measure::BuildMegabytes(_)
            | Measure::QueryMegabytes
            | Measure::PostingBytes
            | Measure::PlainBytes => format!("≤ {}", self.bound),
        }
    }

    /// Holds a run against it.
    #[must_use]
    pub fn verdict(&self, run: &Run) -> Verdict {
        let at_least = |seen: Option<(f64, String)>| self.judge(seen, |value, bound| value >= bound);
        let at_most = |seen: Option<(f64, String)>| self.judge(seen, |value, bound| value <= bound);
        match self.measure {
            Measure::Wall { query, set, peer } => at_least(ratio(
                run.timing(query, set, "headwater").map(|figures| figures.median_ns),
                run.timing(query, set, peer).map(|figures| figures.median_ns),
            )),
            Measure::Cpu { query, set, own, peer } => at_least(ratio(
                run.timing(query, set, own).map(|figures| figures.cpu_ns),
                run.timing(query, set, peer).map(|figures| figures.cpu_ns),
            )),
            Measure::ColdWall { peer } => {
                let sets = ["light", "medium", "heavy"];
                let ratios =
                    sets.iter().filter_map(|set| ratio(cold_ns(run, set, "headwater"), cold_ns(run, set, peer)));
                at_least(ratios.min_by(|one, other| one.0.total_cmp(&other.0)))
            }
            Measure::ColdKilobytes => at_most(max_cold_bytes(run).map(|bytes| plain(bytes as f64 / 1024.0, 0))),
            Measure::Interface { face, set } => at_least(ratio(
                face_ns(run, face, set),
                run.timing("page", set, "duckdb").map(|figures| figures.median_ns),
            )),
            Measure::InterfaceMillis { face } => {
                let sets = ["light", "medium", "heavy"];
                let worst = sets.iter().filter_map(|set| face_ns(run, face, set)).max();
                at_most(worst.map(|nanos| plain(nanos as f64 / 1e6, 2)))
            }
            Measure::FeatureRate => {
                let rate = |engine| {
                    let figures = run.timing("features", "all", engine)?;
                    Some(2.0 * run.about.transfers as f64 / 1e6 / (figures.cpu_ns as f64 / 1e9))
                };
                let peer = rate("polars, mapped").map(|rate| format!(", polars {rate:.1}")).unwrap_or_default();
                at_least(rate("headwater").map(|rate| (rate, format!("{rate:.1}{peer}"))))
            }
            Measure::BuildSecs => at_most(run.load().map(|load| plain(load.cpu_secs_per_million(), 2))),
            Measure::BuildMegabytes(pages) => at_most(run.load().map(|load| {
                let bytes = match pages {
                    Pages::Anonymous => load.anonymous_bytes,
                    Pages::Resident => load.resident_bytes,
                };
                plain(bytes as f64 / 1e6, 0)
            })),
            Measure::QueryMegabytes => at_most(run.records.iter().find_map(|record| match record {
                Record::Memory(memory) => Some(plain(memory.most_bytes as f64 / 1e6, 1)),
                _ => None,
            })),
            Measure::PostingBytes => at_most(bytes_of(run, |name| name.starts_with("posting"))),
            Measure::PlainBytes => at_most(bytes_of(run, |name| !APART.iter().any(|apart| name.starts_with(apart)))),
        }
    }

    fn judge(&self, seen: Option<(f64, String)>, holds: impl Fn(f64, f64) -> bool) -> Verdict {
        match seen {
            Some((value, text)) if holds(value, self.bound) => Verdict::Met(text),
            Some((_, text)) => Verdict::Missed(text),
            None => Verdict::Unknown,
        }
    }
}

fn plain(value: f64, digits: usize) -> (f64, String) {
    (value, format!("{value:.digits$}"))
}

fn ratio(own: Option<u64>, peer: Option<u64>) -> Option<(f64, String)> {
    let (own, peer) = (own?, peer?);
    let value = peer as f64 / own.max(1) as f64;
    let digits = usize::from(value < 100.0);
    Some((value, format!("{value:.digits$}x: {} against {}", nanos(own), nanos(peer))))
}

fn cold_ns(run: &Run, wanted: &str, who: &str) -> Option<u64> {
    run.records.iter().find_map(|record| match record {
        Record::Cold { set, engine, cold } if set == wanted && engine == who => Some(cold.figures.median_ns),
        _ => None,
    })
}

fn max_cold_bytes(run: &Run) -> Option<u64> {
    let read = run.records.iter().filter_map(|record| match record {
        Record::Cold { engine, cold, .. } if engine == "headwater" => Some(cold.most_bytes),
        _ => None,
    });
    read.max()
}

fn face_ns(run: &Run, wanted: &str, of: &str) -> Option<u64> {
    run.records.iter().find_map(|record| match record {
        Record::Face { face, set, median_ns, .. } if face == wanted && set == of => Some(*median_ns),
        _ => None,
    })
}

fn bytes_of(run: &Run, counts: impl Fn(&str) -> bool) -> Option<(f64, String)> {
    let load = run.load()?;
    let bytes = load.sections.iter().filter(|(name, _)| counts(name)).map(|(_, bytes)| bytes).sum();
    Some(plain(load.per_transfer(bytes), 1))
}

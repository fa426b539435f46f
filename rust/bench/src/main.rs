//! The benchmark suite: builds the stores, asks the engine and its peers, writes the report.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use headwater_bench::generator::{Generator, HOLDERS, Preset, QuerySets, Ranks};
use headwater_bench::suite::answer::Query;
use headwater_bench::suite::counters::bytes_below;
use headwater_bench::suite::oracle::{Edges, Oracle};
use headwater_bench::suite::own::Own;
use headwater_bench::suite::peers::{Child, Engine, FjallPeer, PetgraphPeer, RedbPeer};
use headwater_bench::suite::questions::{self, Group};
use headwater_bench::suite::record::{About, Record};
use headwater_bench::suite::report::{self, Run, grouped, nanos};
use headwater_bench::suite::run::{Purpose, group};
use headwater_bench::suite::samples::Samples;
use headwater_bench::suite::{load, memory, tables};
use headwater_types::Address;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// s (1 M transfers), m (20 M), l (200 M), or any number of transfers.
    #[arg(long, default_value = "s", global = true)]
    preset: Preset,
    /// Where stores, the data of the peers and results are kept: one folder per preset below it.
    #[arg(long, default_value = "bench-data", global = true)]
    folder: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds the store by commits of a million transfers.
    Load,
    /// Asks the engine and its peers the same questions.
    Run(RunArguments),
    /// Pages from a cold cache, of the engine and of polars on Parquet.
    Cold(PeerArguments),
    /// Anonymous memory of the queries.
    Memory,
    /// Writes the report of all results under the folder.
    Report {
        /// The file to write.
        #[arg(long, default_value = "BENCHMARKS.md")]
        out: PathBuf,
        /// Why a target is not met, by its label: a JSON object.
        #[arg(long)]
        reasons: Option<PathBuf>,
        /// The command that the report names.
        #[arg(long, default_value = "make bench")]
        made_by: String,
    },
}

#[derive(clap::Args)]
struct PeerArguments {
    /// The Python that has the peers; without it they are left out.
    #[arg(long)]
    python: Option<PathBuf>,
    /// The program of the Python peers.
    #[arg(long, default_value = "rust/bench/peers/peers.py")]
    script: PathBuf,
}

#[derive(clap::Args)]
struct RunArguments {
    #[command(flatten)]
    peers: PeerArguments,
    /// Only checks that all answers are right, and times nothing.
    #[arg(long)]
    compare: bool,
    /// Only these engines, by name.
    #[arg(long)]
    only: Vec<String>,
    /// Only these questions, by name.
    #[arg(long)]
    question: Vec<String>,
}

type Engines = Vec<Box<dyn Engine>>;

/// What every command starts from.
struct Bench {
    preset: Preset,
    folder: PathBuf,
    generator: Generator,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.folder.join(arguments.preset.to_string());
    if let Command::Report { out, reasons, made_by } = &arguments.command {
        return write_report(&arguments.folder, out, reasons.as_deref(), made_by);
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let bench = Bench { preset: arguments.preset, folder, generator: Generator::new(arguments.preset) };
    match arguments.command {
        Command::Load => bench.load(),
        Command::Run(arguments) => bench.run(&arguments),
        Command::Cold(arguments) => bench.cold(&arguments),
        Command::Memory => bench.memory(),
        Command::Report { .. } => Ok(()),
    }
}

impl Bench {
    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Appends lines of results.
    fn keep(&self, records: &[Record]) -> Result<()> {
        let path = self.folder.join("results.jsonl");
        let mut file = fs::File::options().create(true).append(true).open(&path)?;
        for record in records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
        }
        Ok(())
    }

    fn about(&self, sets: &QuerySets, groups: &[Group], oracle: Option<&Oracle>) -> About {
        let sizes = |set: &str, of: &[u32]| {
            let page = groups.iter().find(|group| group.set == set);
            let lengths = page.into_iter().flat_map(|group| &group.queries);
            let lengths = lengths.map(|query| oracle.map_or(0, |oracle| oracle.rows(query.account()).len()));
            let (least, most) =
                lengths.fold((usize::MAX, 0), |(least, most), length| (least.min(length), most.max(length)));
            let number = |length: usize| u32::try_from(length).unwrap_or(0);
            (set.to_owned(), of.len() as u64, number(least), number(most))
        };
        About {
            preset: self.preset.to_string(),
            transfers: self.preset.transfers(),
            active: sets.active as u64,
            top_degrees: sets.top_degrees.clone(),
            sets: vec![sizes("light", &sets.light), sizes("medium", &sets.medium), sizes("heavy", &sets.heavy)],
            ..About::of_machine()
        }
    }

    fn load(&self) -> Result<()> {
        let store = self.store();
        if store.exists() {
            fs::remove_dir_all(&store)?;
        }
        let load = load::load(&self.generator, &store, |number, cost| {
            eprintln!("  commit {number}: {} by the clock, {} of processor", nanos(cost.wall_ns), nanos(cost.cpu_ns));
        })?;
        println!(
            "built {} transfers: {:.2} s of processor per M, {:.1} bytes per transfer, peak {} MB",
            grouped(load.transfers),
            load.cpu_secs_per_million(),
            load.per_transfer(load.bytes),
            load.peak_bytes / 1_000_000
        );
        let about =
            About { preset: self.preset.to_string(), transfers: self.preset.transfers(), ..About::of_machine() };
        self.keep(&[Record::About(about), Record::Load(load)])
    }

    /// Names, query sets and questions.
    fn questions(&self) -> (Arc<Ranks>, QuerySets, Vec<Group>) {
        let ranks = Arc::new(Ranks::of(self.preset));
        let sets = QuerySets::of(&self.generator);
        let groups = questions::groups(&self.generator, &ranks, &sets);
        (ranks, sets, groups)
    }

    fn run(&self, arguments: &RunArguments) -> Result<()> {
        if !self.store().exists() {
            bail!("there is no store under {}: load it first", self.folder.display());
        }
        let (ranks, sets, groups) = self.questions();
        let groups: Vec<Group> = groups
            .into_iter()
            .filter(|group| {
                let name = group.queries.first().map(|query| query.name());
                arguments.question.is_empty() || arguments.question.iter().any(|wanted| Some(wanted.as_str()) == name)
            })
            .collect();
        tables::write(&self.generator, &ranks, self.holders(), &self.folder)?;
        eprintln!("  tables are there");
        let edges = Edges::of(&self.generator, &ranks);
        let (mut engines, mut records) = self.engines(arguments, &ranks, &edges)?;
        let oracle = Oracle::of(&self.generator, &ranks, &questions::accounts(&groups)).with_edges(edges);
        records.insert(0, Record::About(self.about(&sets, &groups, Some(&oracle))));
        self.keep(&records)?;
        self.write_addresses(&ranks, &groups)?;

        let purpose = if arguments.compare { Purpose::Compare } else { Purpose::Measure };
        for one in &groups {
            let timings = group(one, &mut engines, &oracle, purpose)?;
            for timing in &timings {
                eprintln!(
                    "  {} {} {}: {} (p95 {}, cpu {})",
                    timing.query,
                    timing.set,
                    timing.engine,
                    nanos(timing.figures.median_ns),
                    nanos(timing.figures.p95_ns),
                    nanos(timing.figures.cpu_ns)
                );
            }
            let records: Vec<Record> = timings.into_iter().map(Record::Timing).collect();
            self.keep(&records)?;
        }
        let names: Vec<String> = engines.iter().map(|engine| engine.name()).collect();
        println!("every answer is right, of {}", names.join("; "));
        if arguments.peers.python.is_none() {
            println!("left out: the peers in Python, because no --python was given");
        }
        Ok(())
    }

    /// The addresses of the query sets, for the faces.
    fn write_addresses(&self, ranks: &Ranks, groups: &[Group]) -> Result<()> {
        let mut sets = serde_json::Map::new();
        sets.insert("transfers".to_owned(), self.preset.transfers().into());
        for group in groups.iter().filter(|group| matches!(group.queries.first(), Some(Query::Page { .. }))) {
            let address = |query: &Query| Address::Evm(ranks.address_at(query.account())).to_string();
            sets.insert(group.set.to_owned(), group.queries.iter().map(address).collect());
        }
        fs::write(self.folder.join("addresses.json"), serde_json::to_string(&sets)?)?;
        Ok(())
    }

    fn holders(&self) -> usize {
        HOLDERS.min(usize::try_from(self.preset.transfers() / 4).unwrap_or(HOLDERS))
    }

    fn engines(&self, arguments: &RunArguments, ranks: &Arc<Ranks>, edges: &Edges) -> Result<(Engines, Vec<Record>)> {
        let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
        let mut engines: Engines = Vec::new();
        let mut records = Vec::new();
        let peer = |name: &str, version: &str, build, bytes| Record::Peer {
            name: name.to_owned(),
            version: version.to_owned(),
            build,
            bytes,
        };
        let own = Own::open(&self.store(), Arc::clone(ranks))?.with_holders(self.holders()).with_edges(edges);
        engines.push(Box::new(own));
        if wanted("redb") {
            let file = self.folder.join("postings.redb");
            let (engine, build) = RedbPeer::open(&file, &self.folder)?;
            records.push(peer("redb", "4", build, Some(bytes_below(&file)?)));
            engines.push(Box::new(engine));
        }
        if wanted("fjall") {
            let folder = self.folder.join("fjall");
            let (engine, build) = FjallPeer::open(&folder, &self.folder)?;
            records.push(peer("fjall", "3", build, Some(bytes_below(&folder)?)));
            engines.push(Box::new(engine));
        }
        if wanted("petgraph") {
            engines.push(Box::new(PetgraphPeer::new(edges)));
            records.push(peer("petgraph", "0.8", None, None));
        }
        if let Some(python) = &arguments.peers.python {
            for child in Child::start(python, &arguments.peers.script, &self.folder, &arguments.only)? {
                let about = child.about();
                records.push(peer(&about.name, &about.version, about.build, about.bytes));
                engines.push(Box::new(child));
            }
        }
        Ok((engines, records))
    }

    fn cold(&self, arguments: &PeerArguments) -> Result<()> {
        let (ranks, _, groups) = self.questions();
        let pages = || groups.iter().filter(|group| group.queries.first().is_some_and(|query| query.name() == "page"));
        for group in pages() {
            let some: Vec<_> = group.queries.iter().copied().take(40).collect();
            if let Some(cold) = memory::cold(&self.store(), &ranks, &some)? {
                println!(
                    "cold page, {}: {}, {} KB read at most",
                    group.set,
                    nanos(cold.figures.median_ns),
                    cold.most_bytes / 1024
                );
                let (set, engine) = (group.set.to_owned(), "headwater".to_owned());
                self.keep(&[self.header(), Record::Cold { set, engine, cold }])?;
            }
        }
        let Some(python) = &arguments.python else {
            println!("left out: the cold pages of polars, because no --python was given");
            return Ok(());
        };
        let name = "polars, parquet".to_owned();
        for child in Child::start(python, &arguments.script, &self.folder, std::slice::from_ref(&name))? {
            for group in pages() {
                let mut samples = Samples::default();
                for &query in group.queries.iter().take(20) {
                    samples.push(child.cold(query)?);
                }
                if let Some(figures) = samples.figures() {
                    println!("cold page, {}, {name}: {}", group.set, nanos(figures.median_ns));
                    let cold = memory::Cold { figures, median_bytes: 0, most_bytes: 0, median_faults: 0 };
                    let (set, engine) = (group.set.to_owned(), name.clone());
                    self.keep(&[self.header(), Record::Cold { set, engine, cold }])?;
                }
            }
        }
        Ok(())
    }

    fn memory(&self) -> Result<()> {
        let (ranks, _, groups) = self.questions();
        let queries: Vec<_> = groups.iter().flat_map(|group| group.queries.iter().copied()).collect();
        let memory = memory::of_queries(&self.store(), &ranks, &queries)?;
        println!("queries: {} MB anonymous at most", memory.most_bytes / 1_000_000);
        self.keep(&[self.header(), Record::Memory(memory)])
    }

    /// Which run later lines belong to, without the figures that only a whole run knows.
    fn header(&self) -> Record {
        Record::Of { transfers: self.preset.transfers() }
    }
}

fn write_report(folder: &Path, out: &Path, reasons: Option<&Path>, made_by: &str) -> Result<()> {
    let mut records: Vec<Record> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path().join("results.jsonl");
        if !path.exists() {
            continue;
        }
        for line in fs::read_to_string(&path)?.lines() {
            records.push(serde_json::from_str(line).with_context(|| format!("reading {}", path.display()))?);
        }
    }
    let reasons: BTreeMap<String, String> = match reasons {
        Some(path) => serde_json::from_str(&fs::read_to_string(path)?)?,
        None => BTreeMap::new(),
    };
    let runs = Run::split(records);
    if runs.is_empty() {
        bail!("there are no results under {}", folder.display());
    }
    fs::write(out, report::write(&runs, &reasons, made_by)).with_context(|| format!("writing {}", out.display()))?;
    println!("wrote {}", out.display());
    Ok(())
}

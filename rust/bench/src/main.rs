//! The benchmark suite: builds the stores, asks the engine and its peers, writes the report.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use headwater_bench::generator::{Generator, Preset};
use headwater_bench::suite::answer::Query;
use headwater_bench::suite::error::doing;
use headwater_bench::suite::peers::Child;
use headwater_bench::suite::questions::Group;
use headwater_bench::suite::record::{Record, Run, Setup};
use headwater_bench::suite::report;
use headwater_bench::suite::run::Purpose;
use headwater_bench::suite::samples::Samples;
use headwater_bench::suite::stages::{Data, QuestionSelection, Stage, marked};
use headwater_bench::suite::units::{grouped, nanos};
use headwater_bench::suite::{load, memory};
use headwater_types::Address;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// s (1 M transfers), m (20 M), l (200 M), or any number of transfers.
    #[arg(long, default_value = "s", global = true)]
    preset: Preset,
    /// The folder of stores, the data of the peers and results: one folder per preset below it.
    #[arg(long, default_value = "bench-data", global = true)]
    folder: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Begins a run anew: builds the store by commits of a million transfers.
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
        /// The reasons why targets are not met, by label: a JSON object.
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
    /// Only these engines, by name: "headwater" and peers.
    #[arg(long)]
    only: Vec<String>,
    /// Only these questions, by name.
    #[arg(long)]
    question: Vec<String>,
}

/// The common start of every command.
struct Bench {
    preset: Preset,
    /// The folder of all sizes.
    root: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let bench = Bench { preset: arguments.preset, root: arguments.folder };
    match arguments.command {
        Command::Load => bench.load(),
        Command::Run(arguments) => bench.run(arguments),
        Command::Cold(arguments) => bench.cold(&arguments),
        Command::Memory => bench.memory(),
        Command::Report { out, reasons, made_by } => write_report(&bench.root, &out, reasons.as_deref(), &made_by),
    }
}

impl Bench {
    fn folder(&self) -> PathBuf {
        self.root.join(self.preset.to_string())
    }

    fn results(&self) -> PathBuf {
        self.folder().join("results.jsonl")
    }

    fn data(&self) -> Result<Data> {
        let data = Data::of(self.preset, &self.folder());
        if !data.store().exists() {
            bail!("there is no store under {}: load it first", data.folder.display());
        }
        Ok(data)
    }

    /// Appends lines of results.
    fn keep(&self, records: &[Record]) -> headwater_bench::suite::Result<()> {
        let file = fs::File::options().create(true).append(true).open(self.results());
        let mut file = file.map_err(doing("opening the results"))?;
        records
            .iter()
            .try_for_each(|record| writeln!(file, "{}", serde_json::json!(record)))
            .map_err(doing("keeping results"))
    }

    fn load(&self) -> Result<()> {
        let folder = self.folder();
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let store = folder.join("store");
        if store.exists() {
            fs::remove_dir_all(&store)?;
        }
        fs::write(self.results(), "")?;
        let generator = Generator::new(self.preset);
        let load = load::load(&generator, &store, |number, cost| {
            eprintln!("  commit {number}: {} by the clock, {} of processor", nanos(cost.wall_ns), nanos(cost.cpu_ns));
        })?;
        println!(
            "built {} transfers: {:.2} s of processor per M, {:.1} bytes per transfer, {} MB anonymous at most",
            grouped(load.transfers),
            load.cpu_secs_per_million(),
            load.per_transfer(load.bytes),
            load.anonymous_bytes / 1_000_000
        );
        let about =
            Setup { preset: self.preset.to_string(), transfers: self.preset.transfers(), ..Setup::of_machine() };
        self.keep(&[Record::About(about), Record::Load(load)]).map_err(Into::into)
    }

    fn run(&self, arguments: RunArguments) -> Result<()> {
        let data = self.data()?;
        self.keep(&[Record::About(about(&data))])?;
        write_addresses(&data)?;
        let PeerArguments { python, script } = arguments.peers;
        let asking = QuestionSelection {
            python: python.map(|python| (python, script)),
            only: arguments.only,
            questions: arguments.question,
            purpose: if arguments.compare { Purpose::Compare } else { Purpose::Measure },
        };
        let mut names = Vec::new();
        for stage in [Stage::Tables, Stage::Graphs] {
            let peers = asking.peers(stage);
            let (whole, part): (Vec<&str>, Vec<&str>) =
                peers.into_iter().partition(|peer| Stage::largest(peer, self.preset) == self.preset);
            names.extend(asking.ask(&data, (stage, &whole), &mut |records| self.keep(&records))?);
            for peer in part {
                let size = Stage::largest(peer, self.preset);
                let less = Data::of(size, &self.root.join(size.to_string()));
                let keep = &mut |records| self.keep(&marked(records, size.transfers()));
                names.extend(asking.ask(&less, (stage, &[peer]), keep)?);
            }
        }
        println!("every answer is right, of {}", names.join("; "));
        if asking.python.is_none() {
            println!("left out: the peers in Python, because no --python was given");
        }
        Ok(())
    }

    fn cold(&self, arguments: &PeerArguments) -> Result<()> {
        let data = self.data()?;
        let groups: Vec<&Group> =
            data.groups.iter().filter(|group| matches!(group.queries.first(), Some(Query::Page { .. }))).collect();
        let keep = |set: &str, engine: &str, cold: memory::ColdReads| {
            let (median, most) = (nanos(cold.figures.median_ns), cold.most_bytes / 1024);
            println!("cold page, {set}, {engine}: {median}, {most} KB read at most");
            let (set, engine) = (set.to_owned(), engine.to_owned());
            self.keep(&[self.header(), Record::Cold { set, engine, cold }])
        };
        for group in &groups {
            let some: Vec<_> = group.queries.iter().copied().take(40).collect();
            if let Some(cold) = memory::cold(&data.store(), &data.ranks, &some)? {
                keep(group.set, "headwater", cold)?;
            }
        }
        let Some(python) = &arguments.python else {
            println!("left out: the cold pages of polars, because no --python was given");
            return Ok(());
        };
        let name = "polars, parquet";
        for child in Child::start(python, &arguments.script, &data.folder, &[name.to_owned()])? {
            for group in &groups {
                let mut samples = Samples::default();
                for &query in group.queries.iter().take(20) {
                    samples.push(child.cold(query)?);
                }
                if let Some(figures) = samples.figures() {
                    keep(
                        group.set,
                        name,
                        memory::ColdReads { figures, median_bytes: 0, most_bytes: 0, median_faults: 0 },
                    )?;
                }
            }
        }
        Ok(())
    }

    fn memory(&self) -> Result<()> {
        let data = self.data()?;
        let queries: Vec<_> = data.groups.iter().flat_map(|group| group.queries.iter().copied()).collect();
        let memory = memory::of_queries(&data.store(), &data.ranks, &queries)?;
        println!("queries: {} MB anonymous at most", memory.most_bytes / 1_000_000);
        self.keep(&[self.header(), Record::Memory(memory)]).map_err(Into::into)
    }

    /// Returns the run that later lines belong to, without the figures that only a whole run has.
    const fn header(&self) -> Record {
        Record::Of { transfers: self.preset.transfers() }
    }
}

fn about(data: &Data) -> Setup {
    let sets = &data.sets;
    let of = |(name, (set, (least, most))): (&str, (&Vec<u32>, (u32, u32)))| {
        (name.to_owned(), set.len() as u64, least, most)
    };
    let all = [&sets.light, &sets.medium, &sets.heavy].into_iter().zip(sets.spans);
    Setup {
        preset: data.preset.to_string(),
        transfers: data.preset.transfers(),
        active: sets.active as u64,
        top_degrees: sets.top_degrees.clone(),
        sets: ["light", "medium", "heavy"].into_iter().zip(all).map(of).collect(),
        ..Setup::of_machine()
    }
}

/// The addresses of the query sets, for the faces.
fn write_addresses(data: &Data) -> Result<()> {
    let mut sets = serde_json::Map::new();
    sets.insert("transfers".to_owned(), data.preset.transfers().into());
    for group in data.groups.iter().filter(|group| matches!(group.queries.first(), Some(Query::Page { .. }))) {
        let address = |query: &Query| Address::Evm(data.ranks.address_at(query.account())).to_string();
        sets.insert(group.set.to_owned(), group.queries.iter().map(address).collect());
    }
    fs::write(data.folder.join("addresses.json"), serde_json::to_string(&sets)?)?;
    Ok(())
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

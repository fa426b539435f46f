//! `headwater ingest --rpc`: history from nodes.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use headwater_ingest::Progress;
use headwater_ledger::read::{Accounts as _, Balances as _};
use headwater_ledger::{Cancel, Store};
use headwater_node::{
    BLOCKS_PER_COMMIT, Gap, HistoryOptions, HistoryProgress, HistoryReport, HistoryState, Providers, Traces,
    load_history,
};
use headwater_types::{Asset, Chain};

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::labels;
use super::load_notes::notes_of_store;
use super::output::{Output, grouped};
use super::progress::{Bar, Unit};
use super::providers;

/// The arguments of a load from nodes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "History from nodes, in place of files")]
pub struct NodeArguments {
    /// Addresses of nodes of the chain, separated by commas: JSON-RPC of EVM chains and Bitcoin Core, the HTTP interface of
    /// TRON. Every block is verified. A login is written before the host. [env: `HEADWATER_RPC`, where no files are named]
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "chain", conflicts_with = "paths")]
    rpc: Vec<String>,
    /// The same, where neither files nor other addresses are named.
    #[arg(long, value_delimiter = ',', env = "HEADWATER_RPC", hide = true)]
    usual_rpc: Vec<String>,
    /// First block [default: the first one that the store holds of the chain, else 0].
    #[arg(long, value_name = "BLOCK")]
    from: Option<u64>,
    /// Last block [default: the newest one that is final].
    #[arg(long, value_name = "BLOCK")]
    to: Option<u64>,
    /// Requests a second that each provider may be asked [default: as many as it answers].
    #[arg(long, value_name = "N")]
    requests_per_second: Option<f64>,
    /// Requests at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=32))]
    parallel: u16,
    /// Do not ask for internal movements.
    #[arg(long)]
    no_traces: bool,
}

impl NodeArguments {
    /// Returns the addresses of nodes to ask; none for a load of files.
    pub fn addresses(&self, loads_files: bool) -> Result<&[String], Failure> {
        if !self.rpc.is_empty() {
            return Ok(&self.rpc);
        }
        if !loads_files {
            return Ok(&self.usual_rpc);
        }
        let is_for_nodes =
            self.from.is_some() || self.to.is_some() || self.requests_per_second.is_some() || self.no_traces;
        if is_for_nodes {
            let options = "--from, --to, --requests-per-second and --no-traces";
            return Err(Failure::usage(format!("{options} are for loads with --rpc, not for files")));
        }
        Ok(&[])
    }
}

/// Shows the progress of a load from nodes.
pub(super) struct NodeProgress {
    began: Instant,
    blocks: Mutex<(&'static str, Bar)>,
    building: Mutex<OnceCell<Bar>>,
}

impl NodeProgress {
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            blocks: Mutex::new(("blocks", Bar::new(Unit::Steps))),
            building: Mutex::default(),
        }
    }

    /// Removes what is shown, before a line is printed.
    pub fn clear(&self) {
        self.blocks.lock().expect("no holder of the lock panics").1.clear();
        *self.building.lock().expect("no holder of the lock panics") = OnceCell::new();
    }
}

impl HistoryProgress for NodeProgress {
    fn update(&self, state: HistoryState) {
        let mut shown = self.blocks.lock().expect("no holder of the lock panics");
        if shown.0 != state.what {
            *shown = (state.what, Bar::new(Unit::Steps));
        }
        let movements = match state.movements {
            0 => String::new(),
            count => format!(", {} movements, {} a second", grouped(count), grouped(per_second(count, self.began))),
        };
        shown.1.update(state.done, state.total, &format!("{}{movements}", state.what));
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.blocks.lock().expect("no holder of the lock panics").1.clear();
        let bar = self.building.lock().expect("no holder of the lock panics");
        Progress::building(bar.get_or_init(|| Bar::new(Unit::Steps)), kind, done, total);
    }
}

/// Loads history from nodes.
pub(super) fn run(
    settings: &Settings,
    chain: Chain,
    addresses: &[String],
    arguments: &NodeArguments,
    output: Output,
) -> Result<(), Failure> {
    let store = settings.store()?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let failed = |error| Failure::from_error(&error);
    let providers = Providers::new(addresses, arguments.requests_per_second).map_err(failed)?;
    let options = HistoryOptions {
        chain,
        from: arguments.from,
        to: arguments.to,
        parallel: arguments.parallel.into(),
        blocks_per_commit: BLOCKS_PER_COMMIT,
        traces: if arguments.no_traces { Traces::LeftOut } else { Traces::WherePossible },
        imported_at: labels::now(),
    };
    let progress = NodeProgress::new();
    let report = load_history(&store, &providers, &options, &progress, &cancel);
    drop(progress);
    let report = report.map_err(failed)?;
    let next = next_command(&store, chain);
    output.report(&report, || lines(&report).into_iter().chain(next).collect())?;
    if report.gaps.is_empty() {
        return Ok(());
    }
    Err(Failure::failed("some blocks are missing: the same command with another provider fills the gaps"))
}

/// Returns a command to try: what the largest holder of the native coin did.
fn next_command(path: &Path, chain: Chain) -> Option<String> {
    let snapshot = Store::open(path).ok()?.snapshot().ok()?;
    let mut largest = None;
    let holders = snapshot.holders(chain, &Asset::Native).ok()??;
    holders
        .visit(&mut |batch| {
            largest = batch.rows().next().map(|(account, _)| account);
            ControlFlow::Break(())
        })
        .ok()?;
    let address = snapshot.address(largest?).ok()?;
    Some(format!("try: headwater wallet --store {} --chain {chain} {address}", path.display()))
}

fn per_second(count: u64, began: Instant) -> u64 {
    count * 1000 / u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
}

pub(super) fn lines(report: &HistoryReport) -> Vec<String> {
    #[expect(clippy::cast_precision_loss, reason = "a rate that people read")]
    let rate = |count: u64| count as f64 / report.seconds.max(0.001);
    let summary = format!(
        "{}: blocks {} to {}: {} loaded and verified, {} held already; {} transactions, {} movements; {:.0} blocks and \
         {:.0} movements a second",
        report.chain,
        report.from,
        report.to,
        grouped(report.blocks),
        grouped(report.held),
        grouped(report.transactions),
        grouped(report.store.movements),
        rate(report.blocks),
        rate(report.store.movements),
    );
    std::iter::once(summary).chain(notes(report).into_iter().map(|note| format!("note: {note}"))).collect()
}

/// Returns what a user should know of a load from nodes, in sentences: what is missing or not verified, and what was wrong.
#[must_use]
pub fn notes(report: &HistoryReport) -> Vec<String> {
    let missing = |gap: &Gap| {
        let what = if gap.what == "blocks" { String::new() } else { format!("{} of ", gap.what) };
        let reasons = gap.reasons.join("; ");
        format!("{what}blocks {} to {} are missing: {reasons}", gap.from_block, gap.to_block)
    };
    let traced = (report.traced > 0).then(|| {
        format!("internal movements of {} blocks are not verified: no hash covers them", grouped(report.traced))
    });
    let untraced = report.traces_missing.iter().map(|reason| format!("internal movements are missing: {reason}"));
    let gaps = report.gaps.iter().map(missing);
    let providers = report.providers.iter().flat_map(providers::notes);
    let store = notes_of_store(&report.store);
    let noted = report.notes.iter().cloned();
    traced.into_iter().chain(untraced).chain(noted).chain(gaps).chain(providers).chain(store).collect()
}

//! `headwater verify`.

use headwater_ledger::store::{LogicalDigest, VerifyReport};
use headwater_ledger::{Cancel, Store};
use headwater_node::{ComparisonReport, Difference, Providers, compare_balances};
use headwater_types::Chain;
use serde::Serialize;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size};
use super::progress::{Bar, Unit};
use super::words::counted;

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also print the digest of the content: equal content has equal digests, for any order, files and commits.
    #[arg(long)]
    digest: bool,
    #[command(flatten)]
    node: ComparisonArguments,
}

/// The comparison with a node.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison with a node, in place of checksums")]
struct ComparisonArguments {
    /// Addresses of nodes, separated by commas: compare balances, supplies of tokens or unspent outputs with them.
    /// [env: `HEADWATER_RPC`]
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "chain", conflicts_with = "digest")]
    rpc: Vec<String>,
    /// The same, where no other addresses are named.
    #[arg(long, value_delimiter = ',', env = "HEADWATER_RPC", hide = true)]
    usual_rpc: Vec<String>,
    /// The chain of the nodes.
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Accounts to compare: the largest, and others that are spread over all.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    accounts: u32,
    /// Requests a second that each provider may be asked [default: as many as it answers].
    #[arg(long, value_name = "N")]
    requests_per_second: Option<f64>,
}

/// The result of a check, with the digest of an undamaged store on request.
#[derive(Serialize)]
struct Verification<'a> {
    #[serde(flatten)]
    report: &'a VerifyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<LogicalDigest>,
}

/// Reads every file and compares it with its checksums; fails when one does not fit.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let path = settings.store()?;
    let store = Store::open(&path)?;
    if let Some(chain) = arguments.node.chain {
        return compare(&store, chain, &arguments.node, output);
    }
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Bytes);
    let report = store.verify(&|done, total| bar.update(done, total, "verifying"), &cancel);
    drop(bar);
    let report = report?;
    let digest = (arguments.digest && report.is_sound()).then(|| store.digest(&cancel)).transpose()?;
    output.report(&Verification { report: &report, digest }, || {
        let mut lines: Vec<String> = report
            .problems
            .iter()
            .map(|problem| format!("{} at byte {}: {}", problem.file.display(), problem.offset, problem.what))
            .collect();
        lines.push(format!(
            "generation {}: {} files, {} read, {} problems",
            report.generation,
            grouped(report.files),
            size(report.bytes),
            report.problems.len()
        ));
        lines.extend(digest.map(|digest| format!("digest {digest}")));
        lines
    })?;
    if report.is_sound() {
        Ok(())
    } else {
        Err(Failure::failed(format!(
            "{} is damaged: restore the named files from a copy, or ingest their data into a new store",
            path.display()
        )))
    }
}

/// Compares balances with a node; fails when one differs.
fn compare(store: &Store, chain: Chain, arguments: &ComparisonArguments, output: Output) -> Result<(), Failure> {
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let failed = |error| Failure::from_error(&error);
    let addresses = if arguments.rpc.is_empty() { &arguments.usual_rpc } else { &arguments.rpc };
    if addresses.is_empty() {
        return Err(Failure::usage("--chain is for a comparison with nodes: name them with --rpc URL"));
    }
    let providers = Providers::new(addresses, arguments.requests_per_second).map_err(failed)?;
    let bar = Bar::new(Unit::Steps);
    let progress = |done, total| bar.update(done, total, "comparing accounts");
    let snapshot = store.snapshot()?;
    let report =
        compare_balances(snapshot.as_ref(), chain, arguments.accounts as usize, &providers, &progress, &cancel);
    drop(bar);
    let report = report.map_err(failed)?;
    output.report(&report, || comparison(&report))?;
    if report.different > 0 {
        let what = counted(report.different, "amount differs", "amounts differ");
        return Err(Failure::failed(format!("{what} from the node's: load these blocks again, or ask another node")));
    }
    Ok(())
}

fn comparison(report: &ComparisonReport) -> Vec<String> {
    let name = |difference: &Difference| {
        let place = difference.output.as_ref().unwrap_or(&difference.address);
        let token = difference.contract.as_ref().filter(|contract| *contract != place);
        let token = token.map(|contract| format!(" of the token {contract}")).unwrap_or_default();
        format!(
            "{place}: {}{token}: {} in the store, {} by the node",
            difference.what, difference.store, difference.node
        )
    };
    let mut lines: Vec<String> = report.differences.iter().map(name).collect();
    let since = report.since_block.map(|block| format!(", changes since block {block}")).unwrap_or_default();
    lines.push(format!(
        "{}: {} at block {}{since}: {} amounts equal, {} different",
        report.chain,
        counted(report.accounts, "account", "accounts"),
        report.block,
        grouped(report.equal),
        grouped(report.different)
    ));
    lines.extend(report.not_compared.iter().map(|reason| format!("not compared: {reason}")));
    lines
}

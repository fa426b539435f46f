//! `headwater follow`.

use std::time::Duration;

use headwater_ledger::Cancel;
use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_node::{
    FollowOptions, FollowProgress, FollowStep, HistoryProgress, HistoryReport, Providers, Traces, follow, split_sockets,
};
use headwater_types::Chain;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::nodes::{self, NodeProgress};
use super::output::{Output, grouped, print, say};

/// The arguments of `follow`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Chain.
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Chain,
    /// Addresses of nodes of the chain, separated by commas, as of `ingest --rpc`. A ws:// or wss:// address beside them
    /// announces new blocks of EVM chains at once.
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        env = "HEADWATER_RPC",
        hide_env_values = true,
        required = true
    )]
    rpc: Vec<String>,
    /// First block, for a store that was not followed yet [default: the one after the last block that is held, else the
    /// newest final one].
    #[arg(long, value_name = "BLOCK")]
    from_block: Option<u64>,
    /// Block at which to stop [default: never].
    #[arg(long, value_name = "BLOCK")]
    until_block: Option<u64>,
    /// Seconds between two looks at the nodes.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    poll: f64,
    /// Requests a second that each provider may be asked [default: as many as it answers].
    #[arg(long, value_name = "N")]
    requests_per_second: Option<f64>,
    /// Do not ask for internal movements.
    #[arg(long)]
    no_traces: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let is_valid = |seconds: &f64| (0.01..=3600.0).contains(seconds);
    let seconds = text.parse::<f64>().ok().filter(is_valid);
    seconds.ok_or_else(|| "expected a number of seconds from 0.01 to 3600".to_owned())
}

/// Prints a line for each step, and for each change of the state.
struct StepPrinter {
    history: NodeProgress,
    output: Output,
}

impl FollowProgress for StepPrinter {
    fn history(&self) -> &dyn HistoryProgress {
        &self.history
    }

    fn loaded(&self, report: &HistoryReport) {
        self.history.clear();
        for line in nodes::lines(report) {
            say(&line);
        }
    }

    fn state(&self, status: &LiveStatus) {
        self.history.clear();
        say(&state_line(status));
    }

    fn advanced(&self, step: &FollowStep) {
        let text =
            if self.output.is_json() { serde_json::to_string(step).unwrap_or_default() } else { step_line(step) };
        // A reader that went away does not stop the work.
        let _ = print(&(text + "\n"));
    }

    fn note(&self, text: &str) {
        say(&format!("note: {text}"));
    }
}

/// Follows a chain until it is interrupted.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let store = settings.store()?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let failed = |error| Failure::from_error(&error);
    let (addresses, sockets) = split_sockets(&arguments.rpc);
    let providers = Providers::new(&addresses, arguments.requests_per_second).map_err(failed)?;
    let options = FollowOptions {
        from: arguments.from_block,
        until: arguments.until_block,
        poll: Duration::from_secs_f64(arguments.poll),
        traces: if arguments.no_traces { Traces::LeftOut } else { Traces::WherePossible },
        sockets,
        ..FollowOptions::new(arguments.chain)
    };
    let progress = StepPrinter { history: NodeProgress::new(), output };
    let report = follow(&store, &providers, &options, &progress, &cancel).map_err(failed)?;
    if !output.is_json() {
        say(&format!(
            "{}: {} blocks added, {} taken back in {} reorganisations",
            arguments.chain,
            grouped(report.blocks),
            grouped(report.removed),
            grouped(report.reorgs)
        ));
    }
    Ok(())
}

/// Describes the state of a follower in a line.
#[must_use]
pub fn state_line(status: &LiveStatus) -> String {
    let LiveStatus { chain, state, head_block, final_block, .. } = status;
    match state {
        LiveState::CatchingUp => format!("{chain}: loading blocks that are final, up to block {final_block}"),
        LiveState::Following => format!("{chain}: following; the newest block is {head_block}, {final_block} is final"),
        LiveState::Waiting { reason } => format!("{chain}: waiting: {reason}"),
        LiveState::Halted { reason } => format!("{chain}: halted: {reason}"),
    }
}

fn step_line(step: &FollowStep) -> String {
    let blocks = if step.from_block == step.to_block {
        format!("block {}", step.to_block)
    } else {
        format!("blocks {} to {}", step.from_block, step.to_block)
    };
    let removed = match step.removed {
        0 => String::new(),
        removed => format!(", in place of {removed} that the nodes replaced"),
    };
    format!(
        "{}: {blocks}{removed}: {} transactions, generation {}, {:.0} ms",
        step.chain,
        grouped(step.transactions),
        step.generation,
        step.seconds * 1000.0
    )
}

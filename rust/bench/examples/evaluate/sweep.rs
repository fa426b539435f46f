//! Every address of the account chains, judged in one pass.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use headwater_intel::behaviour::{Behaviour, HistoryGather, NoOthers, Others, OthersInLedger};
use headwater_intel::label::{Moment, aggregate};
use headwater_intel::risk::Parameters;
use headwater_ledger::Cancel;
use headwater_types::{Address, Chain};

use super::Economy;

/// Addresses that are asked for at a time.
const PAGE: usize = 8192;

/// The outcome of the rules by address, by chain.
pub type BehaviourOutcomes = HashMap<(Chain, Address), BehaviourOutcome>;

/// The outcome of the rules for an address.
#[derive(Default)]
pub struct BehaviourOutcome {
    pub found: Vec<Behaviour>,
    pub deferred: Vec<Behaviour>,
}

/// The chains whose behaviours are judged here, bsc below the interface.
pub const CHAINS: [Chain; 3] = [Chain::ETHEREUM, Chain::BSC, Chain::TRON];

/// The cost of sweeps.
#[derive(Default)]
pub struct Tally {
    addresses: usize,
    transfers: usize,
    /// Without and with the rules that read others.
    secs: [f64; 2],
}

/// Finds the behaviours of every address, and times what a score reads besides counterparties: history, rules and labels.
pub fn sweep(economy: &Economy, tally: &mut Tally) -> Result<BehaviourOutcomes> {
    let (ledger, parameters, cancel) = (&*economy.ledger, Parameters::standard(), Cancel::new());
    let mut found = BehaviourOutcomes::new();
    for chain in CHAINS {
        let moment = Moment::present(ledger.labels(), ledger.coverage()[&chain].last_time);
        let scan = &parameters.scan;
        let gather = || HistoryGather::new(ledger, chain, moment, &scan.stablecoins, scan.most_transfers);
        let others = OthersInLedger::new(ledger, gather(), scan.others, &cancel);
        for (place, others) in [&NoOthers as &dyn Others, &others].into_iter().enumerate() {
            let started = processor_time();
            let judged = judge(economy, (chain, moment), (gather(), others))?;
            tally.secs[place] += processor_time().saturating_sub(started).as_secs_f64();
            for (address, transfers, judged) in judged {
                tally.addresses += place;
                tally.transfers += transfers * place;
                found.insert((chain, address), judged);
            }
        }
    }
    Ok(found)
}

/// All addresses of a chain, with their transfers and what the rules make of them.
fn judge(
    economy: &Economy,
    (chain, moment): (Chain, Moment),
    (mut gather, others): (HistoryGather<'_>, &dyn Others),
) -> Result<Vec<(Address, usize, BehaviourOutcome)>> {
    let (ledger, parameters, cancel) = (&*economy.ledger, Parameters::standard(), Cancel::new());
    let mut all: Vec<(Address, usize, BehaviourOutcome)> = Vec::new();
    loop {
        let page = ledger.addresses(chain, all.last().map(|last| &last.0), PAGE)?;
        if page.is_empty() {
            return Ok(all);
        }
        for address in page {
            let Some(account) = ledger.account(chain, &address)? else { continue };
            let history = gather.read_next(ledger, &account, &cancel)?;
            let findings = parameters.behaviours.scan(&address, history, others)?;
            black_box(aggregate(&ledger.labels().claims(chain, &address)?, &moment));
            let found = findings.found.iter().map(|(behaviour, _)| *behaviour).collect();
            all.push((address, history.all.len(), BehaviourOutcome { found, deferred: findings.deferred }));
        }
    }
}

/// Processor time of the process: nothing else runs in it meanwhile.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

impl Tally {
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    pub fn print(&self) {
        println!("## A sweep without counterparties\n");
        println!(
            "{} addresses with {} transfers on one thread, in a second of processor time:\n",
            self.addresses, self.transfers
        );
        println!("| rules | addresses | transfers |\n|---|---|---|");
        for (name, secs) in ["without those that read others", "all"].into_iter().zip(self.secs) {
            println!("| {name} | {:.0} | {:.0} |", self.addresses as f64 / secs, self.transfers as f64 / secs);
        }
        println!();
    }
}

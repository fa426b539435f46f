//! Every address of the account chains, judged in one pass.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use headwater_intel::behaviour::{Behaviour, HistoryGather};
use headwater_intel::label::{Moment, aggregate};
use headwater_intel::risk::{Parameters, Subject, assess};
use headwater_ledger::{Cancel, LedgerError};
use headwater_metrics::sweep::fold_addresses_with;
use headwater_types::{Address, Chain};

use super::Economy;

/// The behaviours of addresses, by chain.
pub type Found = HashMap<(Chain, Address), Vec<Behaviour>>;

/// The chains whose behaviours are judged here, bsc below the interface.
pub const CHAINS: [Chain; 3] = [Chain::ETHEREUM, Chain::BSC, Chain::TRON];

/// What sweeps cost.
#[derive(Default)]
pub struct Tally {
    addresses: usize,
    transfers: usize,
    secs: f64,
}

/// Finds the behaviours of every address, and times the score of labels and behaviours, as a batch job makes it.
pub fn sweep(economy: &Economy, tally: &mut Tally) -> Result<Found> {
    let (ledger, parameters) = (&*economy.ledger, Parameters::standard());
    let mut found = Found::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for chain in CHAINS {
        let moment = Moment::present(ledger.labels(), ledger.coverage()[&chain].last_time);
        let scan = &parameters.scan;
        let make = || HistoryGather::new(ledger, chain, moment, &scan.stablecoins, scan.most_transfers);
        let started = processor_time();
        let judged = pool.install(|| {
            fold_addresses_with(ledger, chain, &Cancel::new(), make, |all: &mut Vec<_>, address, history| {
                let claims = ledger.labels().claims(chain, address).expect("a sound store");
                let judged = aggregate(&claims, &moment);
                let subject = Subject::Seen(history);
                let of =
                    assess::<LedgerError>(parameters, &judged, subject, None, &mut |_| Ok(None)).expect("no errors");
                let hits = of.behaviour.iter().flat_map(|behaviour| &behaviour.hits).map(|hit| hit.behaviour);
                all.push((*address, history.all.len(), hits.collect::<Vec<_>>()));
            })
        })?;
        tally.secs += processor_time().saturating_sub(started).as_secs_f64();
        for (address, transfers, behaviours) in judged.into_iter().flatten() {
            tally.addresses += 1;
            tally.transfers += transfers;
            found.insert((chain, address), behaviours);
        }
    }
    Ok(found)
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
            "{} addresses with {} transfers on one thread: {:.0} addresses and {:.0} transfers a second of processor time.\n",
            self.addresses,
            self.transfers,
            self.addresses as f64 / self.secs,
            self.transfers as f64 / self.secs
        );
    }
}

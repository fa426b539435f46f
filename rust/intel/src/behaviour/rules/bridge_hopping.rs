//! Bridge hopping: bridge after bridge within a day.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::{History, Roles, Transfer};
use crate::behaviour::windows::{intensity, measure, note, windows};
use crate::behaviour::{Detect, ratio};

/// Within `window_secs` several deposits into bridges of at least two entities, together most of the inflow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeHopping {
    /// The window.
    pub window_secs: i64,
    /// Deposits in it.
    pub least_deposits: usize,
    /// The number of deposits from which the intensity is 1.
    pub full_deposits: usize,
    /// Distinct bridges.
    pub least_bridges: usize,
    /// Share of the inflow.
    pub least_share: f64,
}

impl Detect for BridgeHopping {
    fn detect(&self, history: &History) -> Option<Detection> {
        let is_bridged = |sent: &&Transfer| history.roles(sent.other).holds(Roles::BRIDGE);
        let deposits: Vec<Transfer> = history.outs.iter().filter(is_bridged).copied().collect();
        let mut found = None;
        for window in windows(&deposits, self.window_secs).filter(|window| window.len() >= self.least_deposits) {
            let within = &deposits[window];
            let usd = within.iter().map(|sent| sent.usd).sum::<Usd>();
            let bridges = bridges(history, within);
            if bridges >= self.least_bridges && ratio(usd, history.in_usd) >= self.least_share {
                let span = (within[0].time, within[within.len() - 1].time);
                note(&mut found, span, measure(within.len()), || {
                    Evidence::of(within)
                        .within(self.window_secs)
                        .with("bridges", Fact::Addresses(history.addresses(within.iter().map(|sent| sent.other))))
                        .count("deposits", within.len())
                        .with("usd", Fact::Usd(usd))
                });
            }
        }
        found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_deposits), measure(self.full_deposits)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

/// Distinct entities, and addresses that have none.
fn bridges(history: &History, deposits: &[Transfer]) -> usize {
    let key = |sent: &Transfer| {
        let entity = history.counterparties[sent.other as usize].entity;
        if entity == 0 { (0, sent.other) } else { (entity, 0) }
    };
    let mut keys: Vec<_> = deposits.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

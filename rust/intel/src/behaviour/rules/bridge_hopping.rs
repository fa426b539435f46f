//! Bridge hopping: bridge after bridge within a day.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, intensity, measure, note, windows};
use crate::behaviour::history::{History, Roles, Transfer};
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
        let (by_bridge, bridges) = by_bridge(history, &deposits);
        let mut stretch = Stretch::new(&by_bridge, bridges);
        let mut found = None;
        for window in windows(&deposits, self.window_secs) {
            let within = &deposits[window.clone()];
            stretch.slide(window);
            let usd = stretch.usd();
            if within.len() >= self.least_deposits
                && stretch.distinct() >= self.least_bridges
                && ratio(usd, history.in_usd) >= self.least_share
            {
                let span = (within[0].time, within[within.len() - 1].time);
                note(&mut found, span, measure(within.len()), || (within, usd));
            }
        }
        let found = found?;
        let (best, usd) = found.best;
        let evidence = Evidence::of(best)
            .within(self.window_secs)
            .with("bridges", Fact::Addresses(history.addresses(best.iter().map(|sent| sent.other))))
            .count("deposits", best.len())
            .with("usd", Fact::Usd(usd));
        Some(Detection {
            intensity: intensity(found.measure, measure(self.least_deposits), measure(self.full_deposits)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence,
        })
    }
}

/// Deposits with the number of the bridge as counterparty, and how many bridges there are: distinct entities, and
/// addresses that have none.
fn by_bridge(history: &History, deposits: &[Transfer]) -> (Vec<Transfer>, usize) {
    let mut numbers: FxHashMap<(u64, u32), u32> = FxHashMap::default();
    let numbered = deposits.iter().map(|sent| {
        let entity = history.counterparties[sent.other as usize].entity;
        let next = u32::try_from(numbers.len()).expect("fewer than counterparties");
        let other = *numbers.entry(if entity == 0 { (0, sent.other) } else { (entity, 0) }).or_insert(next);
        Transfer { other, ..*sent }
    });
    (numbered.collect(), numbers.len())
}

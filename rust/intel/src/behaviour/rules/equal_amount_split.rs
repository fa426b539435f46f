//! Equal-amount split: the same amount to many within a day.

use serde::Deserialize;

use crate::behaviour::Detect;
use crate::behaviour::episodes::{
    Detection, Episodes, Evidence, Fact, Stretch, intensity, join, measure, note, windows,
};
use crate::behaviour::history::{History, Transfer};

/// Within `window_secs` movements of one asset to many distinct recipients, equal up to `most_difference`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualAmountSplit {
    /// The window.
    pub window_secs: i64,
    /// How far amounts may lie above the smallest, as a share of it.
    pub most_difference: f64,
    /// Distinct recipients.
    pub least_recipients: usize,
    /// The number of recipients from which the intensity is 1.
    pub full_recipients: usize,
}

impl Detect for EqualAmountSplit {
    fn detect(&self, history: &History) -> Option<Detection> {
        if history.outs.len() < self.least_recipients {
            return None;
        }
        // Assets in the order in which they left first: their numbers depend on how the ledger is divided.
        let mut by_asset: Vec<Vec<Transfer>> = Vec::new();
        for transfer in &history.outs {
            match by_asset.iter_mut().find(|of_one| of_one[0].asset == transfer.asset) {
                Some(of_one) => of_one.push(*transfer),
                None => by_asset.push(vec![*transfer]),
            }
        }
        let mut together = None;
        for mut transfers in by_asset {
            transfers.sort_by_key(|transfer| transfer.raw);
            let mut group = Stretch::new(&transfers, history.counterparties.len());
            let (mut start, mut covered) = (0, 0);
            while let Some(smallest) = transfers.get(start).map(|transfer| transfer.raw) {
                let largest = self.largest(smallest);
                let end = start + transfers[start..].partition_point(|other| other.raw <= largest);
                group.slide(start..end);
                // A group within the last one finds nothing new.
                let is_new = end > std::mem::replace(&mut covered, end);
                let is_wide = group.distinct() >= self.least_recipients;
                let found = if is_new && is_wide { self.within(history, group.transfers()) } else { None };
                // No payment counts in two groups.
                start = if found.is_some() { end } else { transfers.partition_point(|other| other.raw <= smallest) };
                together = join(together, found);
            }
        }
        together.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_recipients), measure(self.full_recipients)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

impl EqualAmountSplit {
    /// The largest amount that counts as equal to the smallest one.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of it"
    )]
    fn largest(&self, smallest: u128) -> u128 {
        smallest.saturating_add((self.most_difference * smallest as f64) as u128)
    }

    /// Episodes among movements of about one amount.
    fn within(&self, history: &History, equal: &[Transfer]) -> Option<Episodes<Evidence>> {
        let mut equal = equal.to_vec();
        equal.sort_by_key(|transfer| transfer.time);
        let mut paid = Stretch::new(&equal, history.counterparties.len());
        let mut found = None;
        for window in windows(&equal, self.window_secs) {
            let span = (equal[window.start].time, equal[window.end - 1].time);
            paid.slide(window);
            if paid.distinct() >= self.least_recipients {
                note(&mut found, span, measure(paid.distinct()), || {
                    let evidence = Evidence::of(paid.transfers())
                        .within(self.window_secs)
                        .count("count", paid.transfers().len())
                        .count("recipients", paid.distinct());
                    let units = paid.transfers().first().and_then(|first| history.units(first));
                    units.into_iter().fold(evidence, |evidence, units| evidence.with("amount", Fact::Units(units)))
                });
            }
        }
        found
    }
}

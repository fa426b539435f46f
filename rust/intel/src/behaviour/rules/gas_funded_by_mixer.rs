//! Gas funded by mixer: the first coins come out of a mixer.

use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact};
use crate::behaviour::history::{AssetKind, History, Roles, Way};
use crate::behaviour::{Detect, Needs};

/// Among the first native inflows, before any other money came, a small one from a mixer. Money is the coin of the chain
/// and the main stablecoins: other tokens are sent to anybody.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GasFundedByMixer {
    /// How many of the first native inflows are looked at.
    pub first_inflows: usize,
    /// Largest amount that is taken for fees, by the coin of the chain.
    pub most_units: f64,
    /// The same on tron.
    pub most_units_tron: f64,
}

impl Detect for GasFundedByMixer {
    const NEEDS: Needs = Needs::Movements;

    fn detect(&self, history: &History) -> Option<Detection> {
        if history.is_truncated {
            return None;
        }
        let mut looked_at = 0;
        for transfer in history.all.iter().filter(|transfer| transfer.way == Way::In && transfer.raw > 0) {
            let kind = history.assets[transfer.asset as usize].kind;
            if !matches!(kind, AssetKind::Native | AssetKind::Stablecoin) {
                continue;
            }
            let from = history.counterparties.get(transfer.other as usize)?;
            if !from.roles.holds(Roles::MIXER) {
                return None;
            }
            if kind == AssetKind::Stablecoin {
                continue;
            }
            if looked_at == self.first_inflows {
                return None;
            }
            looked_at += 1;
            let is_tron = from.address.family() == headwater_types::Family::Tron;
            let most = if is_tron { self.most_units_tron } else { self.most_units };
            let units = history.units(transfer)?;
            if units <= most {
                let evidence = Evidence::of([transfer])
                    .with("funder", Fact::Addresses(vec![from.address]))
                    .with("amount", Fact::Units(units));
                let (first, last) = (transfer.time, transfer.time);
                return Some(Detection { intensity: 1.0, occurrences: 1, first, last, evidence });
            }
        }
        None
    }
}

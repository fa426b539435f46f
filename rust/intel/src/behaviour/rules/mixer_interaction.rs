//! Mixer interaction: money to a mixer or from one.

use headwater_types::Usd;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity};
use crate::behaviour::history::{DustGuard, History, Roles, Transfer, Way};
use crate::behaviour::{Detect, ratio};

/// Valued movements with an address that is known as a mixer. Dust that a mixer sent by itself does not count.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixerInteraction {
    /// Share of all volume from which the intensity is 1.
    pub full_share: f64,
    /// What counts as dust.
    pub dust: DustGuard,
}

impl Detect for MixerInteraction {
    fn detect(&self, history: &History) -> Option<Detection> {
        let is_mixed = |transfer: &&Transfer| history.roles(transfer.other).holds(Roles::MIXER);
        let mixed: Vec<&Transfer> = history.valued.iter().filter(is_mixed).collect();
        let (first, last) = (mixed.first()?, mixed.last()?);
        let of_way = |way: Way| mixed.iter().filter(move |transfer| transfer.way == way);
        let sum = |way: Way| of_way(way).map(|transfer| transfer.usd).sum::<Usd>();
        let (received, sent) = (sum(Way::In), sum(Way::Out));
        if sent == Usd::ZERO && self.dust.is_dust(received, history, of_way(Way::In).copied()) {
            return None;
        }
        let usd = received + sent;
        let share = ratio(usd, history.in_usd + history.out_usd);
        let direction = match (received > Usd::ZERO, sent > Usd::ZERO) {
            (true, true) => "both",
            (true, false) => "in",
            (false, _) => "out",
        };
        let evidence = Evidence::of(mixed.iter().copied())
            .with("mixer", Fact::Addresses(history.addresses(mixed.iter().map(|transfer| transfer.other))))
            .with("direction", Fact::Word(direction))
            .with("usd", Fact::Usd(usd))
            .with("share", Fact::Ratio(share));
        Some(Detection {
            intensity: intensity(share, 0.0, self.full_share),
            occurrences: mixed.len() as u64,
            first: first.time,
            last: last.time,
            evidence,
        })
    }
}

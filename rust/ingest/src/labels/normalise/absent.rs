//! Addresses that are left out because their network is not held or not known, counted by its name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_types::text::{SHOWN, shortened};

use crate::networks::{by_name, is_evm_id};

/// At most so many networks are named in a sentence.
const MAX_NAMED: usize = 20;

/// Addresses by network.
#[derive(Debug, Default)]
pub(super) struct AbsentNetworks(BTreeMap<String, u64>);

impl AbsentNetworks {
    /// Counts addresses under the name of a network, or under the words of the list where these are not known.
    pub(super) fn add(&mut self, network: &str, addresses: u64) {
        *self.0.entry(network.to_owned()).or_default() += addresses;
    }

    /// One sentence for each of three kinds: networks that are not held, words that are not known, and EVM addresses
    /// under a chain without such addresses.
    pub(super) fn sentences(self) -> Vec<String> {
        let (mut not_held, mut unknown, mut contradicted) = (Vec::new(), Vec::new(), Vec::new());
        for (network, count) in self.0 {
            match by_name(&network) {
                Some(known) if known.held.is_some() => contradicted.push((network, count)),
                Some(_) => not_held.push((network, count)),
                None if is_evm_id(&network) => not_held.push((network, count)),
                None => unknown.push((format!("{:?}", shortened(&network, SHOWN)), count)),
            }
        }
        let mut sentences = Vec::new();
        if !not_held.is_empty() {
            sentences.push(format!("addresses of chains that are not held, left out: {}", listed(not_held)));
        }
        if !unknown.is_empty() {
            let rows: u64 = unknown.iter().map(|(_, count)| count).sum();
            sentences.push(format!("networks that are not known, {rows} rows left out: {}", listed(unknown)));
        }
        if !contradicted.is_empty() {
            sentences.push(format!("EVM addresses under a chain that has none, left out: {}", listed(contradicted)));
        }
        sentences
    }
}

/// Names with their counts, the largest first.
fn listed(mut counts: Vec<(String, u64)>) -> String {
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let others = counts.len().saturating_sub(MAX_NAMED);
    counts.truncate(MAX_NAMED);
    let mut names: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if others > 0 {
        names.push(format!("and {others} more"));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_networks_are_named_by_kind_with_the_largest_first() {
        let mut absent = AbsentNetworks::default();
        for (network, count) in
            [("litecoin", 3), ("optimism", 12), ("Foo", 1), ("Foo", 2), ("Bar", 1), ("eip155:4242", 1)]
        {
            absent.add(network, count);
        }
        absent.add("tron", 2);
        let expected = [
            "addresses of chains that are not held, left out: optimism 12, litecoin 3, eip155:4242 1",
            "networks that are not known, 4 rows left out: \"Foo\" 3, \"Bar\" 1",
            "EVM addresses under a chain that has none, left out: tron 2",
        ];
        assert_eq!(absent.sentences(), expected);
    }

    #[test]
    fn absent_networks_beyond_twenty_are_counted() {
        let mut absent = AbsentNetworks::default();
        for number in 0..23 {
            absent.add(&format!("Foo {number:02}"), 1);
        }
        let sentences = absent.sentences();
        assert!(sentences[0].ends_with("\"Foo 19\" 1, and 3 more"), "{sentences:?}");
    }
}

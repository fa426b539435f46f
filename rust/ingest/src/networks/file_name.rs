//! Finds the networks that the name of a file or folder says.

use super::{INDEX, Network, Strength, find, squeezed};

/// A name of a network, or of the site of an explorer, has at most so many words.
const MAX_WORDS: usize = 4;

/// The shortest ticker that counts in a name: shorter ones stand for other things as well.
const MIN_COIN: usize = 3;

/// The networks of a name, in order and once each. Of overlapping names the longest counts: `ethereum_classic` is not
/// ethereum, and `optimistic.etherscan` is optimism.
pub(crate) fn in_name(name: &str) -> Vec<&'static Network> {
    let lower = name.to_lowercase();
    let words: Vec<&str> =
        lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(rest) = words.get(start..).filter(|rest| !rest.is_empty()) {
        let longest = (1..=rest.len().min(MAX_WORDS)).rev().find_map(|count| {
            let word = rest.iter().take(count).copied().collect::<String>();
            Some((count, of_name(&word)?))
        });
        start += match longest {
            Some((count, network)) => {
                if !found.contains(&network) {
                    found.push(network);
                }
                count
            }
            None => 1,
        };
    }
    found
}

fn of_name(word: &str) -> Option<&'static Network> {
    let of_word = find(word).filter(|(_, strength)| match strength {
        Strength::Name => true,
        Strength::Coin => word.len() >= MIN_COIN,
        Strength::Cell => false,
    });
    of_word.map(|(network, _)| network).or_else(|| INDEX.sites.get(word).copied())
}

/// The network whose explorer a name says, also inside a longer word: `etherscan_combinedAccountLabels`, `bscscanLabels`.
pub(crate) fn of_site(name: &str) -> Option<&'static Network> {
    let word = squeezed(name);
    let sites = INDEX.sites.iter().filter(|(site, _)| word.contains(site.as_str()));
    let longest = sites.max_by_key(|(site, network)| (site.len(), network.name));
    longest.map(|(_, network)| *network)
}

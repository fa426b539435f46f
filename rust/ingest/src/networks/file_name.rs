//! Finds the networks that the name of a file or folder says.

use super::{INDEX, Network, Strength, find};

/// A name of a network, or of the site of an explorer, has at most so many words.
const MAX_WORDS: usize = 4;

/// The shortest ticker that counts in a name: shorter ones stand for other things as well.
const MIN_COIN: usize = 3;

/// Names of networks that are common words: they count where no other word stands beside them, apart from [`NEUTRAL`].
const COMMON: [&str; 10] =
    ["base", "blast", "scroll", "mantle", "canto", "aurora", "emerald", "sapphire", "nile", "fuji"];

/// Words of the names of data sets, which leave its meaning to a common word. Numbers and dates are others.
const NEUTRAL: &str = "mainnet network chain blockchain evm l2 scan export exports csv tsv txt json jsonl ndjson parquet \
    avro gz zst zip block blocks transaction transactions tx txs txn txns txlist logs receipt receipts trace traces \
    transfer transfers token tokens internal contracts accounts addresses events crypto goog onchain us part";

/// The part of a path that a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathPart {
    File,
    Folder,
}

/// The networks of the name of a file, in order and once each. Of overlapping names the longest counts:
/// `ethereum_classic` is not ethereum, and `optimistic.etherscan` is optimism.
pub(crate) fn in_name(name: &str) -> Vec<&'static Network> {
    networks_of(name, PathPart::File)
}

/// The networks of the name of a folder, as [`in_name`]. Tickers count for held chains alone: folders are also named for
/// people and things, such as `ron` and `rose`.
pub(crate) fn in_folder(name: &str) -> Vec<&'static Network> {
    networks_of(name, PathPart::Folder)
}

fn networks_of(name: &str, part: PathPart) -> Vec<&'static Network> {
    let lower = name.to_lowercase();
    let words: Vec<&str> =
        lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has_other_words = words.iter().filter(|word| !is_neutral(word)).nth(1).is_some();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(rest) = words.get(start..).filter(|rest| !rest.is_empty()) {
        let longest = (1..=rest.len().min(MAX_WORDS)).rev().find_map(|count| {
            let word = rest.iter().take(count).copied().collect::<String>();
            let is_vague = has_other_words && COMMON.contains(&word.as_str());
            Some((count, of_name(&word, part).filter(|_| !is_vague)?))
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

fn is_neutral(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) || NEUTRAL.split_whitespace().any(|known| known == word)
}

fn of_name(word: &str, part: PathPart) -> Option<&'static Network> {
    let of_word = find(word).filter(|(network, strength)| match strength {
        Strength::Name => true,
        Strength::Coin => word.len() >= MIN_COIN && (part == PathPart::File || network.held.is_some()),
        Strength::Cell => false,
    });
    of_word.map(|(network, _)| network).or_else(|| INDEX.sites.get(word).copied())
}

/// Endings of the names of explorers that no other word has, and the shortest of such names: shorter ones end common words,
/// as `escan` ends `rescan`.
const EXPLORERS: [&str; 2] = ["scan", "trace"];
const MIN_EXPLORER: usize = 7;

/// The network whose explorer a name says, in words of its own or at the beginning of a compound such as
/// `etherscan_combinedAccountLabels` or `bscscanLabels`.
pub(crate) fn of_site(name: &str) -> Option<&'static Network> {
    let words = words_of_compounds(name);
    let site = |word: String| {
        let is_explorer = word.len() >= MIN_EXPLORER && EXPLORERS.iter().any(|ending| word.ends_with(ending));
        INDEX.sites.get(&word).copied().filter(|_| is_explorer)
    };
    (0..words.len()).find_map(|start| {
        let rest = words.get(start..)?;
        (1..=rest.len().min(MAX_WORDS)).rev().find_map(|count| site(rest.iter().take(count).cloned().collect()))
    })
}

/// The words of a name in lower case. A capital after a small letter begins one.
fn words_of_compounds(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (is_small && letter.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        is_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

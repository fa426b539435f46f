//! Which chain a file is of, where its content does not say so.
//!
//! In this order: the name of the file or of a folder it lies in; the block hashes of files beside it or of the store,
//! where several chains are possible; the one chain of the files beside it. Only a file that looks like Ethereum and
//! of which nothing says otherwise is taken as Ethereum, and the report says so.

use std::io::Read;
use std::path::Path;

use headwater_types::{BlockHash, Chain, Family};

use crate::formats::{Sniffed, SniffedChain};
use crate::report::ChainSource;
use crate::source::{Input, Probe, hex_bytes, whole_number};
use crate::target::Target;
use crate::{Format, IngestError};

/// Words in names of files and folders, and the chains they name.
const HELD: &[(&str, Chain)] = &[
    ("bitcoin", Chain::BITCOIN),
    ("btc", Chain::BITCOIN),
    ("bnb", Chain::BSC),
    ("bnbchain", Chain::BSC),
    ("bsc", Chain::BSC),
    ("bscscan", Chain::BSC),
    ("eth", Chain::ETHEREUM),
    ("ethereum", Chain::ETHEREUM),
    ("etherscan", Chain::ETHEREUM),
    ("tron", Chain::TRON),
    ("trongrid", Chain::TRON),
    ("tronscan", Chain::TRON),
    ("trx", Chain::TRON),
];

/// Words that name chains whose files look like those of a chain that is held.
const FOREIGN: &[&str] = &[
    "arbitrum",
    "avalanche",
    "avax",
    "bsctestnet",
    "celo",
    "cronos",
    "fantom",
    "gnosis",
    "goerli",
    "holesky",
    "kovan",
    "linea",
    "litecoin",
    "matic",
    "moonbeam",
    "moonriver",
    "optimism",
    "polygon",
    "rinkeby",
    "ropsten",
    "sepolia",
    "shasta",
    "xdai",
    "zksync",
];

/// Folders above a file whose names are looked at.
const FOLDERS: usize = 3;

/// What is known of the chain of a file besides what its format tells.
#[derive(Debug)]
pub(crate) struct Clues {
    name: Named,
    block: Option<BlockClue>,
}

/// What the name of a file, or of a folder it lies in, says.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Nothing,
    Held(Chain, String),
    Foreign(String),
}

/// The first block that a file names.
#[derive(Debug)]
struct BlockClue {
    number: Option<u64>,
    hash: [u8; 32],
}

impl Clues {
    pub(crate) fn of(probe: &Probe, format: &dyn Format, sniffed: &Sniffed) -> Self {
        let name = named(probe.path(), &probe.input().name(), format.name());
        Self { name, block: BlockClue::of(probe, sniffed) }
    }

    /// The chain that the name says, if the file may be of it.
    pub(crate) fn named_chain(&self, told: SniffedChain) -> Option<Chain> {
        match self.name {
            Named::Held(chain, _) if told.may_be(chain) => Some(chain),
            Named::Held(..) | Named::Nothing | Named::Foreign(_) => None,
        }
    }

    fn is_of_tron(&self) -> bool {
        let numbered = |block: &BlockClue| {
            let height = block.hash.first_chunk().copied().map(u64::from_be_bytes);
            block.number.is_some() && block.number == height
        };
        self.block.as_ref().is_some_and(numbered)
    }
}

impl BlockClue {
    fn of(probe: &Probe, sniffed: &Sniffed) -> Option<Self> {
        let number = ["block_number", "blockNumber", "number"].iter().find_map(|name| probe.first(name));
        let hash = ["block_hash", "blockHash"].iter().find_map(|name| probe.first(name)).and_then(hash_of);
        let hash = hash.or_else(|| {
            let text = String::from_utf8_lossy(probe.head());
            ["\"blockHash\"", "\"block_hash\""].iter().find_map(|key| {
                let (_, rest) = text.split_once(key)?;
                hash_of(rest.split('"').nth(1)?)
            })
        })?;
        let number = number.and_then(|text| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => whole_number(text),
        });
        Some(Self { number: number.or(sniffed.first_block), hash })
    }
}

fn hash_of(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    hex_bytes(&format!("0x{digits}"))?.try_into().ok()
}

/// What the name of a file says, else the nearest folder whose name says something.
fn named(path: &Path, name: &str, format: &str) -> Named {
    // Cryo writes the network into the name.
    if let (true, Some((network, _))) = (format == "cryo", name.split_once("__")) {
        return match words(network) {
            Named::Nothing => Named::Foreign(network.to_owned()),
            known => known,
        };
    }
    let folders = path.ancestors().skip(1).take(FOLDERS).filter_map(|folder| folder.file_name()?.to_str());
    let mut said = std::iter::once(name).chain(folders).map(words);
    said.find(|named| *named != Named::Nothing).unwrap_or(Named::Nothing)
}

/// The one chain that the words of a name say.
fn words(name: &str) -> Named {
    let lower = name.to_lowercase();
    let words = || lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    if let Some(word) = words().find(|word| FOREIGN.contains(word)) {
        return Named::Foreign(word.to_owned());
    }
    let mut chains: Vec<Chain> =
        words().filter_map(|word| HELD.iter().find(|(known, _)| *known == word)).map(|(_, chain)| *chain).collect();
    chains.dedup();
    match chains[..] {
        [chain] => Named::Held(chain, name.to_owned()),
        _ => Named::Nothing,
    }
}

/// A file whose chain is settled.
pub(crate) struct Settled {
    pub(crate) chain: Chain,
    pub(crate) source: ChainSource,
    /// What the report says about it.
    pub(crate) note: Option<String>,
}

/// A file beside the one in question that tells its chain.
pub(crate) struct Beside<'a> {
    pub(crate) input: &'a Input,
    pub(crate) chain: Chain,
}

/// The chain of a file that does not tell it. `beside` are the files of its folder that do.
///
/// # Errors
/// When the file is of a chain that is not held, or several chains are possible.
pub(crate) fn settle(
    input: &Input,
    sniffed: Sniffed,
    clues: &Clues,
    beside: &[Beside<'_>],
    target: &dyn Target,
) -> Result<Settled, IngestError> {
    let told = sniffed.chain;
    let foreign = |why: String| IngestError::ForeignChain { path: input.path().to_owned(), why };
    let inferred = |chain: Chain, why: &str| Settled {
        chain,
        source: ChainSource::Inferred,
        note: Some(format!("the file names no chain: taken as {chain}, {why}; name another with --chain")),
    };
    if clues.is_of_tron() {
        if told.may_be(Chain::TRON) {
            return Ok(Settled { chain: Chain::TRON, source: ChainSource::Detected, note: None });
        }
        return Err(foreign("its block hashes are those of tron, in a form that hides TRC-10 tokens and stakes: give the blocks and transaction infos of a TRON node".to_owned()));
    }
    match &clues.name {
        Named::Foreign(word) => {
            return Err(foreign(format!(
                "its name says {word}, a chain that is not held; if it is of another, name that with --chain"
            )));
        }
        Named::Held(chain, name) if told.may_be(*chain) => {
            return Ok(inferred(*chain, &format!("as the name {name:?} says")));
        }
        Named::Held(..) | Named::Nothing => {}
    }
    let mut chains: Vec<Chain> = beside.iter().map(|beside| beside.chain).filter(|chain| told.may_be(*chain)).collect();
    chains.sort_unstable();
    chains.dedup();
    if let [only] = chains[..] {
        return Ok(inferred(only, "the chain of the files beside it"));
    }
    if let Some(block) = &clues.block {
        for beside in beside {
            if told.may_be(beside.chain) && mentions(beside.input, &block.hash)? {
                return Ok(inferred(beside.chain, "the chain of the file beside it that has its blocks"));
            }
        }
        let hash = BlockHash::new(block.hash);
        for chain in Chain::all().filter(|chain| chain.family() != Family::Utxo && told.may_be(*chain)) {
            if let Some(number) = block.number
                && target.block_hash(chain, number)? == Some(hash)
            {
                return Ok(inferred(chain, "the chain of the store that has its blocks"));
            }
        }
    }
    if !chains.is_empty() {
        let chains = chains.iter().map(|chain| chain.name()).collect::<Vec<_>>().join(" and ");
        return Err(IngestError::AmbiguousChain { path: input.path().to_owned(), chains });
    }
    let (chain, source) = (told.chain(), ChainSource::Assumed);
    let note = format!(
        "the file names no chain: taken as {chain}, as files of its kind mostly are, since neither its name nor a file \
         beside it names another; name another with --chain"
    );
    Ok(Settled { chain, source, note: Some(note) })
}

/// Whether a file has this hash anywhere, in hex.
fn mentions(input: &Input, hash: &[u8; 32]) -> Result<bool, IngestError> {
    let digits = hex::encode(hash);
    let mut reader = input.open()?;
    let (mut buffer, mut kept) = (vec![0; 1 << 16], Vec::new());
    loop {
        let count = reader.read(&mut buffer).map_err(|error| input.io(error))?;
        if count == 0 {
            return Ok(false);
        }
        kept.extend_from_slice(&buffer[..count]);
        if kept.windows(digits.len()).any(|window| window == digits.as_bytes()) {
            return Ok(true);
        }
        kept.drain(..kept.len().saturating_sub(digits.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, format: &str) -> Named {
        let path = Path::new(path);
        named(path, path.file_name().unwrap().to_str().unwrap(), format)
    }

    #[test]
    fn chain_is_told_by_file_name_then_by_nearest_folder() {
        let chain = |path| match said(path, "ethereum-etl") {
            Named::Held(chain, _) => Some(chain),
            Named::Nothing | Named::Foreign(_) => None,
        };
        assert_eq!(chain("bsc_receipts.json"), Some(Chain::BSC));
        assert_eq!(chain("/data/bsc/logs/date=2024-01-01/part-0.json"), Some(Chain::BSC));
        assert_eq!(chain("/data/bsc/ethereum-etl/logs.csv"), Some(Chain::ETHEREUM));
        assert_eq!(chain("bsc_and_eth.csv"), None);
        assert_eq!(chain("methods.csv"), None);
        assert_eq!(said("polygon_logs.csv", "ethereum-etl"), Named::Foreign("polygon".to_owned()));
    }

    #[test]
    fn network_of_a_cryo_file_is_held_or_foreign() {
        assert_eq!(said("network_137__logs__1_to_2.csv", "cryo"), Named::Foreign("network_137".to_owned()));
        assert!(matches!(said("ethereum__logs__1_to_2.csv", "cryo"), Named::Held(Chain::ETHEREUM, _)));
        assert!(matches!(said("bnb__logs__1_to_2.csv", "cryo"), Named::Held(Chain::BSC, _)));
    }
}

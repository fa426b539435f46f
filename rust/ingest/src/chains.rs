//! The chain of a file whose content does not state it.
//!
//! Addresses that a file prints decide before everything else: a file with those of another chain is refused. Names of
//! sister chains and test networks ([`crate::networks`]) refuse a file as well. Then, in this order: the name of the file or of a folder it lies in; the block hashes of files beside it or of the store,
//! where several chains are possible; the one chain of the files beside it. Only a file that looks like Ethereum and
//! of which nothing says otherwise is taken as Ethereum, and the report says so.

use std::io::Read;
use std::path::Path;

use headwater_types::{BlockHash, Chain, Family, Network};

use crate::bitcoin::object::other_network;
use crate::formats::{Sniffed, SniffedChain};
use crate::networks::{in_folder, in_name, of_address, of_evm_id};
use crate::report::ChainSource;
use crate::source::{Content, Input, Probe, hex_bytes, json, whole_number};
use crate::target::Target;
use crate::{Format, IngestError, Options, networks};

/// Folders above a file whose names are looked at.
const FOLDERS: usize = 3;

/// Clues about the chain of a file beside its format.
#[derive(Debug)]
pub(crate) struct Clues {
    name: Named,
    block: Option<BlockClue>,
}

/// The network that the name of a file, or of a folder around it, states.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Nothing,
    /// A chain that is held, and the name that says so.
    Held(Chain, String),
    /// A network that is not held.
    Foreign(String),
}

/// The networks that names may state.
#[derive(Clone, Copy)]
struct Expected {
    chain: SniffedChain,
    /// Test networks of the chain are read: the caller or the file names one.
    reads_tests: bool,
}

/// The first block that a file names.
#[derive(Debug)]
struct BlockClue {
    number: Option<u64>,
    hash: [u8; 32],
}

impl Clues {
    pub(crate) fn of(probe: &Probe, format: &dyn Format, sniffed: &Sniffed, options: &Options) -> Self {
        // Raw blocks state their network in their frames.
        let reads_tests =
            options.network.unwrap_or_default() != Network::Mainnet || *probe.content() == Content::Binary;
        let expected = Expected { chain: sniffed.chain, reads_tests };
        let name = named(probe.path(), &probe.input().name(), format.name(), expected);
        Self { name, block: BlockClue::of(probe, sniffed) }
    }

    /// Refuses a file of a network that is not held, by its name.
    ///
    /// # Errors
    /// When the name of the file, or of a folder it lies in, says such a network.
    pub(crate) fn check_name(&self, input: &Input, chain: Chain) -> Result<(), IngestError> {
        match &self.name {
            Named::Foreign(network) => {
                let why = format!(
                    "its name says {network}, a network that is not held; if it is of another, name that with --chain"
                );
                Err(IngestError::ForeignChain { path: input.path().to_owned(), chain, why })
            }
            Named::Held(..) | Named::Nothing => Ok(()),
        }
    }

    /// The chain that the name says, if the file may be of it.
    pub(crate) fn named_chain(&self, sniffed: SniffedChain) -> Option<Chain> {
        match self.name {
            Named::Held(chain, _) if sniffed.may_be(chain) => Some(chain),
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

/// Returns the network of the name of a file, else of the nearest folder whose name states one.
fn named(path: &Path, name: &str, format: &str, expected: Expected) -> Named {
    // Cryo writes the network into the name, one without a name by its chain id.
    if let (true, Some((network, _))) = (format == "cryo", name.split_once("__")) {
        let id = network.strip_prefix("network_").and_then(|id| id.parse().ok());
        return match (
            id.and_then(of_evm_id).and_then(|network| network.held),
            said_by(in_name(network), network, expected),
        ) {
            (Some(chain), _) => Named::Held(chain, network.to_owned()),
            (None, Named::Nothing) => Named::Foreign(network.to_owned()),
            (None, known) => known,
        };
    }
    // A path may be given from inside of the folder that names the chain.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folders = path.ancestors().skip(1).take(FOLDERS).filter_map(|folder| folder.file_name()?.to_str());
    let folders = folders.map(|folder| (folder, in_folder(folder)));
    let mut said = std::iter::once((name, in_name(name))).chain(folders);
    said.find_map(|(name, networks)| Some(said_by(networks, name, expected)).filter(|named| *named != Named::Nothing))
        .unwrap_or(Named::Nothing)
}

/// The one chain that the networks of a name say. Networks of another form, whose files look different, say nothing.
fn said_by(mut networks: Vec<&networks::Network>, name: &str, expected: Expected) -> Named {
    let families: Vec<Family> = Chain::all().filter(|chain| expected.chain.may_be(*chain)).map(Chain::family).collect();
    networks.retain(|network| families.iter().any(|family| network.is_like(*family)));
    if expected.reads_tests {
        networks.retain(|network| !network.is_test_of(expected.chain.chain()));
    }
    if let Some(network) = networks.iter().find(|network| network.held.is_none()) {
        return Named::Foreign(network.name.to_owned());
    }
    let held: Vec<Chain> = networks.iter().filter_map(|network| network.held).collect();
    match held[..] {
        [chain] => Named::Held(chain, name.to_owned()),
        _ => Named::Nothing,
    }
}

/// Returns true if a file prints the chain ids of its transactions, which stand above names.
pub(crate) fn prints_chain_id(probe: &Probe) -> bool {
    const MEMBER: &[u8] = b"\"chainId\"";
    probe.first("chain_id").is_some() || probe.head().windows(MEMBER.len()).any(|window| window == MEMBER)
}

/// Members and columns that contain addresses.
const ADDRESSES: &[&str] = &[
    "address",
    "addresses",
    "recipient",
    "sender",
    "scriptpubkey_address",
    "from_address",
    "to_address",
    "from",
    "to",
    "miner",
    "token_address",
    "contract_address",
    "contractaddress",
];

/// Refuses a file that prints addresses of another chain or network than it would be filed under, by the first address in
/// its beginning that decides.
///
/// # Errors
/// When the first address with a known form is of another chain.
pub(crate) fn check_addresses(probe: &Probe, sniffed: &Sniffed, options: &Options) -> Result<(), IngestError> {
    let chain = sniffed.chain.chain();
    let foreign = |why: String| IngestError::ForeignChain { path: probe.path().to_owned(), chain, why };
    if sniffed.chain.may_be(Chain::BITCOIN) && !sniffed.chain.may_be(Chain::ETHEREUM) {
        let network = options.network.unwrap_or_default();
        for address in printed(probe) {
            let is_read = crate::bitcoin::object::address(network, &address).is_some();
            if is_read {
                return Ok(());
            }
            if let Some(other) = other_network(network, &address) {
                return Err(foreign(format!(
                    "it prints the address {address:?} of {other}; expected addresses of bitcoin {network} (--network names \
                     another network of bitcoin)"
                )));
            }
        }
    }
    if sniffed.chain.may_be(Chain::ETHEREUM) && !sniffed.chain.may_be(Chain::TRON) {
        let is_tron = |address: &String| of_address(address).iter().any(|network| network.held == Some(Chain::TRON));
        let addresses = printed(probe);
        let mut deciding = addresses.iter().filter(|address| address.starts_with("0x") || is_tron(address));
        if let Some(address) = deciding.next().filter(|address| is_tron(address)) {
            return Err(foreign(format!("it prints the address {address:?} of tron, {TRON_REMEDY}")));
        }
    }
    Ok(())
}

/// The remedy for data of TRON in the layout of Ethereum.
const TRON_REMEDY: &str =
    "in a form that hides TRC-10 tokens and stakes: give the blocks and transaction infos of a TRON node";

/// The addresses in the beginning of a file, as they are written.
fn printed(probe: &Probe) -> Vec<String> {
    let mut texts = Vec::new();
    match probe.content() {
        Content::Json => {
            if let Some(document) = probe.document() {
                gather(&document, false, &mut texts);
            }
        }
        Content::Csv | Content::Tsv | Content::Parquet => {
            texts.extend(ADDRESSES.iter().filter_map(|column| probe.first(column)).map(str::to_owned));
        }
        Content::Empty | Content::Binary => {}
    }
    let is_divider = |letter: char| !letter.is_alphanumeric() && !matches!(letter, ':' | '-' | '_');
    texts.iter().flat_map(|text| text.split(is_divider)).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Gathers the texts of members that contain addresses.
fn gather(value: &json::Value<'_>, is_address: bool, texts: &mut Vec<String>) {
    texts.extend(value.text().filter(|_| is_address).map(str::to_owned));
    for item in value.items() {
        gather(item, is_address, texts);
    }
    for (name, member) in value.members() {
        gather(member, ADDRESSES.iter().any(|known| name.eq_ignore_ascii_case(known)), texts);
    }
}

/// A file whose chain is settled.
pub(crate) struct Settled {
    pub(crate) chain: Chain,
    pub(crate) source: ChainSource,
    /// The note of the report about it.
    pub(crate) note: Option<String>,
}

/// A file beside the one in question whose chain is known.
pub(crate) struct Beside<'a> {
    pub(crate) input: &'a Input,
    pub(crate) chain: Chain,
}

/// Infers the chain of a file that does not state it. `beside` are the files of its folder that do.
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
    let sniffed_chain = sniffed.chain;
    let foreign =
        |why: String| IngestError::ForeignChain { path: input.path().to_owned(), chain: sniffed_chain.chain(), why };
    let inferred = |chain: Chain, why: &str| Settled {
        chain,
        source: ChainSource::Inferred,
        note: Some(format!("the file names no chain: taken as {chain}, {why}; name another with --chain")),
    };
    if clues.is_of_tron() {
        if sniffed_chain.may_be(Chain::TRON) {
            return Ok(Settled { chain: Chain::TRON, source: ChainSource::Detected, note: None });
        }
        return Err(foreign(format!("its block hashes are those of tron, {TRON_REMEDY}")));
    }
    clues.check_name(input, sniffed_chain.chain())?;
    if let Named::Held(chain, name) = &clues.name
        && sniffed_chain.may_be(*chain)
    {
        return Ok(inferred(*chain, &format!("as the name {name:?} says")));
    }
    let mut chains: Vec<Chain> =
        beside.iter().map(|beside| beside.chain).filter(|chain| sniffed_chain.may_be(*chain)).collect();
    chains.sort_unstable();
    chains.dedup();
    if let [only] = chains[..] {
        return Ok(inferred(only, "the chain of the files beside it"));
    }
    if let Some(block) = &clues.block {
        for beside in beside {
            if sniffed_chain.may_be(beside.chain) && mentions(beside.input, &block.hash)? {
                return Ok(inferred(beside.chain, "the chain of the file beside it that has its blocks"));
            }
        }
        let hash = BlockHash::new(block.hash);
        for chain in Chain::all().filter(|chain| chain.family() != Family::Utxo && sniffed_chain.may_be(*chain)) {
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
    let (chain, source) = (sniffed_chain.chain(), ChainSource::Assumed);
    let note = format!(
        "the file names no chain: taken as {chain}, as files of its kind mostly are, since neither its name nor a file \
         beside it names another; name another with --chain"
    );
    Ok(Settled { chain, source, note: Some(note) })
}

/// Returns true if a file has this hash anywhere, in hex.
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

    fn said_of(path: &str, format: &str, chain: SniffedChain, reads_tests: bool) -> Named {
        let path = Path::new(path);
        named(path, path.file_name().unwrap().to_str().unwrap(), format, Expected { chain, reads_tests })
    }

    fn said(path: &str, format: &str) -> Named {
        said_of(path, format, SniffedChain::Usually(Chain::ETHEREUM), false)
    }

    fn foreign(network: &str) -> Named {
        Named::Foreign(network.to_owned())
    }

    #[test]
    fn chain_follows_file_name_then_nearest_folder() {
        let chain = |path| match said(path, "ethereum-etl") {
            Named::Held(chain, _) => Some(chain),
            Named::Nothing | Named::Foreign(_) => None,
        };
        assert_eq!(chain("bsc_receipts.json"), Some(Chain::BSC));
        assert_eq!(chain("/data/bsc/logs/date=2024-01-01/part-0.json"), Some(Chain::BSC));
        assert_eq!(chain("/data/bsc/ethereum-etl/logs.csv"), Some(Chain::ETHEREUM));
        assert_eq!(chain("bsc_and_eth.csv"), None);
        assert_eq!(chain("methods.csv"), None);
        for (path, network) in [
            ("polygon_logs.csv", "polygon"),
            ("basescan-export-0xc.csv", "base"),
            ("arbiscan/export-0xd.csv", "arbitrum"),
            ("optimistic.etherscan/export-0xe.csv", "optimism"),
            ("ethereum/sepolia/blocks.csv", "sepolia"),
            ("goog_blockchain_arbitrum_one_us/blocks.csv", "arbitrum"),
            ("ethereum_testnet/blocks.csv", "testnet"),
        ] {
            assert_eq!(said(path, "ethereum-etl"), foreign(network), "{path}");
        }
        // Folders may be named for people.
        assert_eq!(said("/home/ron/data/logs.csv", "ethereum-etl"), Named::Nothing);
        assert_eq!(said("/home/rose/knowledge-base/logs.csv", "ethereum-etl"), Named::Nothing);
        assert_eq!(said("/data/base/logs.csv", "ethereum-etl"), foreign("base"));
        // Files of Ethereum do not look like those of litecoin.
        assert_eq!(said("litecoin/blocks.csv", "ethereum-etl"), Named::Nothing);
    }

    #[test]
    fn names_of_forks_and_test_networks_refuse_files_of_bitcoin() {
        let bitcoin = |path, tests| said_of(path, "blockchair/bitcoin", SniffedChain::Is(Chain::BITCOIN), tests);
        for (path, network) in [
            ("blockchair_litecoin_outputs_20240101.tsv", "litecoin"),
            ("blockchair_bitcoin-cash_outputs_20240101.tsv", "bitcoin-cash"),
            ("blockchair_dogecoin_transactions_20240101.tsv", "dogecoin"),
            ("blockchair_bitcoin_testnet_outputs_20240101.tsv", "bitcoin-testnet"),
            ("zcash/blocks.json", "zcash"),
            (".bitcoin/testnet3/blocks/blk00000.dat", "bitcoin-testnet"),
        ] {
            assert_eq!(bitcoin(path, false), foreign(network), "{path}");
        }
        assert!(matches!(bitcoin("blockchair_bitcoin_outputs_20240101.tsv", false), Named::Held(..)));
        assert_eq!(bitcoin("base/blocks.json", false), Named::Nothing);
        assert_eq!(bitcoin("testnet3/blocks.json", true), Named::Nothing);
        assert_eq!(bitcoin("testnet/litecoin/blocks.json", true), foreign("litecoin"));
    }

    #[test]
    fn network_of_a_cryo_file_is_held_or_foreign() {
        assert_eq!(said("network_137__logs__1_to_2.csv", "cryo"), Named::Foreign("network_137".to_owned()));
        assert!(matches!(said("ethereum__logs__1_to_2.csv", "cryo"), Named::Held(Chain::ETHEREUM, _)));
        assert!(matches!(said("bnb__logs__1_to_2.csv", "cryo"), Named::Held(Chain::BSC, _)));
        assert!(matches!(said("network_56__logs__1_to_2.csv", "cryo"), Named::Held(Chain::BSC, _)));
    }
}

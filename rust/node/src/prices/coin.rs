//! The coins whose prices are fetched: symbols of the store, and their ids at the services.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::LedgerError;
use headwater_ledger::market::RegistryEntry;
use headwater_ledger::read::{Assets, Generation};
use headwater_types::{Address, Asset, Chain};

use super::error::PriceError;
use super::service::PriceService;

/// The ids of native coins at CoinGecko.
const NATIVE_IDS: [(&str, &str); 4] =
    [("bnb", "binancecoin"), ("btc", "bitcoin"), ("eth", "ethereum"), ("trx", "tron")];

/// A symbol, and what it means.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Coin {
    /// The rate symbol.
    pub symbol: String,
    /// The id at the service, as far as the store has one.
    pub id: Option<String>,
    /// The contracts that have the symbol: those that appear in the store first, then those of ethereum.
    pub contracts: Vec<(Chain, Address)>,
    /// The chains of the store in which it appears.
    pub chains: BTreeSet<Chain>,
    /// True if all its contracts in the store are pegged to the US dollar.
    pub is_pegged: bool,
}

/// A registry entry of a symbol.
struct Meaning<'a> {
    entry: &'a RegistryEntry,
    is_in_store: bool,
}

/// Returns the coins of some symbols, each with its id at the service where it is written `symbol=id`; without symbols those
/// of the store that need prices, in order of symbol. A pegged coin needs prices once some were imported.
///
/// # Errors
/// When the registry has no such symbol, none needs prices, or the store cannot be read.
pub(super) fn coins(
    ledger: &(impl Generation + Assets),
    symbols: &[String],
    service: PriceService,
) -> Result<Vec<Coin>, PriceError> {
    let mut given: BTreeMap<String, Option<String>> = BTreeMap::new();
    for text in symbols {
        let (symbol, id) = text.split_once('=').map_or((text.as_str(), None), |(symbol, id)| (symbol, Some(id)));
        let symbol = symbol.trim().to_lowercase();
        let refused = |reason: &str| PriceError::Symbol { symbol: symbol.clone(), reason: reason.to_owned() };
        if symbol.is_empty() {
            return Err(refused("it is empty"));
        }
        let id = id.map(|id| given_id(id.trim(), service).ok_or_else(|| refused("its id is not valid"))).transpose()?;
        given.insert(symbol, id);
    }
    let is_wanted = |symbol: &str| given.is_empty() || given.contains_key(symbol);
    let mut meanings: BTreeMap<&str, Vec<Meaning<'_>>> = BTreeMap::new();
    for chain in Chain::all() {
        for (asset, entry) in ledger.registry().of_chain(chain) {
            let Some(symbol) = entry.rate_symbol.as_deref().filter(|symbol| is_wanted(symbol)) else { continue };
            let is_in_store = is_in_store(ledger, chain, asset)?;
            meanings.entry(symbol).or_default().push(Meaning { entry, is_in_store });
        }
    }
    let mut coins: Vec<Coin> = meanings.into_iter().map(|(symbol, meanings)| coin(symbol, meanings, service)).collect();
    if given.is_empty() {
        let prices = ledger.prices();
        coins.retain(|coin| !coin.chains.is_empty() && (!coin.is_pegged || prices.holds(&coin.symbol)));
        return if coins.is_empty() { Err(PriceError::NoSymbols) } else { Ok(coins) };
    }
    for (symbol, id) in given {
        let place = coins.iter().position(|coin| coin.symbol == symbol);
        match (place, id) {
            (Some(place), Some(id)) => coins[place].id = Some(id),
            (Some(_), None) => {}
            (None, Some(id)) => coins.push(Coin { symbol, id: Some(id), ..Coin::default() }),
            (None, None) => {
                return Err(PriceError::Symbol { symbol, reason: "no verified token has it alone".to_owned() });
            }
        }
    }
    coins.sort_by(|one, other| one.symbol.cmp(&other.symbol));
    Ok(coins)
}

fn is_in_store(ledger: &(impl Generation + Assets), chain: Chain, asset: &Asset) -> Result<bool, LedgerError> {
    let has_blocks = ledger.coverage().contains_key(&chain);
    match asset {
        Asset::Token(contract) if has_blocks => ledger.has_token(chain, contract),
        _ => Ok(has_blocks && *asset == Asset::Native),
    }
}

fn coin(symbol: &str, mut meanings: Vec<Meaning<'_>>, service: PriceService) -> Coin {
    meanings.sort_by_key(|meaning| {
        (!meaning.is_in_store, meaning.entry.chain != Chain::ETHEREUM, meaning.entry.chain, meaning.entry.asset)
    });
    let is_native = meanings.iter().any(|meaning| meaning.entry.asset == Asset::Native);
    let native = NATIVE_IDS.iter().find(|(of, _)| is_native && *of == symbol).map(|(_, id)| (*id).to_owned());
    let contract = |meaning: &Meaning<'_>| match meaning.entry.asset {
        Asset::Token(contract) => Some((meaning.entry.chain, contract)),
        Asset::Native => None,
    };
    let contracts: Vec<(Chain, Address)> = meanings.iter().filter_map(contract).collect();
    let id = match service {
        PriceService::CoinGecko => native.or_else(|| {
            meanings.iter().find_map(|meaning| {
                let id = meaning.entry.cg_id.as_deref()?;
                given_id(id, service)
            })
        }),
        PriceService::DefiLlama => native
            .map(|id| format!("coingecko:{id}"))
            .or_else(|| contracts.first().map(|(chain, contract)| format!("{}:{contract}", chain.name()))),
    };
    let in_store = || meanings.iter().filter(|meaning| meaning.is_in_store);
    Coin {
        symbol: symbol.to_owned(),
        id,
        contracts,
        chains: in_store().map(|meaning| meaning.entry.chain).collect(),
        is_pegged: in_store().all(|meaning| meaning.entry.pegged),
    }
}

/// Reads an id that the user gave.
fn given_id(id: &str, service: PriceService) -> Option<String> {
    let is_valid = !id.is_empty() && id.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.:".contains(letter));
    let whole = match service {
        PriceService::DefiLlama if !id.contains(':') => format!("coingecko:{id}"),
        _ => id.to_owned(),
    };
    is_valid.then_some(whole)
}

//! CoinGecko, version 3: the list of its coins, and their prices over a range of time.

use std::collections::{BTreeMap, HashMap};

use headwater_types::{Address, Chain, Family};
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Answer, RawPoint, TimeUnit, checked};
use super::client::Client;
use super::coin::Coin;
use super::step::{Run, Step};
use crate::error::CallError;

/// The maximum number of hours in a request: over more than 90 days the service answers days.
pub(super) const MAX_HOURS: i64 = 89 * 24;

/// A coin of the list.
#[derive(Debug, Deserialize)]
struct ListedCoin {
    id: String,
    #[serde(default)]
    symbol: String,
    #[serde(default)]
    platforms: BTreeMap<String, Option<String>>,
}

/// The coins of the service.
#[derive(Debug)]
pub(super) struct CoinList {
    coins: HashMap<String, ListedCoin>,
    by_contract: HashMap<(Chain, Address), String>,
}

/// Returns the name of a chain at the service.
fn platform(chain: Chain) -> &'static str {
    if chain == Chain::BSC { "binance-smart-chain" } else { chain.name() }
}

/// Reads the address of a contract as the service writes it.
fn contract(chain: Chain, text: &str) -> Option<Address> {
    match chain.family() {
        Family::Evm => Address::parse(chain, &text.to_lowercase()).ok(),
        Family::Tron | Family::Utxo => Address::parse(chain, text).ok(),
    }
}

impl CoinList {
    /// Asks for the list.
    ///
    /// # Errors
    /// When the service does not answer one.
    pub fn ask(client: &Client<'_>) -> Result<Self, CallError> {
        let value = client.get("/coins/list?include_platform=true")?;
        let listed: Vec<ListedCoin> = serde_json::from_value(value)
            .map_err(|error| CallError::Malformed(format!("the list of coins is not one: {error}")))?;
        let mut by_contract = HashMap::new();
        for coin in &listed {
            for chain in Chain::all() {
                let text = coin.platforms.get(platform(chain)).and_then(Option::as_deref);
                if let Some(contract) = text.and_then(|text| contract(chain, text)) {
                    by_contract.insert((chain, contract), coin.id.clone());
                }
            }
        }
        Ok(Self { coins: listed.into_iter().map(|coin| (coin.id.clone(), coin)).collect(), by_contract })
    }

    /// Returns the id of a coin after a comparison of its symbol and contracts with those of the service.
    ///
    /// # Errors
    /// With a sentence, where the service does not have the coin, or means another one by the id.
    pub fn id_of(&self, coin: &Coin) -> Result<String, String> {
        let by_contract = || coin.contracts.iter().find_map(|contract| self.by_contract.get(contract));
        let Some(id) = coin.id.as_ref().or_else(by_contract) else {
            return Err("the service lists none of its contracts".to_owned());
        };
        let Some(listed) = self.coins.get(id) else {
            return Err(format!("the service has no coin {id:?}"));
        };
        if !listed.symbol.eq_ignore_ascii_case(&coin.symbol) {
            return Err(wrong_symbol(id, &listed.symbol));
        }
        let mut other = None;
        for (chain, ours) in &coin.contracts {
            let text = listed.platforms.get(platform(*chain)).and_then(Option::as_deref);
            match text.and_then(|text| contract(*chain, text)) {
                Some(theirs) if theirs == *ours => return Ok(id.clone()),
                Some(theirs) => {
                    other.get_or_insert_with(|| {
                        format!("{id:?} is the contract {theirs} of {} at the service, not {ours}", chain.name())
                    });
                }
                None => {}
            }
        }
        other.map_or_else(|| Ok(id.clone()), Err)
    }
}

/// Says that an id is that of another coin.
pub(super) fn wrong_symbol(id: &str, theirs: &str) -> String {
    let theirs: String = theirs.chars().take(40).collect();
    format!("{id:?} is {theirs:?} at the service: the id is wrong, and its prices would be too")
}

/// Asks for the prices of some periods.
///
/// # Errors
/// When the service refuses or fails, or its answer has another form.
pub(super) fn range(client: &Client<'_>, id: &str, run: Run, step: Step) -> Result<Answer, CallError> {
    let (from, to) = run.window(step);
    let value = client.get(&format!("/coins/{id}/market_chart/range?vs_currency=usd&from={from}&to={to}"))?;
    let points = value.get("prices").and_then(Value::as_array);
    let points = points.ok_or_else(|| CallError::Malformed("it has no list of prices".to_owned()))?;
    let raw: Option<Vec<RawPoint<'_>>> = points
        .iter()
        .map(|point| match point.as_array().map(Vec::as_slice) {
            Some([time, usd]) => Some(RawPoint { time, usd, confidence: None }),
            _ => None,
        })
        .collect();
    let raw = raw.ok_or_else(|| CallError::Malformed("a price is not a pair of time and price".to_owned()))?;
    checked(&raw, TimeUnit::Milliseconds, (from, to)).map_err(CallError::Malformed)
}

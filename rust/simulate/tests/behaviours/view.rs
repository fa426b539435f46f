//! Transfers of an economy as a plain list, with their worth.

use std::collections::BTreeMap;

use headwater_ledger::facts::{MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_simulate::Economy;
use headwater_simulate::truth::Role;
use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// One transfer of value.
#[derive(Debug, Clone)]
pub struct ValueTransfer {
    pub hash: TxHash,
    pub time: i64,
    pub block: u64,
    pub index: u32,
    /// The sender of the transaction.
    pub sender: Address,
    pub gas_price: Amount,
    pub from: Address,
    pub to: Address,
    pub asset: Asset,
    pub raw: f64,
    pub exact: Amount,
    pub decimals: u8,
    pub symbol: String,
    /// Worth at its time; nothing for what has no price.
    pub usd: Option<f64>,
}

/// All transfers of the account chains, by address.
pub struct View {
    pub moved: Vec<ValueTransfer>,
    /// First transfer of an asset.
    pub born: HashMap<(Chain, Asset), i64>,
    by_sender: HashMap<(Chain, Address), Vec<usize>>,
    /// Places of the transfers of an address, in order of time.
    by_address: HashMap<(Chain, Address), Vec<usize>>,
    /// The same of the native coin and of stablecoins alone.
    valued: HashMap<(Chain, Address), Vec<usize>>,
    recipients: HashMap<(Chain, Address, Asset), Vec<Address>>,
    pub roles: HashMap<Address, (Role, String)>,
    pub end: i64,
}

const STABLE: [&str; 4] = ["USDT", "USDC", "DAI", "BUSD"];

/// Returns whether a symbol is one of the main stablecoins.
pub fn is_stable(symbol: &str) -> bool {
    STABLE.contains(&symbol)
}

impl View {
    pub fn new(economy: &Economy) -> Self {
        let mut prices: BTreeMap<&str, Vec<(i64, f64)>> = BTreeMap::new();
        for point in &economy.prices {
            prices.entry(&point.symbol).or_default().push((point.time.secs(), point.usd));
        }
        let tokens: HashMap<_, _> = economy.tokens.iter().map(|token| ((token.chain, token.contract), token)).collect();
        let named: HashMap<_, _> = economy
            .batches
            .iter()
            .flat_map(|batch| batch.tokens.iter().map(move |token| ((batch.chain, token.contract), token)))
            .collect();
        let mut view = Self {
            moved: Vec::new(),
            by_address: HashMap::default(),
            valued: HashMap::default(),
            recipients: HashMap::default(),
            born: HashMap::default(),
            by_sender: HashMap::default(),
            roles: HashMap::default(),
            end: 0,
        };
        for row in &economy.truth.addresses {
            view.roles.insert(row.address, (row.role, row.owner.clone()));
        }
        for batch in economy.batches.iter().filter(|batch| batch.chain.family() != Family::Utxo) {
            let chain = batch.chain;
            for facts in &batch.transactions {
                let time = facts.time.unwrap().secs();
                view.end = view.end.max(time);
                for (from, to, asset, amount) in flows(facts) {
                    let listing = asset.contract().map(|contract| tokens.get(&(chain, *contract)));
                    let (symbol, decimals, priced) = match listing {
                        None => (chain.native_symbol().to_owned(), chain.native_decimals(), true),
                        Some(Some(token)) => (token.symbol.clone(), token.decimals, true),
                        Some(None) => {
                            let named = named.get(&(chain, *asset.contract().unwrap()));
                            let decimals = named.and_then(|token| token.decimals).unwrap_or(18);
                            let symbol = named.and_then(|token| token.symbol.clone()).unwrap_or_default();
                            (symbol, decimals, false)
                        }
                    };
                    let usd = priced.then(|| {
                        let walk = &prices[symbol.to_lowercase().as_str()];
                        let place = walk.partition_point(|&(at, _)| at <= time);
                        amount.to_f64(decimals) * walk[place.max(1) - 1].1
                    });
                    let number = view.moved.len();
                    view.moved.push(ValueTransfer {
                        hash: facts.hash,
                        time,
                        block: facts.block,
                        index: facts.index.unwrap_or(u32::MAX),
                        sender: facts.body.as_ref().and_then(|body| body.from).unwrap_or(from),
                        gas_price: facts.effective_gas_price.unwrap_or_default(),
                        from,
                        to,
                        asset,
                        raw: amount.to_f64(0),
                        exact: amount,
                        decimals,
                        symbol,
                        usd,
                    });
                    view.born.entry((chain, asset)).or_insert(time);
                    let sender = view.moved[number].sender;
                    view.by_sender.entry((chain, sender)).or_default().push(number);
                    view.by_address.entry((chain, from)).or_default().push(number);
                    if to != from {
                        view.by_address.entry((chain, to)).or_default().push(number);
                    }
                }
            }
        }
        let Self { moved, by_address, valued, recipients, .. } = &mut view;
        let mut known = HashSet::default();
        for (who, places) in by_address {
            places.sort_by_key(|&place| (moved[place].time, moved[place].block, moved[place].index));
            let counted = places.iter().copied().filter(|&place| counts(&moved[place]));
            valued.insert(*who, counted.collect());
            for sent in places.iter().map(|&place| &moved[place]).filter(|moved| moved.from == who.1) {
                if known.insert((*who, sent.asset, sent.to)) {
                    recipients.entry((who.0, who.1, sent.asset)).or_default().push(sent.to);
                }
            }
        }
        view
    }

    fn at(&self, places: Option<&Vec<usize>>) -> Vec<&ValueTransfer> {
        places.into_iter().flatten().map(|&place| &self.moved[place]).collect()
    }

    /// Every transfer of an address, in order.
    pub fn all(&self, chain: Chain, address: Address) -> Vec<&ValueTransfer> {
        self.at(self.by_address.get(&(chain, address)))
    }

    /// Every transfer of the transactions that an address sent.
    pub fn sent(&self, chain: Chain, sender: Address) -> impl Iterator<Item = &ValueTransfer> {
        self.by_sender.get(&(chain, sender)).into_iter().flatten().map(|&place| &self.moved[place])
    }

    /// To whom an address sent an asset, in order of the first time.
    pub fn recipients(&self, chain: Chain, address: Address, asset: Asset) -> &[Address] {
        self.recipients.get(&(chain, address, asset)).map_or(&[], Vec::as_slice)
    }

    /// Its transfers of the native coin and of stablecoins.
    pub fn valued(&self, chain: Chain, address: Address) -> Vec<&ValueTransfer> {
        self.at(self.valued.get(&(chain, address)))
    }
}

fn counts(moved: &ValueTransfer) -> bool {
    moved.usd.is_some_and(|usd| usd > 0.0)
        && moved.from != moved.to
        && (moved.asset == Asset::Native || STABLE.contains(&&*moved.symbol))
}

fn flows(facts: &TransactionFacts) -> Vec<(Address, Address, Asset, Amount)> {
    if facts.status != Some(Status::Success) {
        return Vec::new();
    }
    let mut flows = Vec::new();
    if let Some(body) = &facts.body
        && let Some(to) = body.to.or(facts.created)
        && !body.value.is_zero()
    {
        // Allocations and rewards come from nobody.
        let nobody = if matches!(to, Address::Tron(_)) { Address::Tron([0; 20]) } else { Address::Evm([0; 20]) };
        flows.push((body.from.unwrap_or(nobody), to, Asset::Native, body.value));
    }
    for movement in facts.movements.iter().filter(|movement| movement.kind != MovementFact::NonFungible) {
        if let (Some(from), Some(to)) = (movement.from, movement.to) {
            flows.push((from, to, movement.asset, movement.amount));
        }
    }
    flows
}

/// Returns whether a transfer comes in.
pub fn ins<'a>(of: &[&'a ValueTransfer], who: Address) -> Vec<&'a ValueTransfer> {
    of.iter().copied().filter(|moved| moved.to == who).collect()
}

/// Returns whether a transfer goes out.
pub fn outs<'a>(of: &[&'a ValueTransfer], who: Address) -> Vec<&'a ValueTransfer> {
    of.iter().copied().filter(|moved| moved.from == who).collect()
}

pub fn usd(moved: &[&ValueTransfer]) -> f64 {
    moved.iter().filter_map(|moved| moved.usd).sum()
}

/// The longest runs of transfers within so many seconds: one window per first transfer.
pub fn windows<'a, 'b>(moved: &'b [&'a ValueTransfer], secs: i64) -> impl Iterator<Item = &'b [&'a ValueTransfer]> {
    (0..moved.len()).map(move |first| {
        let end = moved.partition_point(|later| later.time <= moved[first].time + secs);
        &moved[first..end]
    })
}

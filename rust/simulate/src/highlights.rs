//! Addresses worth looking at: what `make demo` prints to try.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_types::{Address, Asset, Chain};
use serde::Serialize;

use crate::truth::{AddressTruth, BridgeOutcome, CaseStep, PublicLabel, Role, Truth};

/// One address worth looking at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// The chain.
    #[serde(rename = "blockchain")]
    pub chain: Chain,
    /// The address, in canonical text.
    pub address: String,
    /// The title, a word or two.
    pub title: &'static str,
    /// The reason why it is worth looking at, in one line.
    pub why: String,
}

/// Notes what is worth looking at while an economy is made.
pub(crate) struct Spotter {
    values: Values,
    /// The address of a role that transactions name most often.
    busiest: BTreeMap<(Chain, Role), AddressRank>,
    /// Whoever lost most, by chain.
    victims: BTreeMap<Chain, (f64, Address, String)>,
    peelers: BTreeMap<Chain, Address>,
    mixed: BTreeMap<Chain, Address>,
    crossed: BTreeMap<Chain, (Address, Chain, Address)>,
    /// From whom loot was passed on, by where it came to.
    layers: BTreeMap<(Chain, Address), BTreeSet<Address>>,
    /// From whom loot was passed on, with its worth, by case.
    passed_on: BTreeMap<(Chain, String), BTreeMap<Address, f64>>,
    /// Addresses at which loot was cashed out, with its worth, by case.
    cashed_out: BTreeMap<(Chain, String), BTreeMap<Address, f64>>,
    /// The exchange of an address at which loot was cashed out.
    exchange_of: BTreeMap<(Chain, Address), String>,
    /// The busiest hot wallet of each exchange.
    hot_wallets: BTreeMap<(Chain, String), AddressRank>,
    /// People who had to do with a crime or a mixer.
    touched: BTreeSet<(Chain, Address)>,
    /// Addresses under sanctions.
    sanctioned: BTreeSet<(Chain, Address)>,
    /// Addresses that loot was passed on to and no list names.
    unlisted: BTreeSet<(Chain, Address)>,
    busiest_sanctioned: BTreeMap<Chain, AddressRank>,
    /// People whom no list names and no crime touched.
    clean: BTreeMap<Chain, AddressRank>,
}

/// The number of transactions that name an address, and its owner.
type AddressRank = (u32, Reverse<Address>, String);

/// Keeps the address that is named most often.
fn keep<K: Ord>(busiest: &mut BTreeMap<K, AddressRank>, key: K, truth: &AddressTruth, mentions: u32) {
    let rank = (mentions, Reverse(truth.address));
    if busiest.get(&key).is_none_or(|held| (held.0, held.1) < rank) {
        busiest.insert(key, (rank.0, rank.1, truth.owner.clone()));
    }
}

impl Spotter {
    /// Nothing noted yet.
    pub(crate) fn new(tokens: &[TokenListing], prices: &[PricePoint]) -> Self {
        Self {
            values: Values::new(tokens, prices),
            busiest: BTreeMap::new(),
            victims: BTreeMap::new(),
            peelers: BTreeMap::new(),
            mixed: BTreeMap::new(),
            crossed: BTreeMap::new(),
            layers: BTreeMap::new(),
            passed_on: BTreeMap::new(),
            cashed_out: BTreeMap::new(),
            exchange_of: BTreeMap::new(),
            hot_wallets: BTreeMap::new(),
            touched: BTreeSet::new(),
            sanctioned: BTreeSet::new(),
            unlisted: BTreeSet::new(),
            busiest_sanctioned: BTreeMap::new(),
            clean: BTreeMap::new(),
        }
    }

    /// Looks at the truth of a slice; `person` says who is a private person.
    pub(crate) fn see_truth(&mut self, truth: &Truth, person: &dyn Fn(&Address) -> bool) {
        for step in truth.cases.iter().filter(|step| step.stage == "loot") {
            let usd = self.values.usd(step);
            let most = self.victims.get(&step.chain).map_or(f64::MIN, |victim| victim.0);
            if usd >= most && person(&step.from) {
                self.victims.insert(step.chain, (usd, step.from, step.case.clone()));
            }
            if step.kind == "theft" {
                self.peelers.entry(step.chain).or_insert(step.to);
            }
        }
        for step in truth.cases.iter().filter(|step| step.stage == "layer") {
            self.layers.entry((step.chain, step.to)).or_default().insert(step.from);
        }
        for step in &truth.cases {
            let (worth, end) = match &*step.stage {
                "layer" => (&mut self.passed_on, step.from),
                "cash_out" => (&mut self.cashed_out, step.to),
                _ => continue,
            };
            *worth.entry((step.chain, step.case.clone())).or_default().entry(end).or_default() += self.values.usd(step);
        }
        let of_cases = truth.cases.iter().flat_map(|step| [(step.chain, step.from), (step.chain, step.to)]);
        let of_mixers =
            truth.mixer_links.iter().flat_map(|link| [(link.chain, link.depositor), (link.chain, link.recipient)]);
        self.touched.extend(of_cases.chain(of_mixers).filter(|(_, address)| person(address)));
        for link in truth.mixer_links.iter().filter(|link| person(&link.depositor)) {
            self.mixed.entry(link.chain).or_insert(link.depositor);
        }
        for transfer in truth.bridge_transfers.iter().filter(|transfer| person(&transfer.source.user)) {
            let (Some(there), BridgeOutcome::Completed) = (&transfer.destination, transfer.outcome) else { continue };
            self.crossed.entry(transfer.source.chain).or_insert((transfer.source.user, there.chain, there.user));
        }
    }

    /// Looks at an address that transactions name so often, once all of the truth but addresses was seen. `labels` are what
    /// lists say of it.
    pub(crate) fn see_address(&mut self, truth: &AddressTruth, mentions: u32, labels: &[PublicLabel]) {
        keep(&mut self.busiest, (truth.chain, truth.role), truth, mentions);
        let at = (truth.chain, truth.address);
        match truth.role {
            Role::ExchangeHot => {
                keep(&mut self.hot_wallets, (truth.chain, truth.owner.clone()), truth, mentions);
            }
            Role::ExchangeDeposit => {
                self.exchange_of.insert(at, truth.owner.clone());
            }
            _ => {}
        }
        if labels.iter().any(|label| label.code == "sanction" && label.valid_until_secs.is_none()) {
            self.sanctioned.insert(at);
            keep(&mut self.busiest_sanctioned, truth.chain, truth, mentions);
        }
        if !labels.is_empty() {
            return;
        }
        if self.layers.contains_key(&at) {
            self.unlisted.insert(at);
        } else if truth.role == Role::Person && !self.touched.contains(&at) {
            keep(&mut self.clean, truth.chain, truth, mentions);
        }
    }

    /// An address that no list names, to which loot was passed on from one under sanctions.
    fn risky(&self, of: Chain) -> Option<Address> {
        let is_sanctioned = |from: &Address| self.sanctioned.contains(&(of, *from));
        let here = self.layers.iter().filter(|(at, _)| at.0 == of && self.unlisted.contains(at));
        here.filter(|(_, senders)| senders.iter().any(is_sanctioned)).map(|(at, _)| at.1).next()
    }

    /// The thief of the worst case of a chain, and the exchange at which most of its loot was cashed out with its hot wallet.
    fn theft(&self, of: Chain) -> Option<(Address, &str, Address)> {
        let (_, _, case) = self.victims.get(&of)?;
        let case = (of, case.clone());
        let (thief, _) = self.passed_on.get(&case)?.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let mut by_exchange: BTreeMap<&str, f64> = BTreeMap::new();
        for (deposit, usd) in self.cashed_out.get(&case)? {
            let exchange = self.exchange_of.get(&(of, *deposit));
            if let Some(exchange) = exchange {
                *by_exchange.entry(exchange).or_default() += usd;
            }
        }
        let (exchange, _) = by_exchange.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (_, hot_wallet, _) = self.hot_wallets.get(&(of, exchange.to_owned()))?;
        Some((*thief, exchange, hot_wallet.0))
    }

    /// A few addresses of every chain, in order of chain.
    pub(crate) fn highlights(self) -> Vec<Highlight> {
        let mut found = Vec::new();
        for chain in Chain::all() {
            let busiest = |role: Role| self.busiest.get(&(chain, role));
            let mut add = |address: Address, title, why: String| {
                found.push(Highlight { chain, address: address.to_string(), title, why });
            };
            if let Some((_, address, owner)) = busiest(Role::ExchangeHot) {
                add(address.0, "exchange", format!("hot wallet of {owner}, the busiest service of the chain"));
            }
            if let Some((_, address, owner)) = busiest(Role::Person) {
                add(address.0, "busy person", format!("{owner}: months of payments, deposits and withdrawals"));
            }
            if let Some((_, address, owner)) = self.busiest_sanctioned.get(&chain) {
                add(address.0, "sanctioned", format!("{owner}: listed by an authority"));
            }
            if let Some(address) = self.risky(chain) {
                add(
                    address,
                    "risky",
                    "no list names it; loot came here from an address that came under sanctions".to_owned(),
                );
            }
            if let Some((_, address, owner)) = self.clean.get(&chain) {
                add(address.0, "clean", format!("{owner}: no list names them, and no crime touched them"));
            }
            for (role, title, why) in FAMOUS {
                if let Some((_, address, _)) = busiest(role) {
                    add(address.0, title, why.to_owned());
                }
            }
            if let Some((_, address, case)) = self.victims.get(&chain) {
                add(*address, "victim", format!("lost more than anybody else to {case}"));
            }
            if let Some((thief, exchange, hot_wallet)) = self.theft(chain) {
                add(thief, "thief", "took the loot of that case and passed it on".to_owned());
                add(hot_wallet, "cash-out", format!("{exchange}: the loot that reached exchanges went here most"));
            }
            if let Some(address) = self.peelers.get(&chain) {
                add(*address, "peel chain", "stolen coins leave here, a little peeled off at every hop".to_owned());
            }
            if let Some(address) = self.mixed.get(&chain) {
                add(*address, "mixer user", "an ordinary person who used the mixer".to_owned());
            }
            if let Some((address, to, recipient)) = self.crossed.get(&chain) {
                add(*address, "bridge user", format!("crossed to {to} over the bridge, to {recipient}"));
            }
        }
        found
    }
}

/// Roles of which the busiest address is shown.
const FAMOUS: [(Role, &str, &str); 5] = [
    (Role::ScamCollector, "scammer", "where the loot of many victims comes together"),
    (Role::SpoofedToken, "spoofed token", "a contract that carries a well-known symbol and is hidden by default"),
    (Role::BridgeVault, "bridge", "both legs of every crossing touch a vault like this"),
    (Role::MixerPool, "mixer", "equal deposits go in, and come out for new addresses"),
    (Role::MiningPool, "mining pool", "coinbases come in, miners are paid in batches"),
];

/// The values of assets by their first price: good enough to compare losses.
struct Values(BTreeMap<(Chain, Asset), (u8, f64)>);

impl Values {
    fn new(tokens: &[TokenListing], prices: &[PricePoint]) -> Self {
        let mut first = BTreeMap::new();
        for point in prices {
            first.entry(point.symbol.to_lowercase()).or_insert(point.usd);
        }
        let price = |symbol: &str| first.get(&symbol.to_lowercase()).copied().unwrap_or(0.0);
        let natives =
            Chain::all().map(|chain| ((chain, Asset::Native), (chain.native_decimals(), price(chain.native_symbol()))));
        let tokens = tokens.iter();
        let tokens =
            tokens.map(|token| ((token.chain, Asset::Token(token.contract)), (token.decimals, price(&token.symbol))));
        Self(natives.chain(tokens).collect())
    }

    fn usd(&self, step: &CaseStep) -> f64 {
        self.0.get(&(step.chain, step.asset)).map_or(0.0, |&(decimals, price)| step.amount.to_f64(decimals) * price)
    }
}

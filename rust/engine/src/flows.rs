//! Sums over the movements that a scope shows: what rankings, overviews and wallets have in common.

use std::collections::HashMap;
use std::mem::size_of;

use headwater_ledger::clusters::Clusters;
use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::{AccountRef, Direction, MovementKind};
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::flow::{AssetTally, Counterparties, Group, Movement, Side, Tally, Way};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Amount, Asset, Balance, Chain, Family, Pico, Usd};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Error;
use crate::asset_book::{AssetBook, AssetView};
use crate::clusters::clusters;
use crate::movement_reader::{CANCEL_EVERY, Flow};
use crate::purposes::COUNTERPARTIES;
use crate::request::GroupBy;
use crate::scope::Scope;
use crate::utxo_pairs::UtxoPairs;
use crate::valuation::{Output, Valuer};

/// The movement of a flow, valued; `None` for a transfer of the account to itself, which is in no sum.
pub(crate) fn movement(
    valuer: &Valuer,
    output: &Output,
    asset: &AssetView,
    flow: &Flow,
    amount: Amount,
) -> Option<Movement> {
    let way = match flow.posting.direction {
        Direction::In => Way::Received,
        Direction::Out => Way::Sent,
        Direction::Own => return None,
    };
    let time = flow.posting.time;
    let usd = valuer.usd(asset, amount, time);
    let converted = valuer.converted(output, asset, amount, usd, time);
    // Each is rounded once; sums of what is rounded are exact.
    let (usd, converted) = (usd.and_then(Usd::from_f64), converted.and_then(Pico::from_f64));
    Some(Movement { transaction: flow.posting.transaction, time, way, amount, usd, converted })
}

/// The counterparties of flows, each under one number however many handles it has.
pub(crate) struct Others<'a> {
    ledger: &'a dyn Ledger,
    address: Address,
    by_ref: FxHashMap<AccountRef, usize>,
    by_address: HashMap<Address, usize>,
    addresses: Vec<Address>,
    /// Where counterparties are clusters: each under the address that names it.
    clusters: Option<(Chain, Clusters<'a>)>,
    /// Which pairs of UTXO transactions count.
    pairs: UtxoPairs,
    /// `CoinJoins` that made no pairs.
    pub coinjoins: u64,
    held: Reservation,
    cancel: &'a Cancel,
}

impl<'a> Others<'a> {
    pub fn new(ledger: &'a dyn Ledger, address: Address, cancel: &'a Cancel) -> Self {
        Self {
            ledger,
            address,
            by_ref: FxHashMap::default(),
            by_address: HashMap::new(),
            addresses: Vec::new(),
            clusters: None,
            pairs: UtxoPairs::All,
            coinjoins: 0,
            held: cancel.holding(COUNTERPARTIES),
            cancel,
        }
    }

    /// The same with clusters of a chain as counterparties, where it has some.
    pub fn grouped(self, by: GroupBy, chain: Chain) -> Result<Self, Error> {
        Ok(match (by, chain.family()) {
            (GroupBy::Cluster, Family::Utxo) => {
                Self { clusters: Some((chain, clusters(self.ledger, chain, self.cancel)?)), ..self }
            }
            (GroupBy::Cluster, Family::Evm | Family::Tron) | (GroupBy::Address, _) => self,
        })
    }

    /// The same of some pairs of UTXO transactions.
    pub fn of_pairs(self, pairs: UtxoPairs) -> Self {
        Self { pairs, ..self }
    }

    pub fn address(&self, number: usize) -> Address {
        self.addresses[number]
    }

    /// Who is on the other side, with what moved between the two: nobody for minting, burning and rewards; several in
    /// a UTXO transaction.
    pub fn of(&mut self, flow: &Flow) -> Result<Vec<(usize, Amount)>, Error> {
        let posting = &flow.posting;
        if posting.kind == MovementKind::Utxo {
            let transaction = self.ledger.transaction(posting.transaction)?;
            let Some(attribution) = self.pairs.attribution(self.ledger, &transaction, self.cancel)? else {
                self.coinjoins += 1;
                return Ok(Vec::new());
            };
            let shares = attribution.counterparties(&self.address);
            let mut numbered: Vec<(usize, Amount)> = Vec::with_capacity(shares.len());
            for (address, amount) in shares {
                let number = self.of_address(address)?;
                match numbered.iter_mut().find(|(known, _)| *known == number) {
                    // No more moves in a transaction than there are coins.
                    Some((_, sum)) => *sum = sum.checked_add(amount).unwrap_or(Amount::MAX),
                    None => numbered.push((number, amount)),
                }
            }
            return Ok(numbered);
        }
        let Some(counterparty) = posting.counterparty else { return Ok(Vec::new()) };
        let number = self.of_account(counterparty)?;
        let somebody = !self.addresses[number].is_zero();
        Ok(if somebody { vec![(number, posting.amount)] } else { Vec::new() })
    }

    /// The number of an address, or of its cluster.
    fn of_address(&mut self, address: Address) -> Result<usize, Error> {
        let Some((chain, clusters)) = self.clusters.filter(|_| !self.by_address.contains_key(&address)) else {
            return self.number(address);
        };
        let account = self.ledger.account(chain, &address)?;
        let cluster = account.map(|account| clusters.of(&account)).transpose()?.flatten();
        let number = self.number(cluster.map_or(address, |cluster| cluster.name))?;
        self.held.reach(table_bytes::<(Address, usize)>(self.by_address.len() + 1) * 2)?;
        self.by_address.insert(address, number);
        Ok(number)
    }

    /// The number of an account.
    pub fn of_account(&mut self, account: AccountRef) -> Result<usize, Error> {
        if let Some(number) = self.by_ref.get(&account) {
            return Ok(*number);
        }
        let number = self.number(self.ledger.address(account)?)?;
        self.by_ref.insert(account, number);
        Ok(number)
    }

    /// Returns whether somebody stands on the other side who cannot be told: an input of the transaction is not held.
    pub fn unknown(&self, flow: &Flow) -> Result<bool, Error> {
        let posting = &flow.posting;
        Ok(posting.kind == MovementKind::Utxo
            && Attribution::of_transaction(&self.ledger.transaction(posting.transaction)?).unresolved_inputs() > 0)
    }

    /// The addresses by their numbers, with the memory that they take.
    pub fn into_addresses(self) -> (Vec<Address>, Reservation) {
        (self.addresses, self.held)
    }

    /// The number of an address.
    pub fn number(&mut self, address: Address) -> Result<usize, Error> {
        let (refs, addresses) = (self.by_ref.len() + 1, self.addresses.len() + 1);
        let tables = table_bytes::<(AccountRef, usize)>(refs) + table_bytes::<(Address, usize)>(addresses);
        self.held.reach(tables + addresses * size_of::<Address>())?;
        Ok(*self.by_address.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.addresses.len() - 1
        }))
    }
}

/// Sums by counterparty, with the memory that they take.
pub(crate) struct Groups {
    pub list: Vec<(usize, Group)>,
    /// What the scope hides as unverified.
    pub unverified: Unverified,
    pub held: Reservation,
}

/// Pairs of a counterparty and a token that no registry vouches for, by their numbers.
pub(crate) type UnverifiedPairs = FxHashSet<(usize, usize)>;

/// How many rows of a ranking are hidden because no registry vouches for their token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unverified {
    /// Counterparties with whom nothing else moved.
    pub counterparties: u64,
    /// Pairs of a counterparty and a token.
    pub pairs: u64,
}

impl Unverified {
    /// Of the pairs beside the groups that are shown.
    pub fn new(pairs: &UnverifiedPairs, shown: &[(usize, Group)]) -> Self {
        let count = |length: usize| u64::try_from(length).expect("a count fits");
        let mut hidden: FxHashSet<usize> = pairs.iter().map(|(other, _)| *other).collect();
        for (other, _) in shown {
            hidden.remove(other);
        }
        Self { counterparties: count(hidden.len()), pairs: count(pairs.len()) }
    }
}

/// What one part of a scan found, in numbers of its own.
pub(crate) struct Part {
    pub groups: Groups,
    pub unverified: UnverifiedPairs,
    /// The counterparties by number.
    pub others: (Vec<Address>, Reservation),
    /// `CoinJoins` that made no pairs.
    pub coinjoins: u64,
    /// The assets by number.
    pub assets: Vec<Asset>,
}

/// Parts of one scan together, in the numbers of `others` and `book`.
pub(crate) fn joined(
    parts: Vec<Part>,
    others: &mut Others<'_>,
    book: &mut AssetBook<'_>,
    cancel: &Cancel,
) -> Result<Groups, Error> {
    let (mut all, mut held) = (Counterparties::default(), cancel.holding(COUNTERPARTIES));
    let mut unverified = UnverifiedPairs::default();
    for part in parts {
        let assets = part.assets.iter().map(|asset| book.of_asset(*asset)).collect::<Result<Vec<_>, _>>()?;
        let ((addresses, _held), groups) = (part.others, part.groups);
        others.coinjoins += part.coinjoins;
        for (count, (other, group)) in groups.list.into_iter().enumerate() {
            if count % CANCEL_EVERY == 0 {
                cancel.check().map_err(headwater_ledger::LedgerError::from)?;
            }
            held.reach(all.bytes_with(group.by_asset.len()))?;
            all.join(others.number(addresses[other])?, &group, |asset| assets[asset]);
        }
        for (other, asset) in part.unverified {
            unverified.insert((others.number(addresses[other])?, assets[asset]));
        }
    }
    let list = all.into_groups();
    Ok(Groups { unverified: Unverified::new(&unverified, &list), list, held })
}

/// The unit of summed amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SumUnit {
    /// Exact units of the one asset in scope.
    Own,
    /// US dollars.
    Usd,
    /// Units of the `output_asset`, at transfer time.
    Converted,
}

impl SumUnit {
    pub fn new(scope: &Scope, output: &Output) -> Self {
        match output {
            Output::Own | Output::PerSymbol if scope.only_asset().is_some() => Self::Own,
            Output::Own | Output::Usd | Output::PerSymbol => Self::Usd,
            Output::Asset { .. } => Self::Converted,
        }
    }

    /// `amount_unit` of an answer whose rows are split by asset where that is asked for.
    pub fn of_rows(self, scope: &Scope, output: &Output, book: &mut AssetBook<'_>) -> Result<String, Error> {
        match (self, output) {
            (Self::Usd, Output::PerSymbol) => Ok("mixed".to_owned()),
            _ => self.name(scope, output, book),
        }
    }

    /// `amount_unit` of an answer whose amounts are all in this unit.
    pub fn name(self, scope: &Scope, output: &Output, book: &mut AssetBook<'_>) -> Result<String, Error> {
        Ok(match (self, output, scope.only_asset()) {
            (Self::Own, _, Some(asset)) => {
                let number = book.of_asset(asset)?;
                book.view(number).name().to_owned()
            }
            (Self::Converted, Output::Asset { symbol, .. }, _) => symbol.clone(),
            _ => "usd".to_owned(),
        })
    }
}

/// Summed amounts as decimal text; null where decimals are unknown, and where a sum passes 256 bits.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sums {
    pub received: Option<String>,
    pub sent: Option<String>,
    pub total: Option<String>,
    pub net: Option<String>,
    /// Which of them are 0 for want of a price.
    pub unvalued: Unvalued,
}

/// The sums by direction that are 0 because no movement behind them has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Unvalued {
    pub received: bool,
    pub sent: bool,
    /// Received and sent together, and received less sent.
    pub total: bool,
}

impl Unvalued {
    /// Of the US dollars of a tally.
    pub fn of_dollars(tally: &Tally) -> Self {
        Self::new(tally, |side| side.unpriced)
    }

    fn new(tally: &Tally, unvalued: fn(&Side) -> u64) -> Self {
        let [received, sent] = [&tally.received, &tally.sent].map(|side| (side.transfers, unvalued(side)));
        let is_unvalued = |(transfers, unvalued): (u64, u64)| transfers > 0 && transfers == unvalued;
        let total = (received.0 + sent.0, received.1 + sent.1);
        Self { received: is_unvalued(received), sent: is_unvalued(sent), total: is_unvalued(total) }
    }

    /// The names of the fields that are 0 for want of a price.
    pub fn names<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
        fields.into_iter().filter_map(|(name, is_unvalued)| is_unvalued.then_some(name)).collect()
    }
}

impl Sums {
    /// Sums of a group in a unit: exact ones where only the asset of that unit moved, else values.
    pub fn of_group(unit: SumUnit, output: &Output, group: &Group, book: &AssetBook<'_>) -> Self {
        match (unit, &group.by_asset[..]) {
            (SumUnit::Converted, [(asset, tally)]) => Self::of_asset(output, tally, book.view(*asset)),
            (SumUnit::Own, [(asset, tally)]) => Self::exact(tally, book.view(*asset).decimals),
            (SumUnit::Own | SumUnit::Usd, _) => Self::dollars(&group.all),
            (SumUnit::Converted, _) => Self::converted(&group.all),
        }
    }

    /// Sums of one asset under an `output_asset`: its own units unless another is asked for.
    pub fn of_asset(output: &Output, tally: &AssetTally, asset: &AssetView) -> Self {
        match output {
            Output::Usd => Self::dollars(&tally.tally),
            Output::Asset { .. } if !output.is_unit_of(asset) => Self::converted(&tally.tally),
            Output::Own | Output::PerSymbol | Output::Asset { .. } => Self::exact(tally, asset.decimals),
        }
    }

    fn exact(tally: &AssetTally, decimals: Option<u8>) -> Self {
        let Some(decimals) = decimals else { return Self::default() };
        let text = |sum: Option<Amount>| sum.map(|sum| sum.to_decimal(decimals));
        Self {
            received: text(tally.received()),
            sent: text(tally.sent()),
            total: text(tally.total()),
            net: tally.balance().map(|balance: Balance| balance.net_decimal(decimals)),
            unvalued: Unvalued::default(),
        }
    }

    fn dollars(tally: &Tally) -> Self {
        Self::values(tally.received.usd, tally.sent.usd, Unvalued::of_dollars(tally))
    }

    fn converted(tally: &Tally) -> Self {
        let unvalued = Unvalued::new(tally, |side| side.unconverted);
        Self::values(tally.received.converted, tally.sent.converted, unvalued)
    }

    fn values(received: Pico, sent: Pico, unvalued: Unvalued) -> Self {
        let text = |value: Pico| Some(value.to_string());
        let (total, net) = (text(received + sent), text(received - sent));
        Self { received: text(received), sent: text(sent), total, net, unvalued }
    }
}

/// The names of the assets of a group, in order.
pub(crate) fn names(group: &Group, book: &AssetBook<'_>) -> Vec<String> {
    let mut names: Vec<_> = group.by_asset.iter().map(|(asset, _)| book.view(*asset).name().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

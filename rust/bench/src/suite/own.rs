//! The engine itself, through the one door that analyses read through.

use std::path::Path;
use std::sync::Arc;

use headwater_ledger::edges::AssetEdge;
use headwater_ledger::read::{
    Account, AccountRef, Accounts, AssetRef, Assets, Balances as _, Counterparties, Direction, Movements, Posting,
    Scan, ScanOrder,
};
use headwater_ledger::{Cancel, Snapshot, Store};
use headwater_metrics::concentration::{self, Balances};
use headwater_metrics::counterparties;
use headwater_metrics::features::{Base, BaseGather, features_of, values};
use headwater_metrics::grouping::{Count, Flow, Side, Tally};
use headwater_metrics::sums::{BalanceColumns, balances_of_every_address};
use headwater_metrics::sweep::fold_addresses_with;
use headwater_types::{Address, Amount, Asset, Chain, Family, TimeWindow, Timestamp};

use super::answer::{Answer, Group, Holder, Query, Row};
use super::counters::{Cost, timed};
use super::oracle::{HOLDERS, PAGE, TOP};
use super::peers::Engine;
use super::{Error, Result};
use crate::generator::{Ranks, holder_balances};

/// One account in so many is looked at when balances of all are compared.
const SAMPLED: u32 = 997;

/// The store of a preset, read as analyses read it.
pub struct EngineUnderTest {
    snapshot: Arc<Snapshot>,
    ranks: Arc<Ranks>,
    holders: Vec<u128>,
    cancel: Cancel,
}

/// The answer to a question before it is put into the words of the generator.
enum Outcome {
    Rows(Vec<Posting>),
    Counts(counterparties::Report<Count>),
    Flows(counterparties::Report<Flow>),
    Edges(Vec<(AccountRef, AssetEdge)>),
    Holders(Vec<(AccountRef, Amount)>),
    Concentration(concentration::Report),
    Balances(Vec<BalanceColumns>),
    Features(Vec<FeatureSums>),
}

/// Features of a stretch of addresses.
#[derive(Default)]
struct FeatureSums {
    addresses: u64,
    /// The features of one address.
    row: Vec<f64>,
    /// The sum of each feature over the addresses that have it.
    sums: Vec<f64>,
}

impl FeatureSums {
    fn add(&mut self, base: &Base) {
        self.addresses += 1;
        values(base, features_of(Family::Evm), &mut self.row);
        self.sums.resize(self.row.len(), 0.0);
        for (sum, value) in self.sums.iter_mut().zip(&self.row) {
            *sum += if value.is_nan() { 0.0 } else { *value };
        }
    }
}

impl EngineUnderTest {
    /// Opens a store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(store: &Path, ranks: Arc<Ranks>) -> Result<Self> {
        let snapshot = Store::open(store)?.snapshot()?;
        Ok(Self { snapshot, ranks, holders: Vec::new(), cancel: Cancel::new() })
    }

    /// With the balances of the holders preset, so many of them.
    #[must_use]
    pub fn with_holders(self, count: usize) -> Self {
        Self { holders: holder_balances(count), ..self }
    }

    fn account(&self, rank: u32) -> Result<Account> {
        let address = Address::Evm(self.ranks.address_at(rank));
        self.snapshot.account(Chain::ETHEREUM, &address)?.ok_or_else(|| Error::Wrong {
            engine: self.name(),
            query: "account".to_owned(),
            account: rank,
            what: "it is not held".to_owned(),
        })
    }

    fn page(&self, account: u32, scan: &Scan) -> Result<Vec<Posting>> {
        let account = self.account(account)?;
        Ok(self.snapshot.page(&account, scan, PAGE)?)
    }

    fn run(&self, query: Query) -> Result<Outcome> {
        let ledger = self.snapshot.as_ref();
        let ranking = |scan| counterparties::Params::new(scan, TOP);
        Ok(match query {
            Query::Page { account } => Outcome::Rows(self.page(account, &Scan::default())?),
            Query::DeepPage { account, until } => Outcome::Rows(self.page(account, &between(0, until))?),
            Query::Filter { account, token, since, until } => {
                let asset = Asset::Token(Address::Evm(self.ranks.token_at(token)));
                Outcome::Rows(self.page(account, &Scan { assets: Some(vec![asset]), ..between(since, until) })?)
            }
            Query::Count { account } => {
                let account = self.account(account)?;
                Outcome::Counts(counterparties::by_count(ledger, &account, &ranking(Scan::default()), &self.cancel)?)
            }
            Query::Full { account } => {
                let account = self.account(account)?;
                match ledger.busiest_edges(&account, TOP, &self.cancel)? {
                    Some(busiest) => Outcome::Edges(busiest),
                    None => {
                        let params = ranking(Scan::default());
                        Outcome::Flows(counterparties::by_asset(ledger, &account, &params, &self.cancel)?)
                    }
                }
            }
            Query::Windowed { account, since, until } => {
                let account = self.account(account)?;
                let params = ranking(between(since, until));
                Outcome::Flows(counterparties::by_asset(ledger, &account, &params, &self.cancel)?)
            }
            Query::Trace { .. } => return Err(self.foreign("a trace")),
            Query::Holders { token } => {
                let asset = Asset::Token(Address::Evm(self.ranks.token_at(token)));
                let holders = ledger.holders(Chain::ETHEREUM, &asset)?;
                let holders = holders.ok_or_else(|| self.foreign("a token without a table of holders"))?;
                Outcome::Holders(holders.first(HOLDERS)?)
            }
            Query::Concentration => {
                let balances = Balances { small: &self.holders, large: &[] };
                let params = concentration::Params::default().with_tops(vec![1000]);
                Outcome::Concentration(concentration::concentration(balances, &params, &self.cancel)?)
            }
            Query::Balances => Outcome::Balances(balances_of_every_address(ledger, Chain::ETHEREUM, &self.cancel)?),
            Query::Features => {
                let make = || BaseGather::new(Chain::ETHEREUM);
                let fold = |sums: &mut FeatureSums, _: &Address, base: &Base| sums.add(base);
                Outcome::Features(fold_addresses_with(ledger, Chain::ETHEREUM, &self.cancel, make, fold)?)
            }
        })
    }

    fn translate(&self, outcome: Outcome) -> Result<Answer> {
        let named = |asset: Option<AssetRef>| asset.ok_or_else(|| self.foreign("a group without an asset"));
        Ok(match outcome {
            Outcome::Rows(postings) => {
                Answer::Rows(postings.iter().map(|posting| self.row(posting)).collect::<Result<_>>()?)
            }
            Outcome::Counts(report) => {
                let group = |group: &counterparties::Group<Count>| {
                    Ok(Group(self.rank(group.account)?, 255, group.tally.count(), 0, 0, 0))
                };
                Answer::Groups(report.top.iter().map(group).collect::<Result<_>>()?)
            }
            Outcome::Flows(report) => {
                let group = |group: &counterparties::Group<Flow>| {
                    let tally = group.tally;
                    let sum = low(tally.sum(Side::Received).total()).wrapping_add(low(tally.sum(Side::Sent).total()));
                    let (first, last) = (epoch(tally.first_secs), epoch(tally.last_secs));
                    let (other, token) = (self.rank(group.account)?, self.token(named(group.asset)?)?);
                    Ok(Group(other, token, tally.count(), sum, first, last))
                };
                Answer::Groups(report.top.iter().map(group).collect::<Result<_>>()?)
            }
            Outcome::Edges(groups) => {
                let group = |(other, edge): &(AccountRef, AssetEdge)| {
                    let sum = |amount: Option<Amount>| amount.map_or(0, low);
                    let (first, last) = (secs(edge.flows.first), secs(edge.flows.last));
                    let sum = sum(edge.received).wrapping_add(sum(edge.sent));
                    Ok(Group(self.rank(*other)?, self.token(edge.asset)?, edge.flows.transfers(), sum, first, last))
                };
                Answer::Groups(groups.iter().map(group).collect::<Result<_>>()?)
            }
            Outcome::Holders(holders) => {
                let holder =
                    |(account, balance): &(AccountRef, Amount)| Ok(Holder(self.rank(*account)?, low(*balance)));
                Answer::Holders(holders.iter().map(holder).collect::<Result<_>>()?)
            }
            Outcome::Concentration(report) => Answer::Concentration {
                sum: report.total.to_decimal(0),
                top: report.top_shares.first().map_or(0.0, |(_, share)| *share),
                hhi: report.hhi,
                gini: report.gini,
            },
            Outcome::Balances(columns) => self.balances(&columns)?,
            Outcome::Features(stretches) => {
                let sum = |place: usize| stretches.iter().filter_map(|stretch| stretch.sums.get(place)).sum();
                let sums =
                    features_of(Family::Evm).enumerate().map(|(place, feature)| (feature.name.to_owned(), sum(place)));
                Answer::Features(stretches.iter().map(|stretch| stretch.addresses).sum(), sums.collect())
            }
        })
    }

    fn balances(&self, columns: &[BalanceColumns]) -> Result<Answer> {
        let mut sample = Vec::new();
        for (address, balances) in columns.iter().flat_map(BalanceColumns::iter) {
            let Address::Evm(bytes) = address else { return Err(self.foreign("an address")) };
            let rank = self.ranks.find(bytes).ok_or_else(|| self.foreign("an address"))?;
            for (asset, balance) in balances.filter(|_| rank % SAMPLED == 0) {
                let balance = low(balance.received()).wrapping_sub(low(balance.sent()));
                sample.push((rank, self.token_of(asset)?, balance.to_string()));
            }
        }
        sample.sort_unstable();
        Ok(Answer::Balances(columns.iter().map(|columns| columns.len() as u64).sum(), sample))
    }

    fn row(&self, posting: &Posting) -> Result<Row> {
        let other = posting.counterparty.ok_or_else(|| self.foreign("a posting without the other side"))?;
        let direction = match posting.direction {
            Direction::In => 0,
            Direction::Out => 1,
            Direction::Own => 2,
        };
        Ok(Row(secs(posting.time), self.rank(other)?, self.token(posting.asset)?, direction, low(posting.amount)))
    }

    fn rank(&self, account: AccountRef) -> Result<u32> {
        let Address::Evm(bytes) = self.snapshot.address(account)? else { return Err(self.foreign("an address")) };
        self.ranks.find(&bytes).ok_or_else(|| self.foreign("an address"))
    }

    fn token(&self, asset: AssetRef) -> Result<u8> {
        self.token_of(&self.snapshot.asset(asset)?)
    }

    fn token_of(&self, asset: &Asset) -> Result<u8> {
        let Asset::Token(Address::Evm(bytes)) = asset else { return Err(self.foreign("an asset")) };
        self.ranks.find_token(bytes).ok_or_else(|| self.foreign("an asset"))
    }

    fn foreign(&self, what: &str) -> Error {
        Error::Wrong {
            engine: self.name(),
            query: "names".to_owned(),
            account: 0,
            what: format!("{what} that was never generated"),
        }
    }
}

impl Engine for EngineUnderTest {
    fn name(&self) -> String {
        "headwater".to_owned()
    }

    fn takes(&self, query: Query) -> bool {
        match query {
            Query::Trace { .. } => false,
            Query::Concentration => !self.holders.is_empty(),
            Query::Page { .. }
            | Query::DeepPage { .. }
            | Query::Filter { .. }
            | Query::Count { .. }
            | Query::Full { .. }
            | Query::Windowed { .. }
            | Query::Holders { .. }
            | Query::Balances
            | Query::Features => true,
        }
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        let outcome = self.run(query)?;
        self.translate(outcome)
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        let (outcome, cost) = timed(|| self.run(query));
        std::hint::black_box(outcome?);
        Ok(cost)
    }
}

/// Everything from one second to another, newest first.
fn between(since: u32, until: u32) -> Scan {
    let window = TimeWindow::new((since > 0).then_some(i64::from(since)), Some(i64::from(until)));
    Scan { window: window.unwrap_or(TimeWindow::ALL), order: ScanOrder::NewestFirst, ..Scan::default() }
}

fn secs(time: Timestamp) -> u32 {
    u32::try_from(time.secs()).unwrap_or(0)
}

fn epoch(secs: i64) -> u32 {
    u32::try_from(secs).unwrap_or(0)
}

/// An amount modulo 2^128.
fn low(amount: Amount) -> u128 {
    let bytes = amount.to_be_bytes();
    let (_, low) = bytes.split_last_chunk().expect("32 bytes are more than 16");
    u128::from_be_bytes(*low)
}

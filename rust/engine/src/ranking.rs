//! Rankings of those an address deals with: what `counterparty` and `counterparty/list` share.

use std::cmp::Ordering;
use std::mem::size_of;
use std::ops::ControlFlow;

use headwater_ledger::edges::EdgeFlows;
use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::{Direction, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::flow::{AssetTally, Counterparties, Group, Side};
use headwater_types::{Address, Amount, Pico, Usd};
use rayon::prelude::*;

use crate::asset_book::AssetBook;
use crate::core_prices_end::CorePricesEnd;
use crate::counterparty_row::{BelowCutoff, CounterpartyRow};
use crate::edge_groups::{EdgeRanking, edge_groups, groups_with};
use crate::flows::{Groups, Others, Part, SumUnit, Sums, Unverified, UnverifiedPairs, joined, movement};
use crate::labels::{Labels, codes};
use crate::movement_reader::{CANCEL_EVERY, MovementReader};
use crate::overflow;
use crate::purposes::COUNTERPARTIES;
use crate::request::{CursorKey, GroupBy, Paging, RankingSort, SortOrder, Warnings};
use crate::scope::{EdgeScope, Scope, Verdict};
use crate::table::TableHead;
use crate::unverified::{self, Hidden};
use crate::utxo_pairs::{UtxoPairCounts, UtxoPairs};
use crate::valuation::{Output, Valuer};
use crate::{Error, ErrorKind};

/// Which ranking is wanted.
#[derive(Debug)]
pub(crate) struct Ranker {
    pub scope: Scope,
    pub address: Address,
    pub output: Output,
    pub sort: RankingSort,
    pub order: SortOrder,
    /// Only rows of at least so many transactions.
    pub min_interactions: u64,
    pub paging: Paging,
    /// Whether counterparties are addresses or clusters.
    pub group_by: GroupBy,
    /// Which pairs of UTXO transactions are ranked.
    pub pairs: UtxoPairs,
}

/// One page of a ranking, its rows still to be written out.
pub(crate) struct RankedPage<'a> {
    ranker: &'a Ranker,
    ledger: &'a dyn Ledger,
    book: AssetBook<'a>,
    labels: Labels<'a>,
    page: Vec<Ranked>,
    _held: Reservation,
    /// Rows of all pages.
    pub total: usize,
    /// The last row, where more follow.
    pub next: Option<CursorKey>,
    pub senders: u64,
    pub receivers: u64,
    pub amount_unit: String,
    pub below: Option<BelowCutoff>,
    pub judged: UtxoPairCounts,
    hidden: Hidden,
    basis: Basis,
}

/// What rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The sort that was asked for.
    Asked,
    /// Values of several assets, of which none is known: the default order is by the number of transactions then.
    NoPrices,
}

impl RankedPage<'_> {
    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Result<CounterpartyRow, Error>> {
        let unit = SumUnit::new(&self.ranker.scope, &self.ranker.output);
        self.page.iter().map(move |row| self.labelled(self.ranker.row(unit, row, &self.book)))
    }

    fn labelled(&self, row: CounterpartyRow) -> Result<CounterpartyRow, Error> {
        let aggregate = self.labels.of_text(&row.address)?;
        let entity_name = aggregate.entity.map(str::to_owned);
        Ok(CounterpartyRow { labels: codes(&aggregate), entity_name, ..row })
    }

    /// Warns of what is hidden as unverified, of values that are not known, of rows that are later than the core prices, and
    /// of the assets whose sums on the page are null because they pass 256 bits.
    pub fn warn(&self, warnings: &mut Warnings) {
        unverified::warn(self.hidden, warnings);
        self.judged.warn(warnings);
        if self.basis == Basis::NoPrices {
            let order = match self.ranker.sort {
                RankingSort::TotalAmount => "rows are ordered by total_count",
                _ => "rows are ordered by address; sort by total_count to rank them",
            };
            let message = format!(
                "no transfer in scope has a price, so USD values are 0: {order}; `headwater prices import FILE` adds prices"
            );
            warnings.add("no_prices", Some("sort"), message);
        }
        let mut end = CorePricesEnd::new(self.ledger);
        for (asset, tally) in self.page.iter().flat_map(|row| &row.group.by_asset) {
            end.note_asset(self.book.view(*asset), tally.tally.last);
        }
        end.warn(warnings);
        let Ranker { scope, output, .. } = self.ranker;
        let is_of_values = SumUnit::new(scope, output) == SumUnit::Usd;
        for row in self.page.iter().filter(|row| row.asset.is_some() || !is_of_values) {
            // Of several assets only their values are summed.
            let [(asset, tally)] = &row.group.by_asset[..] else { continue };
            let asset = self.book.view(*asset);
            if tally.total().is_none() && output.is_unit_of(asset) {
                overflow::warn(asset, "datas", warnings);
            }
        }
    }

    /// What a table says of the page besides its rows.
    pub fn head(&self, ledger: &dyn Ledger) -> TableHead {
        let coverage = ledger.coverage().get(&self.ranker.scope.chain);
        let as_of_block = coverage.and_then(|coverage| coverage.last_block);
        let info = self.ranker.paging.info(self.page.len(), self.next.clone(), None, ledger.generation(), as_of_block);
        TableHead {
            next_cursor: info.next_cursor.map(String::from),
            total: u64::try_from(self.total).ok(),
            as_of_block,
            amount_unit: Some(self.amount_unit.clone()),
            ..TableHead::default()
        }
    }
}

/// A ranking, its page made into rows.
struct Ranking {
    page: Vec<Ranked>,
    /// What the page takes.
    held: Reservation,
    /// Rows of all pages.
    rows: usize,
    senders: u64,
    receivers: u64,
    below: Option<BelowCutoff>,
    judged: UtxoPairCounts,
    hidden: Hidden,
    basis: Basis,
}

/// A row before it is written out.
struct Ranked {
    address: String,
    /// The asset, where rows are split by asset.
    asset: Option<usize>,
    group: Group,
    /// The exact sum that amounts are compared by, where all rows are of one asset.
    exact: Option<Amount>,
}

impl Ranked {
    /// Bytes of one, with the text of its address.
    const BYTES: usize = size_of::<Self>() + 64;

    fn total_usd(&self) -> Usd {
        self.group.all.received.usd + self.group.all.sent.usd
    }

    fn key(&self, book: &AssetBook<'_>) -> CursorKey {
        let asset = self.asset.map(|asset| book.view(asset).contract.as_deref().unwrap_or_default().to_owned());
        CursorKey::Counterparty { address: self.address.clone(), asset }
    }
}

impl Ranker {
    /// The page.
    pub fn page<'a>(&'a self, ledger: &'a dyn Ledger, cancel: &Cancel) -> Result<RankedPage<'a>, Error> {
        let mut reader = MovementReader::new(ledger, &self.scope, self.address, cancel)?;
        let ranking = match self.ranking_of_edges(&mut reader, cancel)? {
            Some(ranking) => ranking,
            None => self.ranking(&mut reader, cancel)?,
        };
        let unit = SumUnit::new(&self.scope, &self.output);
        let amount_unit = unit.of_rows(&self.scope, &self.output, &mut reader.book)?;
        let Ranking { page, held, rows, senders, receivers, below, judged, hidden, basis } = ranking;
        let next = page.last().filter(|_| below.is_some()).map(|row| row.key(&reader.book));
        Ok(RankedPage {
            ranker: self,
            ledger,
            book: reader.book,
            labels: Labels::present(ledger, self.scope.chain),
            page,
            _held: held,
            total: rows,
            next,
            senders,
            receivers,
            amount_unit,
            below,
            judged,
            hidden,
            basis,
        })
    }

    /// The ranking from edges alone, where everything is ranked that is shown by default, by values of all assets
    /// together: rows are made of those on the page only. `None` where groups must be made of all.
    fn ranking_of_edges(&self, reader: &mut MovementReader<'_>, cancel: &Cancel) -> Result<Option<Ranking>, Error> {
        let is_by_value = matches!(self.output, Output::Own | Output::Usd);
        if self.scope.of_edges() != Some(EdgeScope::Default) || !is_by_value {
            return Ok(None);
        }
        let (Some(account), ledger) = (reader.account().cloned(), reader.ledger) else { return Ok(None) };
        let ranked_by = |sort: RankingSort| {
            let key = |flows: &EdgeFlows| match self.order {
                SortOrder::Desc => key(sort, flows),
                SortOrder::Asc => -key(sort, flows),
            };
            EdgeRanking::new(ledger, &account, self.min_interactions, (key, cancel))
        };
        let Some(mut ranking) = ranked_by(self.sort)? else { return Ok(None) };
        let basis = if ranking.is_priced { Basis::Asked } else { self.without_prices(ranking.entries.len()) };
        if self.sort_by(basis) != self.sort {
            let Some(again) = ranked_by(self.sort_by(basis))? else { return Ok(None) };
            ranking = again;
        }
        let rows = ranking.entries.len();
        let start = match &self.paging.after {
            Some(CursorKey::Counterparty { address, .. }) => match Address::parse(self.scope.chain, address) {
                Ok(address) => ranking.until(ledger, &address)?,
                Err(_) => rows,
            },
            Some(CursorKey::Posting(_) | CursorKey::Member(_)) => rows,
            None => self.paging.skipped().min(rows),
        };
        let end = rows.min(start + self.paging.size());
        ranking.order_until(ledger, end)?;
        let page: Vec<_> = ranking.entries[start..end].iter().map(|entry| entry.counterparty).collect();
        let mut held = cancel.holding(COUNTERPARTIES);
        held.reach(page.len() * Ranked::BYTES)?;
        let mut groups = groups_with(ledger, &account, &page, &mut reader.book, (&mut held, cancel))?;
        let row = |counterparty| -> Result<Ranked, Error> {
            let address = ledger.address(counterparty)?;
            let group = groups.remove(&address).ok_or_else(|| {
                Error::new(ErrorKind::Internal, format!("{address} is ranked by edges that its rows do not have"))
            })?;
            Ok(Ranked { address: address.to_string(), asset: None, group, exact: None })
        };
        let page = page.into_iter().map(row).collect::<Result<_, _>>()?;
        let below = BelowCutoff::of(ranking.entries[end..].iter().map(|entry| entry.usd));
        let hidden = Hidden::Counterparties(ranking.unverified);
        let EdgeRanking { senders, receivers, .. } = ranking;
        let judged = UtxoPairCounts::default();
        Ok(Some(Ranking { page, held, rows, senders, receivers, below, judged, hidden, basis }))
    }

    /// What becomes of the order of so many rows where no movement has a price.
    fn without_prices(&self, rows: usize) -> Basis {
        let is_by_value = match self.sort {
            RankingSort::TotalAmount
            | RankingSort::ReceivedAmount
            | RankingSort::SentAmount
            | RankingSort::TotalAmountUsd
            | RankingSort::ReceivedAmountUsd
            | RankingSort::SentAmountUsd => self.scope.only_asset().is_none(),
            RankingSort::TotalCount
            | RankingSort::ReceivedCount
            | RankingSort::SentCount
            | RankingSort::TotalTransfers
            | RankingSort::FirstActivity
            | RankingSort::LastActivity => false,
        };
        if is_by_value && rows > 0 { Basis::NoPrices } else { Basis::Asked }
    }

    /// The sort that holds. That of a cursor is the same: it pins the data that decides.
    fn sort_by(&self, basis: Basis) -> RankingSort {
        match (basis, self.sort) {
            (Basis::NoPrices, RankingSort::TotalAmount) => RankingSort::TotalCount,
            (Basis::Asked | Basis::NoPrices, sort) => sort,
        }
    }

    /// The ranking of the groups of all counterparties.
    fn ranking(&self, reader: &mut MovementReader<'_>, cancel: &Cancel) -> Result<Ranking, Error> {
        let (pairs, unjudged) =
            self.pairs.within_limit(reader.ledger, (reader.account(), &self.scope.scan()), cancel)?;
        let mut others =
            Others::new(reader.ledger, self.address, cancel).grouped(self.group_by, self.scope.chain)?.of_pairs(pairs);
        let groups = match self.groups_of_edges(reader, &mut others, cancel)? {
            Some(groups) => groups,
            None => self.groups(reader, &mut others, pairs, cancel)?,
        };
        let with = |side: fn(&Group) -> &Side| {
            let count = groups.list.iter().filter(|(_, group)| side(group).transfers > 0).count();
            u64::try_from(count).expect("a count fits")
        };
        let (senders, receivers) = (with(|group| &group.all.received), with(|group| &group.all.sent));
        let hidden = match self.output {
            Output::PerSymbol => Hidden::CounterpartyTokens(groups.unverified.pairs),
            Output::Own | Output::Usd | Output::Asset { .. } => {
                Hidden::Counterparties(groups.unverified.counterparties)
            }
        };
        let (mut page, basis, _all) = self.ranked(groups, &others, &reader.book, cancel)?;
        let rows = page.len();
        let start = self.start(&page, &reader.book).min(rows);
        let end = rows.min(start + self.paging.size());
        let below = BelowCutoff::of(page[end..].iter().map(Ranked::total_usd));
        page.truncate(end);
        let page = page.split_off(start);
        let mut held = cancel.holding(COUNTERPARTIES);
        held.reach(page.iter().map(|row| Ranked::BYTES + row.group.by_asset.len() * Group::ASSET_BYTES).sum())?;
        let judged = UtxoPairCounts { coinjoins: others.coinjoins, unjudged };
        Ok(Ranking { page, held, rows, senders, receivers, below, judged, hidden, basis })
    }

    /// The groups from edges, where those say the same: `None` where the movements must be read.
    fn groups_of_edges(
        &self,
        reader: &mut MovementReader<'_>,
        others: &mut Others<'_>,
        cancel: &Cancel,
    ) -> Result<Option<Groups>, Error> {
        // What is converted is so at the time of each movement.
        let is_converted = matches!(self.output, Output::Asset { .. });
        let Some(scope) = self.scope.of_edges().filter(|_| !is_converted) else { return Ok(None) };
        let Some(account) = reader.account().cloned() else { return Ok(None) };
        edge_groups(reader.ledger, scope, &account, (others, &mut reader.book), cancel)
    }

    fn groups(
        &self,
        reader: &mut MovementReader<'_>,
        others: &mut Others<'_>,
        pairs: UtxoPairs,
        cancel: &Cancel,
    ) -> Result<Groups, Error> {
        let scans = reader.parts(&self.scope.scan())?;
        if let [only] = &scans[..] {
            let (mut groups, unverified) = self.groups_of_part(only, reader, others, cancel)?;
            groups.unverified = Unverified::new(&unverified, &groups.list);
            return Ok(groups);
        }
        let ledger = reader.ledger;
        let part = |scan: &Scan| -> Result<Part, Error> {
            let mut reader = MovementReader::new(ledger, &self.scope, self.address, cancel)?;
            let mut others =
                Others::new(ledger, self.address, cancel).grouped(self.group_by, self.scope.chain)?.of_pairs(pairs);
            let (groups, unverified) = self.groups_of_part(scan, &mut reader, &mut others, cancel)?;
            let (coinjoins, assets) = (others.coinjoins, reader.book.into_assets());
            Ok(Part { groups, unverified, others: others.into_addresses(), coinjoins, assets })
        };
        let parts: Vec<Part> = scans.par_iter().map(part).collect::<Result<_, _>>()?;
        joined(parts, others, &mut reader.book, cancel)
    }

    fn groups_of_part(
        &self,
        scan: &Scan,
        reader: &mut MovementReader<'_>,
        others: &mut Others<'_>,
        cancel: &Cancel,
    ) -> Result<(Groups, UnverifiedPairs), Error> {
        let valuer = Valuer::new(reader.ledger);
        let (mut groups, mut held) = (Counterparties::default(), cancel.holding(COUNTERPARTIES));
        let (mut unverified, mut of_unverified) = (UnverifiedPairs::default(), cancel.holding(COUNTERPARTIES));
        reader.visit(scan, cancel, &mut |book, flow, verdict| {
            let is_own = flow.posting.direction == Direction::Own;
            if verdict == Verdict::Shown || verdict == Verdict::Unverified && !is_own {
                for (other, amount) in others.of(&flow)? {
                    // A share in a UTXO transaction may round to nothing.
                    if self.scope.hides(amount) {
                        continue;
                    }
                    if verdict == Verdict::Unverified {
                        of_unverified.reach(table_bytes::<(usize, usize)>(unverified.len() + 1))?;
                        unverified.insert((other, flow.asset));
                    } else if let Some(movement) = movement(&valuer, &self.output, book.view(flow.asset), &flow, amount)
                    {
                        held.reach(groups.bytes_with(1))?;
                        groups.add(other, flow.asset, &movement);
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let groups = Groups { list: groups.into_groups(), unverified: Unverified::default(), held };
        Ok((groups, unverified))
    }

    /// All rows in order, what they are ordered by, and the memory that they take.
    fn ranked(
        &self,
        groups: Groups,
        others: &Others<'_>,
        book: &AssetBook<'_>,
        cancel: &Cancel,
    ) -> Result<(Vec<Ranked>, Basis, Reservation), Error> {
        let Groups { list: groups, mut held, .. } = groups;
        // Amounts of several assets compare only by value.
        let comparable = self.scope.only_asset().is_some() && matches!(self.output, Output::Own | Output::PerSymbol);
        let sum = |tally: &AssetTally| match self.sort {
            RankingSort::ReceivedAmount => tally.received(),
            RankingSort::SentAmount => tally.sent(),
            _ => tally.total(),
        };
        // Sums past 256 bits rank with the largest that fits.
        let exact = |tally: &AssetTally| comparable.then(|| sum(tally).unwrap_or(Amount::MAX));
        let mut rows = Vec::with_capacity(groups.len());
        for (count, (other, group)) in groups.into_iter().enumerate() {
            // The text of an address costs a hash where it carries a checksum.
            if count % CANCEL_EVERY == 0 {
                cancel.check().map_err(LedgerError::from)?;
            }
            let address = others.address(other).to_string();
            if self.output == Output::PerSymbol {
                for (asset, tally) in group.by_asset {
                    held.more(Ranked::BYTES + Group::ASSET_BYTES)?;
                    let exact = exact(&tally);
                    let group = Group { all: tally.tally, by_asset: vec![(asset, tally)] };
                    rows.push(Ranked { address: address.clone(), asset: Some(asset), group, exact });
                }
            } else {
                held.more(Ranked::BYTES)?;
                let exact = match &group.by_asset[..] {
                    [(_, tally)] => exact(tally),
                    _ => None,
                };
                rows.push(Ranked { address, asset: None, group, exact });
            }
        }
        rows.retain(|row| row.group.all.transactions >= self.min_interactions);
        let has_value = |row: &Ranked| {
            let Group { all, .. } = &row.group;
            all.unpriced() < all.transfers() || all.received.converted + all.sent.converted != Pico::ZERO
        };
        let basis = if rows.iter().any(has_value) { Basis::Asked } else { self.without_prices(rows.len()) };
        let sort = self.sort_by(basis);
        let contract = |row: &Ranked| row.asset.map(|asset| book.view(asset).contract.clone());
        // No two are alike: no order has to be kept.
        rows.sort_unstable_by(|one, other| {
            let by_value = match self.order {
                SortOrder::Desc => self.compare(sort, other, one),
                SortOrder::Asc => self.compare(sort, one, other),
            };
            by_value.then_with(|| one.address.cmp(&other.address)).then_with(|| contract(one).cmp(&contract(other)))
        });
        Ok((rows, basis, held))
    }

    fn compare(&self, sort: RankingSort, one: &Ranked, other: &Ranked) -> Ordering {
        let converted = SumUnit::new(&self.scope, &self.output) == SumUnit::Converted;
        let amount = |side: &Side| if converted { side.converted } else { side.usd };
        let amounts = |value: fn(Pico, Pico) -> Pico| {
            let of = |row: &Ranked| value(amount(&row.group.all.received), amount(&row.group.all.sent));
            match (one.exact, other.exact) {
                (Some(one), Some(other)) => one.cmp(&other),
                _ => of(one).cmp(&of(other)),
            }
        };
        let dollars = |value: fn(Pico, Pico) -> Pico| {
            let of = |row: &Ranked| value(row.group.all.received.usd, row.group.all.sent.usd);
            of(one).cmp(&of(other))
        };
        let count = |count: fn(&Group) -> u64| count(&one.group).cmp(&count(&other.group));
        match sort {
            RankingSort::TotalAmount => amounts(|received, sent| received + sent),
            RankingSort::ReceivedAmount => amounts(|received, _| received),
            RankingSort::SentAmount => amounts(|_, sent| sent),
            RankingSort::TotalAmountUsd => dollars(|received, sent| received + sent),
            RankingSort::ReceivedAmountUsd => dollars(|received, _| received),
            RankingSort::SentAmountUsd => dollars(|_, sent| sent),
            RankingSort::TotalCount => count(|group| group.all.transactions),
            RankingSort::ReceivedCount => count(|group| group.all.received.transactions),
            RankingSort::SentCount => count(|group| group.all.sent.transactions),
            RankingSort::TotalTransfers => count(|group| group.all.transfers()),
            RankingSort::FirstActivity => one.group.all.first.cmp(&other.group.all.first),
            RankingSort::LastActivity => one.group.all.last.cmp(&other.group.all.last),
        }
    }

    /// Where the page begins.
    fn start(&self, rows: &[Ranked], book: &AssetBook<'_>) -> usize {
        match &self.paging.after {
            Some(after) => rows.iter().position(|row| row.key(book) == *after).map_or(rows.len(), |place| place + 1),
            None => self.paging.skipped(),
        }
    }

    fn row(&self, unit: SumUnit, row: &Ranked, book: &AssetBook<'_>) -> CounterpartyRow {
        let sums = match (row.asset, &row.group.by_asset[..]) {
            (Some(asset), [(_, tally)]) => Sums::of_asset(&self.output, tally, book.view(asset)),
            _ => Sums::of_group(unit, &self.output, &row.group, book),
        };
        let is_of_one_asset = row.asset.is_some() || self.scope.only_asset().is_some();
        CounterpartyRow::new(self.scope.chain, &row.address, &row.group, (sums, is_of_one_asset), book)
    }
}

/// What a counterparty is ranked by where all assets count by their value.
fn key(sort: RankingSort, flows: &EdgeFlows) -> i128 {
    let EdgeFlows { received, sent, .. } = flows;
    match sort {
        RankingSort::TotalAmount | RankingSort::TotalAmountUsd => flows.usd().raw(),
        RankingSort::ReceivedAmount | RankingSort::ReceivedAmountUsd => received.usd.raw(),
        RankingSort::SentAmount | RankingSort::SentAmountUsd => sent.usd.raw(),
        RankingSort::TotalCount => flows.transactions.into(),
        RankingSort::ReceivedCount => received.transactions.into(),
        RankingSort::SentCount => sent.transactions.into(),
        RankingSort::TotalTransfers => flows.transfers().into(),
        RankingSort::FirstActivity => flows.first.secs().into(),
        RankingSort::LastActivity => flows.last.secs().into(),
    }
}

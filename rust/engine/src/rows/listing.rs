//! Lists of movements: one page, with what was hidden and how many pages there are.

use std::cmp::Ordering;
use std::mem::size_of;
use std::ops::ControlFlow;

use headwater_ledger::memory::Reservation;
use headwater_ledger::read::{PostingKey, Scan, ScanOrder};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::Address;
use serde::Serialize;

use super::row::TransferRow;
use super::seen::RowMaker;
use crate::Error;
use crate::asset_book::AssetBook;
use crate::core_prices_end::CorePricesEnd;
use crate::labels::Labels;
use crate::movement_reader::{Flow, MovementReader, key};
use crate::purposes::MOVEMENTS;
use crate::request::{CursorKey, PageInfo, Paging, SortOrder, TransferSort, Warnings};
use crate::scope::{Scope, Verdict};
use crate::table::TableHead;
use crate::unverified::{self, Hidden};
use crate::valuation::{Output, Valuer, amount_unit};

/// Up to this many movements of an account, pages and hidden movements are counted; above it counting would cost more
/// than the page.
pub(crate) const COUNTED_POSTINGS: u64 = 50_000;

/// Most movements that are read in one piece: those before a page of a high number are skipped.
const READ_AT_ONCE: usize = 2048;

/// Which list is wanted.
#[derive(Debug)]
pub(crate) struct Listing {
    pub scope: Scope,
    pub address: Address,
    pub other: Option<Address>,
    pub output: Output,
    pub sort: TransferSort,
    pub order: SortOrder,
    pub paging: Paging,
}

/// One page of a list, its rows still to be made.
pub(crate) struct Page<'a> {
    listing: &'a Listing,
    ledger: &'a dyn Ledger,
    book: AssetBook<'a>,
    valuer: Valuer,
    labels: Labels<'a>,
    flows: Vec<Flow>,
    _held: Reservation,
    pub pagination: PageInfo,
    pub excluded: Excluded,
    /// What is hidden as unverified, as far as it was read.
    hidden: Hidden,
    pub as_of_block: Option<u64>,
}

impl Page<'_> {
    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Result<TransferRow, Error>> {
        let Listing { address, other, output, .. } = self.listing;
        let (valuer, labels) = (&self.valuer, &self.labels);
        let maker = RowMaker { ledger: self.ledger, address: *address, other: *other, valuer, labels, output };
        self.flows.iter().map(move |flow| maker.row(&self.book, flow))
    }

    /// Warns of what is hidden as unverified, and of rows that are later than the core prices.
    pub fn warn(&self, warnings: &mut Warnings) {
        unverified::warn(self.hidden, warnings);
        let mut end = CorePricesEnd::new(self.ledger);
        self.flows.iter().for_each(|flow| end.note_asset(self.book.view(flow.asset), Some(flow.posting.time)));
        end.warn(warnings);
    }

    /// What a table says of the page besides its rows.
    pub fn head(&self) -> Result<TableHead, Error> {
        Ok(TableHead {
            next_cursor: self.pagination.next_cursor.clone().map(String::from),
            total: self.pagination.total,
            as_of_block: self.as_of_block,
            amount_unit: Some(amount_unit(
                self.ledger,
                self.listing.scope.chain,
                self.listing.scope.only_asset(),
                &self.listing.output,
            )?),
            ..TableHead::default()
        })
    }
}

/// Movements that the default hiding left out under the same filters; null when they were not counted. One that is
/// hidden for several reasons is counted under the first of failed, unverified, zero value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, utoipa::ToSchema)]
pub struct Excluded {
    /// Tokens that no registry vouches for.
    pub unverified: Option<u64>,
    /// Movements of nothing.
    pub zero_value: Option<u64>,
    /// Movements of failed transactions.
    pub failed: Option<u64>,
}

#[derive(Default)]
struct Counts {
    shown: usize,
    unverified: u64,
    zero_value: u64,
    failed: u64,
}

impl Counts {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Shown => self.shown += 1,
            Verdict::Unverified => self.unverified += 1,
            Verdict::ZeroValue => self.zero_value += 1,
            Verdict::Failed => self.failed += 1,
            Verdict::Outside => {}
        }
    }
}

impl Listing {
    /// Finds the page.
    pub fn page<'a>(&'a self, ledger: &'a dyn Ledger, cancel: &Cancel) -> Result<Page<'a>, Error> {
        let valuer = Valuer::new(ledger);
        let mut reader = match self.other {
            Some(other) => MovementReader::between(ledger, &self.scope, (self.address, other), cancel)?,
            None => MovementReader::new(ledger, &self.scope, self.address, cancel)?,
        };
        let counts = if reader.length() <= COUNTED_POSTINGS { Some(self.count(&mut reader, cancel)?) } else { None };
        let mut held = cancel.holding(MOVEMENTS);
        let (flows, more, hidden) = match self.sort {
            TransferSort::Timestamp => {
                let (flows, more, unverified) = self.in_order(&mut reader, &mut held, cancel)?;
                (flows, more, Hidden::SomeMovements(unverified))
            }
            TransferSort::Amount | TransferSort::AmountUsd => {
                let (flows, more, unverified) = self.by_value(&mut reader, &valuer, &mut held, cancel)?;
                (flows, more, Hidden::Movements(unverified))
            }
        };
        let hidden = counts.as_ref().map_or(hidden, |counts| Hidden::Movements(counts.unverified));
        let next = match (more, flows.last()) {
            (true, Some(last)) => Some(CursorKey::Posting(key(ledger, &last.posting)?)),
            _ => None,
        };
        let as_of_block = ledger.coverage().get(&self.scope.chain).and_then(|coverage| coverage.last_block);
        let counted = counts.as_ref().map(|counts| counts.shown);
        let excluded = counts.map_or_else(Excluded::default, |counts| Excluded {
            unverified: Some(counts.unverified),
            zero_value: Some(counts.zero_value),
            failed: Some(counts.failed),
        });
        let pagination = self.paging.info(flows.len(), next, counted, ledger.generation(), as_of_block);
        let book = reader.book;
        let (listing, labels) = (self, Labels::present(ledger, self.scope.chain));
        Ok(Page {
            listing,
            ledger,
            book,
            valuer,
            labels,
            flows,
            _held: held,
            pagination,
            excluded,
            hidden,
            as_of_block,
        })
    }

    fn scan(&self) -> Scan {
        let order = match self.order {
            SortOrder::Desc => ScanOrder::NewestFirst,
            SortOrder::Asc => ScanOrder::OldestFirst,
        };
        Scan { order, ..self.scope.scan() }
    }

    fn count(&self, reader: &mut MovementReader<'_>, cancel: &Cancel) -> Result<Counts, Error> {
        let mut counts = Counts::default();
        reader.verdicts(&self.scan(), cancel, &mut |verdict| counts.add(verdict))?;
        Ok(counts)
    }

    /// The page of a list in the order of the chain, whether more follows, and how many on the way are unverified:
    /// reads no further than that.
    fn in_order(
        &self,
        reader: &mut MovementReader<'_>,
        held: &mut Reservation,
        cancel: &Cancel,
    ) -> Result<(Vec<Flow>, bool, u64), Error> {
        let after = match &self.paging.after {
            Some(CursorKey::Posting(key)) => Some(*key),
            Some(CursorKey::Counterparty { .. } | CursorKey::Member(_)) | None => None,
        };
        let mut left = self.paging.skipped();
        let mut flows = Vec::with_capacity(self.paging.size().min(READ_AT_ONCE));
        let (mut more, mut unverified) = (false, 0);
        // One more tells whether a page follows.
        let likely = (left + self.paging.size() + 1).min(READ_AT_ONCE);
        reader.visit_first(&Scan { after, ..self.scan() }, likely, cancel, &mut |_, flow, verdict| {
            if verdict != Verdict::Shown {
                unverified += u64::from(verdict == Verdict::Unverified);
                return Ok(ControlFlow::Continue(()));
            }
            if left > 0 {
                left -= 1;
            } else if flows.len() < self.paging.size() {
                held.reach((flows.len() + 1) * size_of::<Flow>())?;
                flows.push(flow);
            } else {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((flows, more, unverified))
    }

    /// The page of a list by value: all of it must be seen.
    fn by_value(
        &self,
        reader: &mut MovementReader<'_>,
        valuer: &Valuer,
        held: &mut Reservation,
        cancel: &Cancel,
    ) -> Result<(Vec<Flow>, bool, u64), Error> {
        /// Bytes of a movement, half of it once more while all of them are sorted.
        const BYTES: usize = size_of::<(Option<f64>, Flow)>() / 2 * 3;
        let (mut ranked, mut unverified): (Vec<(Option<f64>, Flow)>, _) = (Vec::new(), 0);
        reader.visit(&self.scan(), cancel, &mut |book: &mut AssetBook<'_>, flow, verdict| {
            if verdict == Verdict::Shown {
                held.reach((ranked.len() + 1) * BYTES)?;
                ranked.push((self.rank(valuer, book, &flow), flow));
            }
            unverified += u64::from(verdict == Verdict::Unverified);
            Ok(ControlFlow::Continue(()))
        })?;
        // The sort is stable: ties stay in the order of the chain.
        ranked.sort_by(|(one, _), (other, _)| by_rank(*one, *other, self.order));
        let start = match &self.paging.after {
            Some(CursorKey::Posting(after)) => place_behind(reader.ledger, &ranked, after)?,
            Some(CursorKey::Counterparty { .. } | CursorKey::Member(_)) | None => self.paging.skipped(),
        };
        let rest = ranked.get(start..).unwrap_or_default();
        let flows = rest.iter().take(self.paging.size()).map(|(_, flow)| *flow).collect();
        Ok((flows, rest.len() > self.paging.size(), unverified))
    }

    fn rank(&self, valuer: &Valuer, book: &AssetBook<'_>, flow: &Flow) -> Option<f64> {
        let asset = book.view(flow.asset);
        match self.sort {
            TransferSort::AmountUsd => valuer.usd(asset, flow.posting.amount, flow.posting.time),
            TransferSort::Amount | TransferSort::Timestamp => {
                asset.decimals.map(|decimals| flow.posting.amount.to_f64(decimals))
            }
        }
    }
}

/// Known values first, in the order asked for; unknown ones last either way.
pub(crate) fn by_rank(one: Option<f64>, other: Option<f64>, order: SortOrder) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => match order {
            SortOrder::Desc => other.total_cmp(&one),
            SortOrder::Asc => one.total_cmp(&other),
        },
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

fn place_behind(ledger: &dyn Ledger, ranked: &[(Option<f64>, Flow)], after: &PostingKey) -> Result<usize, Error> {
    for (place, (_, flow)) in ranked.iter().enumerate() {
        let posting = &flow.posting;
        let alike = (posting.block, posting.kind, posting.ordinal) == (after.block, after.kind, after.ordinal);
        if alike && key(ledger, posting)? == *after {
            return Ok(place + 1);
        }
    }
    Ok(ranked.len())
}

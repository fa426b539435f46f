//! Balances at the ends of days: what is held now, less what changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;
use std::ops::ControlFlow;

use chrono::NaiveDate;
use headwater_ledger::Cancel;
use headwater_ledger::memory::Reservation;
use headwater_ledger::read::{Direction, Holding, MovementKind, Scan, ScanOrder, Status};
use headwater_metrics::flow::Tally;
use headwater_types::{Amount, Asset, Balance, SumOverflow, Timestamp, Usd};
use serde::Serialize;
use serde_json::json;

use crate::asset_book::{AssetBook, AssetView};
use crate::fields::BalanceBasis;
use crate::fields::schema;
use crate::fields::{AddressText, DateText, DecimalText, OutputAmount, RawAmountText, Time};
use crate::flows::movement;
use crate::movement_reader::MovementReader;
use crate::overflow;
use crate::rebasing;
use crate::scope::{Scope, Verdict};
use crate::valuation::{Output, Valuer, decimal};
use crate::{Error, ErrorKind};

/// Bytes of a change in a span: most nodes of a tree are half full.
const CHANGE_BYTES: usize = 2 * size_of::<(usize, Balance)>();
/// Bytes that the first change of a span takes: a whole node.
const FIRST_CHANGE_BYTES: usize = 12 * size_of::<(usize, Balance)>();
/// Bytes of the texts of a balance: names and amounts.
const TEXT_BYTES: usize = 192;

/// One day.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DailyPoint {
    /// The day in the calendar asked for, `YYYY-MM-DD`.
    pub date: DateText,
    /// Its last second, or the end of the history; epoch seconds.
    pub timestamp: Time,
    /// All balances in US dollars, over those that have a price; null where none has.
    pub total_usd: Option<f64>,
    /// What was held, by US dollars descending, unknown last. A balance that fell to nothing is there on that day only.
    pub balances: Vec<BalanceItem>,
    /// Received on the day, at transfer time; null when nothing of it had a price.
    pub received_usd: Option<f64>,
    /// Sent on the day, at transfer time; null when nothing of it had a price.
    pub sent_usd: Option<f64>,
    /// Distinct transactions of the day.
    pub tx_count: u64,
    /// All balances in the unit of `output_asset`, over those that have a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total_out: Option<OutputTotal>,
}

/// A sum in the unit that a request asked for; null where nothing has a price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OutputTotal(Option<f64>);

impl utoipa::PartialSchema for OutputTotal {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        schema(&json!({"type": ["number", "null"], "format": "double"}))
    }
}

impl utoipa::ToSchema for OutputTotal {}

/// What was held of one asset.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BalanceItem {
    /// Lowercase symbol; null when neither registry nor source names it.
    pub symbol: Option<String>,
    /// Contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// Decimals; null when unknown.
    #[schema(maximum = 255)]
    pub decimals: Option<u8>,
    /// How much, in whole units; `0` where more went out than came in.
    pub balance: Option<DecimalText>,
    /// How much, in the smallest unit; null where sums of the asset pass 256 bits.
    pub balance_raw: Option<RawAmountText>,
    /// US dollars per whole unit at that time.
    pub price_usd: Option<f64>,
    /// The balance at that price.
    pub balance_usd: Option<f64>,
    /// Whether a registry vouches for it.
    pub verified: bool,
    /// The balance in the unit of `output_asset`, at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub amount_out: Option<OutputAmount>,
}

/// What changed in each of a row of spans of time, and behind the last of them.
pub(crate) struct Changes {
    /// By span; the last one is what came behind.
    spans: Vec<Span>,
    /// Assets of which a sum passed 256 bits.
    passed: BTreeSet<usize>,
}

#[derive(Default)]
struct Span {
    /// What was shown.
    tally: Tally,
    /// What came in and went out by asset, fees included.
    by_asset: BTreeMap<usize, Balance>,
}

impl Changes {
    /// Walks the movements of an account from the beginning of its window. `ends` are the last moments of the spans.
    pub fn gather(
        reader: &mut MovementReader<'_>,
        valuer: &Valuer,
        ends: &[Timestamp],
        held: &mut Reservation,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        held.more((ends.len() + 1) * size_of::<Span>())?;
        let mut spans: Vec<Span> = std::iter::repeat_with(Span::default).take(ends.len() + 1).collect();
        let scan = Scan { order: ScanOrder::OldestFirst, ..reader.scope().scan() };
        let (ledger, chain) = (reader.ledger, reader.scope().chain);
        let (mut openings, mut passed) = (BTreeMap::new(), BTreeSet::new());
        reader.visit(&scan, cancel, &mut |book, flow, verdict| {
            let posting = &flow.posting;
            let span = &mut spans[ends.partition_point(|end| *end < posting.time)];
            if verdict == Verdict::Shown {
                match movement(valuer, &Output::Own, book.view(flow.asset), &flow, posting.amount) {
                    Some(movement) => span.tally.add(&movement),
                    None => span.tally.note(posting.transaction, posting.time),
                }
            }
            let mut sums = |span: &mut Span, asset, change: &dyn Fn(&mut Balance) -> Result<(), SumOverflow>| {
                if !span.by_asset.contains_key(&asset) {
                    held.more(if span.by_asset.is_empty() { FIRST_CHANGE_BYTES } else { CHANGE_BYTES })?;
                }
                if change(span.by_asset.entry(asset).or_default()).is_err() {
                    passed.insert(asset);
                }
                Ok::<(), Error>(())
            };
            let opening = openings
                .entry(flow.asset)
                .or_insert_with(|| ledger.opening(chain, &book.view(flow.asset).asset).map(|opening| opening.block));
            // What moved before the history of its asset begins is in the opening balance already.
            let counts = opening.is_none_or(|block| posting.block > block) && !posting.approximate;
            if counts && posting.status != Some(Status::Failed) {
                match posting.direction {
                    Direction::In => sums(span, flow.asset, &|balance| balance.receive(posting.amount))?,
                    Direction::Out => sums(span, flow.asset, &|balance| balance.send(posting.amount))?,
                    Direction::Own => {}
                }
            }
            // The sender of a transaction pays its fee, whatever became of it; its native movement is its own one.
            if posting.kind == MovementKind::Native
                && posting.direction != Direction::In
                && let Some(fee) = ledger.fee(posting.transaction)?
            {
                let native = book.of_asset(Asset::Native)?;
                sums(span, native, &|balance| balance.send(fee))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self { spans, passed })
    }

    /// Returns whether an asset changed in the spans, or was held when they began.
    fn shows(&self, asset: usize, holding: &Holding) -> bool {
        let changes = || self.spans.iter().filter_map(|span| span.by_asset.get(&asset));
        let days = &self.spans[..self.spans.len().saturating_sub(1)];
        days.iter().any(|span| span.by_asset.contains_key(&asset))
            || changes()
                .try_fold(holding.balance, |balance, change| without(&balance, change))
                .is_ok_and(|balance| !balance.shown().is_zero())
    }
}

/// What was held at the end of each span, of the assets that a scope is about.
pub(crate) struct Closing {
    changes: Vec<Span>,
    /// By asset: sums of all time at the beginning of the first span.
    opening: BTreeMap<usize, Balance>,
    /// Assets of which a sum passed 256 bits, so that no balance is known.
    passed: BTreeSet<usize>,
    /// Of assets whose history begins with a list of holders: when that was.
    begins: BTreeMap<usize, Timestamp>,
    /// Tokens that were held or moved in the spans, and that no registry vouches for.
    pub unverified: u64,
}

impl Closing {
    /// From what is held now and what changed until then.
    pub fn new(
        reader: &mut MovementReader<'_>,
        scope: &Scope,
        mut changes: Changes,
        held: &mut Reservation,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let (mut opening, mut begins, mut passed) =
            (BTreeMap::new(), BTreeMap::new(), std::mem::take(&mut changes.passed));
        let account = reader.account().cloned();
        let holdings = account.as_ref().map_or_else(|| Ok(Vec::new()), |account| reader.ledger.holdings(account))?;
        passed.retain(|asset| scope.has_asset(reader.book.view(*asset)));
        held.more(holdings.len() * (size_of::<Holding>() + 2 * CHANGE_BYTES))?;
        let mut unverified = 0;
        for holding in holdings {
            let asset = reader.book.of_asset(holding.asset)?;
            if !scope.has_asset(reader.book.view(asset)) {
                let is_hidden = scope.hides_asset(reader.book.view(asset)) && changes.shows(asset, &holding);
                unverified += u64::from(is_hidden);
                continue;
            }
            begins.extend(reader.ledger.opening(scope.chain, &holding.asset).map(|opening| (asset, opening.time)));
            if let Some(account) = account.as_ref().filter(|_| !passed.contains(&asset))
                && overflow::passed(reader.ledger, account, &holding, cancel)?
            {
                passed.insert(asset);
            }
            if passed.contains(&asset) {
                continue;
            }
            let mut balance = holding.balance;
            for change in changes.spans.iter().filter_map(|span| span.by_asset.get(&asset)) {
                balance = without(&balance, change)?;
            }
            opening.insert(asset, balance);
        }
        Ok(Self { changes: changes.spans, opening, passed, begins, unverified })
    }

    /// How the balances came about.
    pub fn basis(&self, book: &AssetBook<'_>) -> BTreeMap<String, BalanceBasis> {
        let basis =
            |asset| if self.begins.contains_key(asset) { BalanceBasis::Snapshot } else { BalanceBasis::Transfers };
        self.opening.keys().chain(&self.passed).map(|asset| (name(book.view(*asset)), basis(asset))).collect()
    }

    /// The points of the days, and what to mind of them.
    pub fn points(
        &self,
        book: &AssetBook<'_>,
        valuer: &Valuer,
        output: &Output,
        (days, ends): (&[NaiveDate], &[Timestamp]),
        notes: &mut Vec<String>,
        memory: &mut Reservation,
    ) -> Result<Vec<DailyPoint>, Error> {
        memory.more(days.len() * (size_of::<DailyPoint>() + TEXT_BYTES))?;
        let mut held = self.opening.clone();
        let mut noted: BTreeSet<String> =
            self.passed.iter().map(|asset| format!("{}:{}", overflow::CODE, name(book.view(*asset)))).collect();
        let mut points = Vec::with_capacity(days.len());
        for ((day, end), span) in days.iter().zip(ends).zip(&self.changes) {
            let mut items = Vec::new();
            for (asset, balance) in &mut held {
                let before = balance.shown();
                if let Some(change) = span.by_asset.get(asset) {
                    *balance = with(balance, change);
                }
                let view = book.view(*asset);
                if self.begins.get(asset).is_some_and(|begins| end < begins) {
                    noted.insert(format!("before_snapshot:{}", name(view)));
                    continue;
                }
                if balance.is_negative() {
                    noted.insert(format!("history_incomplete:{}", name(view)));
                }
                if book.rebases(*asset)? {
                    noted.insert(format!("{}:{}", rebasing::CODE, name(view)));
                }
                // A balance that fell to nothing is shown once.
                if !balance.shown().is_zero() || !before.is_zero() {
                    // Lists grow to twice their length.
                    memory.more(2 * size_of::<BalanceItem>() + TEXT_BYTES)?;
                    items.push(item(view, Some(balance.shown()), valuer, output, *end));
                }
            }
            for asset in &self.passed {
                memory.more(2 * size_of::<BalanceItem>() + TEXT_BYTES)?;
                items.push(item(book.view(*asset), None, valuer, output, *end));
            }
            points.push(point(*day, *end, items, &span.tally, output, valuer));
        }
        notes.extend(noted);
        Ok(points)
    }
}

fn without(balance: &Balance, change: &Balance) -> Result<Balance, Error> {
    let less = |all: Amount, part: Amount| {
        all.checked_sub(part).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "more changed in the window of a history than in all of time")
        })
    };
    Ok(Balance::of(less(balance.received(), change.received())?, less(balance.sent(), change.sent())?))
}

/// Sums of all time fit, so those up to a day do.
fn with(balance: &Balance, change: &Balance) -> Balance {
    let add = |sum: Amount, part: Amount| sum.checked_add(part).unwrap_or(Amount::MAX);
    Balance::of(add(balance.received(), change.received()), add(balance.sent(), change.sent()))
}

/// The contract, or `native`.
fn name(view: &AssetView) -> String {
    view.contract.clone().map_or_else(|| "native".to_owned(), String::from)
}

/// What was held of an asset at a time; `None` where that is not known.
fn item(view: &AssetView, held: Option<Amount>, valuer: &Valuer, output: &Output, time: Timestamp) -> BalanceItem {
    let price_usd = valuer.price(view, time);
    let balance_usd = held.and_then(|held| valuer.usd(view, held, time));
    let balance = held.zip(view.decimals).map(|(held, decimals)| DecimalText::new(held, decimals));
    let amount_out = match output {
        Output::Own | Output::PerSymbol => None,
        Output::Asset { .. } if output.is_unit_of(view) => Some(OutputAmount(balance.clone())),
        Output::Usd | Output::Asset { .. } => {
            let converted = held.and_then(|held| valuer.converted(output, view, held, balance_usd, time));
            Some(OutputAmount(converted.map(decimal)))
        }
    };
    BalanceItem {
        symbol: view.symbol.clone(),
        contract: view.contract.clone(),
        decimals: view.decimals,
        balance,
        balance_raw: held.map(RawAmountText::from),
        price_usd,
        balance_usd,
        verified: view.verified,
        amount_out,
    }
}

fn point(
    day: NaiveDate,
    end: Timestamp,
    mut items: Vec<BalanceItem>,
    tally: &Tally,
    output: &Output,
    valuer: &Valuer,
) -> DailyPoint {
    items.sort_by(|one, other| {
        let usd = |item: &BalanceItem| item.balance_usd.unwrap_or(-1.0);
        let name = |item: &BalanceItem| (item.symbol.clone(), item.contract.clone());
        usd(other).total_cmp(&usd(one)).then_with(|| name(one).cmp(&name(other)))
    });
    let total_usd = total(&items);
    let total_out = match output {
        Output::Own | Output::PerSymbol => None,
        Output::Usd => Some(OutputTotal(total_usd)),
        Output::Asset { .. } => Some(OutputTotal(total_usd.and_then(|usd| valuer.dollars_in(output, usd, end)))),
    };
    DailyPoint {
        date: DateText(day.to_string()),
        timestamp: Time(end.secs()),
        total_usd,
        balances: items,
        received_usd: tally.received.known_usd().map(Usd::to_f64),
        sent_usd: tally.sent.known_usd().map(Usd::to_f64),
        tx_count: tally.transactions,
        total_out,
    }
}

/// All that has a price; 0 where nothing is held, `None` where nothing held has one.
fn total(items: &[BalanceItem]) -> Option<f64> {
    let priced: Vec<Usd> = items.iter().filter_map(|item| Usd::from_f64(item.balance_usd?)).collect();
    (items.is_empty() || !priced.is_empty()).then(|| priced.into_iter().sum::<Usd>().to_f64())
}

//! What an address held at the end of each day.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::balances::{BalanceItem, DailyPoint};
use crate::balances::{Changes, Closing};
use crate::calendar::Calendar;
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, START};
use crate::fields::{
    AddressText, BalanceBasis, ChainName, ChainText, ContractList, DateText, DecimalText, OptIn, OutputAsset,
    RawAmountText, SymbolList, Time, TimeBound, ZoneHours, ZoneName,
};
use crate::method::Method;
use crate::movement_reader::MovementReader;
use crate::purposes::BALANCES;
use crate::request::{Checks, HistoryUnit, Warnings, refused};
use crate::scope::{Scope, ScopeFields};
use crate::table::{Rows, TableHead};
use crate::unverified::{self, Hidden};
use crate::valuation::{Output, Valuer, amount_unit};
use crate::{Error, Reason, coverage};

/// Days of a history where none are asked for.
const DEFAULT_DAYS: u64 = 30;
/// Most days of a history.
const MOST_DAYS: u64 = 3660;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "balance-history",
    path: "/v1/balance-history",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Daily balance history",
    description: "What an address held at the end of each day, in the calendar of any offset or zone.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("data_points"),
    first: &["date", "symbol", "balance", "balance_usd", "price_usd"],
    example: Example::new(
        || {
            json!({
                "blockchain": "ethereum", "address": ALICE, "start_time": START, "end_time": START + 86_399, "tz": "Asia/Kolkata"
            })
        },
        ("blockchain", "solana"),
    ),
    calls: Calls::list::<BalanceHistory>(),
};

/// `POST /v1/balance-history`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct BalanceHistoryRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The address asked about.
    #[schema(example = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")]
    address: AddressText,
    /// Only these symbols; omitted, empty or with `all`: every symbol. A symbol matches verified tokens only.
    symbols: Option<SymbolList>,
    /// Only these contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
    /// First time, epoch seconds: the history begins with its day. Omitted: 30 days in all. At most 3660 days.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds: the last point is the balance at this time. Omitted: the last block held.
    end_time: Option<TimeBound>,
    /// Adds `amount_out` to balances and `total_out` to points: `usd` or a registry symbol, at the day's closing price.
    output_asset: Option<OutputAsset>,
    /// Where days begin: hours from UTC, -12 to 14; default 0.
    timezone: Option<ZoneHours>,
    /// Where days begin: a zone of the IANA database, such as `Asia/Kolkata`; stands before `timezone`.
    tz: Option<ZoneName>,
    /// `daily`.
    unit: Option<HistoryUnit>,
    /// Count tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
}

/// Checked parameters of a balance history.
#[derive(Debug)]
pub struct BalanceHistoryParams {
    scope: Scope,
    address: Address,
    output: Output,
    /// As written.
    output_asset: Option<String>,
    calendar: Calendar,
    unit: HistoryUnit,
    first: NaiveDate,
    last: NaiveDate,
    end: Timestamp,
}

/// What an address held at the end of each day. Every day is there; days without movements carry on what was held.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BalanceHistoryReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The address, canonical.
    pub address: AddressText,
    /// Hours from UTC; of a zone those in force at the end, without a part of an hour.
    pub timezone: i32,
    /// The zone that days are counted in; null where only hours were given.
    pub tz: Option<&'static str>,
    /// `daily`.
    pub unit: HistoryUnit,
    /// Unit of `amount_out` and `total_out`, as asked for.
    pub output_asset: Option<String>,
    /// Days, oldest first.
    pub data_points: Vec<DailyPoint>,
    /// The balance at the end of the last point.
    pub final_balance: BalanceSnapshot,
    /// How balances came about, by contract (`native` for the coin of the chain): `transfers`, the sum of movements and
    /// fees; `snapshot`, what a list of holders states, and movements since.
    pub basis: BTreeMap<String, BalanceBasis>,
    /// What to mind, such as `history_incomplete:native` (more went out than came in: shown as 0),
    /// `rebasing_by_transfers:0x...` (the token changes balances without transfers), `before_snapshot:0x...` (days before
    /// the list of holders that its history begins with: left out), `amount_overflow:0x...` (amounts of the token add up to
    /// more than 256 bits hold: null).
    pub warnings: Vec<String>,
    /// Unit of `amount_out`: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
}

/// What was held at one time.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BalanceSnapshot {
    /// The time, epoch seconds; 0 where there is neither an end nor a start nor any data.
    pub timestamp: Time,
    /// Last block held; null where the time is an earlier one.
    pub block_number: Option<u64>,
    /// All balances in US dollars, over those that have a price; null where none has.
    pub total_usd: Option<f64>,
    /// What was held.
    pub balances: Vec<BalanceItem>,
}

/// What an address held at the end of each day.
pub struct BalanceHistory;

impl Analysis for BalanceHistory {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = BalanceHistoryRequest;
    type Params = BalanceHistoryParams;
    type Report = BalanceHistoryReport;
    const IS_VALUED: bool = true;

    fn params(request: BalanceHistoryRequest, checks: &mut Checks<'_>) -> Result<BalanceHistoryParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let output = Output::new(checks, chain, request.output_asset.as_deref())?;
        let calendar = Calendar::new(request.timezone.map(i64::from), request.tz.as_deref())?;
        let asked = checks.window(request.start_time, request.end_time)?;
        let head = checks.ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time);
        let (first, last, end) = days(calendar, asked, head)?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            include_unverified: request.include_unverified,
            ..ScopeFields::default()
        };
        Ok(BalanceHistoryParams {
            scope: Scope::new(checks, chain, fields)?,
            address,
            output,
            output_asset: request.output_asset.map(String::from),
            calendar,
            unit: request.unit.unwrap_or(HistoryUnit::Daily),
            first,
            last,
            end,
        })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &BalanceHistoryParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<BalanceHistoryReport, Error> {
        let chain = params.scope.chain;
        coverage::warn(ledger, chain, TimeWindow::ALL, warnings);
        params.warn_of_later_days(ledger, warnings);
        let days: Vec<NaiveDate> = params.calendar.days(params.first, params.last).collect();
        let ends: Vec<Timestamp> = days.iter().map(|day| params.calendar.end(*day).min(params.end)).collect();
        let start = params.calendar.start(params.first);
        let scope = params.scope.within(TimeWindow::new(Some(start.secs()), None).unwrap_or_default());
        let mut reader = MovementReader::new(ledger, &scope, params.address, cancel)?;
        let valuer = Valuer::new(ledger);
        let mut held = cancel.holding(BALANCES);
        let changes = Changes::gather(&mut reader, &valuer, &ends, &mut held, cancel)?;
        let closing = Closing::new(&mut reader, &scope, changes, &mut held, cancel)?;
        unverified::warn(Hidden::Tokens(closing.unverified), warnings);
        let mut notes = Vec::new();
        let days = (&days[..], &ends[..]);
        let data_points = closing.points(&reader.book, &valuer, &params.output, days, &mut notes, &mut held)?;
        held.keep();
        let mut end = CorePricesEnd::new(ledger);
        if reader.account().is_some() && scope.has_native() {
            end.note(chain.native_symbol(), params.end);
        }
        end.warn(warnings);
        let coverage = ledger.coverage().get(&chain);
        let is_head = coverage.and_then(|coverage| coverage.last_time).is_some_and(|head| head <= params.end);
        let as_of_block = coverage.and_then(|coverage| coverage.last_block);
        let at_end = data_points.last();
        let final_balance = BalanceSnapshot {
            timestamp: Time(params.end.secs()),
            block_number: as_of_block.filter(|_| is_head),
            total_usd: at_end.and_then(|point| point.total_usd),
            balances: at_end.map(|point| point.balances.clone()).unwrap_or_default(),
        };
        Ok(BalanceHistoryReport {
            blockchain: chain.into(),
            address: AddressText(params.address.to_string()),
            timezone: params.calendar.hours(params.end),
            tz: params.calendar.zone(),
            unit: params.unit,
            output_asset: params.output_asset.clone(),
            data_points,
            final_balance,
            basis: closing.basis(&reader.book),
            warnings: notes,
            amount_unit: amount_unit(ledger, params.scope.chain, params.scope.only_asset(), &params.output)?,
            as_of_block,
        })
    }
}

impl BalanceHistoryParams {
    fn warn_of_later_days(&self, ledger: &dyn Ledger, warnings: &mut Warnings) {
        let chain = self.scope.chain;
        if let Some(head) = ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time)
            && head < self.end
        {
            let message = format!("data of {chain} ends at {head}: what was held then is carried on to {}", self.end);
            warnings.add("beyond_data", Some("end_time"), message);
        }
    }
}

/// First and last day, and the time that the history ends at; the first day comes behind the last where there is none.
fn days(
    calendar: Calendar,
    asked: TimeWindow,
    head: Option<Timestamp>,
) -> Result<(NaiveDate, NaiveDate, Timestamp), Error> {
    let Some(end) = asked.end().or(head) else {
        // A history ends with the data of its chain: where there is none, it has no days.
        let end = asked.start().unwrap_or(Timestamp::new(0));
        let last = calendar.day(end);
        return Ok((last + chrono::Days::new(1), last, end));
    };
    let end = asked.start().map_or(end, |start| start.max(end));
    let last = calendar.day(end);
    let first = match asked.start() {
        Some(start) => calendar.day(start),
        None => last - chrono::Days::new(DEFAULT_DAYS - 1),
    };
    let count = u64::try_from((last - first).num_days()).unwrap_or(0) + 1;
    if count > MOST_DAYS {
        let why = format!("{count} days are asked for, at most {MOST_DAYS} are given");
        let start = asked.start().map_or(0, Timestamp::secs);
        let error = refused(Reason::TimeRange, "start_time", &start.to_string(), &why);
        return Err(Error { limit: Some(MOST_DAYS), ..error });
    }
    Ok((first, last, end))
}

/// A balance history as a table: one row per day and asset; a day on which nothing was held has one row without asset.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BalanceRow {
    /// The day in the calendar asked for, `YYYY-MM-DD`.
    date: DateText,
    /// Its last second, or the end of the history; epoch seconds.
    timestamp: Time,
    /// Lowercase symbol.
    symbol: Option<String>,
    /// Contract; null for the native coin.
    contract: Option<AddressText>,
    /// Decimals.
    #[schema(maximum = 255)]
    decimals: Option<u8>,
    /// How much, in whole units.
    balance: Option<DecimalText>,
    /// How much, in the smallest unit; null on a day on which nothing was held, and where sums pass 256 bits.
    balance_raw: Option<RawAmountText>,
    /// US dollars per whole unit at that time.
    price_usd: Option<f64>,
    /// The balance at that price.
    balance_usd: Option<f64>,
    /// Whether a registry vouches for it.
    verified: Option<bool>,
    /// The balance in the unit of `output_asset`.
    amount_out: Option<DecimalText>,
    /// All balances of the day in US dollars.
    total_usd: Option<f64>,
    /// Received on the day.
    received_usd: Option<f64>,
    /// Sent on the day.
    sent_usd: Option<f64>,
    /// Distinct transactions of the day.
    tx_count: u64,
}

impl BalanceRow {
    fn new(point: &DailyPoint, item: Option<BalanceItem>) -> Self {
        let asset = item.as_ref();
        Self {
            date: point.date.clone(),
            timestamp: point.timestamp,
            decimals: asset.and_then(|item| item.decimals),
            price_usd: asset.and_then(|item| item.price_usd),
            balance_usd: asset.and_then(|item| item.balance_usd),
            verified: asset.map(|item| item.verified),
            total_usd: point.total_usd,
            received_usd: point.received_usd,
            sent_usd: point.sent_usd,
            tx_count: point.tx_count,
            symbol: asset.and_then(|item| item.symbol.clone()),
            contract: asset.and_then(|item| item.contract.clone()),
            balance: asset.and_then(|item| item.balance.clone()),
            balance_raw: asset.and_then(|item| item.balance_raw.clone()),
            amount_out: item.and_then(|item| item.amount_out?.0),
        }
    }
}

impl List for BalanceHistory {
    type Row = BalanceRow;

    fn list(
        ledger: &dyn Ledger,
        params: &BalanceHistoryParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        for note in &report.warnings {
            let (code, asset) = note.split_once(':').unwrap_or((note, ""));
            warnings.add(code, Some(asset), note);
        }
        let head = TableHead {
            as_of_block: report.as_of_block,
            amount_unit: Some(report.amount_unit),
            ..TableHead::default()
        };
        rows.begin(head, warnings)?;
        for mut point in report.data_points {
            let items = std::mem::take(&mut point.balances);
            if items.is_empty() {
                rows.push(&BalanceRow::new(&point, None))?;
            }
            items.into_iter().try_for_each(|item| rows.push(&BalanceRow::new(&point, Some(item))))?;
        }
        Ok(())
    }
}

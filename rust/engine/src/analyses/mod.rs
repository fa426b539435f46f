//! One file per analysis, and the table that finds it by the name of its endpoint.
//!
//! An analysis is the same four things everywhere: a `...Request` as a client writes it (its documentation is the
//! documentation of the endpoint), checked parameters, a function from ledger and parameters to a `...Report`, and
//! tests. To add one: a file here, a line in `ENTRIES`, a line in [`crate::ENDPOINTS`].

mod address_autocomplete;
mod address_resolve;
mod addresses_flow;
mod assets;
mod balance_history;
mod chains;
mod counterparty;
mod counterparty_list;
mod description;
mod overview;
mod rates;
mod rates_history;
mod rates_symbols;
mod registry;
mod resolve;
mod token_concentration;
mod token_holders;
mod transaction;
mod transactions;
mod transfer_between;
mod wallet_overview;

use headwater_ledger::{Cancel, Ledger};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use description::describe;

use crate::columns::columns_of_report;
use crate::desk::Given;
use crate::report::Reported;
use crate::request::{Checks, MAX_LIMIT, MAX_TABLE, Warnings, decode_known, fingerprint};
use crate::table::{List, Rows, rows_field};
use crate::{Column, Endpoint, Error, Pagination, QueryMeta, ReportRows, TableSink, Warning};

pub use address_autocomplete::{
    AddressAutocomplete, AddressAutocompleteParams, AddressAutocompleteReport, AddressAutocompleteRequest,
};
pub use address_resolve::{
    AddressCandidate, AddressResolve, AddressResolveParams, AddressResolveReport, AddressResolveRequest,
};
pub use addresses_flow::{
    AddressFlow, AddressesFlow, AddressesFlowAggregate, AddressesFlowParams, AddressesFlowReport, AddressesFlowRequest,
};
pub use assets::{Assets, AssetsParams, AssetsReport, AssetsRequest};
pub use balance_history::{
    BalanceHistory, BalanceHistoryParams, BalanceHistoryReport, BalanceHistoryRequest, BalanceItem, BalanceSnapshot,
    DailyPoint,
};
pub use chains::{ChainEntry, Chains, ChainsParams, ChainsReport, ChainsRequest};
pub use counterparty::{Counterparty, CounterpartyParams, CounterpartyReport, CounterpartyRequest};
pub use counterparty_list::{
    CounterpartyList, CounterpartyListParams, CounterpartyListReport, CounterpartyListRequest,
};
pub use description::{Description, Written, record};
pub use overview::{
    CounterpartyOverview, CounterpartyOverviewParams, CounterpartyOverviewReport, CounterpartyOverviewRequest,
    SymbolSum, TransferSum,
};
pub use rates::{Rate, Rates, RatesParams, RatesReport, RatesRequest};
pub use rates_history::{RatePoint, RatesHistory, RatesHistoryParams, RatesHistoryReport, RatesHistoryRequest};
pub use rates_symbols::{RateCoverage, RatesSymbols, RatesSymbolsParams, RatesSymbolsReport, RatesSymbolsRequest};
pub use registry::{RegistryParams, RegistryReport, RegistryRequest, TokenEntry, WholeRegistry};
pub use resolve::{Resolve, ResolveParams, ResolveReport, ResolveRequest, ResolvedAsset, Unresolved};
pub use token_concentration::{
    ConcentrationMetrics, TokenConcentration, TokenConcentrationParams, TokenConcentrationReport,
    TokenConcentrationRequest,
};
pub use token_holders::{HolderEntry, TokenHolders, TokenHoldersParams, TokenHoldersReport, TokenHoldersRequest};
pub use transaction::{Gas, Log, TransactionDetail, TransactionParams, TransactionReport, TransactionRequest, Utxo};
pub use transactions::{Transactions, TransactionsParams, TransactionsReport, TransactionsRequest};
pub use transfer_between::{TransferBetween, TransferBetweenParams, TransferBetweenReport, TransferBetweenRequest};
pub use wallet_overview::{
    AsOf, AssetOverview, FirstFunder, WalletOverview, WalletOverviewParams, WalletOverviewReport, WalletOverviewRequest,
};

/// One analysis: request, parameters, report.
pub trait Analysis {
    /// The request as a client writes it.
    type Request: DeserializeOwned + ToSchema;
    /// What is left after checking.
    type Params;
    /// The `data` of the answer.
    type Report: Serialize + ToSchema + Send + Sync + 'static;

    /// Checks a request: the only validation there is.
    ///
    /// # Errors
    /// An invalid input that names field and value.
    fn params(request: Self::Request, checks: &mut Checks<'_>) -> Result<Self::Params, Error>;

    /// Answers: depends on nothing but ledger and parameters.
    ///
    /// # Errors
    /// When the ledger cannot be read, the work was cancelled, or what was asked for is not there.
    fn report(
        ledger: &dyn Ledger,
        params: &Self::Params,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Self::Report, Error>;

    /// The `meta.pagination` of a GET list.
    #[must_use]
    fn pagination(_: &Self::Report) -> Option<Pagination> {
        None
    }

    /// The `data.meta` of a report, which must be its last field; the desk fills in how long it took, and keeps answers
    /// that have one.
    #[must_use]
    fn meta(_: &Self::Report) -> Option<QueryMeta> {
        None
    }
}

/// One call on its way to an analysis.
pub(crate) struct Call<'a> {
    pub endpoint: &'a Endpoint,
    pub request: &'a Value,
    pub ledger: &'a dyn Ledger,
    pub given: Given,
    pub cancel: &'a Cancel,
}

/// An answer before the desk hands it out.
pub(crate) struct Made {
    pub report: Box<dyn Reported>,
    pub pagination: Option<Pagination>,
    pub warnings: Vec<Warning>,
    pub meta: Option<QueryMeta>,
}

/// A line of the table.
pub(crate) struct Entry {
    /// Name of the endpoint.
    pub name: &'static str,
    /// Checks a call that may ask for so many rows.
    pub check: fn(&Call<'_>, u32) -> Result<(), Error>,
    /// Answers a call.
    pub run: fn(&Call<'_>) -> Result<Made, Error>,
    /// Describes request and answer.
    pub describe: fn() -> Description,
    /// The rows of its answer.
    pub rows: fn(&str) -> ReportRows,
    /// How it is given as a table, where it is a list.
    pub table: Option<Table>,
}

/// How an analysis is given as a table.
pub(crate) struct Table {
    /// Its columns.
    pub columns: fn() -> Vec<Column>,
    /// Writes it.
    pub write: fn(&Call<'_>, &mut dyn TableSink) -> Result<(), Error>,
}

impl Entry {
    const fn new<A: Analysis>(name: &'static str) -> Self {
        Self { name, check: check::<A>, run: run::<A>, describe: describe::<A>, rows: rows::<A>, table: None }
    }

    const fn list<A: List>(name: &'static str) -> Self {
        let table = Some(Table { columns: A::columns, write: write::<A> });
        Self { name, check: check::<A>, run: run::<A>, describe: describe::<A>, rows: rows::<A>, table }
    }
}

/// Every analysis, in the order of [`crate::ENDPOINTS`].
#[rustfmt::skip]
pub(crate) const ENTRIES: &[Entry] = &[
    Entry::list::<Chains>("chains"),
    Entry::list::<WholeRegistry>("registry"),
    Entry::list::<Assets>("assets"),
    Entry::new::<Resolve>("resolve"),
    Entry::list::<Rates>("rates"),
    Entry::list::<RatesHistory>("rates/history"),
    Entry::list::<RatesSymbols>("rates/symbols"),
    Entry::list::<Transactions>("transactions"),
    Entry::new::<TransactionDetail>("transaction"),
    Entry::list::<Counterparty>("counterparty"),
    Entry::list::<TransferBetween>("counterparty/transfer-between"),
    Entry::new::<CounterpartyOverview>("counterparty/overview"),
    Entry::list::<CounterpartyList>("counterparty/list"),
    Entry::list::<BalanceHistory>("balance-history"),
    Entry::list::<WalletOverview>("wallet-overview"),
    Entry::list::<TokenHolders>("token/holders"),
    Entry::new::<TokenConcentration>("token/concentration"),
    Entry::list::<AddressesFlow>("token/addresses_flow"),
    Entry::new::<AddressResolve>("addresses/resolve"),
    Entry::new::<AddressAutocomplete>("addresses/autocomplete"),
];

/// Finds the analysis of an endpoint.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

fn check<A: Analysis>(call: &Call<'_>, most_rows: u32) -> Result<(), Error> {
    params::<A>(call, most_rows, &mut Warnings::default()).map(drop)
}

fn run<A: Analysis>(call: &Call<'_>) -> Result<Made, Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_LIMIT, &mut warnings)?;
    let report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    let (pagination, meta) = (A::pagination(&report), A::meta(&report));
    Ok(Made { report: Box::new(report), pagination, warnings: warnings.into_list(), meta })
}

fn rows<A: Analysis>(endpoint: &str) -> ReportRows {
    let field = rows_field(endpoint);
    ReportRows { field, columns: columns_of_report::<A::Report>(field) }
}

fn write<A: List>(call: &Call<'_>, sink: &mut dyn TableSink) -> Result<(), Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_TABLE, &mut warnings)?;
    A::list(call.ledger, &params, &mut warnings, &mut Rows::new(sink, call.cancel))
}

fn params<A: Analysis>(call: &Call<'_>, most_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    let (request, unknown) = decode_known::<A::Request>(call.request, call.endpoint.method, warnings)?;
    let fingerprint = fingerprint(call.endpoint.name, call.request, &unknown);
    A::params(request, &mut Checks { ledger: call.ledger, warnings, fingerprint, most_rows, given: call.given })
}

/// Says that a field waits for labels.
fn labels_not_built(warnings: &mut Warnings, field: &str) {
    warnings.add("not_built", Some(field), format!("{field} is empty: address labels are not built yet"));
}

//! The shape of every analysis, and the way of a query through one.

use std::any::Any;

use headwater_ledger::{Cancel, Ledger};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::columns::{Column, columns, columns_of_report};
use crate::coverage;
use crate::description::{describe, nested_fields};
use crate::endpoint::{Call, Calls, Endpoint, ListCalls, Query};
use crate::labels;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::pricing::Pricing;
use crate::request::{Arguments, CanonicalText, Checks, Cursor, Warnings, decode_with};
use crate::table::{Rows, TableSink};
use crate::valuation;
use crate::{Error, Pagination, QueryMeta, Response};

/// One analysis: request, parameters, report.
pub trait Analysis {
    /// The endpoint that answers with it.
    const ENDPOINT: &'static Endpoint;

    /// The request as a client writes it.
    type Request: DeserializeOwned + ToSchema + Clone + Send + Sync + 'static;
    /// What is left after checking.
    type Params;
    /// The `data` of the answer.
    type Report: Serialize + ToSchema + Send + Sync + 'static;

    /// Pairs of fields of the request of which one has to be given.
    const EITHER: &[[&str; 2]] = &[];

    /// What the credits of a call pay for.
    const PRICING: Pricing = Pricing::PerCall;

    /// Whether an answer values movements in US dollars by prices: then its meta names the symbols that are `pegged`.
    const IS_VALUED: bool = false;

    /// Whether an answer judges addresses by labels: then it warns where the sanctions in force are old.
    const JUDGES_BY_LABELS: bool = false;

    /// Checks a request: the only validation there is.
    ///
    /// # Errors
    /// An invalid input that names field and value.
    fn params(request: Self::Request, checks: &mut Checks<'_>) -> Result<Self::Params, Error>;

    /// Returns whether an external provider may be asked. Then a chain without data in the store is accepted.
    #[must_use]
    fn asks_elsewhere(_: &Self::Params) -> bool {
        false
    }

    /// Answers: depends on nothing but ledger and parameters. What reads movements goes through [`crate::scope`], so that
    /// all endpoints leave out the same rows.
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

    /// Returns whether the same request of the same data always gets this report.
    #[must_use]
    fn is_repeatable(_: &Self::Report) -> bool {
        true
    }

    /// Items of a report that are paid for, where [`Analysis::PRICING`] is per item.
    #[must_use]
    fn paid_items(_: &Self::Report) -> u32 {
        0
    }

    /// The `data.meta` of a report, which must be its last field; the engine fills in how long the query took.
    #[must_use]
    fn meta(_: &mut Self::Report) -> Option<&mut QueryMeta> {
        None
    }
}

/// An analysis whose answer is a list.
pub trait List: Analysis {
    /// A row.
    type Row: Serialize + ToSchema;

    /// Writes the head, then the rows.
    ///
    /// # Errors
    /// As [`Analysis::report`], and when the rows are not taken any more.
    fn list(
        ledger: &dyn Ledger,
        params: &Self::Params,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error>;

    /// Its columns, in the order of the fields.
    #[must_use]
    fn columns() -> Vec<Column> {
        columns::<Self::Row>()
    }
}

/// Checks a call that may ask for so many rows.
pub(crate) fn check<A: Analysis>(call: &Call<'_>, max_rows: u32) -> Result<(), Error> {
    params::<A>(call, max_rows, &mut Warnings::default()).map(drop)
}

/// Answers a call.
pub(crate) fn respond<A: Analysis>(call: &Call<'_>) -> Result<Response<A::Report>, Error> {
    let mut warnings = Warnings::default();
    let started = call.now_ms();
    let params = params::<A>(call, MAX_LIMIT, &mut warnings)?;
    let mut report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    if A::JUDGES_BY_LABELS {
        labels::warn_of_old_sanctions(call.ledger, call.intelligence, &mut warnings);
    }
    let meta = A::meta(&mut report).map(|meta| {
        meta.query_duration_ms = call.now_ms().saturating_sub(started);
        *meta
    });
    let paid_items = match A::PRICING {
        Pricing::PerCall => None,
        Pricing::PerItem { .. } => Some(A::paid_items(&report)),
    };
    Ok(Response {
        pagination: A::pagination(&report),
        is_repeatable: A::is_repeatable(&report) && !warnings.are_passing(),
        meta,
        pegged: pegged::<A>(call),
        warnings: warnings.into_list(),
        paid_items,
        report,
    })
}

/// Answers a call as a table.
pub(crate) fn write<A: List>(call: &Call<'_>, sink: &mut dyn TableSink) -> Result<(), Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_TABLE, &mut warnings)?;
    let mut rows = Rows::new(sink, call.cancel).with_pegged(pegged::<A>(call));
    A::list(call.ledger, &params, &mut warnings, &mut rows)
}

/// The symbols that an answer values by the peg.
fn pegged<A: Analysis>(call: &Call<'_>) -> Vec<String> {
    if A::IS_VALUED { valuation::pegged(call.ledger, call.query.chains()) } else { Vec::new() }
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    let Call { query, ledger, given, intelligence, .. } = *call;
    let request = query.request::<A::Request>(warnings)?;
    let filter_hash = query.filter_hash();
    let params = A::params(request, &mut Checks { ledger, warnings, filter_hash, max_rows, given, intelligence })?;
    if !A::asks_elsewhere(&params) {
        coverage::check(ledger, query)?;
    }
    Ok(params)
}

impl Calls {
    /// Those of an analysis.
    #[must_use]
    pub const fn of<A: Analysis>() -> Self {
        Self {
            check: check::<A>,
            query: Query::of::<A>,
            answer: |call| respond::<A>(call).map(Response::erased),
            pricing: A::PRICING,
            describe: || describe::<A::Request, A::Report>(A::EITHER),
            report_columns: columns_of_report::<A::Report>,
            report_fields: columns::<A::Report>,
            list: None,
        }
    }

    /// Those of an analysis whose answer is a list, which may be had as a table.
    #[must_use]
    pub const fn list<A: List>() -> Self {
        let list = ListCalls { columns: A::columns, write: write::<A> };
        Self { list: Some(list), ..Self::of::<A>() }
    }
}

impl Query {
    /// Decodes the arguments of a call.
    pub(crate) fn of<A: Analysis>(endpoint: &Endpoint, mut arguments: Arguments) -> Self {
        let canonical = CanonicalText::new(endpoint.name, &mut arguments);
        let value = arguments.value();
        let mut warnings = Warnings::default();
        let is_text = |field: &str| arguments.is_text(field);
        let nested = nested_fields::<A::Request>;
        let request = decode_with::<A::Request>((value, &is_text), endpoint.method, &mut warnings, &nested);
        Self {
            endpoint: *endpoint,
            chains: endpoint.chains.of(value),
            subject: endpoint.chains.subject(value),
            generation: Cursor::pinned(value),
            items: A::PRICING.items(value),
            request: request.map(|request| Box::new(request) as Box<dyn Any + Send + Sync>),
            canonical,
            warnings,
        }
    }
}

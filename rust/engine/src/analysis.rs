//! The shape of every analysis, and the way of a query through one.

use headwater_ledger::{Cancel, Ledger};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::coverage;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::pricing::Pricing;
use crate::query::Query;
use crate::request::{Checks, Given, Warnings};
use crate::table::{List, Rows, TableSink};
use crate::valuation;
use crate::{Clock, Endpoint, Error, Intelligence, Pagination, QueryMeta, Response};

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

/// A query and all that it is answered from.
pub(crate) struct Call<'a> {
    pub query: &'a Query,
    pub ledger: &'a dyn Ledger,
    pub given: Given,
    pub clock: Option<Clock>,
    pub intelligence: &'a Intelligence,
    pub cancel: &'a Cancel,
}

impl Call<'_> {
    fn now_ms(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
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

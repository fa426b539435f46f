//! The way of a query through an analysis.

use headwater_ledger::{Cancel, Ledger};

use crate::analysis::Analysis;
use crate::held;
use crate::intelligence::Intelligence;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::peg;
use crate::pricing::Pricing;
use crate::query::Query;
use crate::request::{Checks, Given, Warnings};
use crate::table::{List, Rows, TableSink};
use crate::{Clock, Error, Response};

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
    if A::IS_VALUED { peg::pegged(call.ledger, call.query.chains()) } else { Vec::new() }
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    let Call { query, ledger, given, intelligence, .. } = *call;
    let request = query.request::<A::Request>(warnings)?;
    let filter_hash = query.filter_hash();
    let params = A::params(request, &mut Checks { ledger, warnings, filter_hash, max_rows, given, intelligence })?;
    if !A::asks_elsewhere(&params) {
        held::check(ledger, query)?;
    }
    Ok(params)
}

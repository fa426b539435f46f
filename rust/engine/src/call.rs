//! The way of a call through an analysis.

use headwater_ledger::{Cancel, Ledger};

use crate::Error;
use crate::analysis::{Analysis, Made};
use crate::chain_scope::{ChainScope, Reads};
use crate::description::nested_fields;
use crate::held;
use crate::intelligence::Intelligence;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::method::Method;
use crate::peg;
use crate::pricing::Pricing;
use crate::request::{CanonicalRequest, Checks, Given, Warnings, decode_with};
use crate::response::Response;
use crate::table::{List, Rows, TableSink};

/// One call on its way to an analysis.
pub(crate) struct Call<'a> {
    pub method: Method,
    pub chains: ChainScope,
    pub reads: Reads,
    pub request: &'a CanonicalRequest,
    pub ledger: &'a dyn Ledger,
    pub given: Given,
    pub intelligence: &'a Intelligence,
    pub cancel: &'a Cancel,
}

/// Checks a call that may ask for so many rows.
pub(crate) fn check<A: Analysis>(call: &Call<'_>, max_rows: u32) -> Result<(), Error> {
    params::<A>(call, max_rows, &mut Warnings::default()).map(drop)
}

/// Answers a call with the report as it is typed.
pub(crate) fn respond<A: Analysis>(call: &Call<'_>) -> Result<Response<A::Report>, Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_LIMIT, &mut warnings)?;
    let report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    let is_kept = A::is_kept(&report) && !warnings.are_passing();
    let paid_items = match A::PRICING {
        Pricing::PerCall => None,
        Pricing::PerItem { .. } => Some(A::paid_items(&report)),
    };
    let (pagination, warnings, pegged) = (A::pagination(&report), warnings.into_list(), pegged::<A>(call));
    Ok(Response { report, pagination, warnings, pegged, paid_items, is_kept })
}

/// Answers a call.
pub(crate) fn run<A: Analysis>(call: &Call<'_>) -> Result<Made, Error> {
    let Response { mut report, pagination, warnings, pegged, paid_items, is_kept } = respond::<A>(call)?;
    let meta = A::meta(&mut report).copied();
    Ok(Made { report: Box::new(report), pagination, warnings, pegged, meta, is_kept, paid_items })
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
    if A::IS_VALUED { peg::pegged(call.ledger, call.chains, call.request.request()) } else { Vec::new() }
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    let Call { method, chains, reads, request, ledger, given, intelligence, .. } = *call;
    let asked = request.request();
    let fields = decode_with(asked, method, warnings, &nested_fields::<A::Request>)?;
    let filter_hash = request.filter_hash();
    let params = A::params(fields, &mut Checks { ledger, warnings, filter_hash, max_rows, given, intelligence })?;
    if !A::asks_elsewhere(&params) {
        held::check(ledger, (chains, reads), asked)?;
    }
    Ok(params)
}

//! The way of a call through an analysis.

use headwater_ledger::{Cancel, Ledger};

use crate::Error;
use crate::analysis::{Analysis, Made};
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::method::Method;
use crate::request::{CanonicalRequest, Checks, Given, Warnings, decode};
use crate::table::{List, Rows, TableSink};

/// One call on its way to an analysis.
pub(crate) struct Call<'a> {
    pub method: Method,
    pub request: &'a CanonicalRequest,
    pub ledger: &'a dyn Ledger,
    pub given: Given,
    pub cancel: &'a Cancel,
}

/// Checks a call that may ask for so many rows.
pub(crate) fn check<A: Analysis>(call: &Call<'_>, max_rows: u32) -> Result<(), Error> {
    params::<A>(call, max_rows, &mut Warnings::default()).map(drop)
}

/// Answers a call.
pub(crate) fn run<A: Analysis>(call: &Call<'_>) -> Result<Made, Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_LIMIT, &mut warnings)?;
    let report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    let (pagination, meta) = (A::pagination(&report), A::meta(&report));
    Ok(Made { report: Box::new(report), pagination, warnings: warnings.into_list(), meta })
}

/// Answers a call as a table.
pub(crate) fn write<A: List>(call: &Call<'_>, sink: &mut dyn TableSink) -> Result<(), Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_TABLE, &mut warnings)?;
    A::list(call.ledger, &params, &mut warnings, &mut Rows::new(sink, call.cancel))
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    let request = decode::<A::Request>(call.request.request(), call.method, warnings)?;
    let filter_hash = call.request.filter_hash();
    A::params(request, &mut Checks { ledger: call.ledger, warnings, filter_hash, max_rows, given: call.given })
}

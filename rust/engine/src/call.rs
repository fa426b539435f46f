//! The way of a call through an analysis.

use headwater_ledger::{Cancel, Ledger};

use crate::analysis::{Analysis, Made};
use crate::intelligence::Intelligence;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::method::Method;
use crate::request::{CanonicalRequest, Checks, Given, Warnings, decode};
use crate::table::{List, Rows, TableSink};
use crate::{Error, Reason};

/// One call on its way to an analysis.
pub(crate) struct Call<'a> {
    pub method: Method,
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

/// Answers a call.
pub(crate) fn run<A: Analysis>(call: &Call<'_>) -> Result<Made, Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_LIMIT, &mut warnings)?;
    let report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    let (pagination, meta, is_kept) = (A::pagination(&report), A::meta(&report), A::is_kept(&report));
    Ok(Made { report: Box::new(report), pagination, warnings: warnings.into_list(), meta, is_kept })
}

/// Answers a call as a table.
pub(crate) fn write<A: List>(call: &Call<'_>, sink: &mut dyn TableSink) -> Result<(), Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_TABLE, &mut warnings)?;
    A::list(call.ledger, &params, &mut warnings, &mut Rows::new(sink, call.cancel))
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    if let Some(field) = A::REFUSED.iter().find(|field| call.request.request().get(**field).is_some()) {
        let message = format!("{field}: there is no such choice here, leave it out");
        return Err(Error::invalid(Reason::UnknownField, *field, message));
    }
    let request = decode::<A::Request>(call.request.request(), call.method, warnings)?;
    let filter_hash = call.request.filter_hash();
    let Call { ledger, given, intelligence, .. } = *call;
    A::params(request, &mut Checks { ledger, warnings, filter_hash, max_rows, given, intelligence })
}

//! The way of a call through an analysis.

use headwater_ledger::{Cancel, Ledger};
use serde_json::Value;

use crate::analysis::{Analysis, Made};
use crate::intelligence::Intelligence;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::method::Method;
use crate::pricing::Pricing;
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
    let (pagination, meta, is_kept) =
        (A::pagination(&report), A::meta(&report), A::is_kept(&report) && !warnings.are_passing());
    let paid_items = match A::PRICING {
        Pricing::PerCall => None,
        Pricing::PerItem { .. } => Some(A::paid_items(&report)),
    };
    Ok(Made { report: Box::new(report), pagination, warnings: warnings.into_list(), meta, is_kept, paid_items })
}

/// Answers a call as a table.
pub(crate) fn write<A: List>(call: &Call<'_>, sink: &mut dyn TableSink) -> Result<(), Error> {
    let mut warnings = Warnings::default();
    let params = params::<A>(call, MAX_TABLE, &mut warnings)?;
    A::list(call.ledger, &params, &mut warnings, &mut Rows::new(sink, call.cancel))
}

fn params<A: Analysis>(call: &Call<'_>, max_rows: u32, warnings: &mut Warnings) -> Result<A::Params, Error> {
    if let Some(field) = refused_field(call.request.request(), A::REFUSED) {
        let message = format!("{field}: there is no such choice here, leave it out");
        return Err(Error::invalid(Reason::UnknownField, field, message));
    }
    let request = decode::<A::Request>(call.request.request(), call.method, warnings)?;
    let filter_hash = call.request.filter_hash();
    let Call { ledger, given, intelligence, .. } = *call;
    A::params(request, &mut Checks { ledger, warnings, filter_hash, max_rows, given, intelligence })
}

/// The place of the first field that is refused: in the request, or in an item of one of its lists.
fn refused_field(request: &Value, refused: &[&str]) -> Option<String> {
    let in_object = |object: &Value| refused.iter().find(|field| object.get(**field).is_some()).copied();
    if refused.is_empty() {
        return None;
    }
    if let Some(field) = in_object(request) {
        return Some(field.to_owned());
    }
    let mut lists = request.as_object()?.iter().filter_map(|(name, value)| Some((name, value.as_array()?)));
    lists.find_map(|(name, items)| {
        let mut items = items.iter().enumerate();
        items.find_map(|(index, item)| Some(format!("{name}[{index}].{}", in_object(item)?)))
    })
}

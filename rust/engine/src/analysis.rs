//! The shape of every analysis, and how a call goes through one.

use headwater_ledger::{Cancel, Ledger};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::pricing::Pricing;
use crate::report::Reported;
use crate::request::{Checks, Warnings};
use crate::{Endpoint, Error, Pagination, QueryMeta, Warning};

/// One analysis: request, parameters, report.
pub trait Analysis {
    /// The endpoint that answers with it.
    const ENDPOINT: &'static Endpoint;

    /// The request as a client writes it.
    type Request: DeserializeOwned + ToSchema;
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

    /// Whether an answer may be given again to whoever asks the same of the same data.
    #[must_use]
    fn is_kept(_: &Self::Report) -> bool {
        true
    }

    /// Items of a report that are paid for, where [`Analysis::PRICING`] is per item.
    #[must_use]
    fn paid_items(_: &Self::Report) -> u32 {
        0
    }

    /// Returns the `data.meta` of a report, which must be its last field. The engine sets the duration of the query, and
    /// caches answers that have one.
    #[must_use]
    fn meta(_: &mut Self::Report) -> Option<&mut QueryMeta> {
        None
    }
}

/// An answer before it has a form.
pub(crate) struct Made {
    pub report: Box<dyn Reported>,
    pub pagination: Option<Pagination>,
    pub warnings: Vec<Warning>,
    /// Symbols that are valued by the peg.
    pub pegged: Vec<String>,
    pub meta: Option<QueryMeta>,
    pub is_kept: bool,
    /// Items that are paid for; `None` where the call is.
    pub paid_items: Option<u32>,
}

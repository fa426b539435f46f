//! Data endpoints, and the calls of them. Each file of [`crate::endpoints`] has one constant of the type [`Endpoint`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use headwater_ledger::{Cancel, Ledger};
use serde_json::Value;

pub(crate) use crate::chain_scope::is_every_evm_chain;
pub use crate::chain_scope::{ChainScope, ChainsRead, ListedChains, Reads};
use crate::columns::Column;
use crate::cost_class::CostClass;
use crate::description::Description;
use crate::method::Method;
use crate::pricing::Pricing;
use crate::request::{Arguments, CanonicalText, ListSize, Warnings};
use crate::table::TableSink;
use crate::{Answer, Error, Intelligence};

/// One data endpoint: HTTP routes, plan checks, `OpenAPI`, `headwater query`, Python and the documentation follow from it.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint {
    /// The name of `headwater query`: the path without its version and parameters.
    pub name: &'static str,
    /// The HTTP path; `{hash}` and the like are parameters of the request.
    pub path: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// Another method that takes the same request.
    pub alternative: Option<Alternative>,
    /// Rate limits and deadline.
    pub class: CostClass,
    /// Credits per successful call, or per item that succeeded ([`Endpoint::pricing`]).
    pub cost: u32,
    /// The group in the documentation.
    pub tag: Tag,
    /// A few words.
    pub summary: &'static str,
    /// One or two sentences of Markdown.
    pub description: &'static str,
    /// The chains that a call reads, which a plan may leave out.
    pub chains: ChainScope,
    /// The data that an answer depends on.
    pub reads: Reads,
    /// The field of the report whose records are the rows of its table; `None` where the report is the only row.
    pub rows: Option<&'static str>,
    /// The columns that tables for people begin with, most important first. Empty where an interface makes rows of its own.
    pub first: &'static [&'static str],
    /// Requests that the documentation shows.
    pub example: Example,
    /// Request, report and columns.
    pub calls: Calls,
}

/// A second method of an endpoint, with its own words in the documentation.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The method.
    pub method: Method,
    /// A few words.
    pub summary: &'static str,
    /// One or two sentences of Markdown.
    pub description: &'static str,
}

/// A group of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Chains, tokens and prices.
    Market,
    /// Movements, balances and counterparties.
    OnChain,
    /// Labels, and what is concluded from them.
    Intelligence,
    /// Addresses as text.
    Addresses,
}

impl Tag {
    /// Every group, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Market, Self::OnChain, Self::Intelligence, Self::Addresses];

    /// Its heading.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Market => "Assets and market data",
            Self::OnChain => "On-chain data",
            Self::Intelligence => "Risk and intelligence",
            Self::Addresses => "Address utilities",
        }
    }
}

/// The requests that the documentation shows. They are asked of a small ledger with accounts of the demo economy, so they
/// find something in both.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// A request that succeeds.
    pub request: fn() -> Value,
    /// A field and its value with which the request is refused.
    pub refused: Option<(&'static str, &'static str)>,
    /// A request for something that does not exist.
    pub missing: Option<fn() -> Value>,
}

impl Example {
    /// A request that succeeds, and is refused with another value in a field.
    #[must_use]
    pub const fn new(request: fn() -> Value, refused: (&'static str, &'static str)) -> Self {
        Self { request, refused: Some(refused), missing: None }
    }
}

/// The rows of an endpoint's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRows {
    /// The field of the report that is the list of rows; `None` where the report itself is the only row.
    pub field: Option<&'static str>,
    /// Their columns.
    pub columns: Vec<Column>,
}

/// The functions of an endpoint's analysis, whatever its types.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    pub(crate) check: fn(&Call<'_>, u32) -> Result<(), Error>,
    pub(crate) query: fn(&Endpoint, Arguments) -> Query,
    pub(crate) answer: fn(&Call<'_>) -> Result<Answer, Error>,
    pub(crate) pricing: Pricing,
    pub(crate) describe: fn() -> Description,
    pub(crate) report_columns: fn(Option<&str>) -> Vec<Column>,
    pub(crate) report_fields: fn() -> Vec<Column>,
    pub(crate) list: Option<ListCalls>,
}

/// The functions of an endpoint whose answer is a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListCalls {
    pub columns: fn() -> Vec<Column>,
    pub write: fn(&Call<'_>, &mut dyn TableSink) -> Result<(), Error>,
}

impl Endpoint {
    /// Its methods, each with summary and description.
    pub fn methods(&self) -> impl Iterator<Item = (Method, &'static str, &'static str)> {
        let alternative = self.alternative.map(|other| (other.method, other.summary, other.description));
        std::iter::once((self.method, self.summary, self.description)).chain(alternative)
    }

    /// The columns of its answer as a table; `None` where it is not a list.
    #[must_use]
    pub fn columns(&self) -> Option<Vec<Column>> {
        self.calls.list.map(|list| (list.columns)())
    }

    /// The rows of its report and their columns.
    #[must_use]
    pub fn report_rows(&self) -> ReportRows {
        ReportRows { field: self.rows, columns: (self.calls.report_columns)(self.rows) }
    }

    /// The fields of its report as columns.
    #[must_use]
    pub fn report_columns(&self) -> Vec<Column> {
        (self.calls.report_fields)()
    }

    /// What its credits pay for.
    #[must_use]
    pub const fn pricing(&self) -> Pricing {
        self.calls.pricing
    }

    /// Decodes the arguments of a call.
    #[must_use]
    pub fn query(&self, arguments: impl Into<Arguments>) -> Query {
        (self.calls.query)(self, arguments.into())
    }

    /// What a success costs, in credits; `paid_items` is that of its [`crate::Answer`] or [`crate::TableHead`].
    #[must_use]
    pub fn credits(&self, paid_items: Option<u32>) -> u32 {
        self.pricing().credits(self.cost, paid_items)
    }

    /// Checks a call that may ask for so many rows.
    pub(crate) fn check(&self, call: &Call<'_>, max_rows: u32) -> Result<(), Error> {
        (self.calls.check)(call, max_rows)
    }

    /// Answers a call.
    pub(crate) fn answer(&self, call: &Call<'_>) -> Result<Answer, Error> {
        (self.calls.answer)(call)
    }

    /// Answers a call as a table; `None` where the answer is not a list.
    pub(crate) fn write(&self, call: &Call<'_>, sink: &mut dyn TableSink) -> Option<Result<(), Error>> {
        self.calls.list.map(|list| (list.write)(call, sink))
    }

    /// Request and answer, for the documentation.
    #[must_use]
    pub fn describe(&self) -> Description {
        (self.calls.describe)()
    }
}

/// A call of an endpoint, decoded. Cheap to share; it depends on no data, so it can be asked of any generation.
pub struct Query {
    pub(crate) endpoint: Endpoint,
    pub(crate) canonical: CanonicalText,
    /// The chains that the call reads.
    pub(crate) chains: ChainsRead,
    /// The chains of which one has to be held.
    pub(crate) subject: ChainsRead,
    /// The generation that its cursor names.
    pub(crate) generation: Result<Option<u64>, Error>,
    /// Items that are paid for, where the price is per item.
    pub(crate) items: Option<u32>,
    pub(crate) request: Result<Box<dyn Any + Send + Sync>, Error>,
    pub(crate) warnings: Warnings,
}

impl Query {
    /// The endpoint that is called.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Endpoint, filters and paging as one text. Equal texts mean equal answers from the same data.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        self.canonical.shared()
    }

    /// The chains that the call reads.
    #[must_use]
    pub const fn chains(&self) -> &ChainsRead {
        &self.chains
    }

    /// The chains of which one has to be held.
    pub(crate) const fn subject(&self) -> &ChainsRead {
        &self.subject
    }

    /// The generation that its cursor names; `None` for the newest.
    ///
    /// # Errors
    /// `invalid_value` when it has a cursor that is not valid.
    pub fn generation(&self) -> Result<Option<u64>, Error> {
        self.generation.as_ref().copied().map_err(Error::repeated)
    }

    /// The most that the call can cost, in credits.
    #[must_use]
    pub fn max_credits(&self) -> u32 {
        self.endpoint.credits(self.items)
    }

    pub(crate) fn filter_hash(&self) -> u64 {
        self.canonical.filter_hash()
    }

    /// The request, with the warnings of decoding it.
    ///
    /// # Errors
    /// The fault of the arguments.
    pub(crate) fn request<R: Clone + 'static>(&self, warnings: &mut Warnings) -> Result<R, Error> {
        warnings.clone_from(&self.warnings);
        let request = self.request.as_ref().map_err(Error::repeated)?;
        Ok(request.downcast_ref::<R>().expect("a query is decoded for its own endpoint").clone())
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Query").field(&self.canonical.text()).finish()
    }
}

/// Milliseconds since any fixed moment.
pub type Clock = fn() -> u64;

/// A query and all that it is answered from.
pub(crate) struct Call<'a> {
    pub query: &'a Query,
    pub ledger: &'a dyn Ledger,
    pub list_size: ListSize,
    pub clock: Option<Clock>,
    pub intelligence: &'a Intelligence,
    pub cancel: &'a Cancel,
}

impl Call<'_> {
    pub fn now_ms(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }
}

//! What is said of a data endpoint. One constant of this type stands in each file of [`crate::endpoints`].

use headwater_types::{Chain, Family};
use serde_json::Value;

use crate::analysis::{Analysis, Made};
use crate::call::{self, Call};
use crate::columns::{Column, columns_of_report};
use crate::cost_class::CostClass;
use crate::description::{Description, describe};
use crate::method::Method;
use crate::pricing::Pricing;
use crate::table::{List, TableSink};
use crate::{Error, ReportRows};

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

/// The chains that a call reads. Every endpoint states its scope, so the chains of a plan hold for new endpoints too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainScope {
    /// Nothing that belongs to a chain of a plan: prices, the list of chains.
    Unscoped,
    /// The chain that a required field names.
    Named(&'static str),
    /// The chain that a required field names; with `evm`, every EVM chain.
    NamedOrEvm(&'static str),
    /// The same of each item of a list: the list, and the field of its items.
    EachNamedOrEvm(&'static str, &'static str),
    /// The chain that a field names; without it, any chain.
    NamedOrAny(&'static str),
    /// The chain that a field names; without it, this one.
    NamedOr(&'static str, Chain),
    /// The chain that a field names, one of these; without it, the first of them.
    OneOf(&'static str, &'static [Chain]),
    /// This one: the request names none.
    Always(Chain),
    /// The chain that a required field names, and those of a list inside an object; without the list, any chain.
    NamedAndListed(&'static str, ListedChains),
}

/// A list of chains inside an object of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedChains {
    /// The object.
    pub object: &'static str,
    /// Its field.
    pub field: &'static str,
    /// Both as errors name them.
    pub name: &'static str,
}

/// The chains of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainsRead {
    /// None that a plan could leave out.
    None,
    /// This one.
    One(Chain),
    /// These.
    Several(Vec<Chain>),
    /// Any; a caller whose plan leaves out chains has to name one in this field.
    Any(&'static str),
    /// The request names no valid chain: the analysis refuses it.
    Invalid,
}

impl ChainScope {
    /// The chains that a call with this request reads.
    ///
    /// ```
    /// use headwater_engine::{ChainScope, ChainsRead};
    /// use headwater_types::Chain;
    /// use serde_json::json;
    ///
    /// let scope = ChainScope::NamedOrAny("chain");
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::One(Chain::ETHEREUM));
    /// assert_eq!(scope.of(&json!({"chain": null})), ChainsRead::Any("chain"));
    /// assert_eq!(scope.of(&json!({"chain": "solana"})), ChainsRead::Invalid);
    ///
    /// let scope = ChainScope::NamedOrEvm("chain");
    /// assert_eq!(scope.of(&json!({"chain": "evm"})), ChainsRead::Several(vec![Chain::BSC, Chain::ETHEREUM]));
    ///
    /// let scope = ChainScope::EachNamedOrEvm("queries", "chain");
    /// let request = json!({"queries": [{"chain": "trx"}, {"chain": "solana"}, {"chain": "eth"}, {}]});
    /// assert_eq!(scope.of(&request), ChainsRead::Several(vec![Chain::TRON, Chain::ETHEREUM]));
    ///
    /// let scope = ChainScope::OneOf("chain", &[Chain::TRON, Chain::BITCOIN]);
    /// assert_eq!(scope.of(&json!({})), ChainsRead::One(Chain::TRON));
    /// assert_eq!(scope.of(&json!({"chain": "btc"})), ChainsRead::One(Chain::BITCOIN));
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::Invalid);
    ///
    /// let list = headwater_engine::ListedChains { object: "more", field: "chains", name: "more.chains" };
    /// let scope = ChainScope::NamedAndListed("chain", list);
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::Any("more.chains"));
    /// let request = json!({"chain": "eth", "more": {"chains": ["tron"]}});
    /// assert_eq!(scope.of(&request), ChainsRead::Several(vec![Chain::ETHEREUM, Chain::TRON]));
    ///
    /// assert_eq!(ChainScope::Always(Chain::BITCOIN).of(&json!({})), ChainsRead::One(Chain::BITCOIN));
    /// ```
    #[must_use]
    pub fn of(self, request: &Value) -> ChainsRead {
        let (field, otherwise) = match self {
            Self::Unscoped => return ChainsRead::None,
            Self::NamedOrEvm(field) => return named_or_evm(request, field).unwrap_or(ChainsRead::Invalid),
            Self::EachNamedOrEvm(list, field) => return each_named_or_evm(request, list, field),
            Self::Always(chain) => return ChainsRead::One(chain),
            Self::NamedAndListed(field, list) => return named_and_listed(request, field, list),
            Self::Named(field) => (field, ChainsRead::Invalid),
            Self::NamedOrAny(field) => (field, ChainsRead::Any(field)),
            Self::NamedOr(field, chain) => (field, ChainsRead::One(chain)),
            Self::OneOf(field, chains) => {
                (field, chains.first().map_or(ChainsRead::Invalid, |one| ChainsRead::One(*one)))
            }
        };
        match request.get(field) {
            None | Some(Value::Null) => otherwise,
            Some(value) => {
                let named = value.as_str().and_then(|name| name.parse().ok());
                named.filter(|chain| self.contains(*chain)).map_or(ChainsRead::Invalid, ChainsRead::One)
            }
        }
    }

    /// Whether a call can be about a chain.
    #[must_use]
    pub fn contains(self, chain: Chain) -> bool {
        match self {
            Self::OneOf(_, chains) => chains.contains(&chain),
            Self::Always(only) => only == chain,
            Self::Unscoped
            | Self::Named(_)
            | Self::NamedOrEvm(_)
            | Self::EachNamedOrEvm(..)
            | Self::NamedOrAny(_)
            | Self::NamedOr(..)
            | Self::NamedAndListed(..) => true,
        }
    }
}

/// The chains that a field of an object names; `None` where it names none.
fn named_or_evm(object: &Value, field: &str) -> Option<ChainsRead> {
    let name = object.get(field)?.as_str()?;
    if is_every_evm_chain(name) {
        let chains = Chain::all().filter(|chain| chain.family() == Family::Evm);
        return Some(ChainsRead::Several(chains.collect()));
    }
    name.parse().ok().map(ChainsRead::One)
}

/// The same of all items of a list. One that names none is refused by the analysis.
fn each_named_or_evm(request: &Value, list: &str, field: &str) -> ChainsRead {
    let Some(items) = request.get(list).and_then(Value::as_array) else { return ChainsRead::Invalid };
    let mut chains = Vec::new();
    for read in items.iter().filter_map(|item| named_or_evm(item, field)) {
        match read {
            ChainsRead::One(chain) => chains.push(chain),
            ChainsRead::Several(several) => chains.extend(several),
            ChainsRead::None | ChainsRead::Any(_) | ChainsRead::Invalid => {}
        }
    }
    ChainsRead::Several(chains)
}

fn named_and_listed(request: &Value, field: &str, list: ListedChains) -> ChainsRead {
    let chain = |name: &Value| name.as_str().and_then(|name| name.parse().ok());
    let Some(named) = request.get(field).and_then(chain) else { return ChainsRead::Invalid };
    match request.get(list.object).and_then(|object| object.get(list.field)) {
        None | Some(Value::Null) => ChainsRead::Any(list.name),
        Some(listed) => {
            let listed = listed.as_array().into_iter().flatten().filter_map(chain);
            ChainsRead::Several(std::iter::once(named).chain(listed).collect())
        }
    }
}

/// Whether a text means the account of an address on every EVM chain.
pub(crate) fn is_every_evm_chain(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("evm")
}

/// The data that an answer depends on, for the support of each chain in `GET /v1/chains`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Movements: complete as far as the chain's data is. The report calls `completeness::warn`, so that an answer from
    /// partial data carries its warning.
    Movements,
    /// Registries, prices and addresses: complete in themselves.
    Market,
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

/// The functions of an endpoint's analysis, whatever its types.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    check: fn(&Call<'_>, u32) -> Result<(), Error>,
    run: fn(&Call<'_>) -> Result<Made, Error>,
    pricing: Pricing,
    describe: fn() -> Description,
    report_columns: fn(Option<&str>) -> Vec<Column>,
    list: Option<ListCalls>,
}

#[derive(Debug, Clone, Copy)]
struct ListCalls {
    columns: fn() -> Vec<Column>,
    write: fn(&Call<'_>, &mut dyn TableSink) -> Result<(), Error>,
}

impl Calls {
    /// Those of an analysis.
    #[must_use]
    pub const fn of<A: Analysis>() -> Self {
        Self {
            check: call::check::<A>,
            run: call::run::<A>,
            pricing: A::PRICING,
            describe: describe::<A>,
            report_columns: columns_of_report::<A::Report>,
            list: None,
        }
    }

    /// Those of an analysis whose answer is a list, which may be had as a table.
    #[must_use]
    pub const fn list<A: List>() -> Self {
        let list = ListCalls { columns: A::columns, write: call::write::<A> };
        Self { list: Some(list), ..Self::of::<A>() }
    }
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

    /// What its credits pay for.
    #[must_use]
    pub const fn pricing(&self) -> Pricing {
        self.calls.pricing
    }

    /// The most that a call with this request can cost, in credits.
    #[must_use]
    pub fn max_credits(&self, request: &Value) -> u32 {
        let pricing = self.pricing();
        pricing.credits(self.cost, pricing.items(request))
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
    pub(crate) fn run(&self, call: &Call<'_>) -> Result<Made, Error> {
        (self.calls.run)(call)
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

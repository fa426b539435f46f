//! One file per analysis, and the table that finds it by the name of its endpoint.
//!
//! An analysis is the same four things everywhere: a `...Request` as a client writes it (its documentation is the
//! documentation of the endpoint), checked parameters, a function from ledger and parameters to a `...Report`, and
//! tests. To add one: a file here, a line in `ENTRIES`, a line in [`crate::ENDPOINTS`].

mod address_autocomplete;
mod address_resolve;
mod assets;
mod chains;
mod counterparty;
mod overview;
mod rates;
mod registry;
mod resolve;
mod transaction;
mod transactions;
mod transfer_between;
mod wallet_overview;

use headwater_ledger::{Cancel, Ledger};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::request::{Checks, Warnings, decode, fingerprint};
use crate::rows::SOMETIMES_ABSENT;
use crate::{Answer, Endpoint, Error, ErrorKind};

pub use address_autocomplete::{
    AddressAutocomplete, AddressAutocompleteParams, AddressAutocompleteReport, AddressAutocompleteRequest,
};
pub use address_resolve::{
    AddressCandidate, AddressResolve, AddressResolveParams, AddressResolveReport, AddressResolveRequest,
};
pub use assets::{Assets, AssetsParams, AssetsReport, AssetsRequest};
pub use chains::{ChainEntry, Chains, ChainsParams, ChainsReport, ChainsRequest};
pub use counterparty::{
    BelowCutoff, Counterparty, CounterpartyParams, CounterpartyReport, CounterpartyRequest, CounterpartyRow,
};
pub use overview::{
    CounterpartyOverview, CounterpartyOverviewParams, CounterpartyOverviewReport, CounterpartyOverviewRequest,
    SymbolSum, TransferSum,
};
pub use rates::{Rate, Rates, RatesParams, RatesReport, RatesRequest};
pub use registry::{RegistryParams, RegistryReport, RegistryRequest, TokenEntry, WholeRegistry};
pub use resolve::{Resolve, ResolveParams, ResolveReport, ResolveRequest, ResolvedAsset, Unresolved};
pub use transaction::{Gas, Log, TransactionDetail, TransactionParams, TransactionReport, TransactionRequest, Utxo};
pub use transactions::{Transactions, TransactionsParams, TransactionsReport, TransactionsRequest};
pub use transfer_between::{TransferBetween, TransferBetweenParams, TransferBetweenReport, TransferBetweenRequest};
pub use wallet_overview::{
    AsOf, AssetOverview, FirstFunder, WalletOverview, WalletOverviewParams, WalletOverviewReport, WalletOverviewRequest,
};

/// One analysis: request, parameters, report.
pub trait Analysis {
    /// The request as a client writes it.
    type Request: DeserializeOwned + ToSchema;
    /// What is left after checking.
    type Params;
    /// The `data` of the answer.
    type Report: Serialize + ToSchema;

    /// Checks a request: the only validation there is.
    ///
    /// # Errors
    /// An invalid input that names field and value.
    fn params(request: Self::Request, checks: &mut Checks<'_>) -> Result<Self::Params, Error>;

    /// Answers: depends on nothing but ledger and parameters.
    ///
    /// # Errors
    /// When the ledger cannot be read, the work was cancelled, or what was asked for is not there.
    fn report(
        ledger: &dyn Ledger,
        params: &Self::Params,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Self::Report, Error>;
}

/// One call on its way to an analysis.
pub(crate) struct Call<'a> {
    pub endpoint: &'a Endpoint,
    pub request: &'a Value,
    pub ledger: &'a dyn Ledger,
    pub cancel: &'a Cancel,
}

/// Request and answer of an endpoint as an OpenAPI document needs them.
pub struct Description {
    /// The request: the body of a POST, or an object whose properties are the parameters of a GET.
    pub request: RefOr<Schema>,
    /// The `data` of the answer.
    pub report: RefOr<Schema>,
    /// The named schemas that both refer to, by name.
    pub components: Vec<(String, RefOr<Schema>)>,
}

/// A line of the table.
pub(crate) struct Entry {
    /// Name of the endpoint.
    pub name: &'static str,
    /// Answers a call.
    pub run: fn(&Call<'_>) -> Result<Answer, Error>,
    /// Describes request and answer.
    pub describe: fn() -> Description,
}

impl Entry {
    const fn new<A: Analysis>(name: &'static str) -> Self {
        Self { name, run: run::<A>, describe: describe::<A> }
    }
}

/// Every analysis, in the order of [`crate::ENDPOINTS`].
#[rustfmt::skip]
pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new::<Chains>("chains"),
    Entry::new::<WholeRegistry>("registry"),
    Entry::new::<Assets>("assets"),
    Entry::new::<Resolve>("resolve"),
    Entry::new::<Rates>("rates"),
    Entry::new::<Transactions>("transactions"),
    Entry::new::<TransactionDetail>("transaction"),
    Entry::new::<Counterparty>("counterparty"),
    Entry::new::<TransferBetween>("counterparty/transfer-between"),
    Entry::new::<CounterpartyOverview>("counterparty/overview"),
    Entry::new::<WalletOverview>("wallet-overview"),
    Entry::new::<AddressResolve>("addresses/resolve"),
    Entry::new::<AddressAutocomplete>("addresses/autocomplete"),
];

/// Finds the analysis of an endpoint.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

fn run<A: Analysis>(call: &Call<'_>) -> Result<Answer, Error> {
    let mut warnings = Warnings::default();
    let request = decode::<A::Request>(call.request, call.endpoint.method, &mut warnings)?;
    let fingerprint = fingerprint(call.endpoint.name, call.request);
    let params = A::params(request, &mut Checks { ledger: call.ledger, warnings: &mut warnings, fingerprint })?;
    let report = A::report(call.ledger, &params, &mut warnings, call.cancel)?;
    let data = serde_json::to_string(&report).map_err(|error| {
        Error::new(ErrorKind::Internal, format!("the answer of {} is no JSON: {error}", call.endpoint.name))
    })?;
    Ok(Answer { data, pagination: None, warnings: warnings.into_list() })
}

fn describe<A: Analysis>() -> Description {
    let mut components = Vec::new();
    A::Report::schemas(&mut components);
    let mut report = A::Report::schema();
    for (_, schema) in &mut components {
        promise(schema);
    }
    promise(&mut report);
    A::Request::schemas(&mut components);
    components.sort_by(|one, other| one.0.cmp(&other.0));
    components.dedup_by(|one, other| one.0 == other.0);
    Description { request: A::Request::schema(), report, components }
}

/// Says of the fields of an answer that they are there: one without a value is null, not left out.
fn promise(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let names = object.properties.keys();
            object.required = names.filter(|name| !SOMETIMES_ABSENT.contains(&name.as_str())).cloned().collect();
        }
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().for_each(promise),
        RefOr::T(Schema::OneOf(choices)) => choices.items.iter_mut().for_each(promise),
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

/// Says that a field waits for labels.
fn labels_not_built(warnings: &mut Warnings, field: &str) {
    warnings.add("not_built", Some(field), format!("{field} is empty: address labels are not built yet"));
}

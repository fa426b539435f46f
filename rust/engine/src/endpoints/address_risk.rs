//! How risky it is to deal with an address, and why.

use headwater_intel::bitcoin::links::LinkBudget;
use headwater_intel::risk::{Detail, RiskScope, judged_chain};
use headwater_ledger::labels::Scope;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, TimeWindow};
use serde::Deserialize;
use serde_json::json;

use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag, is_every_evm_chain};
use crate::example::BOB;
use crate::fields::{AddressText, form};
use crate::labels;
use crate::method::Method;
use crate::request::{Checks, ThirdParty, Warnings};
use crate::risk::{RiskReport, report};
use crate::{Error, Intelligence, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "address-risk",
    path: "/v1/address-risk",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Address risk",
    description: "A score of 0 to 100 with everything it is made of: who the address is (labels), what it did (behaviours) and \
                  whom it deals with (counterparties). Read `meta.assessment` first: where it is `insufficient` there is not \
                  enough data to judge. The score orders addresses by the evidence that is held: a low score says that \
                  little is known against an address, not that it is clean.",
    chains: ChainScope::NamedOrEvm("blockchain"),
    reads: Reads::Movements,
    rows: None,
    first: &[],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": BOB}), ("blockchain", "solana")),
    calls: Calls::of::<AddressRisk>(),
};

form! {
    /// A chain, or `evm`.
    ChainOrEvm(String => str): json!({
        "type": "string", "enum": Chain::all().map(Chain::name).chain(["evm"]).collect::<Vec<_>>()
    });
}

/// `POST /v1/address-risk`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressRiskRequest {
    /// Chain; `evm` takes the address as one account on every EVM chain and judges its labels alone. Behaviours and
    /// counterparties are judged on `ethereum` and `tron`.
    #[schema(example = "ethereum")]
    blockchain: ChainOrEvm,
    /// The address asked about.
    #[schema(example = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221")]
    address: AddressText,
    /// Whether a provider outside may be asked for further claims, where one is configured: `auto` where they could change
    /// the verdict, `force` always, `off` never.
    #[schema(default = "auto")]
    third_party: Option<ThirdParty>,
}

/// Checked parameters of a risk.
#[derive(Debug)]
pub struct AddressRiskParams {
    chains: Scope,
    address: Address,
    third_party: ThirdParty,
    intelligence: Intelligence,
}

/// The risk of an address.
pub struct AddressRisk;

impl Analysis for AddressRisk {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressRiskRequest;
    type Params = AddressRiskParams;
    type Report = RiskReport;
    const IS_VALUED: bool = true;
    const JUDGES_BY_LABELS: bool = true;

    fn params(request: AddressRiskRequest, checks: &mut Checks<'_>) -> Result<AddressRiskParams, Error> {
        let chains = risk_chains(checks, "blockchain", &request.blockchain)?;
        Ok(AddressRiskParams {
            chains,
            address: checks.address(chains.address_chain(), "address", &request.address)?,
            third_party: request.third_party.unwrap_or(ThirdParty::Auto),
            intelligence: checks.intelligence.clone(),
        })
    }

    fn asks_elsewhere(params: &AddressRiskParams) -> bool {
        has_provider(&params.intelligence, params.third_party)
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressRiskParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<RiskReport, Error> {
        let AddressRiskParams { chains, address, third_party, intelligence } = params;
        labels::warn(ledger, warnings);
        warn_incomplete(ledger, *chains, warnings);
        let links = LinkBudget::default();
        let present = RiskScope::present(ledger, intelligence, *chains, cancel);
        let scope = RiskScope { provider: (*third_party).into(), detail: Detail::Explained(&links), ..present };
        report(scope, address, warnings)
    }

    /// Returns false with claims of a provider, which may be others the next time.
    fn is_repeatable(report: &RiskReport) -> bool {
        !report.meta.third_party_used
    }
}

/// Returns the chain that a request names, or every EVM chain.
pub(super) fn risk_chains(checks: &Checks<'_>, field: &str, text: &str) -> Result<Scope, Error> {
    if is_every_evm_chain(text) {
        return Ok(Scope::Evm);
    }
    match checks.chain(field, text) {
        Ok(chain) => Ok(Scope::Chain(chain)),
        Err(error) if error.kind == crate::ErrorKind::InvalidInput(Reason::UnsupportedChain) => {
            Err(Error { message: format!("{}, or evm", error.message), ..error })
        }
        Err(error) => Err(error),
    }
}

/// Returns true if a provider outside may be asked for claims.
pub(super) fn has_provider(intelligence: &Intelligence, third_party: ThirdParty) -> bool {
    intelligence.provider.is_some() && third_party != ThirdParty::Off
}

/// Warns of missing data of a chain whose behaviours are judged.
pub(super) fn warn_incomplete(ledger: &dyn Ledger, chains: Scope, warnings: &mut Warnings) {
    if let Some(chain) = judged_chain(chains) {
        coverage::warn(ledger, chain, TimeWindow::ALL, warnings);
    }
}

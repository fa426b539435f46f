//! The class of addresses by what they do: an exchange, a deposit address, a mixer.

use std::collections::BTreeMap;

use headwater_intel::classify::{Classifier, Contribution, Model, Verdict};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::features::BaseGather;
use headwater_types::{Address, Chain, Family, TimeWindow};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::address_risk_batch::of_item;
use crate::analysis::{Analysis, List};
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, BOB};
use crate::fields::{AddressList, AddressText, ChainName, OptIn, form};
use crate::limits::MAX_ITEMS;
use crate::method::Method;
use crate::request::{Checks, Warnings, at_most, refused};
use crate::table::{Rows, TableHead};
use crate::{Error, Intelligence, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "address-classify",
    path: "/v1/address-classify",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Address classification",
    description: "The class of each of 1 to 100 addresses, such as `Exchange` or `Deposit`, predicted from its transfers alone, \
                  without labels. An address that cannot be classified has an `error`, no class and a confidence of 0: check \
                  each item.",
    chains: ChainScope::OneOf("blockchain", CHAINS),
    reads: Reads::Movements,
    rows: Some("results"),
    first: &["address", "predicted_class", "confidence", "error"],
    example: Example::new(
        || json!({"blockchain": "ethereum", "addresses": [ALICE, BOB], "explain": true}),
        ("blockchain", "solana"),
    ),
    calls: Calls::list::<AddressClassify>(),
};

/// The chains whose addresses can be classified, that of requests without one first.
const CHAINS: &[Chain] = &[Chain::TRON, Chain::ETHEREUM, Chain::BITCOIN];

/// Features that an explanation names.
const EXPLAINED_FEATURES: usize = 10;

form! {
    /// A chain whose addresses can be classified, tron unless named.
    ChainOrTron(String => str): json!({
        "type": "string", "enum": CHAINS.iter().map(|chain| chain.name()).collect::<Vec<_>>(), "default": CHAINS[0].name()
    });
}

/// `POST /v1/address-classify`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressClassifyRequest {
    /// 1 to 100 addresses of the chain. One of another chain refuses the whole request.
    #[schema(example = json!(["0xe5bb8785e58bcc17f15028ad186197b7b42c3221"]))]
    addresses: AddressList,
    /// Chain: `tron` when omitted, `ethereum` or `bitcoin`.
    #[schema(example = "ethereum")]
    blockchain: Option<ChainOrTron>,
    /// Name the ten features that count most for the class.
    explain: Option<OptIn>,
}

/// Checked parameters of a classification.
#[derive(Debug)]
pub struct AddressClassifyParams {
    chain: Chain,
    /// Each as it was written, and as it is.
    addresses: Vec<(String, Address)>,
    explain: bool,
    intelligence: Intelligence,
}

/// The classes of addresses.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressClassifyReport {
    /// One for each address of the request, in its order.
    pub results: Vec<AddressClassification>,
    /// What classified them; null where there is no classifier of the chain yet.
    pub model: Option<ClassModel>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
}

/// The class of one address, or its error.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressClassification {
    /// The address as it was asked.
    pub address: AddressText,
    /// Chain.
    pub blockchain: ChainName,
    /// The class; null with an error. Further classes may come with a new model: take it as an open text.
    pub predicted_class: Option<String>,
    /// How probable the class is, 0 to 1; 0 with an error. It is no measure of risk.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The probability of each class of the model; null with an error.
    pub probabilities: Option<BTreeMap<String, f64>>,
    /// The class that `contributions` are about: the predicted one, or the most probable one where the model has no class
    /// `Unknown` and that is predicted for want of data. Null without `explain`, and with an error.
    pub explained_class: Option<String>,
    /// The ten features that count most for or against that class, the strongest first; null without `explain`, and with an
    /// error.
    pub contributions: Option<Vec<FeatureContribution>>,
    /// Why the address could not be classified; null where it was.
    pub error: Option<String>,
}

/// What one feature counts for a class.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct FeatureContribution {
    /// The name of the feature.
    pub feature: &'static str,
    /// Its value for the address; null where it has none.
    pub value: Option<f64>,
    /// What it adds to the score of the class, in log-odds before calibration; below 0 it speaks against the class.
    pub contribution: f64,
}

/// The model that classified addresses.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ClassModel {
    /// Its name.
    pub version: String,
    /// A hash of its file.
    pub digest: String,
    /// Classes that it learnt from simulated addresses, for want of real ones.
    pub simulated_classes: Vec<String>,
}

/// The class of addresses.
pub struct AddressClassify;

impl Analysis for AddressClassify {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressClassifyRequest;
    type Params = AddressClassifyParams;
    type Report = AddressClassifyReport;

    fn params(request: AddressClassifyRequest, checks: &mut Checks<'_>) -> Result<AddressClassifyParams, Error> {
        let AddressClassifyRequest { addresses: AddressList(addresses), blockchain, explain } = request;
        let named = blockchain.map(|name| chain(&name)).transpose()?;
        let chain = named.unwrap_or(CHAINS[0]);
        if addresses.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "addresses", "addresses: name at least one address"));
        }
        at_most("addresses", &addresses, MAX_ITEMS)?;
        let checked = |(index, text): (usize, String)| {
            let field = format!("addresses[{index}]");
            if named.is_none() {
                check_default(checks, &field, &text)?;
            }
            let address = checks.address(chain, &field, &text)?;
            Ok((text, address))
        };
        let addresses = addresses.into_iter().enumerate().map(checked).collect::<Result<_, Error>>()?;
        let (explain, intelligence) = (OptIn::is_taken(explain), checks.intelligence.clone());
        Ok(AddressClassifyParams { chain, addresses, explain, intelligence })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressClassifyParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<AddressClassifyReport, Error> {
        let AddressClassifyParams { chain, addresses, explain, intelligence } = params;
        coverage::warn(ledger, *chain, TimeWindow::ALL, warnings);
        let as_of_block = ledger.coverage().get(chain).and_then(|coverage| coverage.last_block);
        let failed = |text: &str, error| AddressClassification::failed(text, *chain, error);
        let Some(classifier) = intelligence.classifiers.of(*chain) else {
            let error = format!("no classifier is available for {chain} yet");
            let results = addresses.iter().map(|(text, _)| failed(text, error.clone())).collect();
            return Ok(AddressClassifyReport { results, model: None, as_of_block });
        };
        let mut asked = Asked { ledger, classifier, explain: *explain, cancel, gather: BaseGather::new(*chain) };
        let mut results = Vec::with_capacity(addresses.len());
        let mut end = CorePricesEnd::new(ledger);
        for (text, address) in addresses {
            cancel.check().map_err(LedgerError::from)?;
            end.note_account(*chain, address)?;
            let classified = of_item(asked.class(text, address))?;
            results.push(classified.unwrap_or_else(|error| failed(text, error)));
        }
        end.warn(warnings);
        let model = ClassModel::of(classifier.model());
        model.warn(&results, warnings);
        Ok(AddressClassifyReport { results, model: Some(model), as_of_block })
    }
}

/// Refuses an address of another chain where the request names none. The remedy is to name the chain: the TRON form of such
/// an address is somebody else's account.
fn check_default(checks: &Checks<'_>, field: &str, text: &str) -> Result<(), Error> {
    let fits = |chain: Chain| Address::parse_on(chain, checks.network(chain), text).is_ok();
    let Some(of) = CHAINS.iter().copied().find(|chain| fits(*chain)).filter(|chain| *chain != CHAINS[0]) else {
        return Ok(());
    };
    let kind = match of.family() {
        Family::Evm => "an EVM address".to_owned(),
        Family::Tron | Family::Utxo => format!("a {} address", of.display_name()),
    };
    let why = format!(
        "{text:?} is {kind}, and blockchain is missing, which means {}; add \"blockchain\": \"{of}\"",
        CHAINS[0]
    );
    Err(refused(Reason::InvalidAddress, field, text, &why))
}

/// The chain that a request names, where its addresses can be classified.
fn chain(name: &str) -> Result<Chain, Error> {
    name.parse().ok().filter(|chain| CHAINS.contains(chain)).ok_or_else(|| {
        let names = CHAINS.iter().map(|chain| chain.name()).collect::<Vec<_>>().join(", ");
        let why = format!("addresses of {name:?} cannot be classified: use one of {names}");
        refused(Reason::UnsupportedChain, "blockchain", name, &why)
    })
}

/// What is needed for one address after the other.
struct Asked<'a> {
    ledger: &'a dyn Ledger,
    classifier: &'a Classifier,
    explain: bool,
    cancel: &'a Cancel,
    gather: BaseGather,
}

impl Asked<'_> {
    /// The class of an address, as its text was written.
    fn class(&mut self, text: &str, address: &Address) -> Result<AddressClassification, Error> {
        let Self { ledger, classifier, explain, cancel, gather } = self;
        let model = classifier.model();
        let inactive = || {
            let error = format!("no activity: no transfers of the address are held on {}", model.chain());
            AddressClassification::failed(text, model.chain(), error)
        };
        let Some(account) = ledger.account(model.chain(), address)? else { return Ok(inactive()) };
        let base = gather.read(*ledger, &account, cancel)?;
        let Some(verdict) = classifier.classify(base) else { return Ok(inactive()) };
        let explained_class = explain.then(|| explained_class(model, &verdict)).flatten();
        let explained = explained_class.and_then(|class| classifier.explain(base, class, EXPLAINED_FEATURES));
        let probabilities = model.classes().iter().cloned().zip(verdict.probabilities.iter().copied()).collect();
        Ok(AddressClassification {
            explained_class: explained_class.map(str::to_owned),
            contributions: explained.map(|all| all.into_iter().map(FeatureContribution::from).collect()),
            address: AddressText(text.to_owned()),
            blockchain: model.chain().into(),
            predicted_class: Some(verdict.class),
            confidence: verdict.confidence,
            probabilities: Some(probabilities),
            error: None,
        })
    }
}

/// The class of a verdict, or the most probable one where the model has no such class.
fn explained_class<'a>(model: &'a Model, verdict: &Verdict) -> Option<&'a str> {
    let most_probable = || {
        let probable = model.classes().iter().zip(&verdict.probabilities);
        let most = probable.reduce(|most, next| if next.1 > most.1 { next } else { most });
        most.map(|(class, _)| class)
    };
    model.classes().iter().find(|class| **class == verdict.class).or_else(most_probable).map(String::as_str)
}

impl AddressClassification {
    fn failed(text: &str, chain: Chain, error: String) -> Self {
        Self {
            address: AddressText(text.to_owned()),
            blockchain: chain.into(),
            predicted_class: None,
            confidence: 0.0,
            probabilities: None,
            explained_class: None,
            contributions: None,
            error: Some(error),
        }
    }
}

impl From<Contribution> for FeatureContribution {
    fn from(Contribution { feature, value, contribution }: Contribution) -> Self {
        Self { feature, value: value.is_finite().then_some(value), contribution }
    }
}

impl ClassModel {
    fn of(model: &Model) -> Self {
        let simulated = model.card().get("simulated_classes").and_then(Value::as_array);
        let simulated = simulated.into_iter().flatten().filter_map(Value::as_str);
        Self {
            version: model.version().to_owned(),
            digest: model.digest().to_owned(),
            simulated_classes: simulated.map(str::to_owned).collect(),
        }
    }

    /// Says of how many results the class was learnt from simulated addresses.
    fn warn(&self, results: &[AddressClassification], warnings: &mut Warnings) {
        let classes = results.iter().filter_map(|result| result.predicted_class.as_ref());
        let simulated = classes.filter(|class| self.simulated_classes.contains(class)).count();
        if simulated > 0 {
            let message =
                "the model learnt the class from simulated addresses: model.simulated_classes names such classes";
            warnings.add_counted("simulated_class", message, u64::try_from(simulated).unwrap_or(u64::MAX));
        }
    }
}

impl List for AddressClassify {
    type Row = AddressClassification;

    fn list(
        ledger: &dyn Ledger,
        params: &AddressClassifyParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        let head = TableHead { as_of_block: report.as_of_block, ..TableHead::default() };
        rows.whole(head, warnings, report.results)
    }
}

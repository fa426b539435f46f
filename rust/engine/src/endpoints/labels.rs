//! Who an address is, and who says so.

use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::behaviours::Detector;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::BOB;
use crate::fields::{AddressList, AddressText, ChainName, ChainText, CodeText, HashText, Time, TimeBound};
use crate::labels::{self, AggregateLabel, ClaimStatus, DateBasis, Inheritance, LabelSource, Labels};
use crate::limits::MAX_ITEMS;
use crate::method::Method;
use crate::request::{Checks, Warnings, at_most, refused};
use crate::table::{Rows, TableHead};
use crate::{Error, Intelligence, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "labels",
    path: "/v1/labels",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Address labels",
    description: "Who an address is, by the lists that were imported and the freezes that issuers made on chain, and what it \
                  did, by the detectors of behaviours (source `behaviour_detector`). An address without labels is one that no \
                  list names: that says nothing else of it.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Labels,
    rows: Some("sources"),
    first: &[
        "address",
        "label",
        "name",
        "entity",
        "source",
        "level",
        "claim_confidence",
        "first_seen",
        "date_basis",
        "status",
    ],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": BOB}), ("blockchain", "solana")),
    calls: Calls::list::<AddressLabels>(),
};

/// `GET /v1/labels`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct LabelsRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The address asked about.
    #[schema(example = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221")]
    address: Option<AddressText>,
    /// Several addresses in place of one, at most 100: the answer has `results` in their order.
    addresses: Option<AddressList>,
    /// Labels as they stood at this time, epoch seconds: claims made later are left out, and those that ended by then.
    /// Claims without a date count. Disputes count whenever they were made.
    as_of: Option<TimeBound>,
}

/// Checked parameters of a look-up of labels.
#[derive(Debug)]
pub struct LabelsParams {
    chain: Chain,
    addresses: Vec<Address>,
    is_batch: bool,
    as_of: Option<Timestamp>,
    intelligence: Intelligence,
}

/// The labels of the address, or of each address in order.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum LabelsReport {
    /// With `address`.
    One(LabelledAddress),
    /// With `addresses`.
    #[schema(title = "LabelledAddresses")]
    Batch {
        /// In the order of the request.
        results: Vec<LabelledAddress>,
    },
}

/// An address with its labels.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct LabelledAddress {
    /// The address, canonical.
    pub address: AddressText,
    /// Chain.
    pub blockchain: ChainName,
    /// The entity behind the address; null when none is clearly ahead.
    pub entity_name: Option<String>,
    /// Codes, most confident first; empty without intelligence.
    pub labels: Vec<CodeText>,
    /// The largest confidence of an entity or a code, 0 to 1, three decimals; 0 without intelligence.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The claims behind it, most confident first.
    pub sources: Vec<LabelSource>,
}

/// The labels of addresses.
pub struct AddressLabels;

impl Analysis for AddressLabels {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = LabelsRequest;
    type Params = LabelsParams;
    type Report = LabelsReport;
    const JUDGES_BY_LABELS: bool = true;
    const EITHER: &[[&str; 2]] = &[["address", "addresses"]];

    fn params(request: LabelsRequest, checks: &mut Checks<'_>) -> Result<LabelsParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        if let Some(time) = request.as_of {
            TimeWindow::new(None, Some(time.into()))
                .map_err(|error| refused(Reason::Milliseconds, "as_of", &time.to_string(), &error))?;
        }
        let as_of = request.as_of.map(|time| Timestamp::new(*time));
        let (addresses, is_batch) = match (&request.address, &request.addresses) {
            (Some(address), None) => (vec![checks.address(chain, "address", address)?], false),
            (None, Some(addresses)) => {
                at_most("addresses", addresses, MAX_ITEMS)?;
                let read = |(index, text): (usize, &String)| {
                    checks.address(chain, &format!("addresses[{index}]"), text.trim())
                };
                (addresses.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?, true)
            }
            (Some(_), Some(addresses)) => {
                let why = "address is given too: give one of the two";
                return Err(refused(Reason::InvalidValue, "addresses", &addresses.join(","), &why));
            }
            (None, None) => {
                let message = "address (or addresses) is required";
                return Err(Error::invalid(Reason::MissingField, "address", message));
            }
        };
        if addresses.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "addresses", "addresses: name at least one address"));
        }
        Ok(LabelsParams { chain, addresses, is_batch, as_of, intelligence: checks.intelligence.clone() })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &LabelsParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<LabelsReport, Error> {
        let mut results = params.results(ledger, warnings, cancel)?;
        Ok(match results.pop() {
            Some(one) if !params.is_batch => LabelsReport::One(one),
            last => {
                results.extend(last);
                LabelsReport::Batch { results }
            }
        })
    }
}

impl LabelsParams {
    fn results(
        &self,
        ledger: &dyn Ledger,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Vec<LabelledAddress>, Error> {
        labels::warn(ledger, warnings);
        let (intelligence, chain, as_of) = (&self.intelligence, self.chain, self.as_of);
        let detector = Detector { ledger, intelligence, chain, as_of, cancel };
        let labels = Labels::at(ledger, self.chain, self.as_of);
        let (mut undated, mut unread) = (0, 0);
        let mut results = Vec::with_capacity(self.addresses.len());
        for address in &self.addresses {
            let aggregate = labels.of(address)?;
            undated += aggregate.undated;
            let AggregateLabel { entity_name, mut labels, mut confidence, mut sources } =
                labels.record(address, &aggregate, cancel)?;
            cancel.check().map_err(LedgerError::from)?;
            match detector.labels(address)? {
                None => unread += 1,
                Some(detected) => {
                    for label in detected {
                        let code = CodeText(label.label.clone());
                        if !labels.contains(&code) {
                            labels.push(code);
                        }
                        confidence = confidence.max(label.confidence);
                        sources.push(label);
                    }
                }
            }
            let (address, blockchain) = (AddressText::from(address), self.chain.into());
            results.push(LabelledAddress { address, blockchain, entity_name, labels, confidence, sources });
        }
        if labels.is_at_a_time() && undated > 0 {
            let message = "claims without a date are counted: when they were made is not known";
            warnings.add_counted("undated_claims", message, undated);
        }
        if unread > 0 {
            let message = "addresses with very many movements are not looked through for behaviours: ask address-risk";
            warnings.add_counted("behaviours_left_out", message, unread);
        }
        Ok(results)
    }
}

/// A claim about an address, as tables show it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LabelRow {
    /// The address, canonical.
    address: AddressText,
    /// Chain.
    blockchain: ChainName,
    /// The entity behind the address.
    entity_name: Option<String>,
    /// Codes of the address.
    labels: Vec<CodeText>,
    /// Confidence of the labels of the address.
    confidence: f64,
    /// Who makes the claim; null, as all that follows, where nobody makes one.
    source: Option<String>,
    source_url: Option<String>,
    label: Option<String>,
    claim_confidence: Option<f64>,
    first_seen: Option<Time>,
    /// What `first_seen` belongs to.
    date_basis: Option<DateBasis>,
    last_seen: Option<Time>,
    public: Option<bool>,
    inherited_from: Option<Inheritance>,
    /// The address of the same cluster that the claim names.
    inherited_address: Option<AddressText>,
    /// The transactions that link the two addresses.
    inherited_transactions: Option<Vec<HashText>>,
    name: Option<String>,
    entity: Option<String>,
    level: Option<CodeText>,
    group: Option<String>,
    valid_until: Option<Time>,
    status: Option<ClaimStatus>,
    /// Who disputes the claim; null, as the two that follow, where nobody does.
    disputed_by: Option<String>,
    disputed_at: Option<Time>,
    dispute_reason: Option<String>,
    /// The list that makes the claim.
    list: Option<String>,
    /// The licence of the list; null where it is not known.
    licence: Option<String>,
}

impl LabelledAddress {
    /// One row per claim, or one without a claim.
    fn rows(self) -> Vec<LabelRow> {
        let Self { address, blockchain, entity_name, labels, confidence, sources } = self;
        let row = |claim: Option<LabelSource>| {
            let claim = claim.as_ref();
            let dispute = claim.and_then(|claim| claim.disputed.as_ref());
            LabelRow {
                address: address.clone(),
                blockchain,
                entity_name: entity_name.clone(),
                labels: labels.clone(),
                confidence,
                source: claim.map(|claim| claim.source.clone()),
                source_url: claim.and_then(|claim| claim.source_url.clone()),
                label: claim.map(|claim| claim.label.clone()),
                claim_confidence: claim.map(|claim| claim.confidence),
                first_seen: claim.and_then(|claim| claim.first_seen),
                date_basis: claim.and_then(|claim| claim.date_basis),
                last_seen: claim.and_then(|claim| claim.last_seen),
                public: claim.map(|claim| claim.public),
                inherited_from: claim.and_then(|claim| claim.inherited_from),
                inherited_address: claim.and_then(|claim| Some(claim.inherited_through.as_ref()?.address.clone())),
                inherited_transactions: claim.and_then(|claim| claim.inherited_through.as_ref()?.transactions.clone()),
                name: claim.and_then(|claim| claim.name.clone()),
                entity: claim.and_then(|claim| claim.entity.clone()),
                level: claim.map(|claim| claim.level.clone()),
                group: claim.map(|claim| claim.group.clone()),
                valid_until: claim.and_then(|claim| claim.valid_until),
                status: claim.map(|claim| claim.status),
                disputed_by: dispute.map(|dispute| dispute.by.clone()),
                disputed_at: dispute.map(|dispute| dispute.at),
                dispute_reason: dispute.map(|dispute| dispute.reason.clone()),
                list: claim.and_then(|claim| claim.list.clone()),
                licence: claim.and_then(|claim| claim.licence.clone()),
            }
        };
        if sources.is_empty() { vec![row(None)] } else { sources.into_iter().map(Some).map(row).collect() }
    }
}

impl List for AddressLabels {
    type Row = LabelRow;

    fn list(
        ledger: &dyn Ledger,
        params: &LabelsParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let results = params.results(ledger, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, results.into_iter().flat_map(LabelledAddress::rows))
    }
}

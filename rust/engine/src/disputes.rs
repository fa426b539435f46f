//! Disputes of claims, as every interface records and lists them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use headwater_intel::label::claims_of;
use headwater_ledger::labels::{ClaimSelection, Code, Dispute, DisputeAction, DisputeEntry, DisputeRequest, Link};
use headwater_ledger::read::Generations;
use headwater_ledger::store::WriterOptions;
use headwater_ledger::{Cancel, DisputeRefusal, Ledger, LedgerError, Store};
use headwater_types::address::inspect::judge;
use headwater_types::{Address, Chain, Family, Network, Timestamp};
use serde::{Deserialize, Serialize};

use crate::fields::{AddressText, CodeText, Time};
use crate::request::refused;
use crate::{Error, Reason};

/// Entries of the history that are listed, the newest ones.
pub const MAX_LISTED: usize = 10_000;
/// Addresses of a cluster that a refusal names.
const MAX_NAMED: usize = 3;

/// Which claims are disputed or confirmed, and why.
#[derive(Debug, Clone, Deserialize)]
pub struct ClaimDisputeRequest {
    /// The address that the claims name.
    pub address: String,
    /// Why.
    pub reason: String,
    /// Only claims that hold on this chain.
    pub blockchain: Option<String>,
    /// Only claims of this source or provenance group.
    pub source: Option<String>,
    /// Only claims of this code.
    pub code: Option<String>,
}

/// An entry of the history of disputes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DisputeRecord {
    /// `dispute` or `confirm`.
    pub action: &'static str,
    /// The address, canonical.
    pub address: AddressText,
    /// The chains of the claim: one, or `evm` for every EVM chain.
    pub blockchain: CodeText,
    /// What the claim says; null for one that gives a name only.
    pub code: Option<CodeText>,
    /// Who made the claim when it was disputed.
    pub source: String,
    /// The provenance group of the claim.
    pub group: String,
    /// Who disputed or confirmed it.
    pub by: String,
    /// When, epoch seconds.
    pub at: Time,
    /// Why.
    pub reason: String,
    /// Whether it is a dispute that nobody has ended.
    pub in_force: bool,
}

impl DisputeRecord {
    fn new(entry: &DisputeEntry, in_force: bool) -> Self {
        Self {
            action: entry.action.name(),
            address: AddressText::from(entry.address),
            blockchain: CodeText(entry.scope.name().to_owned()),
            code: entry.code.map(|code| CodeText(code.name().to_owned())),
            source: entry.source.to_string(),
            group: entry.group.to_string(),
            by: entry.dispute.by.to_string(),
            at: Time::from(entry.dispute.at),
            reason: entry.dispute.reason.to_string(),
            in_force,
        }
    }
}

/// Records in a store that claims are disputed or confirmed, by somebody at a time, and returns an entry for each claim.
///
/// # Errors
/// `invalid_value` and the like for an invalid request; `not_found` if no list makes such a claim; a storage error if another
/// process writes to the store for longer than the options allow.
pub fn record_dispute(
    store: &Path,
    action: DisputeAction,
    request: &ClaimDisputeRequest,
    (by, at): (&str, Timestamp),
    options: WriterOptions,
) -> Result<Vec<DisputeRecord>, Error> {
    // A store is not made by a dispute.
    let ledger = Store::open(store)?.current()?;
    let claims = selection(&*ledger, request)?;
    let dispute = Dispute { by: Arc::from(by), at, reason: Arc::from(request.reason.trim()) };
    let request = DisputeRequest { action, claims, dispute };
    let recorded = options.open(store)?.dispute(&request);
    let entries = recorded.map_err(|error| with_origins(&*ledger, &request.claims, error))?;
    Ok(entries.iter().map(|entry| DisputeRecord::new(entry, entry.action == DisputeAction::Dispute)).collect())
}

/// Returns the history of disputes, of one address or of all, the newest entry first: at most [`MAX_LISTED`].
///
/// # Errors
/// When the text is not an address.
pub fn list_disputes(ledger: &dyn Ledger, address: Option<&str>) -> Result<Vec<DisputeRecord>, Error> {
    let address = address.map(|text| address_of(ledger, None, text)).transpose()?;
    let mut superseded = HashSet::new();
    let mut records = Vec::new();
    for entry in ledger.labels().disputes().iter().rev() {
        let is_newest = superseded.insert((entry.address, entry.scope, entry.code, &*entry.group));
        if records.len() < MAX_LISTED && address.is_none_or(|address| address == entry.address) {
            records.push(DisputeRecord::new(entry, is_newest && entry.action == DisputeAction::Dispute));
        }
    }
    Ok(records)
}

fn selection(ledger: &dyn Ledger, request: &ClaimDisputeRequest) -> Result<ClaimSelection, Error> {
    let chain_of = |text: &String| {
        text.parse::<Chain>().map_err(|error| refused(Reason::UnsupportedChain, "blockchain", text, &error))
    };
    let code_of = |text: &String| {
        let unknown = format!("unknown code {text:?}; expected a code of labels, such as phishing");
        Code::from_name(text).ok_or_else(|| refused(Reason::InvalidValue, "code", text, &unknown))
    };
    let chain = request.blockchain.as_ref().map(chain_of).transpose()?;
    Ok(ClaimSelection {
        address: address_of(ledger, chain, &request.address)?,
        chain,
        source: request.source.clone(),
        code: request.code.as_ref().map(code_of).transpose()?,
    })
}

/// An address of a chain; without one, of whatever chain it is an address of.
fn address_of(ledger: &dyn Ledger, chain: Option<Chain>, text: &str) -> Result<Address, Error> {
    let held = ledger.coverage().get(&chain.unwrap_or(Chain::BITCOIN));
    let network = held.map_or(Network::Mainnet, |coverage| coverage.network);
    let read = match chain {
        Some(chain) => Address::parse_on(chain, network, text).map_err(|error| error.to_string()),
        None => {
            let seen = judge(text, None, network).address;
            seen.ok_or_else(|| format!("{text:?} is not a valid address of any chain"))
        }
    };
    read.map_err(|why| refused(Reason::InvalidAddress, "address", text, &why))
}

/// Adds to a refusal which addresses of its cluster an address has its labels from.
fn with_origins(ledger: &dyn Ledger, selection: &ClaimSelection, error: LedgerError) -> Error {
    let LedgerError::Dispute(DisputeRefusal::NoClaim { address, selection: words, held }) = error else {
        return error.into();
    };
    let origins = origins(ledger, selection).unwrap_or_default();
    if origins.is_empty() {
        return Error::from(&DisputeRefusal::NoClaim { address, selection: words, held });
    }
    let held = format!("its labels come from others of its cluster: dispute them there ({})", origins.join(", "));
    Error::from(&DisputeRefusal::NoClaim { address, selection: words, held })
}

fn origins(ledger: &dyn Ledger, selection: &ClaimSelection) -> Result<Vec<String>, LedgerError> {
    if selection.address.family() != Family::Utxo {
        return Ok(Vec::new());
    }
    let claims = claims_of(ledger, Chain::BITCOIN, &selection.address, &Cancel::new())?;
    let inherited = claims.iter().filter(|claim| claim.link == Link::Cluster);
    let mut origins: Vec<String> = inherited.map(|claim| claim.address.to_string()).collect();
    origins.sort_unstable();
    origins.dedup();
    origins.truncate(MAX_NAMED);
    Ok(origins)
}

//! What a text is as an address: judged, put right without guessing, and compared with what was seen on chain.

use std::collections::HashSet;

use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::address::inspect::{Candidate, Guess, Inspection, Kind, MAX_CANDIDATES, inspect, neighbours};
use headwater_types::address::{Checksum, Reason};
use headwater_types::{Address, Chain, Family, Network};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Error;
use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::form;
use crate::fields::{AddressText, ChainName, ChainText, CodeText};
use crate::limits::MAX_QUERY;
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "addresses/resolve",
    path: "/v1/addresses/resolve",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Addresses,
    summary: "Address validation and correction",
    description: "Spaces, case, prefixes and forms are put right; a changed character never is, it is only named in \
                  `candidates`.",
    chains: ChainScope::NamedOrAny("chain"),
    reads: Reads::Market,
    rows: None,
    first: &["query", "valid", "chain", "address", "reason"],
    example: Example::new(
        || json!({"q": format!(" 0x{}", ALICE.trim_start_matches("0x").to_uppercase())}),
        ("chain", "solana"),
    ),
    calls: Calls::of::<AddressResolve>(),
};

form! {
    /// A text that may be an address.
    QueryText(String => str): json!({"type": "string", "minLength": 1, "maxLength": MAX_QUERY});
}

form! {
    /// What was put right in a text ([`headwater_types::address::inspect::Correction`]).
    CorrectionText(String => str): json!({"type": "string", "enum": [
        "trimmed", "invisible_removed", "uri_stripped", "icap_decoded", "prefix_added", "case_fixed", "hex_to_base58",
        "base58_to_hex",
    ]});
    /// The form of an address ([`headwater_types::address::inspect::Format`]).
    FormatText(String => str): json!({"type": "string", "enum": [
        "hex", "eip55", "base58check", "bech32", "bech32m", "tron_base58", "tron_hex",
    ]});
    /// What the checksum says ([`Checksum`]).
    ChecksumText(String => str): json!({"type": "string", "enum": ["ok", "failed", "none"]});
    /// What a text is ([`Kind`]).
    KindText(String => str): json!({"type": "string", "enum": ["address", "tx_hash", "unknown"]});
    /// Why an address is a candidate.
    GuessText(String => str): json!({"type": "string", "enum": ["checksum", "case", "active"]});
}

/// `GET /v1/addresses/resolve`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressResolveRequest {
    /// The text to judge: 1 to 128 characters.
    #[schema(example = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")]
    q: QueryText,
    /// Only this chain; only with it are 20 bytes of hex read as a TRON address, or a TRON address as EVM hex.
    chain: Option<ChainText>,
}

/// A text and the chain it must belong to.
#[derive(Debug)]
pub struct AddressResolveParams {
    query: String,
    chain: Option<Chain>,
    network: Network,
}

/// What the text is.
///
/// A changed character is never applied to `address`: it only appears in `candidates`, which are guesses.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressResolveReport {
    /// The text as received.
    pub query: String,
    /// Whether a canonical form was found without guessing.
    pub valid: bool,
    /// The chain it most likely belongs to: the one asked for or named in the text, else one on which it was seen.
    pub chain: Option<ChainName>,
    /// The canonical form; null when not valid.
    pub address: Option<AddressText>,
    /// Whether `address` differs from the text, a change of case included.
    pub corrected: bool,
    /// What was put right: `trimmed`, `invisible_removed`, `prefix_added`, `case_fixed`, `hex_to_base58`,
    /// `base58_to_hex`, `uri_stripped`, `icap_decoded`.
    #[schema(value_type = Vec<CorrectionText>)]
    pub corrections: Vec<headwater_types::address::inspect::Correction>,
    /// `hex`, `eip55`, `base58check`, `bech32`, `bech32m`, `tron_base58` or `tron_hex`.
    #[schema(value_type = Option<FormatText>)]
    pub format: Option<headwater_types::address::inspect::Format>,
    /// `ok`, `failed` or `none`. A failed one leaves an EVM address valid, with a warning.
    #[schema(value_type = ChecksumText)]
    pub checksum: Checksum,
    /// `address`, `tx_hash` or `unknown`.
    #[schema(value_type = KindText)]
    pub kind: Kind,
    /// Every chain on which the form is valid.
    pub chains: Vec<ChainName>,
    /// Guesses at what was meant, at most 5, an address that was seen on chain first.
    pub candidates: Vec<AddressCandidate>,
    /// Whether it was seen on chain; null where nothing is held that could tell.
    pub active: Option<bool>,
    /// Why not valid: `checksum`, `length`, `alphabet`, `version`, `network_mismatch` or `unknown_form`.
    #[schema(value_type = Option<CodeText>)]
    pub reason: Option<Reason>,
}

/// A guess at what was meant.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressCandidate {
    /// Chain.
    pub chain: ChainName,
    /// Canonical address.
    pub address: AddressText,
    /// Characters of the text that differ.
    pub edits: u32,
    /// `active` (it was seen on chain), `checksum` (the checksum holds with it) or `case` (with letters of one case).
    #[schema(value_type = GuessText)]
    pub reason: Guess,
}

/// Address validation and correction.
pub struct AddressResolve;

impl Analysis for AddressResolve {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressResolveRequest;
    type Params = AddressResolveParams;
    type Report = AddressResolveReport;

    fn params(request: AddressResolveRequest, checks: &mut Checks<'_>) -> Result<AddressResolveParams, Error> {
        let length = request.q.chars().count();
        if !(1..=MAX_QUERY).contains(&length) {
            let why = format!("{length} characters: give 1 to {MAX_QUERY}");
            let error = refused(crate::Reason::InvalidValue, "q", &request.q, &why);
            return Err(Error { limit: u64::try_from(MAX_QUERY).ok(), ..error });
        }
        let chain = request.chain.map(|chain| checks.chain("chain", &chain)).transpose()?;
        Ok(AddressResolveParams { query: request.q.into(), chain, network: network(checks) })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressResolveParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<AddressResolveReport, Error> {
        let mut seen = inspect(&params.query, params.chain, params.network);
        if seen.valid && seen.checksum == Checksum::Failed {
            let query = &params.query;
            let message = format!("q: the mixed case of {query} is no EIP-55 checksum of it: check for a typing error");
            warnings.add("checksum", Some("q"), message);
        }
        let found_on = chains_where_seen(ledger, params.chain, &seen)?;
        if let Some(found_on) = &found_on
            && (params.chain.is_none() || seen.kind == Kind::TxHash)
        {
            prefer(&mut seen, found_on);
        }
        let active = found_on.map(|chains| !chains.is_empty());
        if active != Some(true)
            && let Some(known) = known_neighbour(ledger, params, &seen, cancel)?
        {
            seen.candidates.retain(|guess| guess.address != known.address);
            seen.candidates.insert(0, known);
            seen.candidates.truncate(MAX_CANDIDATES);
        }
        Ok(report(seen, active))
    }
}

/// The network of the addresses that are valid here. Only UTXO chains have several, and a store holds one of each.
pub(super) fn network(checks: &Checks<'_>) -> Network {
    Chain::all().find(|chain| chain.family() == Family::Utxo).map_or(Network::Mainnet, |chain| checks.network(chain))
}

/// The chains on which the address or transaction was seen; `None` where no chain is held on which it could be.
fn chains_where_seen(
    ledger: &dyn Ledger,
    asked: Option<Chain>,
    seen: &Inspection,
) -> Result<Option<Vec<Chain>>, LedgerError> {
    let chains = seen.chains.iter().copied().filter(|chain| asked.is_none_or(|asked| asked == *chain));
    let held: Vec<_> = chains.filter(|chain| ledger.coverage().contains_key(chain)).collect();
    if held.is_empty() || (seen.address.is_none() && seen.tx_hash.is_none()) {
        return Ok(None);
    }
    let mut found = Vec::new();
    for chain in held {
        let is_there = match (&seen.address, &seen.tx_hash) {
            (Some(address), _) => ledger.account(chain, address)?.is_some(),
            (None, Some(hash)) => ledger.find_transaction(chain, hash)?.is_some(),
            (None, None) => false,
        };
        if is_there {
            found.push(chain);
        }
    }
    Ok(Some(found))
}

/// Takes a chain on which the text was seen for the best one, unless the text itself named one.
fn prefer(seen: &mut Inspection, found_on: &[Chain]) {
    let is_default = seen.chain.is_none() || seen.chain == seen.chains.first().copied();
    let named = seen.corrections.contains(&headwater_types::address::inspect::Correction::UriStripped);
    if is_default && !named && seen.chain.is_none_or(|chain| !found_on.contains(&chain)) {
        seen.chain = found_on.first().copied().or(seen.chain);
    }
}

/// The most active address that one changed character makes of the text, where the text itself is not known to be
/// right: by its checksum, or because it was seen.
fn known_neighbour(
    ledger: &dyn Ledger,
    params: &AddressResolveParams,
    seen: &Inspection,
    cancel: &Cancel,
) -> Result<Option<Candidate>, Error> {
    if seen.kind != Kind::Address || seen.checksum == Checksum::Ok {
        return Ok(None);
    }
    let mut best: Option<(u64, Candidate)> = None;
    let mut tried = HashSet::new();
    for near in neighbours(&params.query, params.chain, params.network) {
        cancel.check().map_err(LedgerError::from)?;
        for chain in chains_of(params.chain, &near.address) {
            if !tried.insert((chain, near.address)) || !ledger.coverage().contains_key(&chain) {
                continue;
            }
            let Some(account) = ledger.account(chain, &near.address)? else { continue };
            let is_better = best.as_ref().is_none_or(|(postings, other)| {
                (account.postings, std::cmp::Reverse(near.address)) > (*postings, std::cmp::Reverse(other.address))
            });
            if is_better {
                best = Some((account.postings, Candidate { chain, reason: Guess::Active, ..near.clone() }));
            }
        }
    }
    Ok(best.map(|(_, candidate)| candidate))
}

fn chains_of(asked: Option<Chain>, address: &Address) -> impl Iterator<Item = Chain> {
    let family = address.family();
    Chain::all().filter(move |chain| chain.family() == family && asked.is_none_or(|asked| asked == *chain))
}

fn report(seen: Inspection, active: Option<bool>) -> AddressResolveReport {
    AddressResolveReport {
        query: seen.query,
        valid: seen.valid,
        chain: seen.chain.map(ChainName::from),
        address: seen.address.map(|address| address.to_string()).map(AddressText),
        corrected: seen.corrected,
        corrections: seen.corrections,
        format: seen.format,
        checksum: seen.checksum,
        kind: seen.kind,
        chains: seen.chains.into_iter().map(ChainName::from).collect(),
        candidates: seen
            .candidates
            .into_iter()
            .map(|guess| AddressCandidate {
                chain: guess.chain.into(),
                address: AddressText(guess.address.to_string()),
                edits: guess.edits,
                reason: guess.reason,
            })
            .collect(),
        active,
        reason: seen.reason,
    }
}

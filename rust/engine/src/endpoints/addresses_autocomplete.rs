//! Addresses seen on chain that begin with a given text.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::address::inspect::judge;
use headwater_types::{Address, Chain, Family, Network};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::addresses_resolve::network;
use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::form;
use crate::fields::{AddressText, ChainText};
use crate::limits::MAX_QUERY;
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::{Error, Reason};

/// Shortest prefix, in characters; on EVM chains `0x` counts.
pub(crate) const MIN_PREFIX: usize = 5;
pub(crate) const DEFAULT_LIMIT: usize = 10;
pub(crate) const MAX_LIMIT: usize = 50;
/// Matches are counted up to here.
pub(super) const MAX_TOTAL: usize = 1_000;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "addresses/autocomplete",
    path: "/v1/addresses/autocomplete",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Addresses,
    summary: "Prefix autocomplete",
    description: "Addresses that were seen on a chain, the most active first.",
    chains: ChainScope::NamedOrAny("chain"),
    reads: Reads::Market,
    rows: None,
    first: &["candidates", "total"],
    example: Example::new(|| json!({"q": ALICE.get(..7)}), ("chain", "solana")),
    calls: Calls::of::<AddressAutocomplete>(),
};

form! {
    /// The beginning of an address; blanks around it do not count.
    PrefixText(String => str): json!({
        "type": "string", "minLength": MIN_PREFIX, "maxLength": MAX_QUERY,
        "pattern": format!("^\\s*\\S[\\s\\S]{{{},}}\\S\\s*$", MIN_PREFIX - 2)
    });
    /// Candidates at most.
    CandidateLimit(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
    });
    /// The one chain of an address form; empty where it fits several.
    OneChain(&'static str => str, Copy): json!({
        "type": "string", "enum": Chain::all().map(Chain::name).chain([""]).collect::<Vec<_>>()
    });
}

/// `GET /v1/addresses/autocomplete`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressAutocompleteRequest {
    /// Beginning of an address: at least 5 characters, where `0x` counts.
    #[schema(example = "0xdac")]
    q: PrefixText,
    /// Only this chain. Omitted: every chain whose addresses can begin so.
    chain: Option<ChainText>,
    /// Most candidates: 10 when omitted or 0, at most 50.
    limit: Option<CandidateLimit>,
}

/// Beginnings to look for, by chain.
#[derive(Debug)]
pub struct AddressAutocompleteParams {
    query: String,
    chain: Option<Chain>,
    prefixes: Vec<(Chain, String)>,
    limit: usize,
}

/// Addresses that begin so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AddressAutocompleteReport {
    /// Addresses in canonical form, most active first, then alphabetically.
    pub candidates: Vec<AddressText>,
    /// The chain they belong to, given or inferred; empty when there are several.
    pub chain: OneChain,
    /// The text as received.
    pub query: String,
    /// Number of matches, counted up to 1,000.
    pub total: u64,
}

/// Prefix autocomplete.
pub struct AddressAutocomplete;

impl Analysis for AddressAutocomplete {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressAutocompleteRequest;
    type Params = AddressAutocompleteParams;
    type Report = AddressAutocompleteReport;

    fn params(
        request: AddressAutocompleteRequest,
        checks: &mut Checks<'_>,
    ) -> Result<AddressAutocompleteParams, Error> {
        let text = request.q.trim();
        let length = text.chars().count();
        if length < MIN_PREFIX {
            let why = format!("{length} characters: give at least {MIN_PREFIX}, `0x` included");
            let error = refused(Reason::PrefixTooShort, "q", &request.q, &why);
            return Err(Error { limit: u64::try_from(MIN_PREFIX).ok(), ..error });
        }
        if length > MAX_QUERY {
            let why = format!("{length} characters: give at most {MAX_QUERY}");
            let error = refused(Reason::InvalidValue, "q", &request.q, &why);
            return Err(Error { limit: u64::try_from(MAX_QUERY).ok(), ..error });
        }
        let chain = request.chain.map(|chain| checks.chain("chain", &chain)).transpose()?;
        let prefixes = Chain::all()
            .filter(|known| chain.is_none_or(|chain| chain == *known))
            .filter_map(|known| Some((known, prefix(known, chain.is_some(), network(checks), text)?)))
            .collect();
        let limit = checked_limit(request.limit.map(i64::from))?;
        Ok(AddressAutocompleteParams { query: request.q.into(), chain, prefixes, limit })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressAutocompleteParams,
        _: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<AddressAutocompleteReport, Error> {
        let (matched, candidates, total) = match &params.prefixes[..] {
            [(chain, prefix)] => {
                let found = ledger.find_addresses(*chain, prefix, params.limit, MAX_TOTAL)?;
                (vec![*chain], found.addresses.iter().map(AddressText::from).collect(), found.total)
            }
            several => merged(ledger, several, params.limit, cancel)?,
        };
        Ok(AddressAutocompleteReport {
            candidates,
            chain: match (params.chain, &matched[..]) {
                (Some(chain), _) | (None, &[chain]) => OneChain(chain.name()),
                (None, _) => OneChain(""),
            },
            query: params.query.clone(),
            total: u64::try_from(total).unwrap_or(u64::MAX),
        })
    }
}

/// The chains with matches, the most active of these, and their number. An address that was seen on several chains
/// counts once, with what it did on the one where it did most; so all that are counted have to be known.
fn merged(
    ledger: &dyn Ledger,
    prefixes: &[(Chain, String)],
    limit: usize,
    cancel: &Cancel,
) -> Result<(Vec<Chain>, Vec<AddressText>, usize), LedgerError> {
    let mut matched = Vec::new();
    let mut total = 0;
    let mut activity: BTreeMap<AddressText, u64> = BTreeMap::new();
    for (chain, prefix) in prefixes {
        cancel.check()?;
        let found = ledger.find_addresses(*chain, prefix, MAX_TOTAL, MAX_TOTAL)?;
        total = found.total.max(total);
        if found.total > 0 {
            matched.push(*chain);
        }
        for address in &found.addresses {
            let postings = ledger.account(*chain, address)?.map_or(0, |account| account.postings);
            let most = activity.entry(address.into()).or_default();
            *most = postings.max(*most);
        }
    }
    let total = activity.len().clamp(total, MAX_TOTAL);
    let mut candidates: Vec<_> = activity.into_iter().collect();
    candidates.sort_by(|one, other| (Reverse(one.1), &one.0).cmp(&(Reverse(other.1), &other.0)));
    candidates.truncate(limit);
    Ok((matched, candidates.into_iter().map(|(address, _)| address).collect(), total))
}

fn checked_limit(limit: Option<i64>) -> Result<usize, Error> {
    let given = match limit {
        None | Some(0) => return Ok(DEFAULT_LIMIT),
        Some(given) => given,
    };
    usize::try_from(given).ok().filter(|limit| *limit <= MAX_LIMIT).ok_or_else(|| {
        let why = format!("{given} lies outside 0 to {MAX_LIMIT} (0 is the default of {DEFAULT_LIMIT})");
        let error = refused(Reason::LimitOutOfRange, "limit", &given.to_string(), &why);
        Error { limit: u64::try_from(MAX_LIMIT).ok(), ..error }
    })
}

/// The beginning of canonical addresses of a chain that a text stands for; `None` when none begins so. `asked`: the
/// caller named the chain, so that hex needs no `0x`.
fn prefix(chain: Chain, asked: bool, network: Network, text: &str) -> Option<String> {
    let whole = judge(text, asked.then_some(chain), network);
    if let Some(address) = whole.address {
        return whole.chains.contains(&chain).then(|| Address::to_string(&address));
    }
    match chain.family() {
        Family::Evm => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).or(asked.then_some(text))?;
            let is_hex = digits.len() <= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex.then(|| format!("0x{}", digits.to_ascii_lowercase()))
        }
        Family::Tron => (text.starts_with('T') && is_base58(text)).then(|| text.to_owned()),
        Family::Utxo => {
            let lower = text.to_ascii_lowercase();
            let one_case = lower == text || text.to_ascii_uppercase() == text;
            if ["bc1", "tb1", "bcrt1"].iter().any(|human| lower.starts_with(human)) {
                return one_case.then_some(lower);
            }
            (text.starts_with(['1', '2', '3', 'm', 'n']) && is_base58(text)).then(|| text.to_owned())
        }
    }
}

fn is_base58(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte))
}

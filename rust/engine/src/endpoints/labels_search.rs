//! The addresses that lists give a name: the inverse of `labels`.

use std::collections::BTreeSet;

use headwater_intel::label::{Aggregate, Standing, bridge_claims};
use headwater_ledger::labels::{Code, NameQuery, NameRank, Scope};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::coverage::is_held;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::EXCHANGE;
use crate::fields::{AddressText, ChainName, ChainText, CodeText, PageOffset, form};
use crate::labels::{self, Labels};
use crate::limits::{DEFAULT_LIMIT, MAX_QUERY};
use crate::method::Method;
use crate::request::{Checks, Offsets, Warnings, refused};
use crate::table::{Rows, TableHead};
use crate::{Error, Pagination, Reason};

/// The minimum number of characters of a name.
const MIN_QUERY: usize = 2;
/// The maximum number of rows of a page.
const MAX_LIMIT: u32 = 200;
/// The maximum number of addresses that are ranked.
const MAX_RANKED: usize = 5_000;
/// Addresses between two looks at the token of the query.
const BATCH: usize = 256;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "labels/search",
    path: "/v1/labels/search",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Addresses by name",
    description: "The addresses to which imported lists, freezes of issuers and the tables of bridges give a name. Every word \
                  of `q` begins a word of the name of an entity, or of an address, in any case: `bin` finds `Binance 14`, \
                  `nance` does not. Lists name few of the addresses of an entity.",
    chains: ChainScope::NamedOrAny("chain"),
    reads: Reads::Labels,
    rows: Some("results"),
    first: &["address", "blockchain", "entity_name", "name", "labels", "sanctioned", "disputed", "confidence"],
    example: Example::new(|| json!({"q": EXCHANGE}), ("chain", "solana")),
    calls: Calls::list::<LabelSearch>(),
};

form! {
    /// A name, or the beginnings of its words; blanks around it do not count.
    NameText(String => str): json!({
        "type": "string", "minLength": MIN_QUERY, "maxLength": MAX_QUERY,
        "pattern": format!("^\\s*\\S[\\s\\S]{{{},}}\\S\\s*$", MIN_QUERY - 2)
    });
    /// Rows per page.
    NamedLimit(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
    });
}

/// `GET /v1/labels/search`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct LabelSearchRequest {
    /// The name, or the beginnings of its words: 2 to 128 characters, of which one is a letter or digit.
    #[schema(example = "binance")]
    q: NameText,
    /// Only addresses of this chain. Omitted: every chain. A claim about every EVM chain then counts for those of which the
    /// store has rows, and for all of them where it has rows of none.
    chain: Option<ChainText>,
    /// Rows per page: default 20, at most 200.
    limit: Option<NamedLimit>,
    /// Rows left out before the page.
    offset: Option<PageOffset>,
}

/// Checked parameters of a search.
#[derive(Debug)]
pub struct LabelSearchParams {
    text: String,
    query: NameQuery,
    chain: Option<Chain>,
    page: Offsets,
}

/// The addresses with a name.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct LabelSearchReport {
    /// The text as received.
    pub query: String,
    /// The addresses whose whole name is the query first, then those with all of its words, then those with words that begin
    /// so; then by the confidence of the claims that name the address itself, descending, by chain and by address.
    pub results: Vec<NamedAddress>,
    /// The fields of the envelope about the page.
    #[serde(skip)]
    pub pagination: Pagination,
}

/// An address with a name. Its fields are those of `labels`, without behaviours.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct NamedAddress {
    /// Chain.
    pub blockchain: ChainName,
    /// The address, canonical.
    pub address: AddressText,
    /// The entity behind the address; null when none is clearly ahead.
    pub entity_name: Option<String>,
    /// Codes, most confident first.
    pub labels: Vec<CodeText>,
    /// The name in the source that fits the query; null where `entity_name` fits as well.
    pub name: Option<String>,
    /// True if a claim that counts names the address itself as sanctioned.
    pub sanctioned: bool,
    /// True if somebody disputes a claim that counts.
    pub disputed: bool,
    /// The largest confidence of an entity or a code, 0 to 1, three decimals.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
}

/// The addresses with a name.
pub struct LabelSearch;

impl Analysis for LabelSearch {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = LabelSearchRequest;
    type Params = LabelSearchParams;
    type Report = LabelSearchReport;
    const JUDGES_BY_LABELS: bool = true;

    fn params(request: LabelSearchRequest, checks: &mut Checks<'_>) -> Result<LabelSearchParams, Error> {
        let query = name_query(&request.q)?;
        let chain = request.chain.map(|chain| checks.chain("chain", &chain)).transpose()?;
        let bounds = checks.list_bounds(DEFAULT_LIMIT, MAX_LIMIT);
        let page = Offsets::within(request.limit.map(i64::from), request.offset.map(i64::from), bounds)?;
        Ok(LabelSearchParams { text: request.q.into(), query, chain, page })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &LabelSearchParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<LabelSearchReport, Error> {
        labels::warn(ledger, warnings);
        let ranked = params.ranked(ledger, warnings, cancel)?;
        let total = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
        let Offsets { limit, offset } = params.page;
        let limit = if limit < u32::MAX { limit } else { total.max(1) };
        let page = ranked.iter().skip(offset as usize).take(limit as usize);
        Ok(LabelSearchReport {
            query: params.text.clone(),
            results: page.map(|one| params.row(ledger, one)).collect::<Result<_, _>>()?,
            pagination: Pagination { limit, offset, total: Some(u64::from(total)) },
        })
    }

    fn pagination(report: &LabelSearchReport) -> Option<Pagination> {
        Some(report.pagination)
    }
}

fn name_query(text: &str) -> Result<NameQuery, Error> {
    let length = text.trim().chars().count();
    if !(MIN_QUERY..=MAX_QUERY).contains(&length) {
        let why = format!("{length} characters: give {MIN_QUERY} to {MAX_QUERY}");
        let limit = if length < MIN_QUERY { MIN_QUERY } else { MAX_QUERY };
        let error = refused(Reason::InvalidValue, "q", text, &why);
        return Err(Error { limit: u64::try_from(limit).ok(), ..error });
    }
    let why = "has neither a letter nor a digit: give a name, such as binance";
    NameQuery::new(text).ok_or_else(|| refused(Reason::InvalidValue, "q", text, &why))
}

/// An address with the fit of its name.
struct RankedAddress {
    rank: NameRank,
    confidence: f64,
    chain: Chain,
    address: Address,
    text: AddressText,
    /// The text that fits.
    name: String,
}

impl LabelSearchParams {
    /// Returns all addresses with the name, in order.
    fn ranked(
        &self,
        ledger: &dyn Ledger,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Vec<RankedAddress>, Error> {
        let named = ledger.labels().named(&self.query, self.chain, MAX_RANKED, cancel)?;
        if named.is_cut {
            let message = format!(
                "more than {MAX_RANKED} addresses have such a name: the {MAX_RANKED} whose names fit best are listed, and of \
                 these the ones of the most trusted lists; give another word, or a chain"
            );
            warnings.add("names_left_out", Some("q"), message);
        }
        let mut ranked = Vec::new();
        let is_meant = |chain: &Chain| self.chain.map_or_else(|| is_held(ledger, *chain), |named| named == *chain);
        for chain in Chain::all().filter(is_meant) {
            let labels = Labels::present(ledger, chain);
            let of_chain = named.addresses.iter().filter(|address| address.family() == chain.family());
            let mut addresses: BTreeSet<Address> = of_chain.copied().collect();
            if self.chain.is_some() || ledger.coverage().contains_key(&chain) {
                let fits = |bridge: &str, role: &str| self.rank_claim(Some(bridge), Some(role)).is_some();
                addresses.extend(bridge_claims(chain, fits).map(|claim| claim.address));
            }
            let has_evm_claims = self.chain.is_some() || has_claims_of_every_evm_chain(ledger, chain);
            for (number, address) in addresses.into_iter().enumerate() {
                if number.is_multiple_of(BATCH) {
                    cancel.check().map_err(LedgerError::from)?;
                }
                let aggregate = labels.of_address(&address)?;
                let Some((rank, name)) = self.best(&aggregate, has_evm_claims) else { continue };
                let (confidence, text) = (labels::rounded(aggregate.confidence), AddressText::from(address));
                ranked.push(RankedAddress { rank, confidence, chain, address, text, name: name.to_owned() });
            }
        }
        ranked.sort_by(|one, other| {
            let by_rank = one.rank.cmp(&other.rank).then(other.confidence.total_cmp(&one.confidence));
            by_rank.then_with(|| (one.chain.name(), &one.text).cmp(&(other.chain.name(), &other.text)))
        });
        Ok(ranked)
    }

    /// Returns the closest fit among the claims that count, the most confident first.
    fn best<'a>(&self, aggregate: &Aggregate<'a>, has_evm_claims: bool) -> Option<(NameRank, &'a str)> {
        let active = aggregate.sources.iter().filter(|source| source.standing == Standing::Active);
        let counting = active.map(|source| &source.claim).filter(|claim| has_evm_claims || claim.scope != Scope::Evm);
        counting.filter_map(|claim| self.rank_claim(claim.entity, claim.name)).min_by_key(|(rank, _)| *rank)
    }

    fn rank_claim<'a>(&self, entity: Option<&'a str>, name: Option<&'a str>) -> Option<(NameRank, &'a str)> {
        let of_entity = entity.and_then(|entity| Some((self.query.rank_entity(entity)?, entity)));
        let of_name = name.and_then(|name| Some((self.query.rank(name)?, name)));
        of_entity.into_iter().chain(of_name).min_by_key(|(rank, _)| *rank)
    }

    fn row(&self, ledger: &dyn Ledger, of: &RankedAddress) -> Result<NamedAddress, Error> {
        let aggregate = Labels::present(ledger, of.chain).of(&of.address)?;
        let of_entity = aggregate.entity.and_then(|entity| self.query.rank(entity));
        let is_entity = of_entity.is_some_and(|rank| rank <= of.rank);
        let mut active = aggregate.sources.iter().filter(|source| source.standing == Standing::Active);
        Ok(NamedAddress {
            blockchain: of.chain.into(),
            address: of.text.clone(),
            entity_name: aggregate.entity.map(str::to_owned),
            labels: labels::codes(&aggregate),
            name: (!is_entity).then(|| of.name.clone()),
            sanctioned: aggregate.of_own(Code::Sanction) > 0.0,
            disputed: active.any(|source| source.claim.dispute.is_some()),
            confidence: labels::rounded(aggregate.confidence),
        })
    }
}

/// Returns whether claims about every EVM chain give rows of this one where no chain is named.
fn has_claims_of_every_evm_chain(ledger: &dyn Ledger, chain: Chain) -> bool {
    let has_rows = |chain: &Chain| ledger.coverage().contains_key(chain);
    let evm = |chain: &Chain| chain.family() == Family::Evm;
    has_rows(&chain) || !Chain::all().filter(evm).any(|chain| has_rows(&chain))
}

impl List for LabelSearch {
    type Row = NamedAddress;

    fn list(
        ledger: &dyn Ledger,
        params: &LabelSearchParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        let head = TableHead { total: report.pagination.total, ..TableHead::default() };
        rows.whole(head, warnings, report.results)
    }
}

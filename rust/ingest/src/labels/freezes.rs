//! Accounts that the issuers of tokens froze, from the events of their contracts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use headwater_ledger::labels::{Action, Claim, Code, DateBasis, Level, Link, Scope};
use headwater_types::{Address, Chain, Family, Timestamp};

use super::counts::Counts;
use super::outcome::Labels;

/// Events of contracts that freeze accounts: `signature,topic0,subject,effect`. The subject is the first or the second
/// argument, or a list; an effect `flag` is in the last argument.
const EVENTS: &str = include_str!("freeze_events.csv");
/// Contracts of issuers: `group,token,chain,contract`. Others use the same names of events.
const ISSUERS: &str = include_str!("freeze_issuers.csv");

/// The name of the format, the source and the list of such claims.
const NAME: &str = "issuer_freezes";

/// A log of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeLog<'a> {
    /// The chain.
    pub chain: Chain,
    /// The block.
    pub block: u64,
    /// The time of the block.
    pub time: Timestamp,
    /// Its place in the block.
    pub log_index: u64,
    /// The contract.
    pub contract: Address,
    /// The topics, the event first.
    pub topics: &'a [[u8; 32]],
    /// The arguments that are not indexed.
    pub data: &'a [u8],
}

/// A contract whose issuer can freeze accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// The provenance group of its claims: the issuer.
    pub group: Arc<str>,
    /// The chain.
    pub chain: Chain,
    /// The contract.
    pub contract: Address,
}

/// The argument that names the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The first one, indexed or not.
    First,
    /// The second one, indexed.
    Second,
    /// All of a list.
    List,
}

/// The effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Freeze,
    End,
    /// The balance is destroyed; the account stays frozen.
    Destroy,
}

/// An effect, or that the data says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Is(Effect),
    /// A truth value behind the subject: frozen or not.
    Flag,
}

static KINDS: LazyLock<HashMap<[u8; 32], (Subject, Kind)>> = LazyLock::new(|| {
    rows(EVENTS)
        .filter_map(|row| {
            let mut topic = [0; 32];
            hex::decode_to_slice(row.get(1)?.strip_prefix("0x")?, &mut topic).ok()?;
            let subject = match row.get(2)? {
                "first" => Subject::First,
                "second" => Subject::Second,
                "list" => Subject::List,
                _ => return None,
            };
            let kind = match row.get(3)? {
                "freeze" => Kind::Is(Effect::Freeze),
                "end" => Kind::Is(Effect::End),
                "destroy" => Kind::Is(Effect::Destroy),
                "flag" => Kind::Flag,
                _ => return None,
            };
            Some((topic, (subject, kind)))
        })
        .collect()
});

static KNOWN: LazyLock<Vec<Issuer>> = LazyLock::new(|| {
    rows(ISSUERS)
        .filter_map(|row| {
            let chain = Chain::from_name(row.get(2)?)?;
            let contract = Address::parse(chain, row.get(3)?).ok()?;
            Some(Issuer { group: Arc::from(row.get(0)?), chain, contract })
        })
        .collect()
});

fn rows(table: &str) -> impl Iterator<Item = csv::StringRecord> {
    csv::Reader::from_reader(table.as_bytes()).into_records().map_while(Result::ok)
}

/// The first topics of all events that freeze accounts, in no order: what to look for in logs.
pub fn freeze_topics() -> impl Iterator<Item = [u8; 32]> {
    KINDS.keys().copied()
}

/// The contracts whose freezes are known.
#[must_use]
pub fn issuers() -> &'static [Issuer] {
    &KNOWN
}

/// When an account was frozen, and when it was released.
type Period = (Timestamp, Option<Timestamp>);

/// One event about one account, in the order in which a chain has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    chain: Chain,
    block: u64,
    log_index: u64,
    contract: Address,
    account: Address,
    effect: Effect,
    time: Timestamp,
}

/// The claims that the events of issuers make: `issuer_frozen` for each time that an account was frozen, one per token,
/// with an end where it was released.
///
/// Logs may come in any order and repeat; they are put in the order of block and log index. Logs of other events are
/// ignored. `extra` are contracts besides [`issuers`].
///
/// A second freeze of a frozen account counts as a duplicate. Destroying the balance of a frozen account does not end
/// the freeze. A release of an account that is not frozen makes no claim.
///
/// Source: the contracts of the issuers; `label-sources.md` 3. Takes time and memory in proportion to the events.
#[must_use]
pub fn freezes<'l>(logs: impl IntoIterator<Item = FreezeLog<'l>>, extra: &[Issuer]) -> Labels {
    let groups: HashMap<(Chain, Address), &Arc<str>> =
        KNOWN.iter().chain(extra).map(|issuer| ((issuer.chain, issuer.contract), &issuer.group)).collect();
    let mut counts = Counts::default();
    let mut unknown = BTreeMap::new();
    let mut events = Vec::new();
    for log in logs {
        let Some((subject, kind)) = log.topics.first().and_then(|topic| KINDS.get(topic)) else { continue };
        if !groups.contains_key(&(log.chain, log.contract)) {
            unknown.insert((log.chain, log.block, log.log_index), log.contract);
            continue;
        }
        match events_of(&log, *subject, *kind) {
            Some(found) => events.extend(found),
            None => counts.malformed += 1,
        }
    }
    events.sort_unstable();
    events.dedup();
    counts.unknown_contract = u64::try_from(unknown.len()).unwrap_or(u64::MAX);
    let mut periods: BTreeMap<(Address, Chain, Address), Vec<Period>> = BTreeMap::new();
    for event in events {
        let of_token = periods.entry((event.account, event.chain, event.contract)).or_default();
        let open = of_token.last_mut().filter(|(_, end)| end.is_none());
        match (event.effect, open) {
            (Effect::Freeze, Some(_)) => counts.duplicates += 1,
            (Effect::Freeze, None) => of_token.push((event.time, None)),
            (Effect::End, Some((_, end))) => {
                *end = Some(event.time);
                counts.ends += 1;
            }
            (Effect::End, None) => counts.end_without_start += 1,
            (Effect::Destroy, _) => counts.destroyed += 1,
        }
    }
    let mut claims = Vec::new();
    for ((account, chain, contract), periods) in periods {
        let Some(group) = groups.get(&(chain, contract)) else { continue };
        let token: Arc<str> = Arc::from(format!("{}:{contract}", chain.caip2()));
        claims.extend(periods.into_iter().map(|(start, end)| claim(account, chain, group, &token, (start, end))));
    }
    claims.sort();
    counts.claims = u64::try_from(claims.len()).unwrap_or(u64::MAX);
    let warnings = unknown.values().next().map(|contract| {
        format!("{} freeze events are of contracts of no known issuer: {contract}", counts.unknown_contract)
    });
    Labels {
        licence: None,
        format: NAME,
        source: NAME.to_owned(),
        list: NAME.to_owned(),
        list_date: None,
        claims,
        foreign: Vec::new(),
        missing_file: None,
        without_claims: Vec::new(),
        counts,
        warnings: warnings.into_iter().collect(),
    }
}

fn claim(
    address: Address,
    chain: Chain,
    group: &Arc<str>,
    token: &Arc<str>,
    (start, end): (Timestamp, Option<Timestamp>),
) -> Claim {
    Claim {
        address,
        scope: Scope::Chain(chain),
        code: Some(Code::IssuerFrozen),
        name: None,
        entity: None,
        source: Arc::from(NAME),
        source_url: Some(Arc::clone(token)),
        group: Arc::clone(group),
        level: Level::IssuerFreeze,
        reliability: Level::IssuerFreeze.thousandths(),
        link: Link::Exact,
        asserted_at: Some(start),
        date_basis: Some(DateBasis::Address),
        last_seen: None,
        valid_until: end,
        action: Action::Add,
        dispute: None,
    }
}

/// The events of a log; `None` when its arguments do not have the form of the event.
fn events_of(log: &FreezeLog<'_>, subject: Subject, kind: Kind) -> Option<Vec<Event>> {
    let words = log.data.as_chunks::<32>().0;
    let (accounts, rest) = match subject {
        Subject::First => match log.topics.get(1) {
            Some(topic) => (vec![*topic], words),
            None => words.split_first().map(|(first, rest)| (vec![*first], rest))?,
        },
        Subject::Second => (vec![*log.topics.get(2)?], words),
        Subject::List => (list(words)?, words),
    };
    let effect = match kind {
        Kind::Is(effect) => effect,
        Kind::Flag => {
            let flag = rest.first().or_else(|| log.topics.get(2))?;
            if flag.iter().all(|byte| *byte == 0) { Effect::End } else { Effect::Freeze }
        }
    };
    let event = |word: &[u8; 32]| {
        Some(Event {
            chain: log.chain,
            block: log.block,
            log_index: log.log_index,
            contract: log.contract,
            account: account(log.chain, word)?,
            effect,
            time: log.time,
        })
    };
    accounts.iter().map(event).collect()
}

/// The words of a list that is the only argument: where it begins, how many there are, and these.
fn list(words: &[[u8; 32]]) -> Option<Vec<[u8; 32]>> {
    let start = number(words.first()?)?;
    let (place, 0) = (start / 32, start % 32) else { return None };
    let count = number(words.get(place)?)?;
    let first = place.checked_add(1)?;
    words.get(first..first.checked_add(count)?).map(<[_]>::to_vec)
}

/// A small number in a word.
fn number(word: &[u8; 32]) -> Option<usize> {
    let (high, low) = word.split_last_chunk::<8>()?;
    let is_small = high.iter().all(|byte| *byte == 0);
    usize::try_from(u64::from_be_bytes(*low)).ok().filter(|_| is_small)
}

/// The account in a word: 20 bytes behind zeros. Some tools keep the prefix byte of TRON.
fn account(chain: Chain, word: &[u8; 32]) -> Option<Address> {
    const TRON_PREFIX: u8 = 0x41;
    let (high, bytes) = word.split_last_chunk::<20>()?;
    let (prefix, zeros) = high.split_last()?;
    let is_padded = zeros.iter().all(|byte| *byte == 0);
    match chain.family() {
        Family::Evm if is_padded && *prefix == 0 => Some(Address::Evm(*bytes)),
        Family::Tron if is_padded && (*prefix == 0 || *prefix == TRON_PREFIX) => Some(Address::Tron(*bytes)),
        Family::Evm | Family::Tron | Family::Utxo => None,
    }
}

#[cfg(test)]
#[path = "freezes_tests.rs"]
mod tests;

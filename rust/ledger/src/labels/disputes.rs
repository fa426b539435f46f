//! Disputes: doubts about claims, and their end. The history is kept for ever.
//!
//! A dispute is about what one provenance group says of one address: address, chains and code. That is what a claim is
//! to the editions of a list, so a dispute lasts as long as somebody still makes the claim, whatever edition makes it,
//! and holds for all copies of the claim within its group.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use headwater_types::{Address, Chain};

use super::claim::{Action, Claim, Scope};
use super::code::Code;
use super::dispute::Dispute;
use crate::error::DisputeRefusal;

/// The longest reason, in characters.
const MAX_REASON: usize = 1_000;
/// Claims that a refusal lists.
const MAX_LISTED: usize = 10;

/// The effect of an entry of the history on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisputeAction {
    /// Marks it as disputed.
    Dispute,
    /// Ends the dispute: the claim counts in full again.
    Confirm,
}

impl DisputeAction {
    /// The text in files and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dispute => "dispute",
            Self::Confirm => "confirm",
        }
    }

    /// The action of a text.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Dispute, Self::Confirm].into_iter().find(|action| action.name() == name)
    }
}

/// One entry of the history of disputes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeEntry {
    /// The effect.
    pub action: DisputeAction,
    /// The address of the claim.
    pub address: Address,
    /// The chains of the claim.
    pub scope: Scope,
    /// The code of the claim; `None` for one that gives a name only.
    pub code: Option<Code>,
    /// The provenance group of the claim.
    pub group: Arc<str>,
    /// The source of the claim when it was disputed.
    pub source: Arc<str>,
    /// The person who disputed or confirmed it, the time, and the reason.
    pub dispute: Dispute,
    /// The generation that brought the entry.
    pub generation: u64,
}

impl DisputeEntry {
    fn key(&self) -> Key<'_> {
        (self.scope, self.code, &self.group)
    }
}

/// The fields that identify a disputed claim, besides the address.
type Key<'a> = (Scope, Option<Code>, &'a str);

fn key_of<'a>(claim: &Claim<&'a str>) -> Key<'a> {
    (claim.scope, claim.code, claim.group)
}

/// A selection of claims about an address: all of them, or those on a chain, of a source, of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSelection {
    /// The address.
    pub address: Address,
    /// Only claims that hold on this chain.
    pub chain: Option<Chain>,
    /// Only claims of this source or provenance group.
    pub source: Option<String>,
    /// Only claims of this code.
    pub code: Option<Code>,
}

impl ClaimSelection {
    fn has(&self, (scope, code, group): Key<'_>, source: &str) -> bool {
        self.chain.is_none_or(|chain| scope.contains(chain))
            && self.code.is_none_or(|wanted| code == Some(wanted))
            && self.source.as_deref().is_none_or(|wanted| wanted == source || wanted == group)
    }
}

impl fmt::Display for ClaimSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code {
            write!(f, " of code {code}")?;
        }
        if let Some(source) = &self.source {
            write!(f, " of source {source:?}")?;
        }
        self.chain.map_or(Ok(()), |chain| write!(f, " on {chain}"))
    }
}

/// A dispute or a confirmation to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeRequest {
    /// The action.
    pub action: DisputeAction,
    /// To which claims.
    pub claims: ClaimSelection,
    /// The person, the time, and the reason.
    pub dispute: Dispute,
}

/// The history of disputes, and what of it is in force.
#[derive(Debug, Default)]
pub(crate) struct Disputes {
    entries: Vec<DisputeEntry>,
    /// The entries of each address, in order.
    by_address: HashMap<Address, Vec<usize>>,
    digest: u64,
}

impl Disputes {
    /// The history in order; `digest` stands for it.
    pub(crate) fn new(entries: Vec<DisputeEntry>, digest: u64) -> Self {
        let mut by_address: HashMap<Address, Vec<usize>> = HashMap::new();
        for (place, entry) in entries.iter().enumerate() {
            by_address.entry(entry.address).or_default().push(place);
        }
        Self { entries, by_address, digest }
    }

    pub(crate) fn entries(&self) -> &[DisputeEntry] {
        &self.entries
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) const fn digest(&self) -> u64 {
        self.digest
    }

    /// Marks claims about an address by the disputes that were in force with a generation.
    pub(crate) fn mark<'a>(&'a self, address: &Address, generation: u64, claims: &mut [Claim<&'a str>]) {
        if claims.is_empty() || self.is_empty() {
            return;
        }
        let in_force = self.in_force(address, generation);
        for claim in claims.iter_mut().filter(|claim| claim.action == Action::Add) {
            let found = in_force.iter().find(|entry| entry.key() == key_of(claim));
            claim.dispute = found.map(|entry| entry.dispute.borrowed());
        }
    }

    /// The disputes of an address that were in force with a generation, in order.
    fn in_force(&self, address: &Address, generation: u64) -> Vec<&DisputeEntry> {
        let mut open: Vec<&DisputeEntry> = Vec::new();
        let of_address = self.by_address.get(address).into_iter().flatten().map(|place| &self.entries[*place]);
        for entry in of_address.filter(|entry| entry.generation <= generation) {
            open.retain(|held| held.key() != entry.key());
            if entry.action == DisputeAction::Dispute {
                open.push(entry);
            }
        }
        open
    }

    /// The entries that a request adds, given the claims of the lists in force about its address.
    pub(crate) fn entries_for(
        &self,
        request: &DisputeRequest,
        held: &[Claim<&str>],
        generation: u64,
    ) -> Result<Vec<DisputeEntry>, DisputeRefusal> {
        check_reason(&request.dispute.reason)?;
        let open = self.in_force(&request.claims.address, u64::MAX);
        let entry = |(scope, code, group): Key<'_>, source: &str| DisputeEntry {
            action: request.action,
            address: request.claims.address,
            scope,
            code,
            group: Arc::from(group),
            source: Arc::from(source),
            dispute: request.dispute.clone(),
            generation,
        };
        match request.action {
            DisputeAction::Dispute => {
                let found = disputable(&request.claims, held)?;
                let is_open = |key: &Key<'_>| open.iter().any(|entry| entry.key() == *key);
                let new: Vec<_> =
                    found.iter().filter(|(key, _)| !is_open(key)).map(|(key, source)| entry(*key, source)).collect();
                let known = open.iter().find(|entry| found.iter().any(|(key, _)| *key == entry.key()));
                match known.filter(|_| new.is_empty()) {
                    Some(known) => Err(already(known)),
                    None => Ok(new),
                }
            }
            DisputeAction::Confirm => {
                let meant = open.iter().filter(|held| request.claims.has(held.key(), &held.source));
                let ended: Vec<_> = meant.map(|held| entry(held.key(), &held.source)).collect();
                if ended.is_empty() { Err(not_disputed(&request.claims, &open, held)) } else { Ok(ended) }
            }
        }
    }
}

/// The claims that a selection means, each once, with who makes it.
fn disputable<'a>(
    selection: &ClaimSelection,
    held: &[Claim<&'a str>],
) -> Result<Vec<(Key<'a>, &'a str)>, DisputeRefusal> {
    let claims = || held.iter().filter(|claim| claim.action == Action::Add);
    let mut seen = BTreeSet::new();
    let meant = claims().filter(|claim| selection.has(key_of(claim), claim.source));
    let found: Vec<_> =
        meant.filter(|claim| seen.insert(key_of(claim))).map(|claim| (key_of(claim), claim.source)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let (address, words) = (selection.address, selection.to_string());
    let held = match listed(claims().map(|claim| (key_of(claim), claim.source))) {
        Some(list) => format!("its claims are {list}"),
        None => "no list in force names it; `headwater labels list` shows the lists".to_owned(),
    };
    Err(DisputeRefusal::NoClaim { address, selection: words, held })
}

fn already(known: &DisputeEntry) -> DisputeRefusal {
    let Dispute { by, at, reason } = known.dispute.clone();
    let claim = format!("{} about {}", in_words(known.key(), &known.source), known.address);
    DisputeRefusal::AlreadyDisputed { claim, by, at, reason }
}

fn not_disputed(selection: &ClaimSelection, open: &[&DisputeEntry], held: &[Claim<&str>]) -> DisputeRefusal {
    let (address, words) = (selection.address, selection.to_string());
    let held = match listed(open.iter().map(|entry| (entry.key(), &*entry.source))) {
        Some(list) => format!("disputed are {list}"),
        None if held.is_empty() => "no list in force names the address either".to_owned(),
        None => "all of its claims count in full".to_owned(),
    };
    DisputeRefusal::NotDisputed { address, selection: words, held }
}

/// Claims in words, each once; `None` without any.
fn listed<'a>(claims: impl Iterator<Item = (Key<'a>, &'a str)>) -> Option<String> {
    let words: BTreeSet<String> = claims.map(|(key, source)| in_words(key, source)).collect();
    let shown: Vec<_> = words.iter().take(MAX_LISTED).map(String::as_str).collect();
    let more = words.len() - shown.len();
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!words.is_empty()).then(|| format!("{}{rest}", shown.join(", ")))
}

fn in_words((scope, code, _): Key<'_>, source: &str) -> String {
    format!("{} of {source} ({})", code.map_or("a name", Code::name), scope.name())
}

fn check_reason(reason: &str) -> Result<(), DisputeRefusal> {
    let (length, has_control) = (reason.trim().chars().count(), reason.chars().any(char::is_control));
    if (1..=MAX_REASON).contains(&length) && !has_control {
        return Ok(());
    }
    let control = if has_control { ", among them control characters such as a line break" } else { "" };
    Err(DisputeRefusal::BadReason { length, limit: MAX_REASON, control })
}

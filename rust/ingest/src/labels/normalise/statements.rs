//! Statements one by one, into the columns of the join.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_ledger::labels::{
    Action, Claim, Code, DateBasis, Level, Link, Scope, actor_code, entity_key, entity_name,
};
use headwater_types::{Address, Chain, Family, Timestamp};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Rules;
use super::absent::AbsentNetworks;
use super::address::{Care, Piece, Reading, read_cell};
use super::frame::{Copies, EVM, Joined, Reviewed, Statements};
use super::groups::{ETHERSCAN, OFAC, group_of_site};
use super::levels::trust;
use super::look_alikes::mixes_scripts;
use super::names::{is_entity, name_of};
use super::notes::{Note, Notes};
use super::scope::{Chains, Elsewhere, Hint, Placed, default_chains, place, read_hint, widens};
use super::texts::{Numbered, Ordered};
use crate::Place;
use crate::labels::concepts::{Concepts, Meaning};
use crate::labels::counts::Counts;
use crate::labels::outcome::Foreign;
use crate::labels::raw::{ChainHint, RawClaim, Vocabulary};

/// The action of a claim, as a column of numbers.
const ADD: u32 = 0;
const REMOVE: u32 = 1;
const ADD_TO_ADDRESS_ONLY: u32 = 2;

/// A date of which the file does not say what it belongs to, in the column of bases: behind all that do.
const UNKNOWN_BASIS: u32 = u32::MAX;

/// A source, and where it says so.
type Cited = (Option<Arc<str>>, Option<Arc<str>>);

/// The key of an entity, and its name.
type Keyed = (Arc<str>, Arc<str>);

/// The columns as they grow, with numbers in order of arrival.
pub(super) struct Gathering<'a> {
    rules: &'a Rules<'a>,
    concepts: &'a Concepts,
    default: Chains,
    statements: Statements,
    reviewed: Reviewed,
    addresses: Numbered<Address>,
    texts: Numbered<Arc<str>>,
    sources: Numbered<Cited>,
    words: FxHashMap<String, (u32, Meaning)>,
    /// By name: key and name of the entity.
    entities: FxHashMap<String, Option<Keyed>>,
    sites: FxHashMap<String, Option<String>>,
    hints: FxHashMap<ChainHint, Hint>,
    left_out: FxHashSet<(Note, String)>,
    foreign_addresses: FxHashSet<(String, String)>,
    foreign: BTreeSet<Foreign>,
    absent: AbsentNetworks,
    counts: Counts,
    /// Addresses of which something is claimed.
    claims_made: u64,
    /// The same by file, where there are several.
    accepted: FxHashMap<Arc<str>, u64>,
    notes: Notes,
}

/// All statements as columns, and what leads back.
pub(super) struct Gathered {
    pub(super) statements: Statements,
    pub(super) reviewed: Reviewed,
    pub(super) copies: Copies,
    pub(super) decode: Decode,
    pub(super) foreign: BTreeSet<Foreign>,
    pub(super) absent: AbsentNetworks,
    pub(super) counts: Counts,
    pub(super) accepted: FxHashMap<Arc<str>, u64>,
    pub(super) notes: Notes,
}

/// The properties that all addresses of one statement share.
struct Shared {
    words: Vec<u32>,
    codes: Vec<Code>,
    /// The word of the code that the entity is known for, where the statement gives none.
    actor: Option<u32>,
    entity: Option<(Arc<str>, Arc<str>)>,
    name: Option<u32>,
    source: Option<u32>,
    group: u32,
    is_group_stated: bool,
    trust: u32,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(rules: &'a Rules<'a>, concepts: &'a Concepts, counts: Counts) -> Self {
        Self {
            rules,
            concepts,
            default: default_chains(rules.chain, rules.format_chain),
            statements: Statements::default(),
            reviewed: Reviewed::default(),
            addresses: Numbered::default(),
            texts: Numbered::default(),
            sources: Numbered::default(),
            words: FxHashMap::default(),
            entities: FxHashMap::default(),
            sites: FxHashMap::default(),
            hints: FxHashMap::default(),
            left_out: FxHashSet::default(),
            foreign_addresses: FxHashSet::default(),
            foreign: BTreeSet::new(),
            absent: AbsentNetworks::default(),
            counts,
            claims_made: 0,
            accepted: FxHashMap::default(),
            notes: Notes::default(),
        }
    }

    /// Adds all statements, each with its file where there are several.
    pub(super) fn add_all(&mut self, claims: Vec<RawClaim>, files: impl Iterator<Item = Option<Arc<str>>>) {
        // Checksums take most of the time.
        let cells: Vec<Vec<Piece>> = claims.par_iter().map(|claim| read_cell(&claim.address)).collect();
        for ((claim, pieces), file) in claims.into_iter().zip(cells).zip(files) {
            self.notes.begin(file.clone());
            let before = self.claims_made;
            self.add(&claim, pieces);
            let accepted = self.claims_made - before;
            if let Some(file) = file.filter(|_| accepted > 0) {
                *self.accepted.entry(file).or_default() += accepted;
            }
        }
    }

    fn add(&mut self, claim: &RawClaim, pieces: Vec<Piece>) {
        if pieces.is_empty() {
            self.counts.no_address += 1;
            return;
        }
        let shared = self.shared(claim);
        let hint = self.hints.entry(claim.chain.clone()).or_insert_with(|| read_hint(&claim.chain)).clone();
        for piece in pieces {
            match place(&piece, &hint, &self.default) {
                Placed::Foreign(elsewhere) => match piece.reading {
                    Reading::Address(address @ Address::Evm(_), care)
                        if shared.codes.iter().any(|code| widens(*code, true)) =>
                    {
                        // The code holds on every EVM chain, whatever the list calls this one.
                        self.note_care(&piece.text, care, claim.place);
                        self.add_address(claim, &shared, address, &Chains::Elsewhere(elsewhere.network), true);
                    }
                    _ => self.add_foreign(elsewhere, piece, &shared),
                },
                Placed::Unread => self.leave_out(&piece, claim.place),
                Placed::On(at) => {
                    let Reading::Address(address, care) = piece.reading else { continue };
                    self.note_care(&piece.text, care, claim.place);
                    let is_taken = matches!(at.chains, Chains::Of(_))
                        || shared.codes.iter().any(|code| widens(*code, at.is_named));
                    if at.is_contradicted && is_taken {
                        self.notes.add(Note::Contradicted, &piece.text, claim.place);
                    }
                    self.add_address(claim, &shared, address, &at.chains, at.is_named);
                }
            }
        }
    }

    fn add_foreign(&mut self, elsewhere: Elsewhere, piece: Piece, shared: &Shared) {
        let Elsewhere { ticker, network } = elsewhere;
        self.claims_made += 1;
        if self.foreign_addresses.insert((ticker.clone(), piece.text.clone())) {
            self.counts.other_ticker += 1;
            self.absent.add(&network, 1);
        }
        let entity = shared.entity.as_ref().map(|(_, text)| text.to_string());
        self.foreign.insert(Foreign { ticker, address: piece.text, code: shared.codes.first().copied(), entity });
    }

    fn leave_out(&mut self, piece: &Piece, at: Option<Place>) {
        let (note, count) = match piece.reading {
            Reading::BadChecksum => (Note::BadChecksum, &mut self.counts.bad_checksum),
            Reading::Malformed | Reading::Address(..) => (Note::Malformed, &mut self.counts.malformed),
        };
        if self.left_out.insert((note, piece.text.clone())) {
            *count += 1;
            self.notes.add(note, &piece.text, at);
        }
    }

    fn note_care(&mut self, text: &str, care: Care, at: Option<Place>) {
        let (note, count) = match care {
            Care::None => return,
            Care::Eip55 => (Note::Eip55, &mut self.counts.eip55),
            Care::Repaired => (Note::Repaired, &mut self.counts.repaired),
        };
        if self.left_out.insert((note, text.to_owned())) {
            *count += 1;
            self.notes.add(note, text, at);
        }
    }

    fn add_address(&mut self, claim: &RawClaim, shared: &Shared, address: Address, chains: &Chains, is_named: bool) {
        let is_telling = !shared.codes.is_empty() || shared.name.is_some() || shared.entity.is_some();
        self.claims_made += u64::from(is_telling && matches!(chains, Chains::Of(_)));
        let columns = &mut self.statements;
        columns.address.push(self.addresses.number(address));
        columns.is_evm.push(address.family() == Family::Evm);
        let (scope, elsewhere) = match chains {
            Chains::Of(scope) => (Some(number_of(*scope)), None),
            Chains::Elsewhere(name) => (None, Some(self.texts.number(Arc::from(name.as_str())))),
            Chains::Missing => (None, None),
        };
        columns.scope.push(scope);
        columns.elsewhere.push(elsewhere);
        columns.is_named.push(is_named);
        // Known actors are of bitcoin: elsewhere a token or a contract may have the name.
        let actor = shared.actor.filter(|_| address.family() == Family::Utxo);
        columns.concepts.push(shared.words.iter().copied().chain(actor).collect());
        let mut text = |text: &Arc<str>| self.texts.number(Arc::clone(text));
        columns.entity.push(shared.entity.as_ref().map(|(key, _)| text(key)));
        columns.entity_text.push(shared.entity.as_ref().map(|(_, name)| text(name)));
        columns.name.push(shared.name);
        columns.source.push(shared.source);
        columns.group.push(shared.group);
        columns.is_group_stated.push(shared.is_group_stated);
        columns.trust.push(shared.trust);
        let secs = |time: Option<Timestamp>| time.map(Timestamp::secs);
        columns.asserted_at.push(secs(claim.asserted_at));
        let basis = claim.date_basis.stated().map_or(UNKNOWN_BASIS, |basis| position(&DateBasis::ALL, &basis));
        columns.date_basis.push(claim.asserted_at.map(|_| basis));
        columns.last_seen.push(secs(claim.last_seen.max(claim.asserted_at)));
        columns.valid_until.push(secs(claim.valid_until));
        columns.action.push(match (claim.action, claim.is_address_only) {
            (Action::Add, false) => ADD,
            (Action::Remove, _) => REMOVE,
            (Action::Add, true) => ADD_TO_ADDRESS_ONLY,
        });
    }

    fn shared(&mut self, claim: &RawClaim) -> Shared {
        let rules = self.rules;
        let given = claim.concepts.is_empty().then_some(rules.code).flatten().map(|code| code.name().to_owned());
        let (mut words, mut codes) = (Vec::new(), Vec::new());
        for concept in claim.concepts.iter().chain(&given) {
            let (word, meaning) = self.word(concept);
            words.push(word);
            match meaning {
                Meaning::Code(code) => codes.push(code),
                // The tables of other vocabularies hold whatever their source says besides.
                Meaning::NoCode if rules.vocabulary == Vocabulary::OWN => self.notes.add_word(concept, true),
                Meaning::Unreviewed if !concept.trim().is_empty() => self.notes.add_word(concept, false),
                Meaning::NoCode | Meaning::Unreviewed => {}
            }
        }
        let entity = claim.entity.as_deref().or(rules.entity).and_then(|text| self.entity(text, claim.place));
        let takes_actor = codes.is_empty() && !claim.is_mention();
        let actor = entity.as_ref().filter(|_| takes_actor).and_then(|(key, _)| actor_code(key));
        let actor = actor.map(|code| self.word(code.name()).0);
        let name = claim.name.as_deref().and_then(name_of).map(|name| self.texts.number(Arc::from(name)));
        let (group, is_group_stated) = self.group(claim);
        let whole =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(Arc::from);
        let pair = (whole(&claim.source), whole(&claim.source_url));
        let source = (pair != (None, None)).then(|| self.sources.number(pair));
        let trust = trust(rules.level, claim.level.as_ref(), claim.confidence.as_deref(), rules.format_level);
        if trust.is_unknown_text {
            self.counts.unknown_confidence += 1;
            let text = match &claim.level {
                Some(crate::labels::raw::RawLevel::Stated(text)) => text.clone(),
                Some(crate::labels::raw::RawLevel::Known(_)) | None => claim.confidence.clone().unwrap_or_default(),
            };
            self.notes.add(Note::UnknownConfidence, &text, claim.place);
        }
        let trust = packed(trust.level, trust.reliability);
        Shared { words, codes, actor, entity, name, source, group, is_group_stated, trust }
    }

    /// The number of a concept, and what it means.
    fn word(&mut self, concept: &str) -> (u32, Meaning) {
        if let Some(known) = self.words.get(concept) {
            return *known;
        }
        let number = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        // What the caller gives is one of our own codes, whatever the vocabulary of the format.
        let given = self.rules.code.filter(|code| code.name() == concept).map(Meaning::Code);
        let own = || Vocabulary::own_code(concept).map(Meaning::Code);
        let meaning = given.or_else(own).unwrap_or_else(|| self.concepts.meaning(concept));
        if let Meaning::Code(code) = meaning {
            self.reviewed.concept.push(number);
            self.reviewed.code.push(position(Code::ALL, &code));
            self.reviewed.widens.push(widens(code, true));
            self.reviewed.widens_unnamed.push(widens(code, false));
            self.reviewed.is_copied.push(code == Code::Sanction);
        }
        self.words.insert(concept.to_owned(), (number, meaning));
        (number, meaning)
    }

    /// Key and name of an entity.
    fn entity(&mut self, text: &str, at: Option<Place>) -> Option<(Arc<str>, Arc<str>)> {
        if let Some(known) = self.entities.get(text) {
            return known.clone();
        }
        let name = name_of(text).filter(|name| is_entity(name));
        if name.as_deref().is_some_and(mixes_scripts) {
            self.notes.add(Note::LookAlike, text, at);
        }
        let entity = name.map(|name| (Arc::from(entity_key(&name)), Arc::from(entity_name(&name))));
        self.entities.insert(text.to_owned(), entity.clone());
        entity
    }

    /// The provenance group, and whether caller or row state it.
    fn group(&mut self, claim: &RawClaim) -> (u32, bool) {
        let rules = self.rules;
        let of_row = claim.group.as_deref().map(str::trim).filter(|group| !group.is_empty());
        if let Some(stated) = rules.group.or(of_row) {
            return (self.texts.number(Arc::from(stated)), true);
        }
        let sites = &mut self.sites;
        let mut site = |text: &String| match sites.get(text) {
            Some(known) => known.clone(),
            None => sites.entry(text.clone()).or_insert_with(|| group_of_site(text)).clone(),
        };
        let site = claim.source_url.as_ref().and_then(&mut site).or_else(|| claim.source.as_ref().and_then(&mut site));
        let own = || match (rules.format_group, claim.source.as_deref()) {
            ("", Some(source)) if !source.trim().is_empty() => source.trim().to_lowercase(),
            ("", _) => rules.source.to_lowercase(),
            (group, _) => group.to_owned(),
        };
        let group = site.unwrap_or_else(own);
        (self.texts.number(Arc::from(group)), false)
    }

    pub(super) fn finish(mut self) -> Gathered {
        let group = self.texts.find(ETHERSCAN);
        let original = self.texts.number(Arc::from(OFAC));
        let (addresses, texts, sources) = (self.addresses.ordered(), self.texts.ordered(), self.sources.ordered());
        let mut statements = self.statements;
        for number in &mut statements.address {
            *number = addresses.place(*number);
        }
        for number in &mut statements.group {
            *number = texts.place(*number);
        }
        for column in
            [&mut statements.entity, &mut statements.entity_text, &mut statements.name, &mut statements.elsewhere]
        {
            texts.renumber(column);
        }
        sources.renumber(&mut statements.source);
        let copies = Copies { group: group.map(|group| texts.place(group)), original: texts.place(original) };
        Gathered {
            statements,
            reviewed: self.reviewed,
            copies,
            decode: Decode { addresses, texts, sources },
            foreign: self.foreign,
            absent: self.absent,
            counts: self.counts,
            accepted: self.accepted,
            notes: self.notes,
        }
    }
}

/// Leads from numbers back to what they stand for.
pub(super) struct Decode {
    addresses: Ordered<Address>,
    texts: Ordered<Arc<str>>,
    sources: Ordered<Cited>,
}

impl Decode {
    /// A text by its number.
    pub(super) fn text(&self, place: u32) -> Option<&str> {
        self.texts.value(place).map(|text| &**text)
    }

    /// The claim of a joined row; `None` where it says nothing: neither code nor name nor entity.
    pub(super) fn claim(&self, joined: &Joined, import: &Arc<str>) -> Option<Claim> {
        let text = |place: Option<u32>| place.and_then(|place| self.texts.value(place)).map(Arc::clone);
        let code = joined.code.and_then(|code| Code::ALL.get(usize::try_from(code).ok()?)).copied();
        let (name, entity) = (text(joined.name), text(joined.entity_text));
        if code.is_none() && name.is_none() && entity.is_none() {
            return None;
        }
        let (source, source_url) =
            joined.source.and_then(|place| self.sources.value(place)).cloned().unwrap_or_default();
        let (level, reliability) = unpacked(joined.trust);
        let asserted_at = joined.asserted_at.map(Timestamp::new);
        Some(Claim {
            address: *self.addresses.value(joined.address)?,
            scope: scope_of(joined.scope)?,
            code,
            name,
            entity,
            source: source.unwrap_or_else(|| Arc::clone(import)),
            source_url,
            group: text(Some(joined.group))?,
            level,
            reliability,
            link: if joined.action == ADD_TO_ADDRESS_ONLY { Link::ExactOnly } else { Link::Exact },
            asserted_at,
            date_basis: joined.date_basis.and_then(|basis| DateBasis::ALL.get(usize::try_from(basis).ok()?)).copied(),
            last_seen: joined.last_seen.map(Timestamp::new).filter(|last| Some(*last) != asserted_at),
            valid_until: joined.valid_until.map(Timestamp::new),
            action: if joined.action == REMOVE { Action::Remove } else { Action::Add },
            dispute: None,
        })
    }
}

/// The place of a value in a table that has it.
fn position<T: PartialEq>(table: &[T], value: &T) -> u32 {
    let place = table.iter().position(|known| known == value).and_then(|place| u32::try_from(place).ok());
    place.unwrap_or(u32::MAX)
}

fn number_of(scope: Scope) -> u32 {
    match scope {
        Scope::Evm => EVM,
        Scope::Chain(chain) => Chain::all().zip(0..).find(|(known, _)| *known == chain).map_or(EVM, |(_, place)| place),
    }
}

fn scope_of(number: u32) -> Option<Scope> {
    if number == EVM {
        return Some(Scope::Evm);
    }
    Chain::all().nth(usize::try_from(number).ok()?).map(Scope::Chain)
}

/// More than there are levels.
const LEVELS: u32 = 64;

/// Level and reliability as one number: the more reliable one is larger, then the level that stands first.
fn packed(level: Level, reliability: u16) -> u32 {
    u32::from(reliability) * LEVELS + (LEVELS - 1 - position(Level::ALL, &level).min(LEVELS - 1))
}

fn unpacked(number: u32) -> (Level, u16) {
    let place = usize::try_from(LEVELS - 1 - number % LEVELS).unwrap_or_default();
    let level = Level::ALL.get(place).copied().unwrap_or(Level::Unknown);
    (level, u16::try_from(number / LEVELS).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_scopes_survive_as_numbers() {
        for level in Level::ALL {
            assert_eq!(unpacked(packed(*level, 437)), (*level, 437));
        }
        assert!(packed(Level::Unknown, 600) > packed(Level::TrustedProvider, 500));
        assert!(packed(Level::TrustedProvider, 500) > packed(Level::Forensic, 500));
        for scope in Chain::all().map(Scope::Chain).chain([Scope::Evm]) {
            assert_eq!(scope_of(number_of(scope)), Some(scope));
        }
    }
}

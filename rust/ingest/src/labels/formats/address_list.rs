//! Lists without columns: an address a line, Markdown lists and tables, JSON arrays of addresses, and JSON objects that
//! give addresses names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use headwater_ledger::labels::Level;

use super::address_lines::{Line, LineReader, denies, is_header, is_no, is_table, link_to, network};
use super::name_tag::chain_of_link;
use super::reading::filled;
use super::refused::is_record_of_changes;
use super::table::contradicts;
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::networks::{names_network, of_evm_id, of_lone_evm_id};
use crate::source::json::Value;
use crate::source::{Content, Probe, has_address_form, prefixed};
use crate::{IngestError, Place};

/// A list of one's own: what its addresses are, the caller says.
pub(super) const FORMAT: Format = Format {
    name: "address_list",
    source: "",
    group: "",
    level: Level::Unknown,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

fn reads(probe: &Probe) -> bool {
    match probe.content() {
        Content::Json => {
            let lists = |document: &Value<'_>| {
                let mut found = AddressCollector::default();
                found.visit(document, &Surroundings::default(), Place::Row(1));
                !found.claims.is_empty() && !found.has_other_addresses
            };
            probe.input().wrapped().is_none_or(|rows| !rows.is_list())
                && probe.document().is_some_and(|document| lists(&document))
        }
        Content::Csv | Content::Tsv if is_table(probe) => false,
        Content::Csv | Content::Tsv | Content::Binary => {
            !is_record_of_changes(probe) && super::address_lines::lists(probe)
        }
        Content::Parquet | Content::Empty => false,
    }
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        match probe.content() {
            Content::Json => probe.input().with_document(|document| {
                read_document(document, &mut labels);
                Ok(())
            })?,
            _ => read_lines(probe, &mut labels)?,
        }
        let is_nameless =
            |claim: &RawClaim| claim.name.is_none() && claim.entity.is_none() && claim.concepts.is_empty();
        let says_nothing = !labels.claims.is_empty() && labels.claims.iter().all(is_nameless);
        if says_nothing && given.code.is_none() && given.entity.is_none() {
            let why = "it is a list of addresses that does not say what they are".to_owned();
            return Err(IngestError::MissingOption { path: probe.path().to_owned(), option: "--code", why });
        }
    }
    Ok(labels)
}

/// Returns the claim of one address.
fn claim(place: Place, text: &str, chain: ChainHint, name: Option<&str>) -> RawClaim {
    // A link or the name of a chain before the address says more than what is around it.
    let (own, address) = prefixed(text).map_or((None, text), |(chain, address)| (Some(chain), address));
    // A word for yes is not a name.
    let name = filled(name).filter(|name| is_no(name).is_none());
    let of_chain = |chain: &str| ChainHint::Chain(chain.to_owned());
    let (chain, name) = match (own, chain, name.and_then(network)) {
        (Some(own), _, _) => (of_chain(own), name),
        // A network is not a name where nothing else names one.
        (None, ChainHint::None, Some(network)) => (of_chain(network), None),
        (None, chain, _) => (chain, name),
    };
    RawClaim {
        place: Some(place),
        address: address.to_owned(),
        chain,
        name: name.map(str::to_owned),
        ..RawClaim::default()
    }
}

/// Gives a claim that names no chain that of the link to its address, or else that of the heading.
fn with_chain(claim: RawClaim, line: &str, heading: Option<&str>) -> RawClaim {
    if claim.chain != ChainHint::None || claim.address.contains("://") {
        return claim;
    }
    let chain = link_to(line, &claim.address).and_then(chain_of_link).or(heading);
    RawClaim { chain: chain.map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned())), ..claim }
}

/// Returns what the columns of a row say of the chain.
fn chain_of(chain: Option<String>, coin: Option<String>) -> ChainHint {
    match (chain, coin) {
        (Some(chain), Some(coin)) if contradicts(&chain, &coin) => ChainHint::Chain(format!("{chain} with {coin}")),
        (Some(chain), _) => ChainHint::Chain(chain),
        (None, Some(coin)) => ChainHint::Ticker(coin),
        (None, None) => ChainHint::None,
    }
}

fn read_lines(probe: &Probe, labels: &mut RawLabels) -> Result<(), IngestError> {
    let input = probe.input();
    let mut lines = input.lines()?;
    let mut list = LineReader::default();
    let (mut exceptions, mut prose) = (OmissionCount::default(), OmissionCount::default());
    let mut widths: BTreeMap<usize, u64> = BTreeMap::new();
    while let Some((number, line)) = lines.next_line()? {
        let place = Place::Line(number);
        let line = std::str::from_utf8(line).map_err(|_| input.damaged(Some(place), "it is not valid UTF-8"))?;
        match list.read(line) {
            Line::Addresses(addresses) => {
                *widths.entry(addresses.len()).or_default() += 1;
                for (address, remark) in addresses {
                    if denies(&list.heading) || remark.as_deref().is_some_and(denies) {
                        exceptions.add(place);
                    } else {
                        let claim = claim(place, &address, ChainHint::None, remark.as_deref());
                        labels.claims.push(with_chain(claim, line, list.network()));
                    }
                }
            }
            Line::Row(row) => {
                let text = [&row.name, &row.entity, &row.code];
                if denies(&list.heading) || text.into_iter().flatten().any(|text| denies(text)) {
                    exceptions.add(place);
                    continue;
                }
                let claim = claim(place, &row.address, chain_of(row.chain, row.coin), row.name.as_deref());
                labels.claims.push(RawClaim {
                    concepts: row.code.into_iter().collect(),
                    entity: row.entity,
                    ..with_chain(claim, line, list.network())
                });
            }
            Line::Fields(fields) => {
                let why = format!(
                    "{place} has an address and {} more fields: name the columns in a first line, such as address,name",
                    fields - 1
                );
                return Err(IngestError::MissingOption { path: input.path().to_owned(), option: "a header", why });
            }
            Line::Denying(column) => {
                let why = format!("the column {column:?} may say which rows hold, and is read there alone");
                return Err(IngestError::MissingOption {
                    path: input.path().to_owned(),
                    option: "its table as CSV",
                    why,
                });
            }
            Line::Prose if widths.is_empty() && is_header(line) => {
                let why = format!("the table has lines above its header in {place}: remove them");
                return Err(IngestError::MissingOption { path: input.path().to_owned(), option: "a header", why });
            }
            Line::Prose => prose.add(place),
            Line::Other => {}
        }
    }
    if let Some(width) = columns_of(&widths) {
        let why = format!(
            "most lines have {width} addresses, such as payer and payee: name the columns in a first line, or put one \
             address a line"
        );
        return Err(IngestError::MissingOption { path: input.path().to_owned(), option: "a header", why });
    }
    exceptions.warn("addresses of victims or exceptions are left out", labels);
    prose.warn("lines that do not begin with an address are left out", labels);
    if !list.unread.is_empty() {
        labels.warnings.push(format!("columns that were not read: {}", list.unread.join(", ")));
    }
    Ok(())
}

/// Returns the number of addresses that most lines have, where they are columns: pairs, or more in line after line. Which of
/// them the list is about is open.
fn columns_of(widths: &BTreeMap<usize, u64>) -> Option<usize> {
    let lines: u64 = widths.values().sum();
    let (width, count) = widths.iter().find(|(_, count)| *count * 2 > lines)?;
    (*width == 2 || *width > 2 && *count > 1).then_some(*width)
}

/// The number of omissions of one kind, and the place of the first.
#[derive(Default)]
struct OmissionCount {
    count: u64,
    first: Option<Place>,
}

impl OmissionCount {
    fn add(&mut self, place: Place) {
        self.count += 1;
        self.first.get_or_insert(place);
    }

    fn warn(&self, what: &str, labels: &mut RawLabels) {
        if let Some(first) = self.first {
            labels.warnings.push(format!("{what}: {}, the first in {first}", self.count));
        }
    }
}

fn read_document(document: &Value<'_>, labels: &mut RawLabels) {
    let mut found = AddressCollector::default();
    found.visit(document, &Surroundings::default(), Place::Row(1));
    labels.claims.extend(found.claims);
    found.exceptions.warn("addresses of victims or exceptions are left out", labels);
    found.false_values.warn("addresses with the value false are left out", labels);
    found.numbers.warn("numbers beside addresses were not read", labels);
    found.others.warn("addresses in other places of the document are left out", labels);
}

/// The surroundings of a value of a document.
#[derive(Default, Clone)]
struct Surroundings {
    chain: Option<String>,
    name: Option<String>,
    is_exception: bool,
    depth: usize,
}

/// Members deeper than this are not looked at.
const DEPTH: usize = 6;

/// Members that contain a list, and are not the name of anybody.
const CONTAINERS: &str = "accounts addresses address addressestoblock banned blacklist blacklisted blocked blockedaddresses \
    blocklist data deny denied denylist entries fuzzylist items list lists ofac ofacaddresses prohibited result results rows \
    sanctioned sanctionedaddresses sanctions values wallets walletaddresses";

/// Members of records of transactions and contracts: what is under them is not a name of the address.
const FIELDS: &str = "address account beneficiary caller contract contractaddress creator deployer factory from \
    fromaddress hash holder id implementation miner operator owner payer proxy recipient sender signer spender to \
    toaddress token tokenaddress user wallet";

fn is_in(words: &str, name: &str) -> bool {
    let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    words.split_whitespace().any(|word| word == plain)
}

/// The meaning of the names of members of an object that are numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Nothing: they count, or are years. Other names are read.
    Nothing,
    /// They are chain ids.
    ChainIds,
    /// They are positions, and other names are not read either.
    Positions,
}

impl Numbers {
    /// Numbers are chain ids where every member with addresses has the id or the name of a network, and one of them could
    /// not be a count or a year.
    fn of(members: &[(Cow<'_, str>, Value<'_>)]) -> Self {
        if members.iter().any(|(name, _)| name == "0") {
            return Self::Positions;
        }
        if !members.iter().any(|(name, _)| is_number(name)) {
            return Self::Nothing;
        }
        let names = || members.iter().filter(|(_, inner)| contains_address(inner)).map(|(name, _)| name.as_ref());
        let is_certain = |name: &str| names_network(name) || of_lone_evm_id(name).is_some();
        let is_known = |name: &str| {
            let is_long = || name.len() > 1 && name.parse().ok().and_then(of_evm_id).is_some();
            is_certain(name) || name == "1" || is_number(name) && is_long()
        };
        if names().all(is_known) && names().any(is_certain) { Self::ChainIds } else { Self::Nothing }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Surroundings {
    fn inside(&self, name: &str, numbers: Numbers) -> Self {
        // Numbers are positions and chains, whatever they count.
        let is_exception = self.is_exception || (!is_number(name) && denies(name));
        let mut inner = Self { depth: self.depth + 1, is_exception, ..self.clone() };
        match name {
            _ if numbers == Numbers::Positions => {}
            id if is_number(id) => inner.chain = (numbers == Numbers::ChainIds).then(|| id.to_owned()).or(inner.chain),
            chain if names_network(chain) => inner.chain = Some(chain.to_owned()),
            container if is_in(CONTAINERS, container) => {}
            name => inner.name = Some(name.to_owned()),
        }
        inner
    }
}

/// Collects the addresses of a document.
#[derive(Default)]
struct AddressCollector {
    claims: Vec<RawClaim>,
    exceptions: OmissionCount,
    false_values: OmissionCount,
    numbers: OmissionCount,
    others: OmissionCount,
    /// True if the document has addresses that no list and no name belongs to, as records of transactions have.
    has_other_addresses: bool,
}

impl AddressCollector {
    fn add(&mut self, place: Place, text: &str, path: &Surroundings, name: Option<&str>) {
        if path.is_exception || name.is_some_and(denies) {
            self.exceptions.add(place);
            return;
        }
        let chain = path.chain.clone().map_or(ChainHint::None, ChainHint::Chain);
        self.claims.push(claim(place, text, chain, name.or(path.name.as_deref())));
    }

    fn visit(&mut self, value: &Value<'_>, path: &Surroundings, place: Place) {
        if path.depth > DEPTH {
            each_address(value, &mut || self.others.add(place));
            return;
        }
        match value {
            Value::List(items) => self.visit_list(items, path),
            Value::Object(members) => {
                let numbers = Numbers::of(members);
                for ((name, inner), number) in members.iter().zip(1..) {
                    let place = if path.depth == 0 { Place::Row(number) } else { place };
                    if has_address_form(name) {
                        self.add_named(name, inner, path, place);
                    } else if let Some(text) = inner.text().filter(|text| has_address_form(text)) {
                        if is_in(FIELDS, name) {
                            self.has_other_addresses = true;
                            self.others.add(place);
                        } else {
                            let inner = path.inside(name, numbers);
                            self.add(place, text, &inner, None);
                        }
                    } else {
                        self.visit(inner, &path.inside(name, numbers), place);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    fn visit_list(&mut self, items: &[Value<'_>], path: &Surroundings) {
        let texts = || items.iter().filter_map(Value::text);
        // A list with one address is a list of addresses: the others may be mistyped.
        let is_list = texts().any(has_address_form);
        for (item, number) in items.iter().zip(1..) {
            let place = Place::Row(number);
            match item {
                Value::Text(text) if is_list => self.add(place, text, path, None),
                Value::List(_) | Value::Object(_) if contains_address(item) => {
                    self.has_other_addresses = true;
                    self.others.add(place);
                }
                _ => {}
            }
        }
    }

    /// Adds an address with what stands under it: a name, names, or whether it is on the list.
    fn add_named(&mut self, address: &str, value: &Value<'_>, path: &Surroundings, place: Place) {
        match value {
            Value::Bool(false) => self.false_values.add(place),
            Value::Null | Value::Bool(true) => self.add(place, address, path, None),
            Value::Number(number) if number.parse() == Ok(0.0) => self.exceptions.add(place),
            Value::Number(number) => {
                if *number != "1" {
                    self.numbers.add(place);
                }
                self.add(place, address, path, None);
            }
            // Which address of a pair the document is about is open.
            Value::Text(other) if has_address_form(other) => {
                self.has_other_addresses = true;
                self.others.add(place);
            }
            Value::List(items) if items.iter().filter_map(Value::text).any(has_address_form) => {
                self.has_other_addresses = true;
                self.others.add(place);
            }
            Value::Text(name) => self.add(place, address, path, filled(Some(name))),
            Value::List(items) => {
                let names: Vec<&str> = items.iter().filter_map(|item| filled(item.text())).collect();
                self.add(place, address, path, filled(Some(&names.join(", "))));
            }
            Value::Object(_) => {
                let text = |name: &str| filled(value.get(name).and_then(Value::text));
                let name = ["name", "label", "nametag", "nameTag", "tag", "title", "entity"].into_iter().find_map(text);
                self.add(place, address, path, name);
            }
        }
    }
}

/// Calls a function for each address of a value.
fn each_address(value: &Value<'_>, found: &mut impl FnMut()) {
    if value.text().is_some_and(has_address_form) {
        found();
    }
    for item in value.items() {
        each_address(item, found);
    }
    for (name, member) in value.members() {
        if has_address_form(name) {
            found();
        }
        each_address(member, found);
    }
}

fn contains_address(value: &Value<'_>) -> bool {
    value.text().is_some_and(has_address_form)
        || value.items().iter().any(contains_address)
        || value.members().iter().any(|(name, member)| has_address_form(name) || contains_address(member))
}

#[cfg(test)]
#[path = "address_list_tests.rs"]
mod tests;

//! The files of families.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use toml::Spanned;

use super::event::{Condition, Event, Mapping, Mark};
use super::term::{Fetch, Term};
use super::{Family, Tables};
use crate::abi::{Declaration, DeclarationError};
use crate::chain::BridgeChain;
use crate::error::TableError;
use crate::half::{MatchClass, Step};
use crate::rows::RowTable;

macro_rules! families {
    ($($name:literal),* $(,)?) => {
        /// The files of the families, one per bridge or protocol.
        pub(crate) const FAMILIES: &[(&str, &str)] = &[
            $((concat!("families/", $name, ".toml"), include_str!(concat!("../../tables/families/", $name, ".toml")))),*
        ];
    };
}

families!(
    "across",
    "layerzero-v1",
    "layerzero",
    "cctp",
    "wormhole",
    "celer",
    "multichain",
    "synapse",
    "hop",
    "debridge",
    "axelar",
    "squid",
    "connext",
    "symbiosis",
    "chainflip",
    "thorchain",
    "tbtc",
    "wbtc",
    "ren",
    "allbridge-core",
    "allbridge-classic",
    "poly",
    "rainbow",
    "relay",
    "meson",
    "butter",
    "swft",
    "entries",
    "ccip",
    "polygon-pos",
    "bttc",
    "arbitrum",
    "opstack",
    "amb",
    "xdai-bridge",
    "scroll-native",
    "orbiter",
    "others",
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: String,
    ids: Option<String>,
    #[serde(default)]
    evm_ids: bool,
    peers: Option<Spanned<[String; 2]>>,
    names: BTreeMap<String, String>,
    event: Vec<Row>,
    #[serde(default)]
    facts: FactTexts,
}

/// The tables of lines and commas in a file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactTexts {
    contracts: Option<Spanned<String>>,
    chain_ids: Option<Spanned<String>>,
    sources: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    is: Spanned<String>,
    #[serde(default)]
    version: String,
    evidence: String,
    step: Option<StepName>,
    class: Option<ClassName>,
    #[serde(default)]
    key: Vec<Spanned<String>>,
    #[serde(default)]
    also: Vec<Spanned<String>>,
    other_chain: Option<Spanned<String>>,
    other_transaction: Option<Spanned<String>>,
    sender: Option<Spanned<String>>,
    receiver: Option<Spanned<String>>,
    token: Option<Spanned<String>>,
    amount: Option<Spanned<String>>,
    other_token: Option<Spanned<String>>,
    other_amount: Option<Spanned<String>>,
    #[serde(default)]
    marks: Vec<Mark>,
    failed_unless: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StepName {
    Sent,
    Received,
    Failed,
    Refunded,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClassName {
    UniqueId,
    UniqueTuple,
    SourceHash,
    DerivedId,
    Content,
    Heuristic,
}

impl From<StepName> for Step {
    fn from(name: StepName) -> Self {
        match name {
            StepName::Sent => Self::Sent,
            StepName::Received => Self::Received,
            StepName::Failed => Self::Failed,
            StepName::Refunded => Self::Refunded,
        }
    }
}

impl From<ClassName> for MatchClass {
    fn from(name: ClassName) -> Self {
        match name {
            ClassName::UniqueId => Self::UniqueId,
            ClassName::UniqueTuple => Self::UniqueTuple,
            ClassName::SourceHash => Self::SourceHash,
            ClassName::DerivedId => Self::DerivedId,
            ClassName::Content => Self::Content,
            ClassName::Heuristic => Self::Heuristic,
        }
    }
}

/// A file with its text, for errors with a line.
struct Source<'t> {
    file: &'t str,
    text: &'t str,
}

impl Source<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        1 + before.filter(|&&byte| byte == b'\n').count()
    }

    fn error(&self, span: Range<usize>, reason: impl Into<String>) -> TableError {
        TableError::new(self.file, self.line(span), reason)
    }

    /// Returns a table of the file. Its text starts in the line after its quotes.
    fn table<'a>(&'a self, text: Option<&'a Spanned<String>>) -> RowTable<'a> {
        RowTable {
            file: self.file,
            text: text.map_or("", |text| text.get_ref()),
            lines_before: text.map_or(0, |text| self.line(text.span())),
        }
    }

    fn fetch(&self, declaration: &Declaration, cell: &Spanned<String>) -> Result<Fetch, TableError> {
        Fetch::parse(declaration, cell.get_ref()).map_err(|error| self.error(cell.span(), error.to_string()))
    }

    fn optional(&self, declaration: &Declaration, cell: Option<&Spanned<String>>) -> Result<Option<Fetch>, TableError> {
        cell.map(|cell| self.fetch(declaration, cell)).transpose()
    }

    fn all(&self, declaration: &Declaration, cells: &[Spanned<String>]) -> Result<Vec<Fetch>, TableError> {
        cells.iter().map(|cell| self.fetch(declaration, cell)).collect()
    }
}

/// Adds the family of a file with its events, contracts and chain ids.
pub(super) fn read(file: &str, text: &str, tables: &mut Tables) -> Result<(), TableError> {
    let source = Source { file, text };
    let parsed: File = toml::from_str(text)
        .map_err(|error| source.error(error.span().unwrap_or_default(), error.message().replace('\n', ": ")))?;
    let peers = parsed.peers.map(|peers| {
        let span = peers.span();
        let [left, right] = peers.into_inner().map(|name| {
            BridgeChain::from_name(&name)
                .ok_or_else(|| source.error(span.clone(), format!("no chain {name:?} in chains.csv")))
        });
        Ok([left?, right?])
    });
    let names = parsed.names.into_iter().map(|(name, display)| (Arc::from(name), Arc::from(display)));
    let number = tables.families.len();
    let events = parsed.event.iter().map(|row| event(&source, row, number)).collect::<Result<Vec<_>, _>>()?;
    check_beside(&source, &parsed.event, &events)?;
    let family = Family {
        name: parsed.family.into(),
        names: names.collect(),
        ids: parsed.ids.map(Arc::from),
        evm_ids: parsed.evm_ids,
        peers: peers.transpose()?,
    };
    let FactTexts { contracts, chain_ids, sources } = &parsed.facts;
    let sources = source.table(sources.as_ref()).rows().map(|row| row.map(|(_, [code, place])| (code, place.into())));
    let sources = sources.collect::<Result<FxHashMap<&str, Arc<str>>, _>>()?;
    tables.contracts.add(source.table(contracts.as_ref()), &family.names, &sources)?;
    tables.ids.add(source.table(chain_ids.as_ref()), &sources)?;
    for event in events {
        tables.by_topic0.entry(event.topic0).or_default().push(tables.events.len());
        tables.events.push(event);
    }
    tables.families.push(family);
    Ok(())
}

fn event(source: &Source<'_>, row: &Row, family: usize) -> Result<Event, TableError> {
    let declaration =
        Declaration::parse(row.is.get_ref()).map_err(|error| source.error(row.is.span(), error.to_string()))?;
    let mapping = match (row.step, row.class) {
        (Some(step), Some(class)) if !row.key.is_empty() => Some(mapping(source, row, &declaration, step, class)?),
        (None, None) if row.key.is_empty() => None,
        _ => return Err(source.error(row.is.span(), "step, class and key stand together or not at all")),
    };
    Ok(Event {
        family,
        name: declaration.name.as_str().into(),
        topic0: declaration.topic0(),
        topic_count: declaration.topic_count(),
        declaration,
        version: row.version.as_str().into(),
        evidence: row.evidence.as_str().into(),
        mapping,
    })
}

fn mapping(
    source: &Source<'_>,
    row: &Row,
    declaration: &Declaration,
    step: StepName,
    class: ClassName,
) -> Result<Mapping, TableError> {
    let optional = |cell: &Option<Spanned<String>>| source.optional(declaration, cell.as_ref());
    Ok(Mapping {
        step: step.into(),
        class: class.into(),
        key: source.all(declaration, &row.key)?,
        also: source.all(declaration, &row.also)?,
        other_chain: optional(&row.other_chain)?,
        other_transaction: optional(&row.other_transaction)?,
        sender: optional(&row.sender)?,
        receiver: optional(&row.receiver)?,
        token: optional(&row.token)?,
        amount: optional(&row.amount)?,
        other_token: optional(&row.other_token)?,
        other_amount: optional(&row.other_amount)?,
        marks: row.marks.clone(),
        failed_unless: row.failed_unless.as_ref().map(|cell| condition(source, declaration, cell)).transpose()?,
    })
}

fn condition(source: &Source<'_>, declaration: &Declaration, cell: &Spanned<String>) -> Result<Condition, TableError> {
    let wrong = || source.error(cell.span(), "expected \"field = number\"");
    let (field, number) = cell.get_ref().split_once(" = ").ok_or_else(wrong)?;
    let place =
        crate::abi::FieldPath::of(declaration, field).map_err(|error| source.error(cell.span(), error.to_string()))?;
    Ok(Condition { place, number: number.parse().map_err(|_| wrong())? })
}

/// Every `Event::field` must name a field of an event of the file.
fn check_beside(source: &Source<'_>, rows: &[Row], events: &[Event]) -> Result<(), TableError> {
    for (row, event) in rows.iter().zip(events) {
        let Some(mapping) = &event.mapping else { continue };
        let optional = [
            &mapping.other_chain,
            &mapping.other_transaction,
            &mapping.sender,
            &mapping.receiver,
            &mapping.token,
            &mapping.amount,
            &mapping.other_token,
            &mapping.other_amount,
        ];
        let cells = mapping.key.iter().chain(&mapping.also).chain(optional.into_iter().flatten());
        for cell in cells {
            if let Term::Beside { event: name, field } = &cell.term {
                let known = events.iter().any(|other| *other.name == **name && other.place(field).is_ok());
                if !known {
                    let error = DeclarationError::Field(format!("{name}::{field}"));
                    return Err(source.error(row.is.span(), error.to_string()));
                }
            }
        }
    }
    Ok(())
}

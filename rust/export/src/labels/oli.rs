//! Labels as tags of the Open Labels Initiative, a row each.
//!
//! Source: the label pool and the tag definitions of `openlabelsinitiative/OLI`. The category of use is one word of a closed
//! list, which is coarser than our codes: a code is written only where its category means the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::csv::WriterBuilder;
use arrow::datatypes::{DataType, Field, Schema};
use headwater_ledger::labels::{Claim, Code, Link, Scope};
use headwater_types::Timestamp;
use serde::Serialize;

use super::draft::Draft;
use super::{LabelExport, LabelFormat, LabelWriter, encoded, unsaid};
use crate::ExportError;

/// The categories of use that mean the same as a code.
const CATEGORIES: &[(Code, &str)] = &[
    (Code::Bridge, "bridge"),
    (Code::Dex, "dex"),
    (Code::Exchange, "cex"),
    (Code::Gambling, "gambling"),
    (Code::Payment, "payments"),
    (Code::PrivacyProtocol, "privacy"),
    (Code::Scam, "cybercrime"),
];

/// The chain of a tag that holds on every EVM chain.
const ANY_EVM: &str = "eip155:any";

/// Statements about one address, in the order of the lists.
type OfAddress = Vec<Statement>;

struct Statement {
    category: Option<&'static str>,
    name: Option<String>,
    entity: Option<String>,
    asserted_at: Option<Timestamp>,
    reliability: u16,
}

/// A row of the file.
#[derive(Serialize)]
struct OliRow<'t> {
    chain_id: &'t str,
    address: &'t str,
    tag_id: &'static str,
    tag_value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_created: Option<String>,
}

/// Tags in the making.
pub(super) struct OliWriter {
    draft: Draft,
    file: File,
    format: LabelFormat,
    statements: BTreeMap<(&'static str, String), OfAddress>,
}

impl OliWriter {
    pub(super) fn create(path: &Path, format: LabelFormat) -> Result<Self, ExportError> {
        let (draft, file) = Draft::create(path)?;
        Ok(Self { draft, file, format, statements: BTreeMap::new() })
    }
}

impl LabelWriter for OliWriter {
    fn push(&mut self, claim: &Claim<&str>, report: &mut LabelExport) -> Result<(), ExportError> {
        let category = claim.code.map(|code| (code, CATEGORIES.iter().find(|(known, _)| *known == code)));
        if let Some(reason) = unsaid(claim) {
            report.leave_out(reason);
        } else if let Some((code, None)) = category {
            report.leave_out(format!("{code}, which OLI has no category for"));
        } else if claim.link == Link::ExactOnly {
            report.leave_out("claims that do not hold for the cluster of the address");
        } else {
            let chain = match claim.scope {
                Scope::Chain(chain) => chain.caip2(),
                Scope::Evm => ANY_EVM,
            };
            let text = |text: &str| encoded(text).into_owned();
            self.statements.entry((chain, claim.address.to_checksummed())).or_default().push(Statement {
                category: category.and_then(|(_, category)| category).map(|(_, category)| *category),
                name: claim.name.map(text),
                entity: claim.entity.map(text),
                asserted_at: claim.asserted_at,
                reliability: claim.reliability,
            });
        }
        Ok(())
    }

    fn finish(self: Box<Self>, report: &mut LabelExport) -> Result<(), ExportError> {
        let Self { draft, file, format, statements } = *self;
        let mut tags = Vec::new();
        for ((chain, address), statements) in &statements {
            add_tags(&mut tags, chain, address, statements, report);
        }
        match format {
            LabelFormat::OliCsv => write_csv(&tags, &file).map_err(ExportError::csv(draft.temporary()))?,
            _ => write_json(&tags, &file).map_err(ExportError::io(draft.temporary()))?,
        }
        draft.finish(&file)
    }
}

/// Adds the tags of an address. It has one name and one owner: those of the most reliable statement, one with a code before
/// one without. Statements with another name or owner would be joined with them, and are left out.
fn add_tags<'t>(
    tags: &mut Vec<OliRow<'t>>,
    chain: &'t str,
    address: &'t str,
    statements: &[Statement],
    report: &mut LabelExport,
) {
    // Of equal ones the last is found, and the first shall count.
    let rank = |statement: &&Statement| (statement.category.is_some(), statement.reliability);
    let Some(best) = statements.iter().rev().max_by_key(rank) else { return };
    let mut tag = |tag_id, tag_value: &str, time: Option<Timestamp>| {
        let (tag_value, time_created) = (tag_value.to_owned(), time.map(|time| time.to_string()));
        tags.push(OliRow { chain_id: chain, address, tag_id, tag_value, time_created });
    };
    if let Some(name) = &best.name {
        tag("contract_name", name, best.asserted_at);
    }
    if let Some(entity) = &best.entity {
        tag("owner_project", entity, best.asserted_at);
    }
    let mut written = BTreeSet::new();
    for statement in statements {
        if (&statement.name, &statement.entity) != (&best.name, &best.entity) {
            report.leave_out("claims with another name or entity than a more reliable one about the address");
        } else if !written.insert(statement.category) || (statement.category.is_none() && best.category.is_some()) {
            report.leave_out("claims that repeat another one about the address");
        } else {
            report.claims += 1;
            if let Some(category) = statement.category {
                tag("usage_category", category, statement.asserted_at);
            }
        }
    }
}

fn write_json(tags: &[OliRow<'_>], file: &File) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    for (place, tag) in tags.iter().enumerate() {
        file.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
        serde_json::to_writer(&mut file, tag)?;
    }
    file.write_all(if tags.is_empty() { b"[]\n" } else { b"\n]\n" })?;
    file.flush()
}

fn write_csv(tags: &[OliRow<'_>], file: &File) -> Result<(), arrow::error::ArrowError> {
    let columns: [(&str, ArrayRef); 5] = [
        ("chain_id", text(tags, |tag| Some(tag.chain_id))),
        ("address", text(tags, |tag| Some(tag.address))),
        ("tag_id", text(tags, |tag| Some(tag.tag_id))),
        ("tag_value", text(tags, |tag| Some(&tag.tag_value))),
        ("time_created", text(tags, |tag| tag.time_created.as_deref())),
    ];
    let fields: Vec<Field> = columns.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, true)).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    WriterBuilder::new().with_header(true).build(file).write(&rows)
}

fn text<'t>(tags: &'t [OliRow<'t>], cell: impl Fn(&'t OliRow<'t>) -> Option<&'t str>) -> ArrayRef {
    Arc::new(tags.iter().map(cell).collect::<StringArray>())
}

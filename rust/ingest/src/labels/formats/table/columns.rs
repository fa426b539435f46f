//! The columns of a plain table of labels, under the names that people give them.

use std::borrow::Cow;
use std::path::Path;

use headwater_types::text::{SHOWN, shortened};

use super::Given;
use super::flags::Flag;
use crate::IngestError;
use crate::error::FieldError;
use crate::labels::concepts::squeezed;
use crate::source::Row;

/// Columns of labels, each with its names, the best one first. Names are compared without case, blanks and marks.
const COLUMNS: &[(&str, &[&str])] = &[
    (
        "address",
        &[
            "address",
            "addresses",
            "walletaddress",
            "wallet",
            "cryptoaddress",
            "blockchainaddress",
            "accountaddress",
            "addr",
        ],
    ),
    ("chain", &["chain", "blockchain", "network", "chainid", "chainname", "networkname", "blockchainname", "caip2"]),
    ("coin", &["coin", "asset", "currency", "cryptocurrency", "ticker"]),
    (
        "code",
        &[
            "code",
            "category",
            "type",
            "categories",
            "usagecategory",
            "clustercategory",
            "entitycategory",
            "entitiescategory",
            "ownertype",
            "entitytype",
            "abusetype",
            "threattype",
        ],
    ),
    ("name", &["name", "nametag", "addressname", "publicnametag", "displayname", "walletname", "contractname"]),
    ("label", &["label", "tag", "labels", "tags"]),
    (
        "entity",
        &[
            "entity",
            "entityname",
            "owner",
            "ownername",
            "custodyowner",
            "accountowner",
            "ownerproject",
            "ownerkey",
            "cexname",
            "exchangename",
            "servicename",
            "actor",
        ],
    ),
    ("source", &["source"]),
    ("source_url", &["sourceurl", "url", "link", "reference"]),
    ("group", &["group", "provenancegroup"]),
    ("level", &["level"]),
    ("confidence", &["confidence"]),
    (
        "asserted_at",
        &[
            "assertedat",
            "firstseen",
            "date",
            "dateadded",
            "addeddate",
            "addedat",
            "addedon",
            "createdat",
            "datecreated",
            "reportedat",
            "datereported",
            "listedat",
            "listedon",
            "datelisted",
            "designatedon",
            "datedesignated",
            "designationdate",
            "sanctionedat",
            "blacklistedat",
            "blockedat",
            "frozenat",
        ],
    ),
    ("date_basis", &["datebasis"]),
    ("last_seen", &["lastseen", "updatedat", "lastupdated"]),
    (
        "valid_until",
        &[
            "validuntil",
            "enddate",
            "endedat",
            "removedat",
            "removedon",
            "dateremoved",
            "delistedat",
            "delistedon",
            "unfrozenat",
            "delisteddate",
            "datedelisted",
            "removeddate",
            "revokedat",
            "revokeddate",
            "liftedat",
            "unsanctionedat",
            "unblacklistedat",
            "expiresat",
            "expirydate",
            "expirationdate",
        ],
    ),
    ("action", &["action"]),
    ("is_cluster_definer", &["isclusterdefiner"]),
];

/// Columns that say what an address is.
const TELLING: [&str; 4] = ["code", "name", "label", "entity"];

/// The most columns that a warning names.
const NAMED: usize = 12;

/// Returns true if one of the columns has addresses, by its name.
pub(super) fn has_address(columns: &[String]) -> bool {
    finds("address", columns)
}

/// Returns true if one of the columns says what an address is, by its name.
pub(super) fn tells(columns: &[String]) -> bool {
    TELLING.iter().any(|field| finds(field, columns))
        || columns.iter().any(|column| Flag::names_code(&squeezed(column)))
}

fn finds(field: &str, columns: &[String]) -> bool {
    let names = COLUMNS.iter().find(|(known, _)| *known == field).map_or(&[][..], |(_, names)| *names);
    columns.iter().any(|column| names.contains(&squeezed(column).as_str()))
}

/// The columns of one file.
pub(super) struct Columns {
    /// Ours, and the file's.
    fields: Vec<(&'static str, String)>,
    /// Columns that say whether a row holds.
    pub(super) flags: Vec<Flag>,
    /// Columns that no field and no flag reads.
    unread: Vec<String>,
}

impl Columns {
    /// Finds the columns of a file.
    ///
    /// # Errors
    /// When a column that the caller names is unknown or missing, when no column has addresses, or when neither a column
    /// nor the caller says what an address is.
    pub(super) fn of(path: &Path, header: &[String], given: &Given) -> Result<Self, IngestError> {
        let mapped = mapped(path, header, given)?;
        let mut fields = Vec::new();
        for (field, names) in COLUMNS {
            let own = mapped.iter().find(|(ours, _)| ours == field).map(|(_, theirs)| theirs.clone());
            let found = || names.iter().find_map(|name| header.iter().find(|column| squeezed(column) == *name));
            let is_taken = |name: &str| mapped.iter().any(|(_, theirs)| theirs.eq_ignore_ascii_case(name));
            let found = own.or_else(|| found().filter(|column| !is_taken(column)).cloned());
            if let Some(column) = found {
                if header.iter().filter(|other| other.eq_ignore_ascii_case(&column)).count() > 1 {
                    return Err(missing(
                        path,
                        format!(
                            "several columns are named {:?}: give each a name of its own",
                            shortened(&column, SHOWN)
                        ),
                    ));
                }
                fields.push((*field, column));
            }
        }
        let names = COLUMNS.iter().find(|(field, _)| *field == "chain").map_or(&[][..], |(_, names)| *names);
        let of_chains: Vec<&String> =
            header.iter().filter(|column| names.contains(&squeezed(column).as_str())).collect();
        if let ([first, second, ..], false) = (&of_chains[..], mapped.iter().any(|(field, _)| *field == "chain")) {
            let why =
                format!("several columns name the chain, {first:?} and {second:?}: --column chain={first:?} takes one");
            return Err(missing(path, why));
        }
        let field_of = |column: &String| fields.iter().find(|(_, own)| own == column).map(|(field, _)| *field);
        let flags: Vec<Flag> = header.iter().filter_map(|column| Flag::of(column, field_of(column))).collect();
        let is_given = |field: &str| field == "code" && given.code.is_some();
        let is_used = |column: &&String| {
            fields.iter().any(|(field, own)| own == *column && !is_given(field))
                || flags.iter().any(|flag| flag.column == **column && !flag.is_shared)
                || column.trim().is_empty()
        };
        let unread = header.iter().filter(|column| !is_used(column)).cloned().collect();
        let columns = Self { fields, flags, unread };
        columns.check(path, header, given)?;
        Ok(columns)
    }

    fn check(&self, path: &Path, header: &[String], given: &Given) -> Result<(), IngestError> {
        if !self.has("address") {
            let columns = listed(header);
            return Err(missing(path, format!("no column is named \"address\"; name it: address=..., of {columns}")));
        }
        let tells = TELLING.iter().any(|field| self.has(field)) || self.flags.iter().any(|flag| flag.code().is_some());
        if tells || given.code.is_some() || given.entity.is_some() {
            return Ok(());
        }
        let is_kind = |column: &&String| {
            let name = squeezed(column);
            column.len() <= SHOWN
                && !self.fields.iter().any(|(_, own)| own == *column)
                && (name.contains("categor") || name.ends_with("type") || name.ends_with("label"))
        };
        if let Some(column) = header.iter().find(is_kind) {
            let why =
                format!("no column says what an address is; if {column:?} does, read it: --column code=\"{column}\"");
            return Err(missing(path, why));
        }
        let flag = self.flags.first().map(|flag| format!("; rows that {:?} denies are left out", flag.column));
        let why = format!(
            "no column says what an address is: code, category, type, name, label or entity; its columns are {}. --code says \
             it of all rows{}",
            listed(header),
            flag.unwrap_or_default()
        );
        Err(IngestError::MissingOption { path: path.to_owned(), option: "--code", why })
    }

    /// Returns true if the file has one of our columns.
    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(known, _)| *known == field)
    }

    /// The value of one of our columns.
    ///
    /// # Errors
    /// When the value is not text.
    pub(super) fn value<'r>(&self, row: &Row<'r>, field: &str) -> Result<Option<Cow<'r, str>>, FieldError> {
        match self.fields.iter().find(|(known, _)| *known == field) {
            Some((_, column)) => row.text(column),
            None => Ok(None),
        }
    }

    /// Returns how many items the list has in one of our columns; 1 for a plain value.
    pub(super) fn items(&self, row: &Row<'_>, field: &str) -> usize {
        self.fields.iter().find(|(known, _)| *known == field).map_or(0, |(_, column)| row.items(column))
    }

    /// The name of the file's column, for errors.
    pub(super) fn name_of<'n>(&'n self, field: &'n str) -> &'n str {
        let own = self.fields.iter().find(|(known, _)| *known == field);
        own.map_or(field, |(_, column)| column.as_str())
    }

    /// The names of all columns to read.
    pub(super) fn asked(&self) -> Vec<String> {
        let fields = self.fields.iter().map(|(_, column)| column.clone());
        let mut asked: Vec<String> = fields.chain(self.flags.iter().map(|flag| flag.column.clone())).collect();
        asked.sort();
        asked.dedup();
        asked
    }

    /// The warning that names the columns that are not read.
    pub(super) fn unread(&self) -> Option<String> {
        let never_boolean = self.flags.iter().filter(|flag| flag.is_unread()).map(|flag| flag.column.clone());
        let unread: Vec<String> = self.unread.iter().cloned().chain(never_boolean).collect();
        (!unread.is_empty()).then(|| format!("columns that were not read: {}", listed(&unread)))
    }
}

/// The caller's names: our column, and the file's.
fn mapped(path: &Path, header: &[String], given: &Given) -> Result<Vec<(&'static str, String)>, IngestError> {
    let mut mapped = Vec::new();
    for (ours, theirs) in &given.columns {
        let is_ours = |(field, names): &&(&str, &[&str])| {
            let ours = squeezed(ours);
            squeezed(field) == ours || names.contains(&ours.as_str())
        };
        let Some((field, _)) = COLUMNS.iter().find(is_ours) else {
            let known: Vec<_> = COLUMNS.iter().map(|(field, _)| *field).collect();
            let why = format!("{ours:?} is not a column of labels; use one of {}", known.join(", "));
            return Err(missing(path, why));
        };
        let named = |is_it: &dyn Fn(&str) -> bool| header.iter().find(|column| is_it(column)).cloned();
        let column = named(&|column| column == theirs)
            .or_else(|| named(&|column| column.eq_ignore_ascii_case(theirs)))
            .or_else(|| named(&|column| squeezed(column) == squeezed(theirs)));
        let Some(column) = column else {
            let columns = listed(header);
            return Err(missing(path, format!("column {theirs:?} is missing; its columns are {columns}")));
        };
        mapped.push((*field, column));
    }
    Ok(mapped)
}

fn listed(columns: &[String]) -> String {
    let shown: Vec<_> = columns.iter().take(NAMED).map(|column| shortened(column, SHOWN)).collect();
    let listed = shown.join(", ");
    match columns.len().saturating_sub(NAMED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

fn missing(path: &Path, why: String) -> IngestError {
    IngestError::MissingOption { path: path.to_owned(), option: "--column", why }
}

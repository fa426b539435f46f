//! Lists in the form in which they are published.

use std::path::Path;

use headwater_types::Timestamp;

use super::lists::List;
use crate::clock::iso_day;
use crate::truth::{PublicLabel, TruthError};

/// The columns of a plain list.
pub(super) const HEADER: &str =
    "blockchain,address,code,entity,source,source_url,group,level,asserted_at,valid_until\n";

/// The form of the files of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelFormat {
    /// CSV: `blockchain,address,code,entity,source,source_url,group,level,asserted_at,valid_until`. Times are dates or
    /// epoch seconds; what is unknown is empty.
    Plain,
    /// JSON: `{"result": [{address, family, blockchain, createdAt, balance, transactions}]}`.
    Ransomwhere,
}

/// A file of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelFile {
    /// Its name.
    pub name: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// A public list as one import takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelList {
    /// Its name: editions of one list have the same.
    pub name: String,
    /// The publisher, as an import names the source.
    pub source: String,
    /// The form of its files.
    pub format: LabelFormat,
    /// The level of its claims, such as `trusted_provider`. Rows of plain lists state it too.
    pub level: &'static str,
    /// Its date, where it has editions: a later one replaces an earlier one.
    pub edition: Option<Timestamp>,
    /// Its files; all of them are one import.
    pub files: Vec<LabelFile>,
}

/// Writes lists into a folder: a list of one file under its name, another one in a folder of its own.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn write_lists(lists: &[LabelList], folder: &Path) -> Result<(), TruthError> {
    for list in lists {
        let folder = match list.edition {
            Some(edition) => folder.join(format!("{}-{}", list.name, iso_day(edition.secs()))),
            None => folder.to_owned(),
        };
        std::fs::create_dir_all(&folder).map_err(|source| TruthError::io(&folder, source))?;
        for file in &list.files {
            let path = folder.join(&file.name);
            let partial = folder.join(format!("{}.partial", file.name));
            std::fs::write(&partial, &file.bytes).map_err(|source| TruthError::io(&partial, source))?;
            std::fs::rename(&partial, &path).map_err(|source| TruthError::io(&path, source))?;
        }
    }
    Ok(())
}

/// A plain list on its way to its file.
pub(super) struct PlainList(String);

impl PlainList {
    pub(super) fn new() -> Self {
        Self(HEADER.to_owned())
    }

    /// Adds a claim, without a mark of whether it is right.
    pub(super) fn add(&mut self, list: &List, label: &PublicLabel) {
        let time = |secs: Option<u64>| secs.map_or_else(String::new, |secs| list.dates.text(secs.cast_signed()));
        let PublicLabel { chain, address, code, entity, group, level, .. } = label;
        let url = format!("https://{group}/{}", list.name);
        let row = [
            chain.to_string(),
            address.to_string(),
            code.clone(),
            entity.clone(),
            list.name.to_owned(),
            url,
            group.clone(),
            level.clone(),
            time(label.asserted_secs),
            time(label.valid_until_secs),
        ];
        self.0.push_str(&row.join(","));
        self.0.push('\n');
    }

    pub(super) fn publish(self, list: &List) -> LabelList {
        LabelList {
            name: list.name.to_owned(),
            source: list.name.to_owned(),
            format: LabelFormat::Plain,
            level: list.level,
            edition: None,
            files: vec![LabelFile { name: format!("{}.csv", list.name), bytes: self.0.into_bytes() }],
        }
    }
}

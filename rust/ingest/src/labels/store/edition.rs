//! The relation of an import of labels to the versions in force: the one that it replaces, and reasons for doubt.

use std::collections::HashSet;

use headwater_ledger::labels::Code;
use headwater_ledger::read::Labels as _;
use headwater_ledger::store::{ImportKind, ImportVersion, ShrinkPolicy, Writer};

use crate::IngestError;
use crate::labels::outcome::Labels;

/// Returns the last version in force of the list of an import.
pub(super) fn replaced(versions: &[ImportVersion], labels: &Labels) -> Option<u64> {
    let is_it = |version: &&ImportVersion| {
        is_of_source(version, labels) && version.list.as_ref().is_some_and(|list| list.name == labels.list)
    };
    versions.iter().rev().find(is_it).map(|version| version.version)
}

/// Warns if a list is the first of its name and the source has others: it may be a later edition of one of them.
pub(super) fn other_lists(versions: &[ImportVersion], labels: &Labels) -> Option<String> {
    if replaced(versions, labels).is_some() {
        return None;
    }
    let mut others: Vec<(&str, u64)> = Vec::new();
    for version in versions.iter().rev().filter(|version| is_of_source(version, labels)) {
        let Some(list) = &version.list else { continue };
        if !others.iter().any(|(name, _)| *name == list.name) {
            others.push((&list.name, version.version));
        }
    }
    let (first, _) = others.first()?;
    let named: Vec<_> = others.iter().map(|(name, version)| format!("{name} (version {version})")).collect();
    Some(format!(
        "{} has other lists in force: {}; if this is a later edition of one of them, roll it back and name the list, \
         as in --list {first:?}",
        labels.source,
        named.join(", ")
    ))
}

/// Refuses an incomplete set of files that omits sanctions of the version that it replaces: such addresses are most
/// likely in the missing file, and would be delisted.
pub(super) fn check_whole(
    writer: &Writer,
    replaced: Option<u64>,
    labels: &Labels,
    shrinking: ShrinkPolicy,
) -> Result<(), IngestError> {
    let (Some(version), Some(missing), ShrinkPolicy::Refused) = (replaced, labels.missing_file, shrinking) else {
        return Ok(());
    };
    let stated: HashSet<_> = labels.claims.iter().map(|claim| claim.address).collect();
    let mut lost = HashSet::new();
    writer.snapshot().labels().each(&mut |of, claim| {
        let is_sanction = claim.code == Some(Code::Sanction) && claim.valid_until.is_none();
        if of == version && is_sanction && !stated.contains(&claim.address) {
            lost.insert(claim.address);
        }
        Ok(())
    })?;
    let Some(example) = lost.iter().min() else { return Ok(()) };
    let (lost, example) = (lost.len(), example.to_string());
    Err(IngestError::IncompleteList { missing, version, lost, example })
}

fn is_of_source(version: &ImportVersion, labels: &Labels) -> bool {
    version.kind == ImportKind::Labels && version.in_force && version.source == labels.source
}

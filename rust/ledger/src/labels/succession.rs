//! Imports of one list, one after the other: a later one replaces what an earlier one said.

use std::collections::{HashMap, HashSet};

use headwater_types::{Address, Timestamp};

use super::build::ClaimDraft;
use super::claim::{Action, Claim, Scope};
use super::code::Code;
use super::file::LabelFile;
use crate::error::Result;

/// The subject of a claim. The entity is not part of it: lists correct names.
type Subject = (Address, Scope, Option<Code>, Action);

/// Returns what must be said again so that a claim continues: the same of the same subject by the same group.
fn statement<T: AsRef<str>>(claim: &Claim<T>) -> (Subject, String) {
    (subject(claim), claim.group.as_ref().to_owned())
}

/// Returns whether a claim that is no longer made leaves one that ended. A name without a code and a curator's word do
/// not.
fn leaves_a_trace<T>(claim: &Claim<T>) -> bool {
    claim.code.is_some() && claim.action == Action::Add
}

/// The claims about one address behind an edition of a list: those that it makes, and those of before that ended.
pub(super) fn succeed_for_one<'a>(
    before: Vec<Claim<&'a str>>,
    own: Vec<Claim<&'a str>>,
    ended_at: Timestamp,
) -> Vec<Claim<&'a str>> {
    let stated: HashSet<_> = own.iter().map(statement).collect();
    let gone = before.into_iter().filter(|claim| leaves_a_trace(claim) && !stated.contains(&statement(claim)));
    let ended = gone.map(|claim| Claim { valid_until: Some(ended(&claim, ended_at)), ..claim });
    ended.chain(own).collect()
}

fn ended<T>(claim: &Claim<T>, ended_at: Timestamp) -> Timestamp {
    claim.valid_until.map_or(ended_at, |until| until.min(ended_at))
}

fn subject<T>(claim: &Claim<T>) -> Subject {
    (claim.address, claim.scope, claim.code, claim.action)
}

/// The claims of a file for an import of a list, behind the one before it: those that the import states itself, and
/// those of earlier imports that it no longer states, which ended at `ended_at` unless they had ended before.
pub(crate) fn succeed(before: Option<&LabelFile>, own: Vec<Claim>, ended_at: Timestamp) -> Result<Vec<ClaimDraft>> {
    let mut written: Vec<ClaimDraft> = own.into_iter().map(|claim| ClaimDraft { claim, is_own: true }).collect();
    let Some(before) = before else { return Ok(written) };
    let stated: HashSet<_> = written.iter().map(|written| statement(&written.claim)).collect();
    before.each(&mut |(claim, _)| {
        if leaves_a_trace(&claim) && !stated.contains(&statement(&claim)) {
            let valid_until = Some(ended(&claim, ended_at));
            written.push(ClaimDraft { claim: Claim { valid_until, ..claim.to_owned() }, is_own: false });
        }
        Ok(())
    })?;
    Ok(written)
}

/// The number of subjects of an edition, names among them, and how many of them a later one has too.
pub(crate) struct Overlap {
    pub(crate) before: u64,
    pub(crate) kept: u64,
    pub(crate) has_sanctions: bool,
}

/// Returns how much of an edition a later one says again.
pub(crate) fn overlap(before: &LabelFile, written: &[ClaimDraft]) -> Result<Overlap> {
    let stated: HashSet<Subject> =
        written.iter().filter(|written| written.is_own).map(|written| subject(&written.claim)).collect();
    let mut overlap = Overlap { before: 0, kept: 0, has_sanctions: false };
    before.each(&mut |(claim, is_own)| {
        if is_own {
            overlap.before += 1;
            overlap.kept += u64::from(stated.contains(&subject(&claim)));
            overlap.has_sanctions |= claim.code == Some(Code::Sanction);
        }
        Ok(())
    })?;
    Ok(overlap)
}

/// The difference between two imports of labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelDiff {
    /// Claims of the later import about subjects (address, chains, code) that the earlier one does not name.
    pub added: Vec<Claim>,
    /// Claims of the earlier import about subjects that the later one does not name.
    pub removed: Vec<Claim>,
    /// Claims of both about one subject that differ in entity, name, dates or source: before and after.
    pub changed: Vec<(Claim, Claim)>,
}

/// Compares what two imports state themselves.
pub(crate) fn diff(before: Option<&LabelFile>, after: &LabelFile) -> Result<LabelDiff> {
    let mut earlier: HashMap<Subject, Vec<Claim>> = HashMap::new();
    for claim in before.map(LabelFile::own_claims).transpose()?.unwrap_or_default() {
        earlier.entry(subject(&claim)).or_default().push(claim);
    }
    let mut diff = LabelDiff::default();
    let mut later: HashMap<Subject, Vec<Claim>> = HashMap::new();
    for claim in after.own_claims()? {
        later.entry(subject(&claim)).or_default().push(claim);
    }
    for (subject, claims) in &later {
        let Some(before) = earlier.remove(subject) else {
            diff.added.extend(claims.iter().cloned());
            continue;
        };
        let gone = before.iter().filter(|claim| !claims.contains(claim));
        let new = claims.iter().filter(|claim| !before.contains(claim));
        let (gone, new): (Vec<_>, Vec<_>) = (gone.cloned().collect(), new.cloned().collect());
        let paired = gone.len().min(new.len());
        diff.changed.extend(gone.iter().cloned().zip(new.iter().cloned()));
        diff.removed.extend(gone.into_iter().skip(paired));
        diff.added.extend(new.into_iter().skip(paired));
    }
    diff.removed.extend(earlier.into_values().flatten());
    diff.added.sort();
    diff.removed.sort();
    diff.changed.sort();
    Ok(diff)
}

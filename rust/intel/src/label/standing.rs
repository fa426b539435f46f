//! Whether a claim counts at a moment.

use std::collections::BTreeSet;

use headwater_ledger::labels::{Action, Claim, Code, Level};

use super::moment::Moment;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It counts.
    Active,
    /// It ended.
    Ended,
    /// A curator removed its code.
    Overridden,
}

/// The claims that were made by a moment, each with the code that it stands for then: an ended sanction is
/// `sanction_delisted`.
pub(super) fn standing<'a>(claims: &[Claim<&'a str>], moment: &Moment) -> Vec<(Claim<&'a str>, Standing)> {
    let is_known = |claim: &&Claim<&str>| match (claim.asserted_at, moment.known_at()) {
        (Some(asserted), Some(known)) => asserted <= known,
        (None, _) | (_, None) => true,
    };
    let is_ended = |claim: &Claim<&str>| claim.valid_until.is_some_and(|until| until <= moment.valid_at());
    let known: Vec<_> = claims.iter().filter(is_known).copied().collect();
    let removed: BTreeSet<Code> = known
        .iter()
        .filter(|claim| claim.action == Action::Remove && claim.level == Level::Override && !is_ended(claim))
        .filter_map(|claim| claim.code)
        .collect();
    // The list of the authority itself decides over copies of it.
    let official = |wanted: bool| -> BTreeSet<&str> {
        let sanctions = known.iter().filter(|claim| claim.code == Some(Code::Sanction));
        let official = sanctions.filter(|claim| claim.level == Level::SanctionsList && is_ended(claim) == wanted);
        official.map(|claim| claim.group).collect()
    };
    let listed = official(false);
    let delisted: BTreeSet<&str> = official(true).difference(&listed).copied().collect();

    let judged = known.into_iter().filter(|claim| claim.action == Action::Add).map(|claim| {
        let is_removed = claim.code.is_some_and(|code| removed.contains(&code));
        match (is_removed, is_ended(&claim), claim.code) {
            (true, ..) => (claim, Standing::Overridden),
            // Another list of the same authority still names the address.
            (_, true, Some(Code::Sanction)) if !listed.contains(claim.group) => {
                let code = Some(Code::SanctionDelisted);
                let standing =
                    if removed.contains(&Code::SanctionDelisted) { Standing::Overridden } else { Standing::Active };
                (Claim { code, ..claim }, standing)
            }
            (_, true, _) => (claim, Standing::Ended),
            (_, false, Some(Code::Sanction)) if delisted.contains(claim.group) => (claim, Standing::Ended),
            (_, false, _) => (claim, Standing::Active),
        }
    });
    judged.collect()
}

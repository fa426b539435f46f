//! Rules about where else an address occurs.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::Address;

use super::amounts::address_type;
use super::candidates::{Abstention, Candidates};
use super::case::Case;

/// The address is one that the transaction spends from: change that nobody took care to hide.
pub(super) fn address_reuse(case: &Case<'_>) -> Result<Candidates, Abstention> {
    let known: BTreeSet<Address> = case.transaction.signers().collect();
    let found = case.outputs_where(|output, _| output.owner.is_some_and(|owner| known.contains(&owner)));
    // What is found stays true whatever the other inputs spend.
    if found.is_empty() {
        case.known_inputs()?;
    }
    Ok(found)
}

/// The address belongs to the cluster of the inputs by the inputs of other, mostly later transactions.
pub(super) fn multi_input_change(case: &Case<'_>) -> Result<Candidates, Abstention> {
    let found = case.outputs_where(|_, output| output.is_in_input_cluster == Some(true));
    if found.is_empty() && case.outputs.iter().all(|output| output.is_in_input_cluster.is_none()) {
        return Err(Abstention::ClustersUnknown);
    }
    Ok(found)
}

/// The address occurs here for the first time. Scripts without an address cannot be told apart and are not ruled out.
pub(super) fn fresh_output(case: &Case<'_>) -> Result<Candidates, Abstention> {
    is_history_held(case)?;
    Ok(case.outputs_where(|_, output| output.usage.is_none_or(|usage| usage.is_first_use)))
}

/// No `CoinJoin`, and exactly one output that is fresh and smaller than every input (`BlockSci` before 0.6).
pub(super) fn legacy(case: &Case<'_>) -> Result<Candidates, Abstention> {
    if case.coinjoin.is_some_and(|found| found.is_detected()) {
        return Err(Abstention::OtherForm);
    }
    Ok(fresh_output(case)?.and(&smaller_than_inputs(case)?))
}

/// GraphSense's one-time change: of 2 to 10 outputs the one of the inputs' form, no multiple of 1,000, smaller than every
/// input, at an address that is new, used once at most and occurs once in the transaction.
pub(super) fn one_time_change(case: &Case<'_>) -> Result<Candidates, Abstention> {
    if !(2..=10).contains(&case.transaction.outputs().len()) {
        return Err(Abstention::OtherForm);
    }
    is_history_held(case)?;
    let mut occurrences: BTreeMap<Address, usize> = BTreeMap::new();
    for owner in case.transaction.outputs().iter().filter_map(|output| output.owner) {
        *occurrences.entry(owner).or_default() += 1;
    }
    let once = case.outputs_where(|output, context| {
        output.amount % 1_000 != 0
            && output.owner.is_some_and(|owner| occurrences[&owner] == 1)
            && context.usage.is_some_and(|usage| usage.is_first_use && usage.is_used_once)
    });
    Ok(once.and(&address_type(case)?).and(&smaller_than_inputs(case)?))
}

fn smaller_than_inputs(case: &Case<'_>) -> Result<Candidates, Abstention> {
    let smallest = case.transaction.smallest_input().ok_or(Abstention::InputsUnknown)?;
    Ok(case.outputs_where(|output, _| output.amount < smallest))
}

fn is_history_held(case: &Case<'_>) -> Result<(), Abstention> {
    let owned = case.outputs_where(|output, _| output.owner.is_some());
    if owned.is_empty() {
        return Err(Abstention::OtherForm);
    }
    let is_held = owned.iter().all(|place| case.outputs[place].usage.is_some());
    if is_held { Ok(()) } else { Err(Abstention::HistoryIncomplete) }
}

//! Rules about amounts and forms, which need no other transaction.

use super::candidates::{Abstention, Candidates};
use super::case::Case;

/// The amount is no multiple of 10^`digits`: people pay round amounts, and change is what is left.
pub(super) fn power_of_ten(case: &Case<'_>, digits: u32) -> Candidates {
    let unit = 10_u64.pow(digits);
    case.outputs_where(|output, _| output.amount % unit != 0)
}

/// The amount is smaller than every input: with larger change, one input less would have done. One input tells nothing.
pub(super) fn optimal_change(case: &Case<'_>) -> Result<Candidates, Abstention> {
    let smallest = smallest_of_several(case)?;
    Ok(case.outputs_where(|output, _| output.amount < smallest))
}

/// The same where the fee had to be paid too.
pub(super) fn optimal_change_with_fee(case: &Case<'_>) -> Result<Candidates, Abstention> {
    let smallest = smallest_of_several(case)?;
    let fee = case.transaction.fee().ok_or(Abstention::InputsUnknown)?;
    Ok(case.outputs_where(|output, _| output.amount.checked_add(fee).is_some_and(|amount| amount < smallest)))
}

fn smallest_of_several(case: &Case<'_>) -> Result<u64, Abstention> {
    if case.transaction.inputs().len() < 2 {
        return Err(Abstention::OtherForm);
    }
    case.transaction.smallest_input().ok_or(Abstention::InputsUnknown)
}

/// All inputs have one form of script, and the output has it.
pub(super) fn address_type(case: &Case<'_>) -> Result<Candidates, Abstention> {
    case.known_inputs()?;
    let mut scripts = case.transaction.spent().map(|spent| spent.script);
    let script = scripts.next().ok_or(Abstention::InputsUnknown)?;
    if scripts.any(|other| other != script) {
        return Err(Abstention::OtherForm);
    }
    Ok(case.outputs_where(|output, _| output.script == script))
}

/// One input and two outputs, after or before another such transaction: the output that goes on, or where both or none do the
/// larger one.
pub(super) fn peeling_chain(case: &Case<'_>) -> Result<Candidates, Abstention> {
    if !case.transaction.is_one_in_two_out() {
        return Err(Abstention::OtherForm);
    }
    let goes_on = case.outputs_where(|_, output| output.spender.is_some_and(|spender| spender.is_one_in_two_out()));
    if goes_on.single().is_some() {
        return Ok(goes_on);
    }
    if goes_on.is_empty() {
        match case.follows_one_in_two_out {
            Some(true) => {}
            Some(false) => return Err(Abstention::OtherForm),
            None => return Err(Abstention::InputsUnknown),
        }
    }
    let largest = case.transaction.owned().map(|(_, output)| output.amount).max();
    Ok(case.outputs_where(|output, _| Some(output.amount) == largest))
}

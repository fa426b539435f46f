//! Rules that compare a transaction with those that spend its outputs.

use headwater_intel::bitcoin::TransactionView;
use headwater_intel::bitcoin::change::{Abstention, Case};
use headwater_ledger::facts::UtxoFacts;
use headwater_ledger::read::ScriptType;

use crate::bitcoin::case::{BLOCK, TIME, form, left, payment, spends, unknown, view};

/// What a rule leaves of a payment with two outputs, where each may be spent by a transaction.
fn compared(name: &str, own: &UtxoFacts, spenders: [Option<&UtxoFacts>; 2]) -> Result<Vec<usize>, Abstention> {
    let mut case = Case::new(view(own));
    for (output, spender) in case.outputs.iter_mut().zip(spenders) {
        output.spender = spender.map(view);
    }
    left(name, &case)
}

fn own() -> UtxoFacts {
    payment(&[(1, 100_000)], &[(2, 60_000), (3, 39_000)])
}

/// The transaction that spends output `place` of [`own`] whole.
fn spender(place: usize, change: impl FnOnce(&mut UtxoFacts)) -> UtxoFacts {
    let mut facts = payment(&[], &[(20, 30_000)]);
    facts.inputs = vec![spends(own().outputs[place].clone())];
    change(&mut facts);
    facts
}

/// Checks a rule by a property: outputs spent alike and otherwise, not spent, and a property that is not known.
fn check(name: &str, set: impl Fn(&mut UtxoFacts, Option<bool>)) {
    let mut facts = own();
    set(&mut facts, Some(true));
    let alike = spender(1, |facts| set(facts, Some(true)));
    let other = spender(0, |facts| set(facts, Some(false)));
    let silent = spender(0, |facts| set(facts, None));
    assert_eq!(compared(name, &facts, [Some(&other), Some(&alike)]), Ok(vec![1]), "{name}");
    // Lock times rule out by themselves; all else needs a spender that is alike.
    let unspent = if name == "locktime" { vec![1] } else { vec![] };
    assert_eq!(compared(name, &facts, [Some(&other), None]), Ok(unspent), "{name}");
    assert_eq!(compared(name, &facts, [None, Some(&alike)]), Ok(vec![0, 1]), "{name}");
    assert_eq!(compared(name, &facts, [Some(&silent), Some(&alike)]), Ok(vec![0, 1]), "{name}: nothing is known");
    assert_eq!(compared(name, &facts, [None, None]), Err(Abstention::Unspent), "{name}");
    set(&mut facts, None);
    assert_eq!(compared(name, &facts, [Some(&other), Some(&alike)]), Err(Abstention::PropertyUnknown), "{name}");
}

#[test]
fn versions_are_compared() {
    check("version", |facts, is| facts.version = is.map(|is| if is { 2 } else { 1 }));
}

#[test]
fn lock_times_are_compared_by_whether_there_is_one() {
    check("locktime", |facts, is| facts.lock_time = is.map(u32::from));
    let (mut facts, alike) = (own(), spender(1, |facts| facts.lock_time = Some(845_999)));
    facts.lock_time = Some(845_990);
    let other = spender(0, |facts| facts.lock_time = Some(0));
    assert_eq!(compared("locktime", &facts, [Some(&other), Some(&alike)]), Ok(vec![1]), "heights may differ");
}

#[test]
fn replacement_signals_are_compared() {
    check("rbf", |facts, is| {
        for input in &mut facts.inputs {
            input.sequence = is.map(|is| if is { 0xffff_fffd } else { 0xffff_fffe });
        }
    });
}

#[test]
fn witnesses_are_compared() {
    check("segwit", |facts, is| {
        let script = match is {
            Some(true) => ScriptType::P2wpkh,
            Some(false) => ScriptType::P2pkh,
            None => ScriptType::P2sh,
        };
        facts.inputs[0] = spends(form(script, 1, 100_000));
    });
}

#[test]
fn forms_that_are_spent_are_compared() {
    for (name, script) in [
        ("p2pkh", ScriptType::P2pkh),
        ("p2sh", ScriptType::P2sh),
        ("p2wpkh", ScriptType::P2wpkh),
        ("p2wsh", ScriptType::P2wsh),
        ("multisig", ScriptType::Multisig),
        ("address_types", ScriptType::P2tr),
    ] {
        check(name, |facts, is| {
            facts.inputs[0] = match is {
                Some(true) => spends(form(script, 1, 100_000)),
                Some(false) => spends(form(ScriptType::Nonstandard, 1, 100_000)),
                None => unknown(),
            };
        });
    }
}

#[test]
fn a_form_that_is_found_is_known_though_other_inputs_are_not() {
    let mixed = spender(1, |facts| facts.inputs.push(unknown()));
    let other = spender(0, |facts| facts.inputs[0] = spends(form(ScriptType::P2tr, 2, 60_000)));
    assert_eq!(compared("p2wpkh", &own(), [Some(&other), Some(&mixed)]), Ok(vec![1]));
    assert_eq!(compared("address_types", &own(), [None, Some(&mixed)]), Ok(vec![]));
}

#[test]
fn orders_are_compared() {
    check("ordered", |facts, is| {
        facts.outputs = payment(&[], &[(2, 30_000), (3, 39_000)]).outputs;
        match is {
            Some(true) => {}
            Some(false) => facts.outputs.reverse(),
            None => facts.inputs[0].previous = headwater_ledger::facts::OutPoint::UNKNOWN,
        }
    });
}

#[test]
fn numbers_of_inputs_and_outputs_are_compared_as_one_two_and_more() {
    let three = payment(&[(2, 1), (5, 1), (6, 1)], &[(7, 1), (8, 1), (9, 1)]);
    let four = payment(&[(3, 1), (5, 1), (6, 1), (4, 1)], &[(7, 1), (8, 1), (9, 1), (10, 1)]);
    let sweep = payment(&[(2, 1)], &[(7, 1)]);
    let own = own();
    assert_eq!(compared("output_count", &own, [Some(&sweep), Some(&own)]), Ok(vec![1]));
    assert_eq!(compared("in_out_count", &own, [Some(&sweep), Some(&own)]), Ok(vec![1]));
    let own = payment(&[(1, 9), (2, 9), (3, 9)], &[(4, 8), (5, 9), (6, 9)]);
    let mut case = Case::new(view(&own));
    case.outputs[0].spender = Some(view(&sweep));
    case.outputs[1].spender = Some(view(&four));
    case.outputs[2].spender = Some(view(&three));
    assert_eq!(left("in_out_count", &case), Ok(vec![1, 2]), "three and four are both more than two");
}

#[test]
fn fees_are_compared_whole_and_by_size() {
    // 1,000 for 100 virtual bytes, 1,000 for 104 (9.6 a byte), and 1,049 for 104 (10.08 a byte).
    let with = |facts: &mut UtxoFacts, fee: u64, weight: u32| {
        let came = facts.inputs[0].spent.as_ref().unwrap().amount;
        let others: u64 = facts.outputs.iter().skip(1).map(|output| output.amount).sum();
        facts.outputs[0].amount = came - others - fee;
        facts.weight_wu = Some(weight);
    };
    let mut facts = own();
    with(&mut facts, 1_000, 400);
    let same_fee = spender(0, |facts| with(facts, 1_000, 416));
    let same_rate = spender(1, |facts| with(facts, 1_049, 416));
    let exact_rate = spender(1, |facts| with(facts, 1_040, 416));
    assert_eq!(compared("absolute_fee", &facts, [Some(&same_fee), Some(&same_rate)]), Ok(vec![0]));
    assert_eq!(compared("relative_fee", &facts, [Some(&same_fee), Some(&same_rate)]), Ok(vec![1]));
    assert_eq!(compared("fixed_fee", &facts, [Some(&same_fee), Some(&same_rate)]), Ok(vec![]));
    assert_eq!(compared("fixed_fee", &facts, [Some(&same_fee), Some(&exact_rate)]), Ok(vec![1]));
    facts.inputs.push(unknown());
    for name in ["absolute_fee", "relative_fee", "fixed_fee"] {
        let found = compared(name, &facts, [Some(&same_fee), Some(&same_rate)]);
        assert_eq!(found, Err(Abstention::PropertyUnknown), "{name}");
    }
}

#[test]
fn unconfirmed_inputs_are_compared() {
    let (own, one, other) = (own(), spender(0, |_| ()), spender(1, |_| ()));
    let at = |facts, is_unconfirmed| TransactionView::new(facts, BLOCK, TIME).with_spends_own_block(is_unconfirmed);
    let mut case = Case::new(at(&own, Some(false)));
    case.outputs[0].spender = Some(at(&one, Some(true)));
    case.outputs[1].spender = Some(at(&other, Some(false)));
    assert_eq!(left("zero_conf", &case), Ok(vec![1]));
    case.transaction = at(&own, None);
    assert_eq!(left("zero_conf", &case), Err(Abstention::PropertyUnknown));
}

//! Each rule by hand: what it leaves, and when it says nothing.

use headwater_intel::bitcoin::change::{Abstention, AddressUsage, Case, RULES, rule};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Protocol};
use headwater_ledger::facts::{OutputFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;

use crate::bitcoin::case::{form, left, left_of, note, output, payment, spends, unknown, view};

const FRESH: AddressUsage = AddressUsage { is_first_use: true, is_used_once: true };
const KNOWN: AddressUsage = AddressUsage { is_first_use: false, is_used_once: false };

/// Account 1 has 100,000 and pays account 2.
fn plain() -> UtxoFacts {
    payment(&[(1, 100_000)], &[(2, 60_000), (3, 39_000)])
}

#[test]
fn names_are_distinct_and_found() {
    for one in RULES {
        assert_eq!(RULES.iter().filter(|other| other.name() == one.name()).count(), 1, "{}", one.name());
        assert_eq!(rule(one.name()), Some(one));
    }
    assert_eq!(rule("nothing"), None);
}

#[test]
fn address_reuse_names_every_output_to_an_input() {
    let facts = payment(&[(1, 10_000), (2, 5_000)], &[(3, 7_000), (2, 4_000), (1, 3_000)]);
    assert_eq!(left_of("address_reuse", &facts), Ok(vec![1, 2]));
    // What the seller of an inscription gets back is no change of the buyer.
    let sale = payment(&[(1, 10_000), (2, 546)], &[(3, 546), (2, 4_000), (1, 5_000)]);
    assert_eq!(left_of("address_reuse", &sale), Ok(vec![2]));
    assert_eq!(left_of("address_reuse", &plain()), Ok(vec![]));
}

#[test]
fn address_reuse_is_certain_though_other_inputs_are_unknown() {
    let mut facts = payment(&[(1, 10_000)], &[(2, 7_000), (1, 2_000)]);
    facts.inputs.push(unknown());
    assert_eq!(left_of("address_reuse", &facts), Ok(vec![1]));
    facts.outputs[1] = output(4, 2_000);
    assert_eq!(left_of("address_reuse", &facts), Err(Abstention::InputsUnknown));
}

#[test]
fn multi_input_change_follows_the_clusters() {
    let facts = plain();
    let mut case = Case::new(view(&facts));
    assert_eq!(left("multi_input_change", &case), Err(Abstention::ClustersUnknown));
    case.outputs[0].is_in_input_cluster = Some(false);
    assert_eq!(left("multi_input_change", &case), Ok(vec![]));
    case.outputs[1].is_in_input_cluster = Some(true);
    assert_eq!(left("multi_input_change", &case), Ok(vec![1]));
}

#[test]
fn fresh_output_leaves_addresses_that_occur_for_the_first_time() {
    let facts = plain();
    let mut case = Case::new(view(&facts));
    case.outputs[0].usage = Some(KNOWN);
    assert_eq!(left("fresh_output", &case), Err(Abstention::HistoryIncomplete));
    case.outputs[1].usage = Some(FRESH);
    assert_eq!(left("fresh_output", &case), Ok(vec![1]));
    case.outputs[0].usage = Some(FRESH);
    assert_eq!(rule("fresh_output").unwrap().vote(&case), Ok(None), "both are new: no vote");
}

#[test]
fn a_script_without_an_address_is_not_known_to_be_old() {
    let mut facts = plain();
    facts.outputs[1] = OutputFacts { owner: None, script: ScriptType::Multisig, ..output(3, 39_000) };
    let mut case = Case::new(view(&facts));
    case.outputs[0].usage = Some(KNOWN);
    assert_eq!(left("fresh_output", &case), Ok(vec![1]));
}

#[test]
fn power_of_ten_leaves_the_amount_that_is_no_multiple() {
    // 50,000 = 5 · 10^4, and 38,700 = 387 · 10^2.
    let facts = payment(&[(1, 100_000)], &[(2, 50_000), (3, 38_700)]);
    assert_eq!(left_of("power_of_ten_2", &facts), Ok(vec![]));
    assert_eq!(left_of("power_of_ten_3", &facts), Ok(vec![1]));
    assert_eq!(left_of("power_of_ten_4", &facts), Ok(vec![1]));
    assert_eq!(left_of("power_of_ten_5", &facts), Ok(vec![0, 1]));
    // 10^7 is 0.1 BTC.
    let facts = payment(&[(1, 40_000_000)], &[(2, 12_345_678), (3, 20_000_000)]);
    for digits in 2..=7 {
        assert_eq!(left_of(&format!("power_of_ten_{digits}"), &facts), Ok(vec![0]));
    }
}

#[test]
fn optimal_change_is_smaller_than_every_input_and_needs_two() {
    let facts = payment(&[(1, 60), (2, 50)], &[(3, 52), (4, 48)]);
    assert_eq!(left_of("optimal_change", &facts), Ok(vec![1]));
    // The fee is 10: 48 + 10 is not below 50, so without the coin of 50 the payment could not have been made.
    assert_eq!(left_of("optimal_change_with_fee", &facts), Ok(vec![]));
    let facts = payment(&[(1, 60), (2, 50)], &[(3, 63), (4, 39)]);
    assert_eq!(left_of("optimal_change_with_fee", &facts), Ok(vec![1]), "39 + 8 is below 50");
    assert_eq!(left_of("optimal_change", &plain()), Err(Abstention::OtherForm));
    let mut facts = payment(&[(1, 60)], &[(3, 52), (4, 3)]);
    facts.inputs.push(unknown());
    assert_eq!(left_of("optimal_change", &facts), Err(Abstention::InputsUnknown));
    assert_eq!(left_of("optimal_change_with_fee", &facts), Err(Abstention::InputsUnknown));
}

#[test]
fn address_type_leaves_outputs_of_the_form_of_all_inputs() {
    let mut facts = plain();
    facts.outputs[0] = form(ScriptType::P2pkh, 2, 60_000);
    assert_eq!(left_of("address_type", &facts), Ok(vec![1]));
    facts.inputs.push(spends(form(ScriptType::P2pkh, 4, 5)));
    assert_eq!(left_of("address_type", &facts), Err(Abstention::OtherForm), "inputs of two forms");
    facts.inputs[1] = unknown();
    assert_eq!(left_of("address_type", &facts), Err(Abstention::InputsUnknown));
}

#[test]
fn data_outputs_are_no_candidates() {
    let mut facts = plain();
    facts.outputs.insert(1, note());
    facts.outputs[0].amount = 61_000;
    assert_eq!(left_of("power_of_ten_4", &facts), Ok(vec![0, 2]));
    facts.outputs.truncate(2);
    assert_eq!(left_of("power_of_ten_4", &facts), Err(Abstention::OtherForm), "one output that can be spent");
}

fn step(amount: u64) -> UtxoFacts {
    payment(&[(8, amount)], &[(9, amount / 10), (10, amount / 2)])
}

#[test]
fn peeling_chain_names_the_output_that_goes_on() {
    let (facts, next, merge) = (plain(), step(39_000), payment(&[(2, 60_000), (5, 7)], &[(6, 50_000)]));
    let mut case = Case::new(view(&facts));
    assert_eq!(left("peeling_chain", &case), Err(Abstention::InputsUnknown), "neither side is held");
    case.outputs[1].spender = Some(view(&next));
    assert_eq!(left("peeling_chain", &case), Ok(vec![1]));
    case.outputs[0].spender = Some(view(&merge));
    assert_eq!(left("peeling_chain", &case), Ok(vec![1]));
}

#[test]
fn peeling_chain_names_the_larger_output_where_both_go_on_or_none_yet() {
    let (facts, one, other) = (plain(), step(60_000), step(39_000));
    let mut case = Case::new(view(&facts));
    case.follows_one_in_two_out = Some(true);
    assert_eq!(left("peeling_chain", &case), Ok(vec![0]), "60,000 of 60,000 and 39,000");
    case.follows_one_in_two_out = Some(false);
    assert_eq!(left("peeling_chain", &case), Err(Abstention::OtherForm), "no chain");
    (case.outputs[0].spender, case.outputs[1].spender) = (Some(view(&one)), Some(view(&other)));
    assert_eq!(left("peeling_chain", &case), Ok(vec![0]));
    let two = payment(&[(1, 50), (2, 50)], &[(3, 60), (4, 39)]);
    assert_eq!(left_of("peeling_chain", &two), Err(Abstention::OtherForm), "two inputs");
}

#[test]
fn legacy_change_is_fresh_and_smaller_than_every_input() {
    let facts = payment(&[(1, 60), (2, 50)], &[(3, 52), (4, 48), (5, 2)]);
    let mut case = Case::new(view(&facts));
    for (output, usage) in case.outputs.iter_mut().zip([FRESH, FRESH, KNOWN]) {
        output.usage = Some(usage);
    }
    // Fresh leaves 0 and 1, and smaller than 50 leaves 1 and 2.
    assert_eq!(left("legacy", &case), Ok(vec![1]));
    case.coinjoin = Some(CoinJoin { protocol: Protocol::Unknown, confidence: 0.49, inputs_unknown: false });
    assert_eq!(left("legacy", &case), Err(Abstention::OtherForm));
}

/// Of 100,000: 60,400 to account 2 and 39,100 to account 3, both new.
fn one_time(change: impl FnOnce(&mut UtxoFacts, &mut Vec<AddressUsage>)) -> Result<Vec<usize>, Abstention> {
    let mut facts = payment(&[(1, 100_000)], &[(2, 60_000), (3, 39_100)]);
    let mut usages = vec![FRESH, FRESH];
    change(&mut facts, &mut usages);
    let mut case = Case::new(view(&facts));
    for (output, usage) in case.outputs.iter_mut().zip(usages) {
        output.usage = Some(usage);
    }
    left("one_time_change", &case)
}

#[test]
fn one_time_change_meets_all_conditions_of_graphsense() {
    assert_eq!(one_time(|_, _| ()), Ok(vec![1]), "60,000 is a multiple of 1,000");
    assert_eq!(one_time(|facts, _| facts.outputs[0].amount = 60_400), Ok(vec![0, 1]), "no vote: two are left");
    assert_eq!(one_time(|facts, _| facts.outputs[1].script = ScriptType::P2tr), Ok(vec![]));
    assert_eq!(one_time(|_, usages| usages[1] = KNOWN), Ok(vec![]));
    assert_eq!(one_time(|_, usages| usages[1].is_used_once = false), Ok(vec![]));
    assert_eq!(one_time(|facts, _| facts.outputs[0].owner = facts.outputs[1].owner), Ok(vec![]), "one address twice");
    assert_eq!(one_time(|facts, _| facts.inputs.push(spends(output(4, 39_100)))), Ok(vec![]), "not below 39,100");
    assert_eq!(one_time(|facts, _| facts.inputs.push(unknown())), Err(Abstention::InputsUnknown));
    let eleven = |facts: &mut UtxoFacts, usages: &mut Vec<AddressUsage>| {
        facts.outputs.extend((10..19).map(|number| output(number, 10_000)));
        usages.extend([FRESH; 9]);
    };
    assert_eq!(one_time(eleven), Err(Abstention::OtherForm), "eleven outputs");
    assert_eq!(left_of("one_time_change", &plain()), Err(Abstention::HistoryIncomplete));
}

#[test]
fn a_view_tells_what_is_known() {
    let mut facts = plain();
    facts.weight_wu = Some(561);
    // 1,000 satoshis for 561 / 4 = 140.25, so 141 virtual bytes: 7,092.19 a thousand.
    assert_eq!((view(&facts).fee(), view(&facts).fee_per_kilobyte()), (Some(1_000), Some(7_092)));
    facts.inputs.push(unknown());
    assert_eq!((view(&facts).fee(), view(&facts).smallest_input()), (None, None));
    let coinbase = UtxoFacts::new(true, vec![], vec![output(1, 50)]);
    assert_eq!((view(&coinbase).fee(), view(&coinbase).has_known_inputs()), (None, false));
}

#[test]
fn segwit_is_unknown_behind_a_script_hash() {
    let mut facts = plain();
    facts.inputs = vec![spends(form(ScriptType::P2pkh, 1, 100_000))];
    assert_eq!(view(&facts).is_segwit(), Some(false));
    facts.inputs.push(spends(form(ScriptType::P2sh, 2, 5)));
    assert_eq!(view(&facts).is_segwit(), None);
    facts.weight_wu = Some(401);
    assert_eq!(view(&facts).is_segwit(), Some(true), "without witnesses a weight is four times the bytes");
}

#[test]
fn order_is_that_of_outputs_spent_and_of_amounts() {
    let mut facts = payment(&[(1, 50), (2, 60)], &[(3, 39), (4, 60)]);
    assert_eq!(view(&facts).is_ordered(), Some(true), "hashes begin with the amount here");
    facts.outputs.reverse();
    assert_eq!(view(&facts).is_ordered(), Some(false));
    facts.inputs.truncate(1);
    facts.outputs.truncate(1);
    assert_eq!(view(&facts).is_ordered(), None, "there is nothing to order");
}

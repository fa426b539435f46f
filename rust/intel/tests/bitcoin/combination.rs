//! Votes added up: log-odds by hand.

use headwater_intel::bitcoin::change::{AddressUsage, Case, Judgement, Level, NoChange, RULES, Rule, judge};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Protocol};
use headwater_ledger::facts::UtxoFacts;

use crate::bitcoin::case::{note, output, payment, unknown, view};

const FRESH: AddressUsage = AddressUsage { is_first_use: true, is_used_once: false };
const KNOWN: AddressUsage = AddressUsage { is_first_use: false, is_used_once: false };

fn judged(facts: &UtxoFacts, usages: &[AddressUsage], change: impl FnOnce(&mut Case<'_>)) -> Judgement {
    let mut case = Case::new(view(facts));
    for (output, usage) in case.outputs.iter_mut().zip(usages) {
        output.usage = Some(*usage);
    }
    change(&mut case);
    judge(&case, RULES)
}

/// The named output and the confidences of all, to four places.
fn rounded(judgement: &Judgement) -> (Result<usize, NoChange>, Vec<f64>) {
    let to_four = |confidence: &f64| (confidence * 10_000.0).round() / 10_000.0;
    (judgement.change.map(|change| change.output), judgement.confidences.iter().map(to_four).collect())
}

/// One input of one form, and amounts that are no multiples of 100: only what is added to it votes.
fn silent() -> UtxoFacts {
    payment(&[(1, 100_001)], &[(2, 60_001), (3, 39_001)])
}

#[test]
fn without_votes_nothing_is_named() {
    let judgement = judged(&silent(), &[KNOWN, KNOWN], |_| ());
    assert_eq!(judgement.votes, []);
    assert_eq!(rounded(&judgement), (Err(NoChange::NoConsensus), vec![0.5, 0.5]));
}

#[test]
fn one_sign_names_an_output_but_is_never_high() {
    // 0.6 · 3.17 = 1.902, and 1 / (1 + exp(-1.902)) = 0.8701.
    let judgement = judged(&silent(), &[KNOWN, FRESH], |_| ());
    assert_eq!(rounded(&judgement), (Ok(1), vec![0.1299, 0.8701]));
    assert_eq!(judgement.change.unwrap().level(), None);
    // The strongest sign of all is a bare multisig: 0.6 · 5.54 = 3.324, 0.9652.
    let strongest = RULES.iter().filter(|rule| !rule.is_decisive()).map(Rule::weight).fold(0.0, f64::max);
    assert!(1.0 / (1.0 + (-0.6 * strongest).exp()) < 0.99);
}

#[test]
fn two_signs_that_agree_add_up() {
    // 5,000,000 is a multiple of 10^6: of the round amounts the one with most zeros counts, 3.75 though 10^4 has 4.30.
    // 0.6 · (3.17 + 3.75) = 4.152, 0.9845.
    let facts = payment(&[(1, 9_000_001)], &[(2, 5_000_000), (3, 3_999_001)]);
    let judgement = judged(&facts, &[KNOWN, FRESH], |_| ());
    assert_eq!(rounded(&judgement), (Ok(1), vec![0.0155, 0.9845]));
    assert_eq!(judgement.change.unwrap().level(), Some(Level::Medium));
    let names: Vec<_> = judgement.votes.iter().map(|vote| vote.rule.name()).collect();
    let round = ["power_of_ten_2", "power_of_ten_3", "power_of_ten_4", "power_of_ten_5", "power_of_ten_6"];
    assert_eq!(names, [&["fresh_output", "legacy"][..], &round].concat());
}

#[test]
fn signs_that_disagree_name_nothing() {
    // Fresh is the round amount: 0.6 · (3.75 - 3.17) = 0.348, 0.5861.
    let facts = payment(&[(1, 9_000_001)], &[(2, 5_000_000), (3, 3_999_001)]);
    let judgement = judged(&facts, &[FRESH, KNOWN], |_| ());
    assert_eq!(rounded(&judgement), (Err(NoChange::NoConsensus), vec![0.4139, 0.5861]));
}

#[test]
fn rules_of_one_group_count_once() {
    // legacy votes beside fresh_output, and optimal_change_with_fee (2.47) beside optimal_change (2.45).
    // 0.6 · (3.17 + 2.47) = 3.384, 0.9672.
    let facts = payment(&[(1, 60_001), (1, 50_001)], &[(2, 70_001), (3, 39_001)]);
    let judgement = judged(&facts, &[KNOWN, FRESH], |_| ());
    assert_eq!(rounded(&judgement), (Ok(1), vec![0.0328, 0.9672]));
    assert_eq!(judgement.votes.len(), 4);
}

#[test]
fn more_outputs_need_more_signs() {
    // m = 3: ln(1/2) + 0.6 · 3.17 = -0.6931 + 1.902 = 1.2089, 0.7701; others -0.6931 - 1.902 / 2 = -1.6441, 0.1619.
    let facts = payment(&[(1, 100_002)], &[(2, 60_001), (3, 20_001), (4, 19_001)]);
    let judgement = judged(&facts, &[KNOWN, FRESH, KNOWN], |_| ());
    assert_eq!(rounded(&judgement), (Err(NoChange::NoConsensus), vec![0.1619, 0.7701, 0.1619]));
    // With 10^6: -0.6931 + 4.152 = 3.4589, 0.9695; others -0.6931 - 2.076 = -2.7691, 0.0590.
    let facts = payment(&[(1, 9_000_001)], &[(2, 5_000_000), (3, 1_999_001), (4, 2_000_000)]);
    let judgement = judged(&facts, &[KNOWN, FRESH, KNOWN], |_| ());
    assert_eq!(rounded(&judgement), (Ok(1), vec![0.059, 0.9695, 0.059]));
}

#[test]
fn reuse_of_an_input_address_decides() {
    // 1 / (1 + exp(-7)) = 0.9991. That account 2 is new and was paid no round amount does not matter.
    let facts = payment(&[(1, 9_000_001)], &[(1, 5_000_000), (2, 3_999_001)]);
    let judgement = judged(&facts, &[KNOWN, FRESH], |_| ());
    assert_eq!(rounded(&judgement), (Ok(0), vec![0.9991, 0.0009]));
    assert_eq!(judgement.change.unwrap().level(), Some(Level::High));
}

#[test]
fn common_inputs_decide_and_two_decisions_do_not() {
    let facts = payment(&[(1, 100_001)], &[(2, 60_001), (3, 39_001)]);
    let judgement = judged(&facts, &[], |case| case.outputs[1].is_in_input_cluster = Some(true));
    assert_eq!(rounded(&judgement), (Ok(1), vec![0.0001, 0.9999]));
    // Output 0 goes back to the input, output 1 to its cluster, and output 2 was paid.
    let facts = payment(&[(1, 100_001)], &[(1, 50_001), (3, 39_001), (4, 10_001)]);
    let judgement = judged(&facts, &[], |case| case.outputs[1].is_in_input_cluster = Some(true));
    // exp(-9 / 2) is 0.0111: 0.0110.
    assert_eq!(rounded(&judgement), (Err(NoChange::NoConsensus), vec![0.9991, 0.9999, 0.011]));
}

#[test]
fn where_all_outputs_go_back_nobody_was_paid() {
    let facts = payment(&[(1, 10_000), (2, 5_000)], &[(1, 7_000), (3, 4_000)]);
    let judgement = judged(&facts, &[], |case| case.outputs[1].is_in_input_cluster = Some(true));
    assert_eq!(judgement.change, Err(NoChange::AllOutputsToInputs));
}

#[test]
fn a_coinbase_a_sweep_and_a_coinjoin_are_not_judged() {
    let coinbase = UtxoFacts::new(true, vec![], vec![output(1, 50), output(2, 50)]);
    assert_eq!(rounded(&judged(&coinbase, &[], |_| ())), (Err(NoChange::Coinbase), vec![0.0, 0.0]));
    let mut sweep = payment(&[(1, 100)], &[(2, 90)]);
    assert_eq!(judged(&sweep, &[FRESH], |_| ()).change, Err(NoChange::SingleOutput));
    sweep.outputs.push(note());
    assert_eq!(judged(&sweep, &[FRESH], |_| ()).change, Err(NoChange::SingleOutput), "data was not paid to anybody");
    let joined = |case: &mut Case<'_>| {
        case.coinjoin = Some(CoinJoin { protocol: Protocol::JoinMarket, confidence: 0.49, inputs_unknown: false });
    };
    let reused = payment(&[(1, 100)], &[(2, 50), (1, 40)]);
    let judgement = judged(&reused, &[], joined);
    assert_eq!((judgement.change, judgement.votes.len()), (Err(NoChange::CoinJoin), 0));
}

#[test]
fn more_than_ten_outputs_are_a_batch_unless_something_decides() {
    let outputs: Vec<_> = (2..13).map(|number| (number, 10_001 * number)).collect();
    assert_eq!(outputs.len(), 11);
    let facts = payment(&[(1, 1_000_000)], &outputs);
    let mut usages = [KNOWN; 11];
    usages[4] = FRESH;
    assert_eq!(judged(&facts, &usages, |_| ()).change, Err(NoChange::Batch));
    let judgement = judged(&facts, &usages, |case| case.outputs[7].is_in_input_cluster = Some(true));
    assert_eq!(judgement.change.unwrap().output, 7);
    let ten = payment(&[(1, 1_000_000)], &outputs[..10]);
    assert_eq!(judged(&ten, &usages[..10], |_| ()).change, Err(NoChange::NoConsensus));
}

#[test]
fn rules_that_need_inputs_abstain_and_the_others_go_on() {
    let mut facts = payment(&[], &[(2, 5_000_000), (3, 3_999_001)]);
    facts.inputs.push(unknown());
    let judgement = judged(&facts, &[KNOWN, FRESH], |_| ());
    assert_eq!(judgement.change.unwrap().output, 1);
    let abstained: Vec<_> = judgement
        .abstentions
        .iter()
        .filter(|(_, why)| why.name() == "inputs_unknown")
        .map(|(rule, _)| rule.name())
        .collect();
    assert_eq!(abstained, ["address_reuse", "legacy", "one_time_change", "address_type", "peeling_chain"]);
}

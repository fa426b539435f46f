//! What holds of every transaction.

use headwater_intel::bitcoin::TransactionView;
use headwater_intel::bitcoin::change::{AddressUsage, Case, RULES, Rule, judge};
use headwater_intel::bitcoin::coinjoin::{Surroundings, coinjoin};
use headwater_ledger::facts::UtxoFacts;
use headwater_ledger::read::ScriptType;
use proptest::prelude::*;

use crate::bitcoin::case::{BLOCK, TIME, form, payment, spends};

const FORMS: [ScriptType; 4] = [ScriptType::P2pkh, ScriptType::P2sh, ScriptType::P2wpkh, ScriptType::P2tr];

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![1..50_u64, (1..50_u64).prop_map(|times| times * 1_000_000), 1_000..100_000_000_u64]
}

fn transaction() -> impl Strategy<Value = UtxoFacts> {
    let side = |most| prop::collection::vec((0..12_u64, amount(), 0..4_usize), 1..most);
    (side(4), side(6), 1..3_u32, 0..2_u32).prop_map(|(inputs, outputs, version, lock_time)| {
        let owned = |(number, amount, script): &(u64, u64, usize)| form(FORMS[*script], *number, *amount);
        let inputs = inputs.iter().map(|input| spends(owned(input))).collect();
        let mut facts = UtxoFacts::new(false, inputs, outputs.iter().map(owned).collect());
        (facts.version, facts.lock_time) = (Some(version), Some(lock_time));
        facts
    })
}

/// A transaction, what spends each of its outputs, and which of them are new.
fn known() -> impl Strategy<Value = (UtxoFacts, Vec<Option<UtxoFacts>>, Vec<bool>)> {
    let spenders = prop::collection::vec(prop::option::of(transaction()), 6);
    (transaction(), spenders, prop::collection::vec(any::<bool>(), 6))
}

fn case<'a>((facts, spenders, fresh): &'a (UtxoFacts, Vec<Option<UtxoFacts>>, Vec<bool>)) -> Case<'a> {
    let view = |facts: &'a UtxoFacts| TransactionView::new(facts, BLOCK, TIME);
    let mut case = Case::new(view(facts));
    for ((output, spender), &is_first_use) in case.outputs.iter_mut().zip(spenders).zip(fresh) {
        output.spender = spender.as_ref().map(view);
        output.usage = Some(AddressUsage { is_first_use, is_used_once: is_first_use });
    }
    case
}

proptest! {
    #[test]
    fn an_output_that_no_rule_votes_for_is_not_named(known in known()) {
        let judgement = judge(&case(&known), RULES);
        if let Ok(change) = judgement.change {
            prop_assert!(judgement.votes.iter().any(|vote| vote.outputs.contains(&change.output)));
            prop_assert!(change.confidence >= 0.8 && change.confidence < 1.0);
        }
        prop_assert!(judgement.confidences.iter().all(|confidence| (0.0..1.0).contains(confidence)));
    }

    #[test]
    fn the_order_of_rules_does_not_matter(known in known(), turn in 0..32_usize, is_reversed in any::<bool>()) {
        let case = case(&known);
        let mut rules: Vec<&Rule> = RULES.iter().collect();
        rules.rotate_left(turn % RULES.len());
        if is_reversed {
            rules.reverse();
        }
        let (one, other) = (judge(&case, RULES), judge(&case, rules));
        prop_assert_eq!(one.change, other.change);
        prop_assert_eq!(one.confidences, other.confidences);
    }

    #[test]
    fn a_vote_is_for_what_the_rule_leaves(known in known()) {
        let case = case(&known);
        for rule in RULES {
            if let Ok(candidates) = rule.candidates(&case) {
                prop_assert!(candidates.iter().all(|place| place < case.outputs.len()));
                prop_assert_eq!(rule.vote(&case).unwrap(), candidates.single());
            }
        }
    }

    #[test]
    fn one_rule_alone_is_never_high_unless_it_decides(known in known(), place in 0..32_usize) {
        let rule = &RULES[place % RULES.len()];
        let judgement = judge(&case(&known), [rule]);
        if let (Ok(change), false) = (judgement.change, rule.is_decisive()) {
            prop_assert!(change.confidence < 0.99);
        }
    }

    #[test]
    fn a_coinjoin_is_the_same_in_any_order_of_inputs_and_outputs(
        payers in prop::collection::vec(amount(), 2..30),
        paid in prop::collection::vec(prop_oneof![Just(10_000_000_u64), Just(100_000), amount()], 2..30),
        turn in 0..30_usize,
    ) {
        let number = |amounts: &[u64], first: u64| (first..).zip(amounts.iter().copied()).collect::<Vec<_>>();
        let facts = payment(&number(&payers, 1), &number(&paid, 100));
        let mut turned = facts.clone();
        turned.inputs.rotate_left(turn % payers.len());
        turned.outputs.rotate_left(turn % paid.len());
        let of = |facts: &UtxoFacts| coinjoin(&TransactionView::new(facts, BLOCK, TIME), Surroundings::default());
        prop_assert_eq!(of(&facts), of(&turned));
        if let Some(found) = of(&facts) {
            prop_assert!(found.confidence > 0.0 && found.confidence <= 1.0);
        }
    }
}

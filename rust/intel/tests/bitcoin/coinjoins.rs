//! Each protocol by hand, and its neighbours that miss one condition.

use headwater_intel::bitcoin::TransactionView;
use headwater_intel::bitcoin::coinjoin::{Premix, Protocol, Surroundings, coinjoin, premix};
use headwater_ledger::facts::UtxoFacts;
use headwater_ledger::read::ScriptType;
use headwater_types::Timestamp;

use crate::bitcoin::case::{BLOCK, form, note, output, payment, spends, unknown, view};

/// What a transaction looks like: protocol and confidence, to four places.
fn found(facts: &UtxoFacts) -> Option<(Protocol, f64)> {
    found_in(facts, Surroundings::default())
}

fn found_in(facts: &UtxoFacts, surroundings: Surroundings) -> Option<(Protocol, f64)> {
    let found = coinjoin(&view(facts), surroundings)?;
    Some((found.protocol, (found.confidence * 10_000.0).round() / 10_000.0))
}

/// A transaction of accounts of their own: numbers from 1 on pay, numbers from 1,001 on are paid.
fn between(inputs: &[u64], outputs: &[u64]) -> UtxoFacts {
    let number = |amounts: &[u64], first: u64| (first..).zip(amounts.iter().copied()).collect::<Vec<_>>();
    payment(&number(inputs, 1), &number(outputs, 1_001))
}

fn times(amount: u64, count: usize) -> Vec<u64> {
    vec![amount; count]
}

fn changed(facts: &UtxoFacts, change: impl FnOnce(&mut UtxoFacts)) -> Option<(Protocol, f64)> {
    let mut facts = facts.clone();
    change(&mut facts);
    found(&facts)
}

/// Three coins that were mixed before and two that enter the pool of 0.01 BTC.
fn whirlpool() -> UtxoFacts {
    between(&[1_000_000, 1_000_000, 1_000_000, 1_000_300, 1_110_000], &times(1_000_000, 5))
}

#[test]
fn whirlpool_turns_coins_of_a_pool_into_as_many() {
    let round = whirlpool();
    assert_eq!(found(&round), Some((Protocol::Whirlpool, 0.6)));
    let known = Surroundings { descends_from_whirlpool: true, ..Surroundings::default() };
    assert_eq!(found_in(&round, known), Some((Protocol::Whirlpool, 0.9)));
    for pool in [100_000, 2_500_000, 5_000_000, 25_000_000, 50_000_000] {
        let inputs = [vec![pool + 100], times(pool, 7)].concat();
        assert_eq!(found(&between(&inputs, &times(pool, 8))), Some((Protocol::Whirlpool, 0.6)));
    }
}

#[test]
fn whirlpool_needs_every_condition() {
    let round = whirlpool();
    let amount = |place: usize, amount: u64| {
        changed(&round, |facts| facts.inputs[place].spent.as_mut().unwrap().amount = amount)
    };
    // Five equal outputs that five people can have funded are a joint transaction all the same.
    assert_eq!(amount(4, 1_110_001), Some((Protocol::Unknown, 0.3)), "110,001 above the pool");
    assert_eq!(amount(4, 1_000_099), Some((Protocol::Unknown, 0.6)), "99 above the pool");
    assert_eq!(amount(0, 999_999), None, "four people can have brought 1,000,000");
    assert_eq!(amount(0, 1_000_500), Some((Protocol::Whirlpool, 0.6)), "a third that enters");
    let even = Some((Protocol::Unknown, 0.6));
    assert_eq!(found(&between(&times(1_000_000, 5), &times(1_000_000, 5))), even, "nobody enters to pay the fee");
    assert_eq!(found(&between(&times(1_000_300, 5), &times(1_000_000, 5))), even, "all five enter");
    let of = |coins: usize| {
        found(&between(&[times(1_000_000, coins - 1), vec![1_000_300]].concat(), &times(1_000_000, coins)))
    };
    assert_eq!(of(10), Some((Protocol::Whirlpool, 0.6)));
    assert_eq!(of(11), even, "eleven coins");
    assert_eq!(of(4), None, "four coins");
    assert_eq!(changed(&round, |facts| facts.outputs[1].owner = facts.outputs[0].owner), even);
    assert_eq!(changed(&round, |facts| facts.inputs[1] = spends(output(1, 1_000_000))), None, "one address twice");
    let other_amount = [1_200_000, 1_200_000, 1_200_000, 1_200_300, 1_200_300];
    assert_eq!(found(&between(&other_amount, &times(1_200_000, 5))), even, "no amount of a pool");
}

#[test]
fn where_inputs_are_unknown_the_rest_decides_and_counts_half() {
    let round = whirlpool();
    let unknown_too = |place: usize| changed(&round, |facts| facts.inputs[place] = unknown());
    assert_eq!(unknown_too(4), Some((Protocol::Whirlpool, 0.3)));
    let all = changed(&round, |facts| facts.inputs.iter_mut().for_each(|input| *input = unknown()));
    assert_eq!(all, Some((Protocol::Whirlpool, 0.3)));
    let contradicted = changed(&round, |facts| {
        facts.inputs[4] = unknown();
        facts.inputs[0] = spends(output(1, 900_000));
    });
    assert_eq!(contradicted, None);
}

#[test]
fn a_premix_transaction_is_no_coinjoin() {
    // Three coins for the pool of 0.01 BTC, the coordinator's fee, and change.
    let mut facts = between(&[4_000_000], &[1_000_300, 1_000_300, 1_000_300, 50_000, 777_777]);
    facts.outputs.push(note());
    assert_eq!(found(&facts), None);
    assert_eq!(premix(&view(&facts), false), Some(Premix { pool: 1_000_000, confidence: 0.6 }));
    assert_eq!(premix(&view(&facts), true), Some(Premix { pool: 1_000_000, confidence: 0.9 }));
    let with = |change: &dyn Fn(&mut UtxoFacts)| {
        let mut facts = facts.clone();
        change(&mut facts);
        premix(&view(&facts), false).is_some()
    };
    assert!(with(&|facts| facts.outputs[3].amount = 25_000) && !with(&|facts| facts.outputs[3].amount = 24_999));
    assert!(with(&|facts| facts.outputs[3].amount = 150_000) && !with(&|facts| facts.outputs[3].amount = 150_001));
    assert!(!with(&|facts| facts.outputs[4].amount = 60_000), "two outputs that may be the fee");
    assert!(!with(&|facts| facts.outputs.push(note())));
    assert!(!with(&|facts| facts.outputs.truncate(5)), "no data output");
    assert!(!with(&|facts| facts.outputs.push(output(1_200, 888_888))), "three outputs beside the coins");
}

/// Ten payers of which six are paid 0.0999 BTC, five get change, and one output pays the coordinator.
fn wasabi_one_zero() -> UtxoFacts {
    let inputs: Vec<u64> = (0..10).map(|number| 7_500_000 + 211_111 * number).collect();
    let change = [1_234_567, 2_345_678, 345_678, 456_789, 3_567_890, 44_444];
    between(&inputs, &[times(9_990_000, 6), change.to_vec()].concat())
}

#[test]
fn wasabi_one_zero_pays_many_about_a_tenth() {
    // 2 · 6 + 1 is at least 12 outputs, and 10 addresses are between 6 and 42.
    let round = wasabi_one_zero();
    assert_eq!(found(&round), Some((Protocol::WasabiOne, 0.7)));
    let amounts =
        |equal: u64| changed(&round, |facts| facts.outputs.iter_mut().take(6).for_each(|output| output.amount = equal));
    assert_eq!(amounts(9_500_000), Some((Protocol::WasabiOne, 0.7)));
    // Half of the outputs are equal, whatever the amount.
    assert_eq!(amounts(9_499_999), Some((Protocol::JoinMarket, 0.49)));
    assert_eq!(changed(&round, |facts| facts.inputs.truncate(9)), Some((Protocol::JoinMarket, 0.49)));
    let twice = changed(&round, |facts| facts.inputs[0] = spends(output(2, 7_500_000)));
    assert_eq!(twice, Some((Protocol::JoinMarket, 0.49)), "two of ten inputs have one address");
    let paid_twice = changed(&round, |facts| facts.outputs[1].owner = facts.outputs[0].owner);
    assert_eq!(paid_twice, Some((Protocol::Unknown, 0.3)), "one address twice: the equal outputs remain");
}

#[test]
fn few_inputs_that_pay_equal_parts_are_a_batch() {
    // Six parts and the rest of 9,990,000 · 4: the outputs together are a multiple of the commonest amount.
    let round = wasabi_one_zero();
    let rest: u64 = round.outputs[7..].iter().map(|output| output.amount).sum();
    let batch = |beyond: u64| changed(&round, |facts| facts.outputs[6].amount = 2 * 9_990_000 - rest + beyond);
    assert_eq!(batch(0), Some((Protocol::JoinMarket, 0.49)));
    // A ten thousandth of 8 · 9,990,000 is 7,992.
    assert_eq!(batch(7_000), Some((Protocol::JoinMarket, 0.49)));
    assert_eq!(batch(9_000), Some((Protocol::WasabiOne, 0.7)));
}

/// Twelve payers; 4, 3 and 2 outputs of 0.1, 0.2 and 0.4 BTC, and so many others.
fn wasabi_one_one(others: usize) -> UtxoFacts {
    let inputs: Vec<u64> = (0..12).map(|number| 15_000_000 + 333_333 * number).collect();
    let levels = [times(10_000_000, 4), times(20_000_000, 3), times(40_000_000, 2)].concat();
    // The sum of the others is not near a multiple of 10,000,000.
    let others = (0..others as u64).map(|number| 1_000_011 + 7 * number);
    between(&inputs, &[levels, others.collect()].concat())
}

#[test]
fn wasabi_one_one_uses_levels_and_is_surer_with_fewer_addresses() {
    // n = 4 of 12 addresses: 0.5 + 0.5 · (4/12 - 1/7) / (6/7) = 0.6111. Most outputs are of a level: 2 · 9 + 1 >= 15.
    assert_eq!(found(&wasabi_one_one(6)), Some((Protocol::WasabiOne, 0.6111)));
    // 21 outputs: 19 is less, but 9 + 12 + 1 is not. One bound of two: half.
    assert_eq!(found(&wasabi_one_one(12)), Some((Protocol::WasabiOne, 0.3056)));
    // 24 outputs: neither.
    assert_eq!(found(&wasabi_one_one(15)), None);
    // A level that one output has is not used.
    assert_eq!(changed(&wasabi_one_one(6), |facts| facts.outputs[8].amount = 1), Some((Protocol::WasabiOne, 0.6111)));
}

/// So many payers; amounts that occur 2, 3 and 2 times, and five that occur once.
fn wasabi_two(payers: u64) -> UtxoFacts {
    let inputs: Vec<u64> = (0..payers).map(|number| 30_011 + 13 * number).collect();
    let standard = [times(6_561, 2), times(10_000, 3), times(20_000, 2)].concat();
    between(&inputs, &[standard, vec![5_000, 7_001, 8_003, 9_007, 11_009]].concat())
}

#[test]
fn wasabi_two_has_many_payers_and_several_standard_amounts() {
    // 2 · 7 + 1 is at least 12 outputs.
    let round = wasabi_two(20);
    assert_eq!(found(&round), Some((Protocol::WasabiTwo, 0.6)));
    assert_eq!(found(&wasabi_two(19)), None);
    assert_eq!(changed(&round, |facts| facts.outputs[7].amount = 4_999), None, "dust");
    for place in [0, 3] {
        let other_form = changed(&round, |facts| facts.outputs[place].script = ScriptType::P2pkh);
        assert_eq!(other_form, None, "an output of another form");
    }
    let taproot = changed(&round, |facts| facts.outputs[0].script = ScriptType::P2tr);
    assert_eq!(taproot, Some((Protocol::WasabiTwo, 0.6)));
    assert_eq!(changed(&round, |facts| facts.inputs[0] = spends(form(ScriptType::P2sh, 1, 30_011))), None);
    assert_eq!(changed(&round, |facts| facts.outputs[5].amount = 20_001), None, "two amounts occur more than once");
    assert_eq!(changed(&round, |facts| facts.outputs.truncate(7)), None, "every amount occurs more than once");
    let address = |count: usize| {
        changed(&round, |facts| {
            facts.inputs.iter_mut().take(count).for_each(|input| *input = spends(output(1, 30_000)));
        })
    };
    assert_eq!(address(2), Some((Protocol::WasabiTwo, 0.6)), "a tenth of the inputs");
    assert_eq!(address(3), None, "more than a tenth");
    let more =
        changed(&round, |facts| facts.outputs.extend((0..4).map(|number| output(1_100 + number, 12_000 + number))));
    assert_eq!(more, None, "16 outputs");
}

#[test]
fn wasabi_two_had_rounds_of_fifty_before_may_2024() {
    let at = |facts: &UtxoFacts, secs: i64| {
        let view = TransactionView::new(facts, BLOCK, Timestamp::new(secs));
        coinjoin(&view, Surroundings::default()).map(|found| found.protocol)
    };
    assert_eq!(at(&wasabi_two(20), 1_714_521_599), None);
    assert_eq!(at(&wasabi_two(20), 1_714_521_600), Some(Protocol::WasabiTwo));
    assert_eq!(at(&wasabi_two(50), 1_714_521_599), Some(Protocol::WasabiTwo));
}

/// Four payers; three are paid one amount, and each has change.
fn joinmarket() -> UtxoFacts {
    between(&[900_000, 800_000, 700_000, 100_000], &[500_003, 500_003, 500_003, 390_001, 290_002, 190_003])
}

#[test]
fn joinmarket_has_equal_outputs_and_change() {
    let round = joinmarket();
    assert_eq!(found(&round), Some((Protocol::JoinMarket, 0.49)));
    let amounts =
        |equal: u64| changed(&round, |facts| facts.outputs.iter_mut().take(3).for_each(|output| output.amount = equal));
    assert_eq!(amounts(10_001), Some((Protocol::JoinMarket, 0.49)));
    assert_eq!(amounts(10_000), None, "three marks of tokens");
    let two_payers = changed(&round, |facts| {
        for place in 0..4 {
            facts.inputs[place] = spends(output(1 + place as u64 % 2, 700_000 + place as u64));
        }
    });
    assert_eq!(two_payers, None, "two payers do not make three equal outputs");
    assert_eq!(
        changed(&round, |facts| facts.outputs.truncate(3)),
        None,
        "no change: a split, and three outputs of two"
    );
    let more = changed(&round, |facts| facts.outputs.push(output(1_100, 77)));
    assert_eq!(more, None, "3 of 7 outputs");
}

#[test]
fn large_joinmarket_rounds_fit_their_participants() {
    // Five equal outputs and four others: 1.8 outputs for each of five.
    let amounts = [times(500_003, 5), vec![390_001, 290_002, 190_003, 90_004]].concat();
    let of = |inputs: usize, outputs: &[u64]| found(&between(&times(60_000, inputs), outputs));
    // 20 inputs for each of five.
    assert_eq!(of(100, &amounts), Some((Protocol::JoinMarket, 0.49)));
    assert_eq!(of(101, &amounts), None);
    // 8 outputs are 1.6 for each of five: what 50 addresses bring, 3,000,000, is five shares, and 49 bring as much.
    assert_eq!(of(49, &amounts[..8]), Some((Protocol::JoinMarket, 0.49)));
    assert_eq!(of(50, &amounts[..8]), Some((Protocol::Unknown, 0.3)));
    assert_eq!(of(51, &amounts[..8]), None, "more than ten inputs for each of five");
}

/// Six payers of whom five bring a share of 100,000 each; five shares, change for all, and one more output.
fn joint() -> UtxoFacts {
    let outputs = [times(100_000, 5), vec![11_111, 12_222, 13_333, 14_444, 15_555, 16_666]].concat();
    between(&[120_000, 130_000, 140_000, 150_000, 160_000, 9_000], &outputs)
}

#[test]
fn joint_transaction_needs_every_condition() {
    let round = joint();
    assert_eq!(found(&round), Some((Protocol::Unknown, 0.3)), "2 · 5 outputs are all but one");
    let more = changed(&round, |facts| facts.outputs.push(output(1_100, 17_777)));
    assert_eq!(more, None, "2 · 5 of 12 outputs");
    let shares =
        |amount| changed(&round, |facts| facts.outputs.iter_mut().take(5).for_each(|output| output.amount = amount));
    assert_eq!((shares(10_001), shares(10_000)), (Some((Protocol::Unknown, 0.3)), None));
    // Five shares of 145,000: two bring one each, and the others 399,000, which is two.
    assert_eq!(shares(145_000), None, "not funded");
    // Of 133,000: three bring one each, and the others 259,000, which is one.
    assert_eq!(shares(133_000), None);
    assert_eq!(shares(120_001), Some((Protocol::Unknown, 0.3)), "four bring one each, and the others 129,000");
    let one_address = changed(&round, |facts| {
        (0..2).for_each(|place| facts.inputs[place] = spends(output(3, 130_000 + place as u64)));
    });
    assert_eq!(one_address, None, "four addresses");
    let paid_twice = changed(&round, |facts| facts.outputs[1].owner = facts.outputs[0].owner);
    assert_eq!(paid_twice, Some((Protocol::Unknown, 0.3)));
    let none_held = changed(&round, |facts| facts.inputs.iter_mut().for_each(|input| *input = unknown()));
    assert_eq!(none_held, Some((Protocol::Unknown, 0.15)), "unknown inputs may bring anything, and count half");
}

#[test]
fn possible_coinjoins_link_nobody_and_keep_pairs() {
    let links = |facts: &UtxoFacts| {
        let found = coinjoin(&view(facts), Surroundings::default()).unwrap();
        (found.links_nobody(), found.is_detected(), found.excludes())
    };
    assert_eq!(links(&joint()), (true, false, false));
    assert_eq!(links(&joinmarket()), (true, true, true));
    let mut unknown_input = joinmarket();
    unknown_input.inputs[0] = unknown();
    assert_eq!(links(&unknown_input), (true, true, false), "its shape counts in full, its confidence half");
}

#[test]
fn few_equal_outputs_are_refuted_by_other_signs() {
    assert!(found(&joinmarket()).is_some());
    // Three equal outputs, and ten inputs for each, or one more.
    let outputs = [500_003, 500_003, 500_003, 390_001, 290_002];
    let of = |inputs: usize| found(&between(&times(600_000, inputs), &outputs));
    assert_eq!((of(30), of(31)), (Some((Protocol::JoinMarket, 0.49)), None));
    let in_form = |place: usize| changed(&joinmarket(), |facts| facts.outputs[place].script = ScriptType::P2pkh);
    assert_eq!(in_form(1), None, "one of the equal outputs is of a form that no input has");
    assert_eq!(in_form(4), Some((Protocol::JoinMarket, 0.49)), "change may be");
    let an_input_too = changed(&joinmarket(), |facts| {
        facts.outputs[1].script = ScriptType::P2pkh;
        facts.inputs[0] = spends(form(ScriptType::P2pkh, 1, 900_000));
    });
    assert_eq!(an_input_too, Some((Protocol::JoinMarket, 0.49)));
    let an_input_unknown = changed(&joinmarket(), |facts| {
        facts.outputs[1].script = ScriptType::P2pkh;
        facts.inputs[0] = unknown();
    });
    assert_eq!(an_input_unknown, Some((Protocol::JoinMarket, 0.245)), "the unknown input may be of that form");
}

#[test]
fn an_unknown_protocol_has_half_of_its_outputs_equal() {
    // Two pairs: p = (4 + 1) / 2 = 2, and two payers.
    let pairs = between(&[60_000, 70_000], &[40_000, 40_000, 20_000, 20_000]);
    assert_eq!(found(&pairs), Some((Protocol::Unknown, 0.49)));
    let one_payer = changed(&pairs, |facts| facts.inputs[1] = spends(output(1, 70_000)));
    assert_eq!(one_payer, None);
    let marks = changed(&pairs, |facts| {
        for (place, amount) in [546, 546, 330, 330].into_iter().enumerate() {
            facts.outputs[place].amount = amount;
        }
    });
    assert_eq!(marks, None, "marks of tokens");
}

#[test]
fn a_stonewall_is_nobodys_coinjoin() {
    let wall = between(&[60_000, 70_000], &[40_000, 40_000, 18_000, 29_000]);
    assert_eq!(found(&wall), None, "four outputs of which two are equal: one payer looks like two");
    assert_eq!(found(&between(&[60_000, 70_000], &[40_000, 40_000, 47_000])), None);
}

#[test]
fn exchanges_pay_equal_amounts_too() {
    let exchange = Surroundings { has_exchange_input: true, ..Surroundings::default() };
    for round in [wasabi_one_one(6), wasabi_two(20), joinmarket()] {
        assert!(found(&round).is_some());
        assert_eq!(found_in(&round, exchange), None);
    }
    // From five equal outputs on no label refutes that several people may have made it.
    assert_eq!(found_in(&wasabi_one_zero(), exchange), Some((Protocol::Unknown, 0.3)));
    assert_eq!(found_in(&whirlpool(), exchange), Some((Protocol::Whirlpool, 0.6)));
}

#[test]
fn without_addresses_nothing_is_told() {
    let mut round = joinmarket();
    round.outputs[0].owner = None;
    assert_eq!(found(&round), None);
    let mut round = joinmarket();
    round.inputs[0].spent =
        Some(headwater_ledger::facts::OutputFacts { owner: None, ..form(ScriptType::Multisig, 1, 9) });
    assert_eq!(found(&round), None);
    assert_eq!(found(&UtxoFacts::new(true, vec![], joinmarket().outputs)), None, "a coinbase");
}

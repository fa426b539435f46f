//! What holds of every find in every history.

use headwater_intel::behaviour::{Behaviour, Fact, MAX_LISTED, Rules};
use headwater_ledger::labels::Code;
use headwater_types::Usd;
use proptest::prelude::*;

use crate::behaviours::case::{Case, DAY, LOOKALIKE, Row, START, SUBJECT, row};

const MIXER: i64 = 3;
const BRIDGE: i64 = 4;

/// From nothing to more than 128 bits, and around the limits of rules.
const AMOUNTS: [&str; 14] = [
    "0",
    "0.000001",
    "0.5",
    "0.99",
    "1",
    "100",
    "100.05",
    "850",
    "999.99",
    "1000",
    "9500",
    "50000000000000000000",
    "340282366920938463463374607431768",
    "99999999999999999999999999999999999999999999",
];
const ASSETS: [&str; 8] = ["eth", "usdt", "usdt", "usdc", "weth", "wbtc", "fake", "spam"];
const WAYS: [&str; 7] = ["in", "in", "out", "out", "+in", "+out", "failed out"];
const WHO: [i64; 12] = [0, 1, 2, MIXER, BRIDGE, 5, 5 + LOOKALIKE, 6, 7, 8, 9, 10];
/// Mostly the address itself.
const WHOSE: [i64; 6] = [SUBJECT, SUBJECT, SUBJECT, 5, 6, 7];
const PAUSES: [i64; 10] = [0, 0, 1, 12, 60, 3_600, 3_601, DAY, 3 * DAY, 200 * DAY];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let of = prop::sample::select::<i64>;
    let one = (
        of(PAUSES.to_vec()),
        prop::sample::select(WAYS.to_vec()),
        prop::sample::select(WHO.to_vec()),
        prop::sample::select(ASSETS.to_vec()),
        prop::sample::select(AMOUNTS.to_vec()),
        (1..8_i64, of(WHOSE.to_vec()), prop::option::of(of(WHO[1..].to_vec()))),
    );
    // Runs of like movements, so that rules about many are met too.
    prop::collection::vec(one, 0..30).prop_map(|steps| {
        let (mut rows, mut secs, mut can_grow) = (Vec::new(), 0, false);
        for (pause, way, who, asset, amount, (times, whose, sender)) in steps {
            for time in 0..times {
                secs += if way.starts_with('+') { 0 } else { pause };
                // No token moves in a transaction that failed.
                let asset = if way.starts_with("failed") { "eth" } else { asset };
                let way = if can_grow { way } else { way.trim_start_matches('+') };
                can_grow = !way.starts_with("failed");
                // Who moves runs on, but not through mixers, bridges and the address itself.
                let who = if who > BRIDGE { who + 10 * time } else { who };
                let one = row(secs, way, who, asset, amount).of(whose).at_price(1);
                let is_sent = sender.filter(|_| matches!(way, "in" | "out"));
                rows.push(is_sent.map_or_else(|| one.clone(), |sender| one.clone().by(sender)));
            }
        }
        rows
    })
}

/// Limits so low that most rules hold in small histories.
fn low(rules: &mut Rules) {
    rules.rapid_in_out.limits.least_inflows = 1;
    rules.rapid_in_out.limits.least_ratio = 0.1;
    rules.rapid_in_out.limits.least_usd = 0.1;
    rules.pass_through.limits.most_imbalance = 1.0;
    rules.pass_through.limits.most_residual = 1.0;
    rules.pass_through.limits.most_hold_secs = 1_000 * DAY;
    rules.fan_out.limits.least_recipients = 2;
    rules.fan_in.limits.least_senders = 2;
    rules.gather_scatter.limits.least_senders = 2;
    rules.gather_scatter.limits.least_recipients = 2;
    rules.burner_wallet.limits.silent_secs = 0;
    rules.burner_wallet.limits.most_life_secs = 1_000 * DAY;
    rules.burner_wallet.limits.most_transfers = 1_000;
    rules.burner_wallet.limits.most_residual = 1.0;
    rules.structuring.limits.least_count = 2;
    rules.equal_amount_split.limits.least_recipients = 2;
    rules.round_amounts.limits.least_transfers = 2;
    rules.gas_funded_by_mixer.limits.most_units = 1e60;
    rules.dusting.limits.least_recipients = 2;
    rules.bridge_hopping.limits.least_deposits = 1;
    rules.bridge_hopping.limits.least_bridges = 1;
    rules.asset_hopping.limits.least_swaps = 1;
    rules.mev_bot.limits.least_count = 1;
    rules.mev_bot.limits.least_span_secs = 0;
    rules.high_frequency.limits.least_per_hour = 2;
    rules.always_on.limits.least_transfers = 2;
    rules.always_on.limits.least_days = 1;
    rules.always_on.limits.least_entropy = 0.0;
    rules.always_on.limits.most_silent_hours = 24;
    rules.fixed_interval.limits.least_transfers = 2;
    rules.ponzi_payout.limits.least_payers = 1;
    rules.ponzi_payout.limits.least_overlap = 0.0;
    rules.ponzi_payout.limits.least_covered = 0.0;
    rules.ponzi_payout.limits.least_concentration = 0.0;
    rules.scatter_gather.limits.least_intermediaries = 1;
    rules.scatter_gather.limits.least_forwarded = 0.01;
    rules.scatter_gather.limits.least_usd = 0.0;
    rules.peel_chain.limits.least_hops = 1;
    rules.peel_chain.limits.least_ratio = 0.01;
    rules.peel_chain.limits.most_gap_secs = 1_000 * DAY;
    rules.layering_hop.limits.least_length = 1;
    rules.layering_hop.limits.least_ratio = 0.01;
    rules.layering_hop.limits.window_secs = 1_000 * DAY;
    rules.layering_hop.limits.most_age_secs = 1_000 * DAY;
    rules.round_trip.limits.least_usd = 0.0;
    rules.round_trip.limits.least_kept = 0.01;
    rules.wash_trading.limits.least_repeats = 1;
    rules.wash_trading.limits.least_own = 1;
    rules.wash_trading.limits.least_transfers = 1;
    rules.wash_trading.limits.most_net = 0.9;
    rules.multi_exchange_cashout.limits.least_deposits = 1;
    rules.multi_exchange_cashout.limits.least_exchanges = 1;
    rules.multi_exchange_cashout.limits.least_share = 0.01;
    rules.multi_exchange_cashout.limits.least_forwarded = 0.01;
    rules.sandwich_attack.limits.most_difference = 1_000.0;
    rules.new_token_dump.limits.least_share = 0.0;
    rules.new_token_dump.limits.least_sold = 0.0;
    rules.approval_drain.limits.least_owners = 1;
    rules.approval_drain.limits.least_share = 0.01;
    rules.address_poisoning.limits.least_victims = 1;
}

/// Limits without a distance between threshold and full value, and without a threshold.
fn none(rules: &mut Rules) {
    low(rules);
    rules.rapid_in_out.limits.least_inflows = 0;
    rules.rapid_in_out.limits.least_ratio = 0.0;
    rules.rapid_in_out.limits.full_ratio = 0.0;
    rules.rapid_in_out.limits.least_usd = 0.0;
    rules.pass_through.limits.most_imbalance = 0.0;
    rules.pass_through.limits.least_usd = 0.0;
    rules.fan_out.limits.least_recipients = 0;
    rules.fan_out.limits.full_recipients = 0;
    rules.fan_in.limits.least_senders = 0;
    rules.fan_in.limits.full_senders = 0;
    rules.gather_scatter.limits.least_senders = 0;
    rules.gather_scatter.limits.least_recipients = 0;
    rules.gather_scatter.limits.least_forwarded = 0.0;
    rules.burner_wallet.limits.least_usd = 0.0;
    rules.burner_wallet.limits.full_powers = 0.0;
    rules.dormant_reactivation.limits.least_gap_secs = 0;
    rules.dormant_reactivation.limits.full_gap_secs = 0;
    rules.dormant_reactivation.limits.least_usd = 0.0;
    rules.dormant_reactivation.limits.least_share = 0.0;
    rules.structuring.limits.least_count = 0;
    rules.structuring.limits.full_count = 0;
    rules.equal_amount_split.limits.least_recipients = 0;
    rules.equal_amount_split.limits.full_recipients = 0;
    rules.round_amounts.limits.least_transfers = 0;
    rules.round_amounts.limits.least_share = 0.0;
    rules.round_amounts.limits.full_share = 0.0;
    rules.mixer_interaction.limits.full_share = 0.0;
    rules.dusting.limits.least_recipients = 0;
    rules.dusting.limits.full_recipients = 0;
    rules.poisoning_target.limits.leading = 99;
    rules.bridge_hopping.limits.least_deposits = 0;
    rules.bridge_hopping.limits.full_deposits = 0;
    rules.bridge_hopping.limits.least_share = 0.0;
    rules.asset_hopping.limits.least_swaps = 0;
    rules.mev_bot.limits.least_count = 0;
    rules.high_frequency.limits.least_per_hour = 0;
    rules.high_frequency.limits.full_per_hour = 0;
    rules.high_frequency.limits.least_gaps_of = 0;
    rules.always_on.limits.least_transfers = 0;
    rules.fixed_interval.limits.least_transfers = 0;
    rules.ponzi_payout.limits.least_payers = 0;
    rules.scatter_gather.limits.least_intermediaries = 0;
    rules.scatter_gather.limits.least_forwarded = 0.0;
    rules.peel_chain.limits.least_hops = 0;
    rules.peel_chain.limits.full_hops = 0;
    rules.peel_chain.limits.least_ratio = 0.0;
    rules.peel_chain.limits.most_ratio = 1e60;
    rules.layering_hop.limits.least_length = 0;
    rules.layering_hop.limits.full_length = 0;
    rules.layering_hop.limits.least_ratio = 0.0;
    rules.round_trip.limits.least_cycles = 0;
    rules.round_trip.limits.full_cycles = 0;
    rules.round_trip.limits.least_kept = 0.0;
    rules.wash_trading.limits.least_repeats = 0;
    rules.wash_trading.limits.least_own = 0;
    rules.wash_trading.limits.least_transfers = 0;
    rules.wash_trading.limits.full_transfers = 0;
    rules.wash_trading.limits.most_net = 1.0;
    rules.multi_exchange_cashout.limits.least_deposits = 0;
    rules.multi_exchange_cashout.limits.full_deposits = 0;
    rules.multi_exchange_cashout.limits.least_exchanges = 0;
    rules.multi_exchange_cashout.limits.least_share = 0.0;
    rules.multi_exchange_cashout.limits.least_forwarded = 0.0;
    rules.sandwich_attack.limits.least_count = 0;
    rules.sandwich_attack.limits.full_count = 0;
    rules.approval_drain.limits.least_owners = 0;
    rules.approval_drain.limits.full_owners = 0;
    rules.approval_drain.limits.least_share = 0.0;
    rules.address_poisoning.limits.least_victims = 0;
    rules.address_poisoning.limits.full_victims = 0;
    rules.address_poisoning.limits.leading = 0;
    rules.address_poisoning.limits.trailing = 0;
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let history = case.history();
    prop_assert!(history.all.is_sorted_by_key(|transfer| transfer.time));
    prop_assert!(history.valued.iter().all(|transfer| transfer.usd > Usd::ZERO));
    prop_assert_eq!(history.ins.len() + history.outs.len(), history.valued.len());
    prop_assert_eq!(history.flows.len(), history.counterparties.len());
    for (behaviour, find) in case.finds() {
        prop_assert!((0.0..=1.0).contains(&find.intensity), "{behaviour:?}: {find:?}");
        prop_assert!(find.occurrences >= 1, "{behaviour:?}: {find:?}");
        prop_assert!(START <= find.first && find.first <= find.last, "{behaviour:?}: {find:?}");
        prop_assert!(find.last <= history.head, "{behaviour:?}: {find:?}");
        let transactions = &find.evidence.transactions;
        prop_assert!((1..=MAX_LISTED).contains(&transactions.len()), "{behaviour:?}: {find:?}");
        prop_assert!((1..transactions.len()).all(|place| !transactions[..place].contains(&transactions[place])));
        prop_assert!(find.evidence.p_value.is_none_or(|p| p > 0.0 && p <= 1.0), "{behaviour:?}: {find:?}");
        let has_model = matches!(behaviour, Behaviour::FixedInterval | Behaviour::Structuring);
        prop_assert_eq!(find.evidence.p_value.is_some(), has_model, "{:?}", behaviour);
        for (name, fact) in &find.evidence.facts {
            let is_sound = match fact {
                Fact::Count(_) | Fact::Secs(0..) | Fact::Asset(_) => true,
                Fact::Usd(usd) => *usd >= Usd::ZERO,
                Fact::Ratio(of) | Fact::Units(of) => of.is_finite() && *of >= 0.0,
                Fact::Word(word) => !word.is_empty(),
                Fact::Addresses(list) => list.len() <= MAX_LISTED && list.is_sorted() && !list.is_empty(),
                Fact::Path(list) => (1..=MAX_LISTED).contains(&list.len()),
                Fact::Pairs(list) => (1..=MAX_LISTED).contains(&list.len()),
                Fact::Numbers(list) => list.iter().all(|of| of.is_finite() && *of >= 0.0) && !list.is_empty(),
                Fact::EachSecs(list) => list.iter().all(|secs| *secs >= 0) && !list.is_empty(),
                Fact::Words(list) => !list.is_empty(),
                Fact::Secs(_) | Fact::Text(_) | Fact::Features(_) => false,
            };
            prop_assert!(is_sound, "{name} of {behaviour:?}: {find:?}");
        }
    }
    Ok(())
}

fn known(rows: Vec<Row>) -> Case {
    Case::of(rows).known(MIXER, Code::Mixer, None).known(BRIDGE, Code::Bridge, Some("Hop"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn finds_are_sound_in_random_histories(rows in rows()) {
        check(&known(rows))?;
    }

    #[test]
    fn finds_are_sound_with_low_limits(rows in rows(), newest in 1..40_usize) {
        check(&known(rows.clone()).with(low))?;
        check(&known(rows).with(low).newest(newest))?;
    }

    #[test]
    fn finds_are_sound_without_limits(rows in rows()) {
        check(&known(rows).with(none))?;
    }

    #[test]
    fn finds_do_not_depend_on_segments(rows in rows(), newest in 1..200_usize) {
        // Compares them.
        known(rows).with(low).newest(newest).texts();
    }
}

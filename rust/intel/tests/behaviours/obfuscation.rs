//! Mixers.

use headwater_intel::behaviour::Behaviour::{GasFundedByMixer, MixerInteraction};
use headwater_ledger::labels::{Code, Level};

use crate::behaviours::case::{Case, NOTHING, Row, ZERO, row};

const MIXER: i64 = 9;

fn with_mixer(rows: impl IntoIterator<Item = Row>) -> Case {
    Case::of(rows).known(MIXER, Code::Mixer, None)
}

#[test]
fn mixer_interaction_counts_by_share_of_volume() {
    // 100 of 1,000 USD: a tenth of the quarter that counts fully, so 0.4.
    let rows = || [row(0, "in", 2, "usdt", 900), row(50, "out", MIXER, "usdt", 100)];
    let found = "0.4 x1 50..50: mixer #9, direction out, usd 100, share 0.1 by 2";
    assert_eq!(with_mixer(rows()).find(MixerInteraction), found);
    // A confidence of 0.50 is the threshold; a list from the web has less.
    let crawled = Case::of(rows()).said(MIXER, Code::Mixer, None, Level::WebCrawl);
    assert_eq!(crawled.find(MixerInteraction), NOTHING);
    assert_eq!(Case::of(rows()).known(MIXER, Code::Bridge, None).find(MixerInteraction), NOTHING);
    // Both ways: 300 and 100 of 1,200.
    let rows = [row(0, "in", MIXER, "usdt", 300), row(10, "in", 2, "usdt", 800), row(20, "out", MIXER, "usdt", 100)];
    let found = "1 x2 0..20: mixer #9, direction both, usd 400, share 0.333333 by 1 3";
    assert_eq!(with_mixer(rows).find(MixerInteraction), found);
    // However little is sent to it.
    let rows = [row(0, "in", 2, "usdt", 999), row(10, "out", MIXER, "usdt", 1)];
    let found = "0.004 x1 10..10: mixer #9, direction out, usd 1, share 0.001 by 2";
    assert_eq!(with_mixer(rows).find(MixerInteraction), found);
}

/// A mixer sends `usdt`, and somebody else 100,000 less that much, so that all inflow is 100,000.
fn dusted(usdt: u32, after: Option<Row>) -> String {
    let rows = [row(0, "in", MIXER, "usdt", usdt), row(10, "in", 2, "usdc", 100_000 - usdt)];
    with_mixer(rows.into_iter().chain(after)).find(MixerInteraction)
}

#[test]
fn mixer_interaction_lets_dust_pass() {
    let little = |amount: &str| with_mixer([row(0, "in", MIXER, "usdt", amount)]).find(MixerInteraction);
    assert_eq!(little("49.99"), NOTHING, "less than 50 USD");
    assert_eq!(little("50"), "1 x1 0..0: mixer #9, direction in, usd 50, share 1 by 1");

    assert_eq!(dusted(499, None), NOTHING, "less than 500 USD and 1 % of the inflow, and unspent");
    // 0.005 of 0.25.
    assert_eq!(dusted(500, None), "0.02 x1 0..0: mixer #9, direction in, usd 500, share 0.005 by 1");
    let spent = dusted(499, Some(row(20, "out", 3, "usdt", 1)));
    assert!(spent.starts_with("0.019"), "USDT left later: {spent}");
    assert_eq!(dusted(499, Some(row(20, "out", 3, "usdc", 1))), NOTHING, "only USDC left");

    let percent = |rest: u32| {
        with_mixer([row(0, "in", MIXER, "usdt", 100), row(10, "in", 2, "usdc", rest)]).find(MixerInteraction)
    };
    assert_ne!(percent(9_900), NOTHING, "1 % of the inflow");
    assert_eq!(percent(9_901), NOTHING, "less than 1 %");
}

#[test]
fn mixer_interaction_of_nothing_is_none() {
    let rows = [row(0, "in", 2, "usdt", 500), row(10, "out", MIXER, "usdt", 0), row(20, "in", MIXER, "fake", 900)];
    assert_eq!(with_mixer(rows).find(MixerInteraction), NOTHING);
}

#[test]
fn gas_funded_by_mixer_comes_first() {
    let first = |amount: &str| with_mixer([row(5, "in", MIXER, "eth", amount), row(9, "in", 2, "eth", 3)]);
    let found = "1 x1 5..5: funder #9, amount 0.5 by 1";
    assert_eq!(first("0.5").find(GasFundedByMixer), found);
    assert_eq!(first("0.5").unpriced().find(GasFundedByMixer), found, "whatever it is worth");
    assert_eq!(first("0.51").find(GasFundedByMixer), NOTHING, "more than is taken for fees");
    // Payments out and bait are no inflow.
    let after = [row(0, "out", 3, "usdt", 0), row(1, "in", 3, "eth", 0), row(2, "in", 3, "fake", 9)];
    let rows = after.into_iter().chain([row(5, "in", MIXER, "eth", "0.5")]);
    assert_eq!(with_mixer(rows).find(GasFundedByMixer), "1 x1 5..5: funder #9, amount 0.5 by 4");
}

#[test]
fn gas_funded_by_mixer_twins_are_innocent() {
    let gas = || row(5, "in", MIXER, "eth", "0.1");
    for before in [row(0, "in", 2, "eth", "0.01"), row(0, "in", 2, "usdt", 10), row(0, "in", ZERO, "eth", 2)] {
        assert_eq!(with_mixer([before, gas()]).find(GasFundedByMixer), NOTHING, "other money came before");
    }
    assert_eq!(Case::of([gas()]).find(GasFundedByMixer), NOTHING, "nobody calls it a mixer");
    let long_ago = with_mixer([gas(), row(9, "in", 2, "eth", 1)]);
    assert_ne!(long_ago.clone().newest(2).find(GasFundedByMixer), NOTHING);
    assert_eq!(long_ago.newest(1).find(GasFundedByMixer), NOTHING, "what came first is not looked at");
}

#[test]
fn gas_funded_by_mixer_is_among_the_first_three() {
    let after = |large: i64| {
        let large = (0..large).map(|n| row(n, "in", MIXER, "eth", 10));
        with_mixer(large.chain([row(5, "in", MIXER, "eth", "0.1")])).find(GasFundedByMixer)
    };
    assert_eq!(after(2), "1 x1 5..5: funder #9, amount 0.1 by 3");
    assert_eq!(after(3), NOTHING);
}

#[test]
fn gas_funded_by_mixer_on_tron_is_up_to_500_trx() {
    let first = |amount: &str| with_mixer_on_tron(amount).find(GasFundedByMixer);
    assert_eq!(first("500"), "1 x1 5..5: funder #9, amount 500 by 1");
    assert_eq!(first("500.000001"), NOTHING);
}

fn with_mixer_on_tron(amount: &str) -> Case {
    Case::of([row(5, "in", MIXER, "trx", amount)]).on_tron().known(MIXER, Code::Mixer, None)
}

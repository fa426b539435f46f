//! How histories are read: what counts, what does not, and in which order.

use headwater_intel::behaviour::{AssetKind, Behaviour, History, NOBODY, Way};
use headwater_types::{Chain, Usd};

use crate::behaviours::case::{Case, DAY, START, SUBJECT, ZERO, account, row};

fn usd(value: f64) -> Usd {
    Usd::from_f64(value).unwrap()
}

/// Kind, way and worth of each movement.
fn seen(history: &History) -> Vec<(AssetKind, Way, Usd)> {
    let of = |asset: u32| history.assets[asset as usize].kind;
    history.all.iter().map(|transfer| (of(transfer.asset), transfer.way, transfer.usd)).collect()
}

#[test]
fn empty_history_finds_nothing() {
    let case = Case::of([]).until(100);
    assert_eq!((case.finds(), case.history().head), (vec![], START + 100));
    assert!(Behaviour::ALL.iter().all(|behaviour| !behaviour.is_evaluated_on(&case.history())));
}

#[test]
fn worth_is_that_of_coin_and_stablecoins() {
    let rows = [
        row(0, "in", 2, "eth", "1.5"),
        row(10, "in", 2, "usdt", "12.345678"),
        row(20, "out", 3, "wbtc", 1),
        row(30, "in", 4, "fake", 1_000),
        row(40, "in", 4, "spam", 1_000),
    ];
    let history = Case::of(rows.clone()).history();
    let expected = [
        (AssetKind::Native, Way::In, usd(3_000.0)),
        (AssetKind::Stablecoin, Way::In, usd(12.345_678)),
        (AssetKind::Verified, Way::Out, Usd::ZERO),
        (AssetKind::Counterfeit, Way::In, Usd::ZERO),
        (AssetKind::Unverified, Way::In, Usd::ZERO),
    ];
    assert_eq!(seen(&history), expected);
    assert_eq!((history.valued.len(), history.ins.len(), history.outs.len()), (2, 2, 0));
    assert_eq!((history.in_usd, history.out_usd, history.unpriced), (usd(3_012.345_678), Usd::ZERO, 0));

    // Without prices the stablecoin still counts as its amount.
    let history = Case::of(rows).unpriced().history();
    assert_eq!((history.in_usd, history.unpriced), (usd(12.345_678), 1));
    assert!(Behaviour::FanOut.is_evaluated_on(&history));
}

#[test]
fn coin_without_price_evaluates_no_values() {
    let history = Case::of([row(0, "in", 2, "eth", 3), row(10, "out", 3, "eth", 3)]).unpriced().history();
    assert_eq!((history.all.len(), history.valued.len(), history.unpriced), (2, 0, 2));
    assert!(!Behaviour::PassThrough.is_evaluated_on(&history));
    assert!(Behaviour::GasFundedByMixer.is_evaluated_on(&history));
    assert!(!Behaviour::RoundTrip.is_evaluated_on(&history));
    assert!(Behaviour::WashTrading.is_evaluated_on(&history));
}

#[test]
fn amount_of_nothing_needs_no_price() {
    let history = Case::of([row(0, "out", 2, "eth", 0)]).unpriced().history();
    assert_eq!((history.all.len(), history.unpriced), (1, 0));
}

#[test]
fn payment_is_evaluated_by_all_rules() {
    let findings = Case::of([row(0, "in", 2, "usdt", 5)]).findings();
    assert_eq!((findings.found, findings.deferred), (vec![], vec![]));
}

#[test]
fn failed_and_own_movements_are_left_out() {
    let rows = [
        row(0, "failed in", 2, "eth", 1),
        row(10, "in", SUBJECT, "eth", 1),
        row(20, "out", SUBJECT, "usdt", 9),
        row(30, "in", 2, "usdt", 9),
    ];
    let history = Case::of(rows).history();
    assert_eq!(seen(&history), [(AssetKind::Stablecoin, Way::In, usd(9.0))]);
    assert_eq!(history.counterparties.len(), 1);
}

#[test]
fn mint_has_no_counterparty() {
    let history = Case::of([row(0, "in", ZERO, "usdt", 900), row(10, "out", 2, "usdt", 400)]).history();
    let others: Vec<_> = history.all.iter().map(|transfer| transfer.other).collect();
    assert_eq!(others, [NOBODY, 0]);
    assert_eq!(history.counterparties[0].address, account(Chain::ETHEREUM, 2));
    assert_eq!((history.flows.len(), history.flows[0].out_usd, history.in_usd), (1, usd(400.0), usd(900.0)));
    // 20 mints are of no sender.
    let mints = (0..20).map(|n| row(n, "in", ZERO, "usdt", 100)).chain([row(50, "out", 2, "usdt", 2_000)]);
    assert_eq!(Case::of(mints).find(Behaviour::FanIn), "nothing");
}

#[test]
fn movements_of_one_time_keep_the_order_of_the_chain() {
    // Ten transactions of one block, each with three movements, spread over segments.
    let rows = (0..10).flat_map(|n| {
        let amount = |step: i64| 100 * (n + 1) + step;
        [row(7, "out", 2, "usdt", amount(0)), row(7, "+in", 3, "usdc", amount(1)), row(7, "+out", 4, "usdt", amount(2))]
    });
    let case = Case::of(rows);
    let order = case.in_segments(|ledger| {
        let history = case.read(ledger);
        let of = |transfer: &headwater_intel::behaviour::Transfer| {
            let index = ledger.transaction_head(transfer.transaction).unwrap().index.unwrap();
            (index, transfer.usd.to_string())
        };
        history.all.iter().map(of).collect::<Vec<_>>()
    });
    let expected: Vec<_> =
        (0..10).flat_map(|index| [0, 1, 2].map(|step| (index, (100 * (index + 1) + step).to_string()))).collect();
    assert_eq!(order, expected);
}

#[test]
fn all_finds_are_the_same_over_segments() {
    // Much at once: 40 come within two blocks, 40 are paid within two, again after three days.
    let round = |day: i64| {
        let came = (0..40).map(move |n| row(day * DAY + n / 20, "in", 100 + n, "usdt", 900));
        let paid = (0..40).map(move |n| row(day * DAY + 10 + n / 20, "out", 200 + n, "usdt", 850));
        came.chain(paid)
    };
    let case = Case::of(round(0).chain(round(3)));
    let mut found: Vec<_> = case.finds().into_iter().map(|(behaviour, _)| behaviour).collect();
    found.retain(|behaviour| case.find(*behaviour) != "nothing");
    let expected = [
        Behaviour::RapidInOut,
        Behaviour::GatherScatter,
        Behaviour::Structuring,
        Behaviour::EqualAmountSplit,
        Behaviour::RoundAmounts,
    ];
    for behaviour in expected {
        assert!(found.contains(&behaviour), "{behaviour:?} of {found:?}");
    }
}

#[test]
fn long_history_is_cut_to_the_newest() {
    let rows = [
        row(0, "in", 2, "usdt", 500),
        row(10, "out", 3, "usdt", 100),
        row(20, "in", 2, "usdt", 40),
        row(30, "out", 4, "usdt", 7),
    ];
    let whole = Case::of(rows.clone()).newest(4).history();
    assert!(!whole.is_truncated);
    let case = Case::of(rows).newest(2);
    let (times, flows, is_truncated, in_usd) = case.in_segments(|ledger| {
        let history = case.read(ledger);
        let times: Vec<_> = history.all.iter().map(|transfer| transfer.time - START).collect();
        let flows: Vec<_> = history
            .flows
            .iter()
            .map(|flow| (flow.in_usd, flow.out_usd, flow.transactions, flow.last - START))
            .collect();
        (times, flows, history.is_truncated, history.in_usd)
    });
    assert_eq!((times, is_truncated, in_usd), (vec![20, 30], true, usd(40.0)));
    // Flows are over all of it.
    let expected = [(usd(540.0), Usd::ZERO, 2, 20), (Usd::ZERO, usd(100.0), 1, 10), (Usd::ZERO, usd(7.0), 1, 30)];
    assert_eq!(flows, expected);
}

#[test]
fn flow_counts_distinct_transactions() {
    let rows = [row(0, "in", 2, "usdt", 1), row(0, "+in", 2, "usdc", 1), row(0, "in", 2, "usdt", 1)];
    let history = Case::of(rows).history();
    assert_eq!((history.flows[0].transactions, history.flows[0].usd()), (2, usd(3.0)));
}

//! How much there is to judge by.

use headwater_ledger::labels::{Code, Level};
use headwater_types::Usd;

use super::super::{ClassView, GraphScore, Judgement, ScamLikeness, SufficiencyLevel, SufficiencyReason, judge_labels};
use super::vectors::{judge, seen};
use super::{claim, judged, neighbour, parameters};
use crate::behaviour::{Evidence, History};
use crate::label::Aggregate;

/// An address with so many valued transfers.
fn with_transfers(count: usize) -> History {
    let mut history = seen();
    let transfer = history.all[0];
    history.all.resize(count, transfer);
    history.sum_flows();
    history.divide();
    history
}

fn graph(worst: Option<(Code, f64)>) -> GraphScore {
    GraphScore::of(parameters(), &[neighbour(1, (10.0, 0.0), worst)], (1, Usd::from_f64(10.0).unwrap()))
}

fn of(history: &History, graph: &GraphScore) -> Judgement {
    judge(&Aggregate::default(), history, &ClassView::default(), Some(graph))
}

fn level(of: &Judgement) -> SufficiencyLevel {
    of.sufficiency.level
}

#[test]
fn few_transfers_without_evidence_are_insufficient() {
    let (harmless, risky) = (graph(None), graph(Some((Code::Mixer, 0.9))));
    let few = of(&with_transfers(4), &harmless);
    assert_eq!(level(&few), SufficiencyLevel::Insufficient);
    assert_eq!(few.sufficiency.reasons, [SufficiencyReason::FewTransfers]);
    let enough = of(&with_transfers(5), &harmless);
    assert_eq!((level(&enough), enough.sufficiency.reasons.len()), (SufficiencyLevel::Full, 0));
    // A risky counterparty, a claim above 0.2, a floor and a find are something to judge by.
    assert_eq!(level(&of(&with_transfers(4), &risky)), SufficiencyLevel::Full);
    let judged_by = |claims: &[_]| {
        judge(&judged(claims), &with_transfers(4), &ClassView::default(), Some(&harmless)).sufficiency.level
    };
    assert_eq!(judged_by(&[claim(Code::Exchange, Level::WebCrawl, "a")]), SufficiencyLevel::Insufficient);
    assert_eq!(judged_by(&[claim(Code::Exchange, Level::UntrustedTransaction, "a")]), SufficiencyLevel::Full);
    let scam = ScamLikeness { likeness: 0.5, probability: 0.84, odds: 5.0, evidence: Evidence::default() };
    let class = |likeness| ClassView { scam: Some(ScamLikeness { likeness, ..scam.clone() }), context: None };
    let found = |likeness| {
        judge(&Aggregate::default(), &with_transfers(4), &class(likeness), Some(&harmless)).sufficiency.level
    };
    assert_eq!((found(0.5), found(0.49)), (SufficiencyLevel::Full, SufficiencyLevel::Insufficient));
}

#[test]
fn missing_dimensions_are_partial_with_evidence_and_insufficient_without() {
    let reasons = [SufficiencyReason::BehaviorUnavailable, SufficiencyReason::GraphUnavailable];
    let nothing = judge_labels(parameters(), &Aggregate::default());
    assert_eq!((level(&nothing), &nothing.sufficiency.reasons[..]), (SufficiencyLevel::Insufficient, &reasons[..]));
    let labelled = judge_labels(parameters(), &judged(&[claim(Code::Mixer, Level::TrustedProvider, "a")]));
    assert_eq!((level(&labelled), &labelled.sufficiency.reasons[..]), (SufficiencyLevel::Partial, &reasons[..]));
}

#[test]
fn cut_history_is_partial() {
    let mut cut = with_transfers(9);
    cut.is_truncated = true;
    let cut = of(&cut, &graph(None));
    assert_eq!(level(&cut), SufficiencyLevel::Partial);
    assert_eq!(cut.sufficiency.reasons, [SufficiencyReason::HistoryIncomplete]);
    let mut few_screened = graph(None);
    few_screened.total = 9_000;
    assert_eq!(level(&of(&with_transfers(9), &few_screened)), SufficiencyLevel::Partial);
}

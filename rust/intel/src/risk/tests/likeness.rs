//! `scam_pattern`: the class as a behaviour.

use headwater_ledger::labels::{Code, Level};

use super::super::{ClassView, Context, ContextChoice, GateReason, ScamLikeness};
use super::vectors::{judge, seen};
use super::{claim, judged, near, parameters};
use crate::behaviour::{Behaviour, Evidence, Fact};
use crate::label::Aggregate;

/// A class whose probability of scams is so much, with odds divided by five.
fn class(probability: f64) -> ClassView {
    let (odds, likeness) = (5.0, probability / (probability + 5.0 * (1.0 - probability)));
    let evidence = Evidence::default().with("probability", Fact::Ratio(probability)).with("odds", Fact::Ratio(odds));
    ClassView { context: None, scam: Some(ScamLikeness { likeness, probability, odds, evidence }) }
}

#[test]
fn likeness_is_worked_by_hand() {
    // P = 0.95: q = 0.95 / (0.95 + 5 · 0.05) = 0.791667, the score 95 q = 75.208333, of which 60 % count: 45.125.
    let of = judge(&Aggregate::default(), &seen(), &class(0.95), None);
    let behaviour = of.behaviour.as_ref().unwrap();
    let hit = &behaviour.hits[0];
    assert_eq!((hit.behaviour, hit.is_found, hit.recency), (Behaviour::ScamPattern, true, 1.0));
    near(hit.detection.intensity, 0.791_666_7, 1e-6);
    near(hit.score, 75.208_333, 1e-5);
    near(of.score, 45.125, 1e-5);
    assert!(of.evaluated.contains(&Behaviour::ScamPattern));
    assert_eq!(
        of.factors[0].detail,
        "transfers like those of known scams: probability 0.950, 0.792 after dividing the odds by 5"
    );
    near(of.factors[0].points, of.score, 1e-9);
}

#[test]
fn low_likeness_earns_points_and_is_no_find() {
    // P = 0.6: q = 0.6 / 2.6 = 0.230769, 95 q = 21.923077, times 0.6.
    let of = judge(&Aggregate::default(), &seen(), &class(0.6), None);
    near(of.score, 13.153_846, 1e-5);
    let behaviour = of.behaviour.as_ref().unwrap();
    assert_eq!((behaviour.hits.len(), behaviour.found().count()), (1, 0));
    // From q = 0.5 on it is a find: P = 5 / 6.
    assert_eq!(judge(&Aggregate::default(), &seen(), &class(0.833), None).behaviour.unwrap().found().count(), 0);
    assert_eq!(judge(&Aggregate::default(), &seen(), &class(0.834), None).behaviour.unwrap().found().count(), 1);
}

#[test]
fn likeness_alone_never_makes_high() {
    for context in [None, Some(Context::Mixer), Some(Context::Deposit)] {
        let context = context.map(|context| ContextChoice { context, confidence: 0.8 });
        let of = judge(&Aggregate::default(), &seen(), &ClassView { context, ..class(1.0) }, None);
        assert!(of.score <= 57.0 + 1e-9, "{context:?}: {}", of.score);
        assert!(of.gates.is_empty());
    }
}

#[test]
fn likeness_counts_less_for_an_exchange_and_no_more_for_a_scam() {
    let exchange = judged(&[claim(Code::Exchange, Level::ServiceApi, "a")]);
    let of = judge(&exchange, &seen(), &class(0.95), None);
    let hit = &of.behaviour.as_ref().unwrap().hits[0];
    // 1 + 0.7 · (0.15 - 1) = 0.405.
    near(hit.weight.unwrap(), 0.405, 1e-12);
    let scam = judged(&[claim(Code::Phishing, Level::TrustedProvider, "a")]);
    let of = judge(&scam, &seen(), &class(0.95), None);
    near(of.behaviour.as_ref().unwrap().hits[0].weight.unwrap(), 1.0, 1e-12);
    assert_eq!(of.gates[0].reason, GateReason::ConfirmedIllicit);
    assert_eq!(
        parameters().behaviours.weights(Behaviour::ScamPattern)[..7],
        parameters().behaviours.approval_drain.weights[..7]
    );
}

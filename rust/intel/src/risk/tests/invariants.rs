//! Laws that hold for every input.

use headwater_ledger::labels::{Category, Code};
use headwater_types::Usd;
use proptest::prelude::*;

use super::super::{BehaviourScore, Composite, Context, ContextChoice, GraphScore, IntelScore, Neighbour};
use super::{NOW, find, labels, near, neighbour, parameters};
use crate::behaviour::{Behaviour, Detection};

fn code() -> impl Strategy<Value = Code> {
    prop::sample::select(Code::ALL.to_vec())
}

fn risk_code() -> impl Strategy<Value = Code> {
    let risky = |code: &Code| !matches!(code.category(), Category::Identity | Category::Activity);
    prop::sample::select(Code::ALL.iter().copied().filter(risky).collect::<Vec<_>>())
}

fn context() -> impl Strategy<Value = Option<ContextChoice>> {
    let contexts = vec![Context::Exchange, Context::Deposit, Context::Bridge, Context::Mixer, Context::Illicit];
    prop::option::of((prop::sample::select(contexts), 0.0..=1.0_f64))
        .prop_map(|of| of.map(|(context, confidence)| ContextChoice { context, confidence }))
}

fn finds() -> impl Strategy<Value = Vec<(Behaviour, Detection)>> {
    let one = (0.0..=1.0_f64, 1..2000_u64, 0..2000_i64);
    let all: Vec<_> = Behaviour::ALL.iter().copied().chain([Behaviour::ScamPattern]).collect();
    prop::collection::btree_map(prop::sample::select(all), one, 0..8).prop_map(|finds| {
        finds.into_iter().map(|(behaviour, (intensity, n, days))| find(behaviour, intensity, n, days)).collect()
    })
}

fn neighbours() -> impl Strategy<Value = Vec<Neighbour>> {
    let amount = || prop_oneof![Just(0.0), 1.0..1e7_f64];
    let one = (amount(), amount(), prop::option::of((risk_code(), 0.5..=1.0_f64)), any::<bool>());
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let made = (1_u8..).zip(all).map(|(number, (received, sent, worst, is_dust))| {
            let sent_dust = is_dust && sent == 0.0;
            Neighbour { sent_dust, sent_dust_since: sent_dust, ..neighbour(number, (received, sent), worst) }
        });
        made.collect()
    })
}

fn scored(neighbours: &[Neighbour]) -> GraphScore {
    let volume: Usd = neighbours.iter().map(Neighbour::usd).sum();
    GraphScore::of(parameters(), neighbours, (neighbours.len() as u64, volume))
}

fn is_score(score: f64) -> bool {
    (0.0..=100.0).contains(&score)
}

proptest! {
    #[test]
    fn scores_stay_within_bounds_and_contributions_add_up(
        finds in finds(), context in context(), neighbours in neighbours(), trusted: bool,
        codes in prop::collection::btree_map(code(), 0.0..=1.0_f64, 0..6),
    ) {
        let codes: Vec<_> = codes.into_iter().map(|(code, confidence)| (code, confidence, 0.5)).collect();
        let intel = IntelScore::of(parameters(), &labels(&codes), false);
        let behaviour = BehaviourScore::of(parameters(), finds, context.as_ref(), NOW);
        let graph = scored(&neighbours);
        let composite = Composite::of(parameters(), intel.score, behaviour.score, graph.score, trusted);
        for score in [intel.score, behaviour.raw, behaviour.score, graph.score, composite.score] {
            prop_assert!(is_score(score), "{score}");
        }
        near(intel.codes.iter().map(|share| share.contribution).sum(), intel.score, 1e-9);
        near(behaviour.hits.iter().map(|hit| hit.contribution).sum(), behaviour.score, 1e-9);
        near(graph.categories.iter().map(|category| category.contribution).sum(), graph.score, 1e-9);
        near(composite.intel + composite.behaviour + composite.graph, composite.score, 1e-9);
    }

    #[test]
    fn without_confidence_context_changes_nothing(finds in finds()) {
        let unsure = ContextChoice { context: Context::Mixer, confidence: 0.0 };
        let score = BehaviourScore::of(parameters(), finds, Some(&unsure), NOW);
        near(score.score, score.raw, 1e-12);
    }

    #[test]
    fn older_finds_never_raise_the_score(finds in finds(), age in 1..1000_i64) {
        let newer = BehaviourScore::of(parameters(), finds.clone(), None, NOW).score;
        let older = BehaviourScore::of(parameters(), finds, None, NOW + age * super::DAY).score;
        prop_assert!(older <= newer + 1e-9);
    }

    #[test]
    fn a_further_episode_never_lowers_the_score(finds in finds(), place: prop::sample::Index) {
        prop_assume!(!finds.is_empty());
        let mut more = finds.clone();
        let place = place.index(more.len());
        more[place].1.occurrences *= 2;
        let before = BehaviourScore::of(parameters(), finds, None, NOW).score;
        prop_assert!(BehaviourScore::of(parameters(), more, None, NOW).score >= before - 1e-9);
    }

    #[test]
    fn a_surer_risk_code_never_lowers_the_score(code in risk_code(), other in risk_code(), sure in 0.0..=1.0_f64, less in 0.0..=1.0_f64) {
        prop_assume!(code != other);
        let of = |confidence: f64| {
            IntelScore::of(parameters(), &labels(&[(code, confidence, 0.5), (other, 0.4, 0.5)]), false).score
        };
        prop_assert!(of(sure) >= of(sure * less) - 1e-9);
    }

    #[test]
    fn more_with_a_risky_counterparty_never_lowers_the_score_at_equal_volume(
        neighbours in neighbours(), more in 1.0..1e6_f64, code in risk_code(),
    ) {
        let volume = 1e9;
        let with = |usd: f64| {
            let mut all = neighbours.clone();
            all.push(neighbour(200, (0.0, usd), Some((code, 0.9))));
            GraphScore::of(parameters(), &all, (all.len() as u64, Usd::from_f64(volume).unwrap())).score
        };
        // Confidence is a mean: only counterparties of the same confidence leave it as it is.
        prop_assume!(neighbours.iter().all(|one| one.worst.is_none_or(|(other, _)| other.category() != code.category())));
        prop_assert!(with(more * 2.0) >= with(more) - 1e-9);
    }

    #[test]
    fn the_order_of_counterparties_does_not_matter(neighbours in neighbours()) {
        let mut turned = neighbours.clone();
        turned.reverse();
        let (one, other) = (scored(&neighbours), scored(&turned));
        near(one.score, other.score, 1e-9);
        prop_assert_eq!(one.risky, other.risky);
    }
}

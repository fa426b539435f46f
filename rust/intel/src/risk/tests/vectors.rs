//! Vectors with every number worked out.
#![allow(clippy::float_cmp, clippy::approx_constant, reason = "exact floors, and figures of a table")]

use std::convert::Infallible;

use headwater_ledger::labels::{Category, Code, Level};
use headwater_types::Usd;

use super::super::counterparties::exposure;
use super::super::judgement::{Conduct, Subject, judge as judge_subject};
use super::super::{
    BehaviourScore, ClassView, Composite, Context, Expansion, GateReason, GraphScore, IntelScore, Level as RiskLevel,
    Parameters,
};
use super::{NOW, claim, context, find, judged, labels, near, neighbour, parameters};
use crate::behaviour::{Behaviour, Findings, History};
use crate::label::Aggregate;

/// The three finds of the worked cases.
fn three() -> Vec<(Behaviour, crate::behaviour::Detection)> {
    vec![
        find(Behaviour::RapidInOut, 0.5, 4, 10),
        find(Behaviour::PassThrough, 0.2, 1, 10),
        find(Behaviour::FanOut, 1.0, 1, 200),
    ]
}

fn after(score: &BehaviourScore) -> Vec<f64> {
    score.hits.iter().map(|hit| hit.after_context).collect()
}

#[test]
fn the_second_family_counts_a_quarter_of_what_is_left() {
    // 90 · 0.80 = 72; 35 · 0.5 = 17.5; 72 + 28 / 100 · 0.25 · 17.5 = 73.225. No code has severity 35: one of 25 with
    // 0.7 comes to the same 17.5.
    let phishing = labels(&[(Code::Phishing, 0.80, 0.5), (Code::SanctionDelisted, 0.70, 0.5)]);
    let intel = IntelScore::of(parameters(), &phishing, false);
    near(intel.score, 73.225, 1e-9);
    near(intel.confidence, 0.80, 1e-12);
    let contributions: Vec<_> = intel.codes.iter().map(|share| share.contribution).collect();
    near(contributions[0], 72.0, 1e-9);
    near(contributions[1], 1.225, 1e-9);
}

#[test]
fn two_codes_of_one_family_count_once_and_a_benign_identity_takes_half_away() {
    // max(95 · 0.5, 95 · 0.4) = 47.5; an exchange of confidence 0.6 leaves 70 %: 33.25; a gate leaves all.
    let codes = [(Code::Hack, 0.5, 0.5), (Code::Theft, 0.4, 0.4), (Code::Exchange, 0.6, 0.6)];
    near(IntelScore::of(parameters(), &labels(&codes), false).score, 33.25, 1e-9);
    near(IntelScore::of(parameters(), &labels(&codes), true).score, 47.5, 1e-9);
    let none = IntelScore::of(parameters(), &Aggregate::default(), false);
    assert_eq!((none.score, none.confidence), (0.0, 0.0));
    let exchange = IntelScore::of(parameters(), &labels(&[(Code::Exchange, 0.6, 0.6)]), false);
    assert_eq!((exchange.score, exchange.confidence), (0.0, 0.6));
}

#[test]
fn age_and_repetition_are_those_of_the_table() {
    for (days, expected) in [(0, 1.0), (30, 0.8909), (90, 0.7071), (180, 0.5), (365, 0.2452), (730, 0.1)] {
        let score = BehaviourScore::of(parameters(), vec![find(Behaviour::PassThrough, 1.0, 1, days)], None, NOW);
        near(score.hits[0].recency, expected, 5e-5);
        near(score.hits[0].score, 30.0 * score.hits[0].recency, 1e-12);
    }
    // 1 + 0.1 · log2(n), at most 1.25.
    for (n, factor) in [(1, 1.0), (2, 1.1), (4, 1.2), (1000, 1.25)] {
        let score = BehaviourScore::of(parameters(), vec![find(Behaviour::PassThrough, 0.0, n, 0)], None, NOW);
        near(score.hits[0].score, 30.0 * 0.6 * factor, 1e-12);
    }
}

#[test]
fn unlabelled_address_with_three_finds_and_a_mixer() {
    let behaviour = BehaviourScore::of(parameters(), three(), None, NOW);
    for (score, expected) in after(&behaviour).iter().zip([32.3307, 19.6294, 13.8881]) {
        near(*score, expected, 5e-5);
    }
    near(behaviour.raw, 47.4479, 5e-5);
    near(behaviour.score, behaviour.raw, 1e-12);
    near(behaviour.hits.iter().map(|hit| hit.contribution).sum(), behaviour.score, 1e-9);

    // 12 % and 8,000 US dollars with a mixer of confidence 0.9; the rest of 66,666.67 with somebody unknown.
    near(exposure(parameters(), 70.0, 0.12, 8_000.0), 0.6177, 5e-5);
    let volume = 8_000.0 / 0.12;
    let neighbours =
        [neighbour(1, (8_000.0, 0.0), Some((Code::Mixer, 0.9))), neighbour(2, (0.0, volume - 8_000.0), None)];
    let graph = GraphScore::of(parameters(), &neighbours, (2, Usd::from_f64(volume).unwrap()));
    near(graph.score, 38.9180, 5e-5);
    near(graph.risky_ratio, 0.12, 1e-9);
    assert_eq!((graph.total, graph.screened, graph.hit, graph.is_direct_sanctioned), (2, 2, 1, false));
    assert_eq!(graph.categories[0].category, Category::Mixing);

    let composite = Composite::of(parameters(), 0.0, behaviour.score, graph.score, false);
    near(composite.score, 52.1315, 5e-5);
    near(composite.behaviour, 23.7079, 5e-5);
    near(composite.graph, 28.4236, 5e-5);
    assert_eq!(RiskLevel::of(parameters(), composite.score), RiskLevel::Medium);
}

#[test]
fn the_same_of_an_exchange_is_low_and_of_a_mixer_graver() {
    let exchange = context(Context::Exchange, 0.8);
    let behaviour = BehaviourScore::of(parameters(), three(), Some(&exchange), NOW);
    for (score, expected) in after(&behaviour).iter().zip([9.0526, 5.4962, 4.4442]) {
        near(*score, expected, 5e-5);
    }
    near(behaviour.raw, 47.4479, 5e-5);
    near(behaviour.score, 15.4827, 5e-5);
    let composite = Composite::of(parameters(), 0.0, behaviour.score, 38.917_967, true);
    near(composite.score, 21.2925, 5e-4);
    assert_eq!(RiskLevel::of(parameters(), composite.score), RiskLevel::Low);

    // The case has 1.5 for all three; the table has 1.4 for the last one.
    let of_table = "weights = [0.15, 1.00, 0.10, 0.20, 0.10, 0.50, 1.40, 1.40]";
    let of_case = of_table.replace("1.40, 1.40", "1.50, 1.40");
    let case = Parameters::parse(&Parameters::standard_text().replacen(of_table, &of_case, 1)).unwrap();
    let mixer = BehaviourScore::of(&case, three(), Some(&context(Context::Mixer, 0.9)), NOW);
    for (score, expected) in after(&mixer).iter().zip([46.8795, 28.4626, 20.1378]) {
        near(*score, expected, 5e-5);
    }
    near(mixer.score, 63.6142, 5e-5);
}

#[test]
fn exposure_vectors() {
    for (share, usd, expected) in [
        (0.0, 0.0, 0.0),
        (0.01, 100.0, 0.1724),
        (0.05, 10_000.0, 0.5868),
        (0.20, 100_000.0, 0.8668),
        (1.0, 1e6, 0.9762),
    ] {
        near(exposure(parameters(), 90.0, share, usd), expected, 5e-5);
    }
}

fn assessed(aggregate: &Aggregate<'_>, graph: Option<&GraphScore>) -> super::super::Judgement {
    // One movement: somebody who was seen.
    judge(aggregate, &seen(), &ClassView::default(), graph)
}

/// The assessment of an address that did so much, without finds of rules.
pub(super) fn judge(
    aggregate: &Aggregate<'_>,
    history: &History,
    class: &ClassView,
    graph: Option<&GraphScore>,
) -> super::super::Judgement {
    let findings = Findings::default();
    let subject = Subject::Seen(Conduct { history, findings: &findings, class, lacks_tables: false });
    judge_subject::<Infallible>(parameters(), aggregate, subject, &mut |_| Ok(graph.cloned())).unwrap()
}

pub(super) fn seen() -> History {
    let mut history = History::until(NOW);
    history.assets.push(crate::behaviour::AssetNote {
        asset: headwater_types::Asset::Native,
        kind: crate::behaviour::AssetKind::Native,
        decimals: Some(18),
    });
    history.counterparties.push(crate::behaviour::Counterparty {
        address: headwater_types::Address::Evm([9; 20]),
        roles: crate::behaviour::Roles::default(),
        entity: 0,
    });
    history.all.push(crate::behaviour::Transfer {
        time: NOW - 100,
        transaction: headwater_ledger::read::PostingColumns::transaction_of(0, 0),
        raw: 1,
        usd: Usd::from_f64(1.0).unwrap(),
        other: 0,
        asset: 0,
        way: crate::behaviour::Way::In,
    });
    history.sum_flows();
    history.divide();
    history
}

#[test]
fn gates_stand_above_all_other_evidence() {
    let listed =
        judged(&[claim(Code::Sanction, Level::SanctionsList, "ofac"), claim(Code::Exchange, Level::Ownership, "own")]);
    let sanctioned = assessed(&listed, None);
    assert_eq!(sanctioned.score, 100.0);
    assert_eq!(sanctioned.expansion, Expansion::IntelGate);
    assert_eq!(sanctioned.gates[0].reason, GateReason::OfacSanctioned);

    let curated = assessed(&judged(&[claim(Code::Phishing, Level::TrustedProvider, "a")]), None);
    assert_eq!((curated.score, curated.gates[0].reason), (90.0, GateReason::ConfirmedIllicit));
    let crawled = assessed(&judged(&[claim(Code::Phishing, Level::WebCrawl, "a")]), None);
    assert!(crawled.gates.is_empty() && crawled.score < 30.0, "{}", crawled.score);

    // An exchange of which somebody said once that it is a scam.
    let exchange =
        judged(&[claim(Code::Exchange, Level::ServiceApi, "a"), claim(Code::Scam, Level::TrustedProvider, "b")]);
    assert!(assessed(&exchange, None).gates.is_empty());
    // Several crawled reports together are sure enough, but none of them is reliable enough.
    let reports: Vec<_> = ["a", "b", "c", "d"].map(|group| claim(Code::Scam, Level::WebCrawl, group)).to_vec();
    let reported = judged(&reports);
    assert!(reported.of(Code::Scam) > 0.5);
    assert!(assessed(&reported, None).gates.is_empty());
}

#[test]
fn money_to_somebody_under_sanctions_is_at_least_seventy_but_not_of_an_exchange() {
    let graph = |neighbour| GraphScore::of(parameters(), &[neighbour], (1, Usd::from_f64(1e9).unwrap()));
    let sanctioned = Some((Code::Sanction, 1.0));
    let paid = graph(neighbour(1, (0.0, 1.0), sanctioned));
    let unlabelled = assessed(&Aggregate::default(), Some(&paid));
    assert_eq!((unlabelled.score, unlabelled.gates[0].reason), (70.0, GateReason::DirectSanctionedEdge));
    near(unlabelled.factors.iter().map(|factor| factor.points).sum(), 70.0, 1e-9);

    let exchange =
        judged(&[claim(Code::Exchange, Level::ServiceApi, "a"), claim(Code::ReportedOnce, Level::WebCrawl, "b")]);
    assert!(assessed(&exchange, Some(&paid)).gates.is_empty());

    // What a thief took with the owner's allowance is no payment.
    let taken = Usd::from_f64(40.0).unwrap();
    let mut victim = neighbour(1, (0.0, 40.0), sanctioned);
    victim.all.taken_usd = taken;
    let robbed = assessed(&Aggregate::default(), Some(&graph(victim)));
    assert!(robbed.gates.is_empty());
    assert!(robbed.factors[0].detail.contains("40.00 of them in transactions that others sent"));
    // Dust from the thief afterwards changes nothing.
    let mut both = super::super::Neighbour { sent_dust_since: true, ..neighbour(1, (0.01, 40.0), sanctioned) };
    both.all.taken_usd = taken;
    assert!(assessed(&Aggregate::default(), Some(&graph(both))).gates.is_empty());

    let dust =
        super::super::Neighbour { sent_dust: true, sent_dust_since: true, ..neighbour(1, (40.0, 0.0), sanctioned) };
    let dusted = assessed(&Aggregate::default(), Some(&graph(dust)));
    assert!(dusted.gates.is_empty());
    assert!(dusted.graph.unwrap().is_direct_sanctioned);
}

#[test]
fn whether_counterparties_are_looked_at_follows_one_order() {
    let nobody = Aggregate::default();
    let of = |aggregate: &Aggregate<'_>, subject: Subject<'_>| {
        judge_subject::<Infallible>(parameters(), aggregate, subject, &mut |_| Ok(None)).unwrap().expansion
    };
    let (silent, history, findings, class) = (History::until(NOW), seen(), Findings::default(), ClassView::default());
    let did = |history| Subject::Seen(Conduct { history, findings: &findings, class: &class, lacks_tables: false });
    let sanctioned = labels(&[(Code::Sanction, 1.0, 1.0)]);
    assert_eq!(of(&sanctioned, Subject::UnsupportedChain), Expansion::UnsupportedChain);
    assert_eq!(of(&sanctioned, Subject::DataUnavailable), Expansion::DataUnavailable);
    assert_eq!(of(&sanctioned, did(&silent)), Expansion::NoActivity);
    assert_eq!(of(&sanctioned, did(&history)), Expansion::IntelGate);
    assert_eq!(of(&labels(&[(Code::Exchange, 0.5, 0.5)]), did(&history)), Expansion::IntelDecisive);
    assert_eq!(of(&labels(&[(Code::Scam, 0.8, 0.4)]), did(&history)), Expansion::AlreadyHigh);
    assert_eq!(of(&nobody, did(&history)), Expansion::BudgetExhausted);
}

#[test]
fn the_parameter_file_is_read_whole_or_not_at_all() {
    let text = Parameters::standard_text();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Parameters::parse(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(refused("phishing = 90.0", "phishing = 190.0").contains("severities.phishing is 190"));
    assert!(refused("phishing = 90.0", "").contains("severities.phishing: missing"));
    assert!(refused("phishing = 90.0", "phishing = 90.0\nfishing = 90.0").contains("severities.fishing: no such code"));
    assert!(refused("benign_discount = 0.50", "benign_discount = 1.50").contains("intel.benign_discount is 1.5"));
    assert!(refused("benign_discount = 0.50", "").contains("benign_discount"));
    assert!(refused("least_swaps = 3", "least_swap = 3").contains("least_swap"));
    assert!(refused("high = 70.0", "high = 20.0").contains("levels.high is 20"));
    assert!(
        refused("window_secs = 3_600", "window_secs = -1").contains("behaviours.rapid_in_out.limits.window_secs is -1")
    );
    assert!(
        refused("full_ratio = 1.00", "full_ratio = 0.80").contains("behaviours.rapid_in_out.limits.full_ratio is 0.8")
    );
    assert!(refused("# odds = 5.0", "odds = 0.0").contains("behaviours.scam_pattern.limits.odds is 0"));
    assert!(refused("least_likeness = 0.50", "least_likeness = 1.50").contains("limits.least_likeness is 1.5"));
    assert!(refused("paid_factor = 0.25", "paid_factor = 1.25").contains("graph.paid_factor is 1.25"));
    assert!(refused("most_usd = 1.0", "most_usd = nan").contains("limits.most_usd is NaN"));
    assert!(refused("base = 35.0", "base = nan").contains("behaviours.rapid_in_out.base"));
}

//! Disputed claims in a score: half their weight, also where gates ask for it.

use headwater_ledger::labels::{Claim, Code, Level};

use super::super::{GateReason, Judgement, judge_labels};
use super::{claim, disputed, judged, near, parameters};

/// The score of labels alone.
fn assessed(claims: &[Claim<&'static str>]) -> Judgement {
    judge_labels(parameters(), &judged(claims))
}

fn gates(of: &Judgement) -> Vec<GateReason> {
    of.gates.iter().map(|gate| gate.reason).collect()
}

#[test]
fn disputed_report_is_worked_by_hand() {
    let report = claim(Code::Phishing, Level::Forensic, "a");
    // 90 · 0.5 = 45, and the source is reliable enough for the floor of 90.
    let full = assessed(&[report]);
    near(full.base.score, 45.0, 1e-9);
    assert_eq!((full.score, gates(&full)), (90.0, vec![GateReason::ConfirmedIllicit]));
    // 90 · 0.25 = 22.5; what nobody confirmed is reported once: 25 · 0.25 = 6.25, a quarter of it in the 77.5 that are
    // left: 22.5 + 0.775 · 0.25 · 6.25 = 23.7109375.
    let half = assessed(&[disputed(report)]);
    near(half.score, 23.710_937_5, 1e-9);
    assert!(half.gates.is_empty());
    let factor = &half.factors[0];
    assert_eq!((factor.code.as_str(), factor.weight), ("phishing", Some(0.25)));
    assert_eq!(factor.dispute.as_ref().map(|dispute| &*dispute.by), Some("cli:ada"));
    assert_eq!(factor.detail, "severity 90 with confidence 0.250; a claim behind it is disputed");
}

#[test]
fn halved_claim_carries_no_gate_for_weaker_ones() {
    // An investigation and two crawls: 1 - 0.3 · 0.8 · 0.8 = 0.808. Halved: 1 - 0.65 · 0.8 · 0.8 = 0.584, which is sure
    // enough, but no claim of it is of 0.5 any more: the investigation is of 0.35.
    let crawls = ["b", "c"].map(|group| claim(Code::Phishing, Level::WebCrawl, group));
    let investigation = claim(Code::Phishing, Level::ForensicInvestigation, "a");
    let with = |first| assessed(&[first, crawls[0], crawls[1]]);
    assert_eq!(gates(&with(investigation)), [GateReason::ConfirmedIllicit]);
    let halved = with(disputed(investigation));
    near(halved.intel.codes[0].confidence, 0.584, 1e-12);
    near(halved.intel.codes[0].reliability, 0.35, 1e-12);
    assert!(halved.gates.is_empty());
    near(halved.score, 90.0 * 0.584, 1e-9);
}

#[test]
fn gate_opens_where_the_halved_weight_opens_it() {
    // A shown key counts 1, halved 0.5: as much as a report, which opens the gate of 90 too.
    let key = assessed(&[disputed(claim(Code::Ransomware, Level::Ownership, "a"))]);
    assert_eq!((key.score, gates(&key)), (90.0, vec![GateReason::ConfirmedIllicit]));
    assert!(key.gates[0].dispute.is_some() && key.factors[0].detail.ends_with("; a claim behind it is disputed"));
    // Sanctions of another level need 0.7: 1 opens, 0.5 does not.
    let word = claim(Code::Sanction, Level::Override, "a");
    assert_eq!(gates(&assessed(&[word])), [GateReason::OfacSanctioned]);
    assert!(assessed(&[disputed(word)]).gates.is_empty());
}

#[test]
fn list_of_sanctions_keeps_its_gate_and_shows_the_dispute() {
    let listed = assessed(&[disputed(claim(Code::Sanction, Level::SanctionsList, "ofac"))]);
    assert_eq!((listed.score, gates(&listed)), (100.0, vec![GateReason::OfacSanctioned]));
    let reasons: Vec<_> = listed.factors.iter().filter_map(|factor| factor.dispute.as_ref()).collect();
    assert_eq!(reasons.len(), 2, "of the gate and of the code: {:?}", listed.factors);
    assert_eq!(&*reasons[0].reason, "a typing error");
}

#[test]
fn disputed_service_is_not_trusted() {
    // The discount of an honest identity halves with it: 90 · 0.4 · (1 - 0.5 · 0.25), of the crawls 1 - 0.8 · 0.75.
    let exchange = claim(Code::Exchange, Level::Forensic, "a");
    let phishing = [claim(Code::Phishing, Level::WebCrawl, "b"), disputed(claim(Code::Phishing, Level::Forensic, "c"))];
    let score = assessed(&[disputed(exchange), phishing[0], phishing[1]]);
    near(score.intel.benign, 0.25, 1e-12);
    near(score.score, 90.0 * 0.4 * 0.875, 1e-9);
}

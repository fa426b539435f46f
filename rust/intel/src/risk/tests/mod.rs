//! The vectors of the method, worked by hand, and its invariants.

mod disputes;
mod invariants;
mod likeness;
mod sufficiency;
mod vectors;
mod victims;

use headwater_ledger::labels::{Action, Claim, Code, Dispute, LabelTable, Level, Link, Scope};
use headwater_types::{Address, Chain, Timestamp, Usd};

use super::{ContextChoice, Dealings, ExposureWay, Neighbour, Parameters};
use crate::behaviour::{Behaviour, Detection, Evidence};
use crate::label::{Aggregate, CodeConfidence, Moment, aggregate};

const DAY: i64 = 86_400;
const NOW: i64 = 1_700_000_000;

fn parameters() -> &'static Parameters {
    Parameters::standard()
}

fn near(one: f64, other: f64, tolerance: f64) {
    assert!((one - other).abs() <= tolerance, "{one} is not {other}");
}

/// Labels that come to these confidences, from sources of that reliability.
fn labels(codes: &[(Code, f64, f64)]) -> Aggregate<'static> {
    let codes = codes.iter().map(|&(code, confidence, reliability)| CodeConfidence { code, confidence, reliability });
    let mut codes: Vec<_> = codes.collect();
    codes.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    Aggregate { own_codes: codes.clone(), codes, ..Aggregate::default() }
}

fn claim(code: Code, level: Level, group: &'static str) -> Claim<&'static str> {
    Claim {
        address: Address::Evm([1; 20]),
        scope: Scope::Chain(Chain::ETHEREUM),
        code: Some(code),
        name: None,
        entity: None,
        source: group,
        source_url: None,
        group,
        level,
        reliability: level.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    }
}

fn disputed(claim: Claim<&'static str>) -> Claim<&'static str> {
    let dispute = Dispute { by: "cli:ada", at: Timestamp::new(NOW), reason: "a typing error" };
    Claim { dispute: Some(dispute), ..claim }
}

fn judged(claims: &[Claim<&'static str>]) -> Aggregate<'static> {
    aggregate(claims, &Moment::present(&LabelTable::default(), Some(Timestamp::new(NOW))))
}

fn find(behaviour: Behaviour, intensity: f64, occurrences: u64, days_ago: i64) -> (Behaviour, Detection) {
    let last = NOW - days_ago * DAY;
    (behaviour, Detection { intensity, occurrences, first: last, last, evidence: Evidence::default() })
}

fn context(context: super::Context, confidence: f64) -> ContextChoice {
    ContextChoice { context, confidence }
}

/// A counterparty with whom so many dollars moved: those received, and those sent.
fn neighbour(number: u8, (received, sent): (f64, f64), worst: Option<(Code, f64)>) -> Neighbour {
    let usd = |value: f64| Usd::from_f64(value).unwrap();
    Neighbour {
        address: Address::Evm([number; 20]),
        all: Dealings { in_usd: usd(received), out_usd: usd(sent), taken_usd: Usd::ZERO },
        before_listing: Dealings::default(),
        transactions: 1,
        last: NOW,
        entity: None,
        codes: worst.iter().map(|(code, _)| *code).collect(),
        worst,
        worst_unlisted: worst.filter(|(code, _)| *code != Code::Sanction),
        is_sanctioned: worst.is_some_and(|(code, _)| code == Code::Sanction),
        listed_since: None,
        undated_list: None,
        sent_dust: false,
        sent_dust_since: false,
        paid_way: ExposureWay::Out,
        dispute: None,
    }
}

//! Directions of families with victims, and payments from before a listing.

use std::convert::Infallible;

use headwater_ledger::labels::{Claim, Code, Level};
use headwater_types::{Address, Asset, Timestamp, Usd};

use super::super::counterparties::exposure;
use super::super::counterparties::neighbours;
use super::super::{ExposureWay, GraphScore, Neighbour};
use super::{DAY, NOW, claim, judged, near, neighbour, parameters};
use crate::behaviour::{AssetKind, AssetNote, Counterparty, History, Roles, Transfer, Way};

fn scored(neighbours: &[Neighbour], volume: f64) -> GraphScore {
    GraphScore::of(parameters(), neighbours, (neighbours.len() as u64, Usd::from_f64(volume).unwrap()))
}

/// A day, by its number.
fn day(number: i64) -> i64 {
    NOW - NOW % DAY + number * DAY
}

/// One movement of the native coin: when, with whom, which way, worth how much.
type Moved = (i64, u32, Way, f64);

/// The history of these movements with the addresses of these numbers.
fn history(moved: &[Moved]) -> History {
    let mut history = History::until(day(1000));
    history.assets.push(AssetNote { asset: Asset::Native, kind: AssetKind::Native, decimals: Some(18) });
    let others = moved.iter().map(|(_, other, ..)| *other + 1).max().unwrap_or_default();
    history.counterparties.extend((0..others).map(|number| Counterparty {
        address: Address::Evm([u8::try_from(number + 1).unwrap(); 20]),
        roles: Roles::default(),
        entity: 0,
    }));
    for (place, &(time, other, way, usd)) in moved.iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small amounts")]
        let raw = (usd * 100.0) as u128;
        let transaction = headwater_ledger::read::PostingColumns::transaction_of(0, u32::try_from(place).unwrap());
        let usd = Usd::from_f64(usd).unwrap();
        history.all.push(Transfer { time, transaction, raw, usd, other, asset: 0, way });
    }
    history.sum_flows();
    history.divide();
    history
}

/// The counterparties of a history, of which the first has these claims.
fn looked_up(history: &History, claims: &[Claim<&'static str>]) -> (Vec<Neighbour>, (u64, Usd)) {
    let of_first = |address: &Address| {
        let is_first = *address == Address::Evm([1; 20]);
        Ok::<_, Infallible>(if is_first { judged(claims) } else { judged(&[]) })
    };
    neighbours(parameters(), history, of_first, |_| Ok(true)).unwrap()
}

fn listed(day: Option<i64>) -> Claim<&'static str> {
    Claim { asserted_at: day.map(Timestamp::new), ..claim(Code::Sanction, Level::SanctionsList, "ofac") }
}

#[test]
fn payments_to_scams_count_a_quarter() {
    // Half of 10,000 dollars: f(0.5, 5000) = 1 - (1 - 0.5 / 0.55) · (1 - 0.5 · log10(6) / 3) = 0.920876.
    let f = exposure(parameters(), 90.0, 0.5, 5_000.0);
    near(f, 0.920_88, 1e-5);
    let scam = Some((Code::Scam, 0.8));
    let received = scored(&[neighbour(1, (5_000.0, 0.0), scam)], 10_000.0);
    near(received.score, 100.0 * 0.9 * 0.8 * f, 1e-9);
    let paid = scored(&[neighbour(1, (0.0, 5_000.0), scam)], 10_000.0);
    near(paid.score, 100.0 * 0.25 * 0.9 * 0.8 * f, 1e-9);
    // Both ways: two terms, not one of the sum.
    let both = scored(&[neighbour(1, (5_000.0, 5_000.0), scam)], 10_000.0);
    near(both.score, 100.0 * (1.0 - (1.0 - 0.72 * f) * (1.0 - 0.18 * f)), 1e-9);
    assert_eq!(both.categories.iter().map(|of| of.way).collect::<Vec<_>>(), [ExposureWay::In, ExposureWay::Out]);
    // A family without victims is one term.
    let mixer = scored(&[neighbour(1, (5_000.0, 5_000.0), Some((Code::Mixer, 0.8)))], 10_000.0);
    near(mixer.score, 100.0 * 0.7 * 0.8 * exposure(parameters(), 70.0, 1.0, 10_000.0), 1e-9);
    assert_eq!((mixer.categories.len(), mixer.categories[0].way), (1, ExposureWay::Both));
}

#[test]
fn collectors_pay_scams_in_full() {
    let scam = claim(Code::Scam, Level::TrustedProvider, "list");
    // So many senders of 100 dollars each, of which all goes on to the first address.
    let collected = |senders: u32| {
        let came = (1..=senders).map(|sender| (day(i64::from(sender)), sender, Way::In, 100.0));
        let went = (day(50), 0, Way::Out, 100.0 * f64::from(senders));
        let (found, all) = looked_up(&history(&came.chain([went]).collect::<Vec<_>>()), &[scam]);
        GraphScore::of(parameters(), &found, all).categories[0].clone()
    };
    assert_eq!((collected(9).way, collected(9).factor), (ExposureWay::Out, 0.25));
    assert_eq!((collected(10).way, collected(10).factor), (ExposureWay::Forwarded, 1.0));
    // A victim with an income of one payer, and ten who sent after it paid.
    let later = (1..=10).map(|sender| (day(60), sender, Way::In, 100.0));
    let victim = [(day(1), 11, Way::In, 900.0), (day(50), 0, Way::Out, 900.0)];
    let (found, all) = looked_up(&history(&victim.into_iter().chain(later).collect::<Vec<_>>()), &[scam]);
    assert_eq!(GraphScore::of(parameters(), &found, all).categories[0].way, ExposureWay::Out);
}

#[test]
fn payments_before_a_listing_count_by_the_other_codes() {
    let moved = [(day(10), 0, Way::Out, 300.0), (day(20), 0, Way::Out, 100.0), (day(30), 1, Way::In, 600.0)];
    let before = [(day(10), 0, Way::Out, 300.0), (day(19), 0, Way::Out, 100.0), (day(30), 1, Way::In, 600.0)];
    let theft = claim(Code::Theft, Level::TrustedProvider, "tags");
    let of = |moved: &[Moved], claims: &[_]| {
        let (found, all) = looked_up(&history(moved), claims);
        GraphScore::of(parameters(), &found, all)
    };
    // A thief that was listed on day 20: 300 dollars count as paid to a thief, 100 as paid to one under sanctions.
    let thief = of(&moved, &[listed(Some(day(20) + 3600)), theft]);
    assert!(thief.opens_gate && thief.is_direct_sanctioned);
    let (paid, since) = (exposure(parameters(), 95.0, 0.3, 300.0), exposure(parameters(), 100.0, 0.1, 100.0));
    near(thief.score, 100.0 * (1.0 - (1.0 - 0.25 * 0.95 * 0.5 * paid) * (1.0 - since)), 1e-9);
    // All of it before: no floor, though the counterparty is under sanctions.
    let early = of(&before, &[listed(Some(day(20))), theft]);
    assert!(!early.opens_gate && early.is_direct_sanctioned);
    near(early.score, 100.0 * 0.25 * 0.95 * 0.5 * exposure(parameters(), 95.0, 0.4, 400.0), 1e-9);
    near(early.categories[0].before_listing.to_f64(), 400.0, 1e-9);
    // Nothing else is known of it: a term of its own.
    let unknown = of(&before, &[listed(Some(day(20)))]);
    assert!(!unknown.opens_gate && unknown.categories[0].is_before_listing);
    near(unknown.score, 100.0 * 0.25 * exposure(parameters(), 100.0, 0.4, 400.0), 1e-9);
    // A list without days counts in full, and is named.
    let undated = of(&before, &[listed(None)]);
    assert!(undated.opens_gate);
    near(undated.score, 100.0 * exposure(parameters(), 100.0, 0.4, 400.0), 1e-9);
    assert_eq!((undated.undated_lists, unknown.undated_lists), (vec!["ofac".to_owned()], Vec::new()));
}

#[test]
fn dust_after_a_listing_opens_no_floor() {
    let moved = [(day(10), 0, Way::In, 5_000.0), (day(30), 0, Way::In, 2.0), (day(31), 1, Way::Out, 10.0)];
    let (found, all) = looked_up(&history(&moved), &[listed(Some(day(20)))]);
    let graph = GraphScore::of(parameters(), &found, all);
    assert!(graph.is_direct_sanctioned && !graph.opens_gate);
}

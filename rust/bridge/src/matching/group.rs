//! Joins the legs of one group: those of a family that share keys.

use std::ops::Range;

use headwater_types::Amount;

use super::transfer::Transfer;
use crate::half::{Half, MatchClass, Step};
use crate::party::Party;

/// Clocks of two chains may differ by so much.
const CLOCK_SKEW_SECS: i64 = 120;
/// Most transfers arrive within this time: of equal ones, such a source goes before an older one that was left behind.
const PROMPT_SECS: u64 = 6 * 3_600;
/// A transfer that only receiver, amount and time identify arrives within this time (`bridges.md` 15: about one hour).
const HEURISTIC_WINDOW_SECS: i64 = 3 * 3_600;
/// And loses at most this share, in basis points.
const HEURISTIC_FEE_BASIS_POINTS: u64 = 300;
/// Decimals of one token on two chains differ by these powers of ten: 6, 8 and 18 decimals.
const SCALES: [u32; 4] = [0, 2, 10, 12];

/// The transfers of the legs of one family that share keys, each leg in one transfer, in order of their first legs.
///
/// With one source every destination belongs to it: a transfer can be paid in parts. With several sources, as the
/// transfers of one transaction have where its hash is the key, the first round joins those with equal receiver and
/// amount, the next those with equal receiver, then equal amount, then the rest, each in order of time and those that
/// arrive within six hours first. Chains that a leg names must agree. Legs joined by content or heuristics must also follow each other in time, and have one destination.
/// The order of the input has no influence.
///
/// Time: square of the legs of the group.
#[must_use]
pub fn join<'a>(halves: &[&'a Half]) -> Vec<Transfer<'a>> {
    let mut legs = halves.to_vec();
    legs.sort_by(|left, right| left.order().cmp(&right.order()));
    let of = |step| legs.iter().copied().filter(move |half| half.step == step).collect::<Vec<_>>();
    let (sources, destinations) = (of(Step::Sent), of(Step::Received));
    let mut transfers: Vec<Transfer<'a>> = sources.iter().map(|source| alone(Some(source))).collect();
    let mut lone = Vec::new();

    for (destination, owner) in destinations.iter().zip(owners(&sources, &destinations)) {
        match owner {
            Some(owner) => transfers[owner].destinations.push(destination),
            None => lone.push(Transfer { destinations: vec![destination], ..alone(None) }),
        }
    }
    let failures = of(Step::Failed);
    for (failure, owner) in failures.iter().zip(owners(&sources, &failures)) {
        match owner {
            Some(owner) => transfers[owner].failures.push(failure),
            None => lone.push(Transfer { failures: vec![failure], ..alone(None) }),
        }
    }
    let refunds = of(Step::Refunded);
    for (refund, owner) in refunds.iter().zip(owners(&sources, &refunds)) {
        match owner {
            Some(owner) => transfers[owner].refunds.push(refund),
            None => lone.push(Transfer { refunds: vec![refund], ..alone(None) }),
        }
    }
    for transfer in &mut transfers {
        transfer.ambiguous = is_ambiguous(transfer, &sources, &destinations);
    }
    transfers.append(&mut lone);
    transfers.sort_by(|left, right| left.first().order().cmp(&right.first().order()));
    transfers
}

fn alone(source: Option<&Half>) -> Transfer<'_> {
    Transfer { source, destinations: Vec::new(), failures: Vec::new(), refunds: Vec::new(), ambiguous: false }
}

/// The degree to which a leg agrees with a source; more is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Agreement {
    Key,
    Amount,
    Receiver,
    ReceiverAndAmount,
}

const ROUNDS: [Agreement; 4] = [Agreement::ReceiverAndAmount, Agreement::Receiver, Agreement::Amount, Agreement::Key];

/// Returns which source each leg belongs to.
fn owners(sources: &[&Half], legs: &[&Half]) -> Vec<Option<usize>> {
    let mut owners = vec![None; legs.len()];
    let mut taken = vec![false; sources.len()];
    for round in ROUNDS {
        for prompt in [true, false] {
            for (leg, owner) in legs.iter().zip(&mut owners).filter(|(_, owner)| owner.is_none()) {
                let candidates = in_time(sources, leg).filter(|&place| {
                    let in_time = !prompt || delay(sources[place], leg).unsigned_abs() <= PROMPT_SECS;
                    in_time && !taken[place] && fits(sources[place], leg) && agreement(sources[place], leg) >= round
                });
                *owner = best(sources, leg, candidates);
                if let Some(place) = *owner {
                    taken[place] = true;
                }
            }
        }
    }
    for (leg, owner) in legs.iter().zip(&mut owners).filter(|(_, owner)| owner.is_none()) {
        let parts = (0..sources.len())
            .filter(|&place| sources[place].class.max(leg.class) < MatchClass::Content && fits(sources[place], leg));
        *owner = parts.max_by_key(|&place| (agreement(sources[place], leg), std::cmp::Reverse(place)));
    }
    owners
}

/// The sources, in order of time, among which that of a leg can be.
fn in_time(sources: &[&Half], leg: &Half) -> Range<usize> {
    if leg.class != MatchClass::Heuristic || leg.step == Step::Refunded {
        return 0..sources.len();
    }
    let (earliest, latest) =
        (leg.time.secs().saturating_sub(HEURISTIC_WINDOW_SECS), leg.time.secs().saturating_add(CLOCK_SKEW_SECS));
    let first = sources.partition_point(|source| source.time.secs() < earliest);
    let end = sources.partition_point(|source| source.time.secs() <= latest);
    first..end.max(first)
}

/// The first source; of heuristic legs the one nearest in time.
fn best(sources: &[&Half], leg: &Half, mut candidates: impl Iterator<Item = usize>) -> Option<usize> {
    if leg.class == MatchClass::Heuristic {
        candidates.min_by_key(|&place| (delay(sources[place], leg).unsigned_abs(), place))
    } else {
        candidates.next()
    }
}

/// Seconds from the source to a leg.
fn delay(source: &Half, leg: &Half) -> i64 {
    leg.time.secs().saturating_sub(source.time.secs())
}

/// Returns whether a leg can belong to a source: chains and times.
fn fits(source: &Half, leg: &Half) -> bool {
    let class = source.class.max(leg.class);
    if leg.step == Step::Refunded {
        return leg.chain == source.chain;
    }
    let goes_there = source.other_chain.map_or(leg.chain != source.chain, |chain| chain == leg.chain);
    let comes_from_here = leg.other_chain.is_none_or(|chain| chain == source.chain);
    if !goes_there || !comes_from_here {
        return false;
    }
    let delay = delay(source, leg);
    match class {
        MatchClass::UniqueId | MatchClass::UniqueTuple | MatchClass::SourceHash | MatchClass::DerivedId => true,
        MatchClass::Content => delay >= -CLOCK_SKEW_SECS,
        MatchClass::Heuristic => {
            let in_time = (-CLOCK_SKEW_SECS..=HEURISTIC_WINDOW_SECS).contains(&delay);
            in_time && is_about(source.amount, leg.amount)
        }
    }
}

/// Returns whether what came out is what went in, less a fee, in some decimals.
fn is_about(sent: Option<Amount>, received: Option<Amount>) -> bool {
    let (Some(sent), Some(received)) = (sent, received) else { return false };
    let scaled = |amount: Amount, power: u32| amount.checked_mul(Amount::from(10_u64.pow(power)));
    let within = |sent: Amount, received: Amount| {
        let least = sent.checked_mul(Amount::from(10_000 - HEURISTIC_FEE_BASIS_POINTS));
        let scaled = received.checked_mul(Amount::from(10_000));
        received <= sent && matches!((least, scaled), (Some(least), Some(scaled)) if scaled >= least)
    };
    SCALES.iter().any(|&power| {
        scaled(sent, power).is_some_and(|sent| within(sent, received))
            || scaled(received, power).is_some_and(|received| within(sent, received))
    })
}

fn agreement(source: &Half, leg: &Half) -> Agreement {
    // A refund goes back to the sender.
    let expected = if leg.step == Step::Refunded { &source.sender } else { &source.receiver };
    let receiver = matches!((expected, &leg.receiver), (Some(left), Some(right)) if Party::is_same(left, right));
    let equal = |left: Option<Amount>, right: Option<Amount>| left.is_some() && left == right;
    let amount = equal(source.amount, leg.amount)
        || equal(source.other_amount, leg.amount)
        || equal(source.amount, leg.other_amount);
    match (receiver, amount) {
        (true, true) => Agreement::ReceiverAndAmount,
        (true, false) => Agreement::Receiver,
        (false, true) => Agreement::Amount,
        (false, false) => Agreement::Key,
    }
}

/// Returns whether another leg could be in place of one that was joined.
fn is_ambiguous(transfer: &Transfer<'_>, sources: &[&Half], destinations: &[&Half]) -> bool {
    let (Some(source), Some(&destination)) = (transfer.source, transfer.destinations.first()) else { return false };
    if transfer.class() < MatchClass::Content {
        return false;
    }
    let sources = sources.iter().filter(|other| fits(other, destination)).count();
    let destinations = destinations.iter().filter(|other| fits(source, other)).count();
    sources > 1 || destinations > 1
}

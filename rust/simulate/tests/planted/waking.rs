//! Addresses that sleep for long.

use headwater_simulate::truth::PlantedBehaviour;
use headwater_types::{Address, Chain};

use crate::planted::facts::{DAY, Facts, HOUR, Transfer};

/// A gap of 180 days (bitcoin: 365) with 1 000 USD or more, after which at least half leaves within 72 hours.
pub(crate) fn dormant_reactivation(facts: &Facts, planted: &PlantedBehaviour) -> Result<(), String> {
    let days = if planted.chain == Chain::BITCOIN { 365 } else { 180 };
    let own = planted.address;
    let all = facts.of(planted.chain, own);
    let (woke, _) = facts.span(planted);
    let last = all.iter().filter(|transfer| transfer.time < woke).map(|transfer| transfer.time).max();
    let last = last.ok_or("nothing before it woke")?;
    if woke - last < days * DAY {
        return Err(format!("slept {} days", (woke - last) / DAY));
    }
    let before: Vec<_> = all.iter().filter(|transfer| transfer.time < woke).collect();
    let held = usd(own, &before, Direction::In) - usd(own, &before, Direction::Out);
    let after: Vec<_> = all.iter().filter(|transfer| (woke..=woke + 72 * HOUR).contains(&transfer.time)).collect();
    let left = usd(own, &after, Direction::Out) - usd(own, &after, Direction::In).min(0.0);
    if held < 1_000.0 || left < held / 2.0 {
        return Err(format!("held {held:.0} USD at the prices of the time, {left:.0} USD left"));
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    In,
    Out,
}

fn usd(own: Address, transfers: &[&Transfer], direction: Direction) -> f64 {
    let side = |transfer: &&&Transfer| {
        let end = if direction == Direction::In { transfer.to } else { transfer.from };
        end == Some(own) && transfer.from != transfer.to
    };
    transfers.iter().filter(side).map(|transfer| transfer.usd).sum()
}

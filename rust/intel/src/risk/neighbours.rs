//! Who the counterparties of an address are.

use std::collections::BTreeSet;

use headwater_ledger::labels::{Category, Code};
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Timestamp, Usd};

use super::gates::is_sanctioned;
use super::graph::{Dealings, ExposureWay, Neighbour};
use super::parameters::Parameters;
use crate::behaviour::{History, Way};
use crate::label::{Aggregate, CodeConfidence};

/// Whether the sender of a transaction is an address, as far as is known: a token can be moved by whoever its owner allowed to,
/// and by a thief who tricked the owner into that.
pub fn is_sent_by<'a>(
    ledger: &'a dyn Ledger,
    address: &'a Address,
) -> impl FnMut(TransactionRef) -> Result<bool, LedgerError> + use<'a> {
    move |transaction| {
        let sender = ledger.transaction(transaction)?.facts.body.and_then(|body| body.from);
        Ok(sender.is_none_or(|sender| sender == *address))
    }
}

/// Looks up the counterparties of a history: the largest, and the most recent besides. Gives those looked up, and how many
/// there are with what volume. `is_own` says whether the address sent a transaction itself; it is asked for risky ones alone.
///
/// # Errors
/// Those of `labels` and `is_own`.
pub fn neighbours<'a, E>(
    parameters: &Parameters,
    history: &History,
    mut labels: impl FnMut(&Address) -> Result<Aggregate<'a>, E>,
    mut is_own: impl FnMut(TransactionRef) -> Result<bool, E>,
) -> Result<(Vec<Neighbour>, (u64, Usd)), E> {
    let graph = &parameters.graph;
    let mut large: Vec<usize> =
        (0..history.flows.len()).filter(|place| history.flows[*place].usd().to_f64() >= graph.least_usd).collect();
    let volume = large.iter().map(|place| history.flows[*place].usd()).sum();
    let total = large.len() as u64;
    let address = |place: &usize| history.counterparties[*place].address;
    if large.len() > graph.most_neighbors {
        let by_amount = |one: &usize, other: &usize| {
            let usd = |place: &usize| history.flows[*place].usd();
            usd(other).cmp(&usd(one)).then_with(|| address(one).cmp(&address(other)))
        };
        large.sort_by(by_amount);
        let mut others = large.split_off(graph.most_neighbors);
        let last = |place: &usize| history.flows[*place].last;
        others.sort_by(|one, other| last(other).cmp(&last(one)).then_with(|| address(one).cmp(&address(other))));
        others.truncate(graph.most_recent);
        large.append(&mut others);
    }
    let mut screened = Vec::with_capacity(large.len());
    for place in large {
        let mut found = neighbour(parameters, history, place, &labels(&address(&place))?);
        if found.worst.is_some() || found.is_sanctioned {
            deal(parameters, (history, place), &mut found, &mut is_own)?;
        }
        screened.push((place, found));
    }
    mark_forwarding(parameters, history, &mut screened);
    Ok((screened.into_iter().map(|(_, found)| found).collect(), (total, volume)))
}

/// Completes what moved with a risky counterparty: what others took, what moved before it was listed, and what is dust.
fn deal<E>(
    parameters: &Parameters,
    (history, place): (&History, usize),
    found: &mut Neighbour,
    is_own: &mut impl FnMut(TransactionRef) -> Result<bool, E>,
) -> Result<(), E> {
    let listed = found.listed_since.map_or(i64::MIN, Timestamp::secs);
    let (mut kept, mut before) = (Dealings::default(), Dealings::default());
    for transfer in history.valued.iter().filter(|transfer| transfer.other as usize == place) {
        let mut moved = Dealings::default();
        match transfer.way {
            Way::In => moved.in_usd = transfer.usd,
            Way::Out => {
                moved.out_usd = transfer.usd;
                let is_token = history.assets[transfer.asset as usize].asset != Asset::Native;
                if is_token && !is_own(transfer.transaction)? {
                    moved.taken_usd = transfer.usd;
                }
            }
        }
        kept.add(&moved);
        if transfer.time < listed {
            before.add(&moved);
        }
    }
    found.all.taken_usd = kept.taken_usd;
    // Movements that were left out are older than all that were kept.
    if history.all.first().is_some_and(|first| first.time < listed) {
        before.in_usd += found.all.in_usd - kept.in_usd;
        before.out_usd += found.all.out_usd - kept.out_usd;
    }
    found.before_listing = before;
    let dust = &parameters.graph.dust;
    let came = || history.ins.iter().filter(|came| came.other as usize == place);
    found.sent_dust = dust.is_dust(found.all.in_usd, history, came());
    let since = found.all.in_usd - before.in_usd;
    found.sent_dust_since = dust.is_dust(since, history, came().filter(|came| came.time >= listed));
    Ok(())
}

/// Marks the counterparties of families to which money of many senders was forwarded: first in, first out by asset, at least
/// a dollar of each sender.
fn mark_forwarding(parameters: &Parameters, history: &History, screened: &mut [(usize, Neighbour)]) {
    let graph = &parameters.graph;
    let family = |found: &Neighbour| found.victim_code().map(Code::category).filter(|_| found.all.out_usd > Usd::ZERO);
    let families: BTreeSet<Category> = screened.iter().filter_map(|(_, found)| family(found)).collect();
    for category in families {
        let of_family = |found: &Neighbour| family(found) == Some(category);
        let paid: BTreeSet<usize> =
            screened.iter().filter(|(_, found)| of_family(found)).map(|(place, _)| *place).collect();
        let senders = history.forwarded_from(|other| paid.contains(&(other as usize)));
        let many = senders.values().filter(|usd| usd.to_f64() >= graph.least_usd).count() >= graph.collector_senders;
        if many {
            for (_, found) in screened.iter_mut().filter(|(_, found)| of_family(found)) {
                found.paid_way = ExposureWay::Forwarded;
            }
        }
    }
}

fn neighbour(parameters: &Parameters, history: &History, place: usize, aggregate: &Aggregate<'_>) -> Neighbour {
    let (flow, graph) = (&history.flows[place], &parameters.graph);
    let is_risky = |code: &&CodeConfidence| {
        parameters.severity(code.code) >= graph.risky_severity && code.confidence >= graph.risky_confidence
    };
    let weight = |code: &CodeConfidence| parameters.severity(code.code) * code.confidence;
    // Of equal ones the first of the table of codes.
    let worst_of = |wanted: &dyn Fn(Code) -> bool| {
        let risky = aggregate.codes.iter().filter(is_risky).filter(|code| wanted(code.code));
        risky.max_by(|one, other| weight(one).total_cmp(&weight(other)).then(other.code.cmp(&one.code)))
    };
    let worst = worst_of(&|_| true);
    let is_sanctioned = is_sanctioned(parameters, aggregate);
    let listing = aggregate.sanctions_listing().filter(|_| is_sanctioned);
    let decides = worst.map(|code| code.code).or_else(|| is_sanctioned.then_some(Code::Sanction));
    Neighbour {
        address: history.counterparties[place].address,
        all: Dealings { in_usd: flow.in_usd, out_usd: flow.out_usd, taken_usd: Usd::ZERO },
        before_listing: Dealings::default(),
        transactions: flow.transactions,
        last: flow.last,
        entity: aggregate.entity.map(str::to_owned),
        codes: aggregate.codes.iter().map(|code| code.code).collect(),
        worst: worst.map(|code| (code.code, code.confidence)),
        worst_unlisted: worst_of(&|code| code != Code::Sanction).map(|code| (code.code, code.confidence)),
        is_sanctioned,
        listed_since: listing.and_then(|listing| listing.begins()),
        undated_list: listing.and_then(|listing| listing.undated).map(str::to_owned),
        sent_dust: false,
        sent_dust_since: false,
        paid_way: ExposureWay::Out,
        dispute: decides.and_then(|code| aggregate.dispute_of(code)).map(|dispute| dispute.to_owned()),
    }
}

//! Who the counterparties of an address are.

use headwater_ledger::labels::Code;
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Usd};

use super::gates::is_sanctioned;
use super::graph::Neighbour;
use super::parameters::Parameters;
use crate::behaviour::History;
use crate::label::Aggregate;

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
            found.taken_usd = taken(history, place, &mut is_own)?;
            let came = history.ins.iter().filter(|came| came.other as usize == place);
            found.sent_dust = parameters.graph.dust.is_dust(found.in_usd, history, came);
        }
        screened.push(found);
    }
    Ok((screened, (total, volume)))
}

/// US dollars of tokens that others sent to a counterparty.
fn taken<E>(
    history: &History,
    place: usize,
    is_own: &mut impl FnMut(TransactionRef) -> Result<bool, E>,
) -> Result<Usd, E> {
    let mut taken = Usd::ZERO;
    for sent in history.outs.iter().filter(|sent| sent.other as usize == place) {
        let is_token = history.assets[sent.asset as usize].asset != Asset::Native;
        if is_token && !is_own(sent.transaction)? {
            taken += sent.usd;
        }
    }
    Ok(taken)
}

fn neighbour(parameters: &Parameters, history: &History, place: usize, aggregate: &Aggregate<'_>) -> Neighbour {
    let (flow, graph) = (&history.flows[place], &parameters.graph);
    let risky = aggregate.codes.iter().filter(|code| {
        parameters.severity(code.code) >= graph.risky_severity && code.confidence >= graph.risky_confidence
    });
    let weight = |code: &crate::label::CodeConfidence| parameters.severity(code.code) * code.confidence;
    // Of equal ones the first of the table of codes.
    let worst = risky.max_by(|one, other| weight(one).total_cmp(&weight(other)).then(other.code.cmp(&one.code)));
    let is_sanctioned = is_sanctioned(parameters, aggregate);
    let decides = worst.map(|code| code.code).or_else(|| is_sanctioned.then_some(Code::Sanction));
    Neighbour {
        address: history.counterparties[place].address,
        in_usd: flow.in_usd,
        out_usd: flow.out_usd,
        taken_usd: Usd::ZERO,
        transactions: flow.transactions,
        last: flow.last,
        entity: aggregate.entity.map(str::to_owned),
        codes: aggregate.codes.iter().map(|code| code.code).collect(),
        worst: worst.map(|code| (code.code, code.confidence)),
        is_sanctioned,
        sent_dust: false,
        dispute: decides.and_then(|code| aggregate.dispute_of(code)).map(|dispute| dispute.to_owned()),
    }
}

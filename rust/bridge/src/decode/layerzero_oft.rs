//! Tokens over `LayerZero` V2: OFT, USDT0 and Stargate V2, by taxi and by bus.
//!
//! Anybody can emit `OFTSent`. It counts from a listed contract, or from the app that sent the packet of the same guid.
//!
//! A rider of a bus first has a ticket and no guid. `BusDriven` gives a range of tickets the guid of the bus, and the
//! destination emits one `OFTReceived` or `UnreceivedTokenCached` per rider, in order of tickets. The key of the k-th
//! rider (from 0) is `guid#k`, that of the first the guid alone, like that of a taxi.

use std::collections::HashMap;

use super::context::{Context, EventLog};
use super::draft::Draft;
use super::layerzero::{CLASS, FAMILY, arrivals, sent};
use super::packed::{ByteReader, hex_text};
use crate::chain::BridgeChain;
use crate::half::{LinkKey, MatchClass, Step, Token};
use crate::log::low_bytes;
use crate::party::Party;

const IDS: &str = "layerzero-v2";
/// More riders than a bus has.
const MAX_RIDERS: u64 = 255;

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let mut drafts = sent_legs(context);
    drafts.extend(received_legs(context));
    drafts.extend(context.events(FAMILY, "BusDriven").filter_map(|bus| carried_legs(context, &bus)).flatten());
    drafts
}

fn sent_legs(context: &Context<'_>) -> Vec<Draft> {
    let packets: Vec<_> = context.events(FAMILY, "PacketSent").filter_map(|found| sent(context, &found)).collect();
    let rides: Vec<_> = context.events(FAMILY, "BusRode").filter(|ride| ride.emitter.is_some()).collect();
    let mut next_ride: HashMap<u64, usize> = HashMap::new();
    let leg = |found: EventLog<'_>| {
        let guid = found.word("guid")?;
        let eid = found.small("dstEid")?;
        let other = context.tables.chain_in(IDS, &eid.to_string());
        let (key, class, receiver) = if guid == [0; 32] {
            // The k-th `OFTSent` without a guid has the k-th ticket to the same chain.
            found.emitter?;
            let taken = next_ride.entry(eid).or_default();
            let ride = rides.iter().filter(|ride| ride.small("dstEid") == Some(eid)).nth(*taken)?;
            *taken += 1;
            let receiver = passenger(ride.bytes("passenger")?, other);
            (ticket(context, eid, ride.small("ticketId")?)?, MatchClass::Content, receiver)
        } else {
            let app =
                packets.iter().any(|packet| packet.guid == guid && low_bytes(&packet.sender) == found.log.contract);
            if found.emitter.is_none() && !app {
                return None;
            }
            (hex_text(&guid), CLASS, None)
        };
        let mut draft = context.leg(&found, Step::Sent, class, key);
        draft.listed = true;
        Some(draft.with(|half| {
            half.other_chain = other;
            half.sender = found.account("fromAddress").map(|from| context.here(from));
            half.receiver = receiver;
            half.amount = found.number("amountSentLD");
            half.token = token(context, &found, half.amount);
        }))
    };
    context.events(FAMILY, "OFTSent").filter_map(leg).collect()
}

fn received_legs(context: &Context<'_>) -> Vec<Draft> {
    let arrived = arrivals(context);
    let mut riders: HashMap<[u8; 32], u64> = HashMap::new();
    let mut events: Vec<_> =
        context.events(FAMILY, "OFTReceived").chain(context.events(FAMILY, "UnreceivedTokenCached")).collect();
    events.sort_by_key(|found| found.log.index);
    let leg = |found: EventLog<'_>| {
        let guid = found.word("guid")?;
        let app = arrived
            .iter()
            .any(|(_, packet, _)| packet.guid == guid && low_bytes(&packet.receiver) == found.log.contract);
        if found.emitter.is_none() && !app {
            return None;
        }
        let rider = riders.entry(guid).or_default();
        let key = rider_key(&guid, *rider);
        *rider += 1;
        let is_paid = found.event.name() == "OFTReceived";
        let (step, receiver) = if is_paid { (Step::Received, "toAddress") } else { (Step::Failed, "receiver") };
        let eid = found.small("srcEid")?;
        let mut draft = context.leg(&found, step, CLASS, key);
        draft.listed = true;
        Some(draft.with(|half| {
            half.other_chain = context.tables.chain_in(IDS, &eid.to_string());
            half.receiver = found.account(receiver).map(|to| context.here(to));
            half.amount = found.number(if is_paid { "amountReceivedLD" } else { "amountLD" });
            half.token = token(context, &found, half.amount);
        }))
    };
    events.into_iter().filter_map(leg).collect()
}

/// Ties the tickets of a bus to its guid.
fn carried_legs(context: &Context<'_>, bus: &EventLog<'_>) -> Option<Vec<Draft>> {
    bus.emitter?;
    let guid = bus.word("guid")?;
    let eid = bus.small("dstEid")?;
    let (first, count) = (bus.small("startTicketId")?, bus.small("numPassengers")?.min(MAX_RIDERS));
    let other = context.tables.chain_in(IDS, &eid.to_string());
    let leg = |rider| {
        let key = ticket(context, eid, first.checked_add(rider)?)?;
        Some(context.leg(bus, Step::Carried, MatchClass::Content, key).with(|half| {
            half.keys.push(LinkKey::new(rider_key(&guid, rider)));
            half.other_chain = other;
        }))
    };
    (0..count).map(leg).collect()
}

fn rider_key(guid: &[u8; 32], rider: u64) -> String {
    let guid = hex_text(guid);
    if rider == 0 { guid } else { format!("{guid}#{rider}") }
}

/// The key of a ticket: tickets count per source and destination.
fn ticket(context: &Context<'_>, destination: u64, number: u64) -> Option<String> {
    let source = context.tables.id_in(IDS, context.transaction.chain)?;
    Some(format!("bus:{source}:{destination}:{number}"))
}

/// The receiver of a passenger: `asset u16 | receiver 32 | amount u64 | native drop u8`.
fn passenger(bytes: &[u8], chain: Option<BridgeChain>) -> Option<Party> {
    let mut bytes = ByteReader(bytes);
    bytes.u16()?;
    Some(Party::from_bytes(chain, &bytes.word()?)).filter(|party| !party.is_zero())
}

/// The token: an adapter moves another contract's, a native pool the coin of the chain.
fn token(context: &Context<'_>, found: &EventLog<'_>, amount: Option<headwater_types::Amount>) -> Option<Token> {
    let moved = context.transfer_near(found.log.index, |transfer| Some(transfer.amount) == amount);
    if let Some(transfer) = moved {
        return Some(Token::Contract(context.here(transfer.token)));
    }
    match found.emitter {
        Some(pool) if ["StargatePoolNative", "StargateEthVault", "StargatePoolETH"].contains(&pool.role()) => {
            Some(Token::Native)
        }
        Some(pool) if pool.family() == "stargate" || pool.family() == "usdt0" => None,
        Some(_) | None => Some(Token::Contract(context.here(found.log.contract))),
    }
}

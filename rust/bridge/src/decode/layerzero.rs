//! `LayerZero` V2: packets of the endpoint.
//!
//! A packet is `version u8 | nonce u64 | source eid u32 | sender 32 | destination eid u32 | receiver 32 | guid 32 |
//! message`; the guid is keccak256 of nonce to receiver. `PacketDelivered` has no guid: it is computed.

use sha3::{Digest, Keccak256};

use super::context::{Context, EventLog};
use super::draft::Draft;
use super::packed::{ByteReader, hex_text};
use crate::half::{MatchClass, Step};
use crate::log::low_bytes;
use crate::party::Party;

pub(super) const FAMILY: &str = "layerzero";
pub(super) const CLASS: MatchClass = MatchClass::UniqueId;

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let sent = context.events(FAMILY, "PacketSent").filter_map(|found| {
        let packet = sent(context, &found)?;
        let other = context.tables.chain_in("layerzero-v2", &packet.destination.to_string());
        (!packet.is_carrier(context)).then(|| {
            let leg = context.leg(&found, Step::Sent, CLASS, hex_text(&packet.guid)).transport();
            leg.with(|half| {
                half.other_chain = other;
                half.sender = context.signer();
                half.receiver = packet.oft_receiver(other);
            })
        })
    });
    let arrived = arrivals(context).into_iter().map(|(found, packet, step)| {
        let leg = context.leg(&found, step, CLASS, hex_text(&packet.guid)).transport();
        leg.with(|half| half.other_chain = context.tables.chain_in("layerzero-v2", &packet.source.to_string()))
    });
    sent.chain(arrived).collect()
}

/// Deliveries of the endpoint, and those that failed.
pub(super) fn arrivals<'a>(context: &Context<'a>) -> Vec<(EventLog<'a>, Packet<'a>, Step)> {
    let of = |name: &'static str, step| {
        context.events(FAMILY, name).filter_map(move |found| Some((found, delivered(context, &found)?, step)))
    };
    of("PacketDelivered", Step::Received).chain(of("LzReceiveAlert", Step::Failed)).collect()
}

/// Packets of the endpoint that this transaction sends.
pub(super) fn sent<'a>(context: &Context<'a>, found: &EventLog<'a>) -> Option<Packet<'a>> {
    found.emitter?;
    let mut payload = ByteReader(found.bytes("encodedPayload")?);
    if payload.u8()? != 1 {
        return None;
    }
    let mut packet = Packet {
        nonce: payload.u64()?,
        source: payload.u32()?,
        sender: payload.word()?,
        destination: payload.u32()?,
        receiver: payload.word()?,
        guid: payload.word()?,
        message: &[],
    };
    packet.message = payload.0;
    // A guid that is not that of the path, or a path from elsewhere, is not a packet of this endpoint.
    let own = context.tables.id_in("layerzero-v2", context.transaction.chain)?;
    (packet.guid == packet.computed() && own == packet.source.to_string()).then_some(packet)
}

fn delivered<'a>(context: &Context<'a>, found: &EventLog<'a>) -> Option<Packet<'a>> {
    found.emitter?;
    let own = context.tables.id_in("layerzero-v2", context.transaction.chain)?;
    let receiver = found.account("receiver")?;
    let mut word = [0; 32];
    word[12..].copy_from_slice(&receiver);
    let mut packet = Packet {
        nonce: found.small("origin.nonce")?,
        source: u32::try_from(found.small("origin.srcEid")?).ok()?,
        sender: found.word("origin.sender")?,
        destination: own.parse().ok()?,
        receiver: word,
        guid: [0; 32],
        message: &[],
    };
    packet.guid = packet.computed();
    Some(packet)
}

/// A message between two apps.
pub(super) struct Packet<'a> {
    nonce: u64,
    pub(super) source: u32,
    pub(super) sender: [u8; 32],
    pub(super) destination: u32,
    pub(super) receiver: [u8; 32],
    pub(super) guid: [u8; 32],
    message: &'a [u8],
}

impl Packet<'_> {
    fn computed(&self) -> [u8; 32] {
        let parts: [&[u8]; 5] = [
            &self.nonce.to_be_bytes(),
            &self.source.to_be_bytes(),
            &self.sender,
            &self.destination.to_be_bytes(),
            &self.receiver,
        ];
        Keccak256::digest(parts.concat()).into()
    }

    /// Returns whether it carries nothing of its own: Stargate's buses, whose riders are legs, and credits between its
    /// pools.
    fn is_carrier(&self, context: &Context<'_>) -> bool {
        let is_bus = context.events(FAMILY, "BusDriven").any(|bus| bus.word("guid") == Some(self.guid));
        let sender = low_bytes(&self.sender);
        let mut contracts = context.tables.contract(context.transaction.chain, &sender);
        is_bus
            || contracts
                .any(|contract| contract.family() == "stargate" && contract.role().starts_with("CreditMessaging"))
    }

    /// The receiver in the message of an OFT: `receiver 32 | amount u64` and what its app adds. Stargate's taxi has type
    /// and asset before it.
    fn oft_receiver(&self, chain: Option<crate::chain::BridgeChain>) -> Option<Party> {
        let mut message = ByteReader(self.message);
        if self.message.len() == 40 {
            return Some(Party::from_bytes(chain, &message.word()?)).filter(|party| !party.is_zero());
        }
        None
    }
}

//! `LayerZero` V1: packets of the `UltraLightNode`, tokens of the first OFT standard, and Stargate V1.
//!
//! A packet is `nonce u64 | source chain u16 | source app 20 | destination chain u16 | destination app 20 | payload`. The
//! key is (source chain, source app, destination app, nonce), which `PacketReceived` repeats.

use headwater_types::Amount;

use super::context::{Context, EventLog};
use super::draft::Draft;
use super::packed::{ByteReader, hex_text};
use crate::half::{MatchClass, Step, Token};
use crate::log::TokenTransfer;
use crate::party::Party;

const FAMILY: &str = "layerzero-v1";
const CLASS: MatchClass = MatchClass::UniqueTuple;

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let sent: Vec<_> =
        context.events(FAMILY, "Packet").filter_map(|found| packet(&found).map(|path| (found, path))).collect();
    let received: Vec<_> = context
        .events(FAMILY, "PacketReceived")
        .filter_map(|found| receipt(&found).map(|path| (found, path)))
        .collect();
    let sent = sent.iter().filter_map(|(found, path)| sent_leg(context, found, path));
    let received = received.iter().filter_map(|(found, path)| received_leg(context, found, path));
    sent.chain(received).collect()
}

/// The path of a packet.
struct Path {
    nonce: u64,
    source: u16,
    sender: [u8; 20],
    /// `None` where the log does not state it: it is the chain of the log.
    destination: Option<u16>,
    receiver: [u8; 20],
}

impl Path {
    fn key(&self) -> String {
        format!("{}:{}:{}:{}", self.source, hex_text(&self.sender), hex_text(&self.receiver), self.nonce)
    }
}

fn packet(found: &EventLog<'_>) -> Option<Path> {
    found.emitter?;
    let mut payload = ByteReader(found.bytes("payload")?);
    Some(Path {
        nonce: payload.u64()?,
        source: payload.u16()?,
        sender: payload.array()?,
        destination: Some(payload.u16()?),
        receiver: payload.array()?,
    })
}

fn receipt(found: &EventLog<'_>) -> Option<Path> {
    found.emitter?;
    // The path is the remote app, then the local one.
    let sender = ByteReader(found.bytes("srcAddress")?).array()?;
    Some(Path {
        nonce: found.small("nonce")?,
        source: u16::try_from(found.small("srcChainId")?).ok()?,
        sender,
        destination: None,
        receiver: found.account("dstAddress")?,
    })
}

fn sent_leg(context: &Context<'_>, found: &EventLog<'_>, path: &Path) -> Option<Draft> {
    let own = context.tables.id_in(FAMILY, context.transaction.chain);
    if own != Some(path.source.to_string().as_str()) {
        return None;
    }
    let other = context.tables.chain_in(FAMILY, &path.destination?.to_string());
    let mut draft = context.leg(found, Step::Sent, CLASS, path.key()).with(|half| {
        half.other_chain = other;
        half.sender = context.signer();
    });
    if let Some((pool, amount, token)) = stargate_swap(context, found, path) {
        let bridge = pool.emitter.map(crate::tables::Contract::bridge_name);
        draft = draft.with(|half| {
            half.bridge = bridge.unwrap_or_else(|| half.bridge.clone());
            (half.token, half.amount) = (token, amount);
        });
    } else if let Some(token) = oft(context, path, "SendToChain") {
        draft = draft.with(|half| {
            half.token = Some(Token::Contract(context.here(token.log.contract)));
            half.amount = token.number("_amount");
            half.sender = token.account("_from").map(|from| context.here(from)).or(half.sender.take());
            half.receiver = token
                .bytes("_toAddress")
                .map(|to| Party::from_bytes(other, to))
                .or_else(|| token.word("_toAddress").map(|to| Party::from_bytes(other, &to)));
        });
    }
    Some(draft)
}

fn received_leg(context: &Context<'_>, found: &EventLog<'_>, path: &Path) -> Option<Draft> {
    let other = context.tables.chain_in(FAMILY, &path.source.to_string());
    let step = if context.events(FAMILY, "CachedSwapSaved").any(|saved| saved.emitter.is_some()) {
        Step::Failed
    } else {
        Step::Received
    };
    let mut draft = context.leg(found, step, CLASS, path.key()).with(|half| half.other_chain = other);
    if let Some(pool) = context.events(FAMILY, "SwapRemote").find(|pool| pool.is_emitted_by("Pool")) {
        let receiver = pool.account("to")?;
        let paid = |transfer: &TokenTransfer| transfer.from == pool.log.contract && transfer.to == receiver;
        let paid = context.transfer_near(pool.log.index, paid);
        draft = draft.with(|half| {
            half.bridge = pool.emitter.map_or_else(|| half.bridge.clone(), crate::tables::Contract::bridge_name);
            half.receiver = Some(context.here(receiver));
            half.token = paid.map(|paid| Token::Contract(context.here(paid.token)));
            half.amount = paid.map(|paid| paid.amount);
        });
    } else if let Some(token) = oft(context, path, "ReceiveFromChain") {
        draft = draft.with(|half| {
            half.token = Some(Token::Contract(context.here(token.log.contract)));
            half.amount = token.number("_amount");
            half.receiver = token.account("_to").map(|to| context.here(to));
        });
    }
    Some(draft)
}

/// The event of the token that is an end of the path: anybody can emit one, so the app of the packet must have.
fn oft<'a>(context: &Context<'a>, path: &Path, name: &'static str) -> Option<EventLog<'a>> {
    let app = if name == "SendToChain" { path.sender } else { path.receiver };
    context.events(FAMILY, name).find(|found| found.log.contract == app)
}

/// The swap of a Stargate pool behind a packet of its bridge: the k-th swap has the k-th packet.
fn stargate_swap<'a>(
    context: &Context<'a>,
    found: &EventLog<'_>,
    path: &Path,
) -> Option<(EventLog<'a>, Option<Amount>, Option<Token>)> {
    let is_bridge = |contract: &crate::tables::Contract| contract.family() == "stargate" && contract.role() == "Bridge";
    if !context.tables.contract(context.transaction.chain, &path.sender).any(is_bridge) {
        return None;
    }
    let packets = context.events(FAMILY, "Packet").filter(|packet| packet.emitter.is_some());
    let ordinal = packets.filter(|packet| packet.log.index < found.log.index).count();
    let pool = context.events(FAMILY, "Swap").filter(|swap| swap.is_emitted_by("Pool")).nth(ordinal)?;
    // Amounts of the event have shared decimals, so the transfer into the pool states the amount.
    let paid = context.transfer_before(pool.log.index, |transfer| transfer.to == pool.log.contract);
    let token = paid.map(|paid| Token::Contract(context.here(paid.token)));
    Some((pool, paid.map(|paid| paid.amount), token))
}

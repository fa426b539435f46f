//! Wormhole: messages of the core contract, and what the token bridge puts into them.
//!
//! The key is `emitter chain:emitter:sequence`. The payload of a token transfer is `type u8 (1, or 3 with a payload) |
//! amount u256 | token 32 | token chain u16 | receiver 32 | receiver chain u16 | ...`. Its amount has at most eight
//! decimals, so amounts are taken from the transfers beside the message.

use headwater_types::Amount;

use super::context::{Context, EventLog};
use super::draft::Draft;
use super::packed::{ByteReader, hex_text};
use crate::half::{MatchClass, Step, Token};
use crate::log::{TokenTransfer, low_bytes};
use crate::party::Party;
use crate::tables::{Contract, Family};

pub(super) const FAMILY: &str = "wormhole";
const CLASS: MatchClass = MatchClass::UniqueTuple;

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let sent = context.events(FAMILY, "LogMessagePublished").filter_map(|found| published(context, &found));
    let redeemed = context.events(FAMILY, "TransferRedeemed").filter_map(|found| redeemed(context, &found));
    sent.chain(redeemed).collect()
}

fn key(chain: &str, emitter: &[u8; 32], sequence: u64) -> String {
    format!("{chain}:{}:{sequence}", hex_text(emitter))
}

fn is_token_bridge(contract: &Contract) -> bool {
    contract.family() == FAMILY && contract.role() == "TokenBridge"
}

/// A payload of the token bridge.
struct TokenPayload {
    token: [u8; 32],
    token_chain: u16,
    receiver: [u8; 32],
    receiver_chain: u16,
}

fn token_payload(payload: &[u8]) -> Option<TokenPayload> {
    let mut payload = ByteReader(payload);
    if !matches!(payload.u8()?, 1 | 3) {
        return None;
    }
    let _normalized: Amount = payload.amount()?;
    Some(TokenPayload {
        token: payload.word()?,
        token_chain: payload.u16()?,
        receiver: payload.word()?,
        receiver_chain: payload.u16()?,
    })
}

fn published(context: &Context<'_>, found: &EventLog<'_>) -> Option<Draft> {
    found.emitter?;
    let own = context.tables.id_in(FAMILY, context.transaction.chain)?;
    let emitter = found.account("sender")?;
    let mut word = [0; 32];
    word[12..].copy_from_slice(&emitter);
    let bridge =
        context.tables.contract(context.transaction.chain, &emitter).find(|contract| is_token_bridge(contract));
    let token = bridge.and_then(|_| token_payload(found.bytes("payload")?));
    let leg = context.leg(found, Step::Sent, CLASS, key(own, &word, found.small("sequence")?));
    Some(leg.with(|half| {
        half.sender = context.signer();
        if let Some(payload) = token {
            half.other_chain = context.tables.chain_in(FAMILY, &payload.receiver_chain.to_string());
            half.receiver = Some(Party::from_bytes(half.other_chain, &payload.receiver));
            let is_home = own == payload.token_chain.to_string();
            let token = is_home.then(|| low_bytes(&payload.token));
            // Its own token is locked in the bridge, a wrapped one burnt.
            let locked = |transfer: &TokenTransfer| {
                token.map_or(transfer.to == [0; 20] || transfer.to == emitter, |token| {
                    transfer.token == token && transfer.to == emitter
                })
            };
            let moved = context.transfer_before(found.log.index, locked);
            half.token = token.or(moved.map(|moved| moved.token)).map(|token| Token::Contract(context.here(token)));
            half.amount = moved.map(|moved| moved.amount);
        }
    }))
}

fn redeemed(context: &Context<'_>, found: &EventLog<'_>) -> Option<Draft> {
    let bridge = found.emitter.filter(|contract| is_token_bridge(contract))?;
    let chain = found.small("emitterChainId")?.to_string();
    let leg = context.leg(
        found,
        Step::Received,
        CLASS,
        key(&chain, &found.word("emitterAddress")?, found.small("sequence")?),
    );
    let account = found.log.contract;
    let paid = context.transfer_near(found.log.index, |transfer| transfer.from == account || transfer.from == [0; 20]);
    Some(leg.with(|half| {
        half.bridge = bridge.bridge_name();
        half.other_chain = context.tables.chain_in(FAMILY, &chain);
        if let Some(paid) = paid {
            half.receiver = Some(context.here(paid.to));
            half.token = Some(Token::Contract(context.here(paid.token)));
            half.amount = Some(paid.amount);
        }
    }))
}

/// The leg of a redemption from the signed message (VAA) in its call data, for bridges that emit no event.
pub(super) fn vaa_leg(context: &Context<'_>, family: &Family, contract: &Contract, vaa: &[u8]) -> Option<Draft> {
    if !is_token_bridge(contract) {
        return None;
    }
    let mut vaa = ByteReader(vaa);
    if vaa.u8()? != 1 {
        return None;
    }
    let _guardian_set = vaa.u32()?;
    let signatures = usize::from(vaa.u8()?);
    vaa.take(signatures * 66)?;
    let (_time, _nonce) = (vaa.u32()?, vaa.u32()?);
    let chain = vaa.u16()?.to_string();
    let emitter = vaa.word()?;
    let sequence = vaa.u64()?;
    let _consistency = vaa.u8()?;
    let payload = token_payload(vaa.0)?;
    let receiver = low_bytes(&payload.receiver);
    let paid = context.transfers.iter().find(|transfer| transfer.to == receiver);
    let leg = context.call_leg(family, contract, Step::Received, CLASS, key(&chain, &emitter, sequence));
    Some(leg.with(|half| {
        half.other_chain = context.tables.chain_in(FAMILY, &chain);
        half.receiver = Some(Party::from_bytes(Some(context.transaction.chain), &payload.receiver));
        if let Some(paid) = paid {
            half.token = Some(Token::Contract(context.here(paid.token)));
            half.amount = Some(paid.amount);
        }
    }))
}

//! Circle's CCTP: the source of V2, and the destination of both versions.
//!
//! V1 counts messages: the key is `source domain:nonce` ([`super::mapped`] reads its source). V2 gives a message its nonce
//! off chain, so its key is the hash of what does not change: source and destination domain, sender, and the body with
//! bytes 164 to 228 (fee, expiration block) as zeros. Equal messages are joined in order of time.

use headwater_types::Amount;
use sha3::{Digest, Keccak256};

use super::context::{Context, EventLog};
use super::draft::Draft;
use super::packed::{ByteReader, hex_text};
use crate::chain::BridgeChain;
use crate::half::{MatchClass, Step, Token};
use crate::party::Party;

const FAMILY: &str = "cctp";

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let sent = context.events(FAMILY, "MessageSent").filter_map(|found| sent_v2(context, &found));
    let received = context.events(FAMILY, "MessageReceived").filter_map(|found| received(context, &found));
    sent.chain(received).collect()
}

/// The body of a message that burns a token.
struct Burn {
    token: [u8; 32],
    receiver: [u8; 32],
    amount: Amount,
    sender: [u8; 32],
}

/// `version u32 | burn token | mint recipient | amount | message sender`, then more in V2.
fn burn(body: &[u8], version: u32) -> Option<Burn> {
    let long_enough = if version == 0 { body.len() == 132 } else { body.len() >= 228 };
    let mut body = ByteReader(body);
    if !long_enough || body.u32()? != version {
        return None;
    }
    Some(Burn { token: body.word()?, receiver: body.word()?, amount: body.amount()?, sender: body.word()? })
}

fn key_v2(source: u32, destination: &str, sender: &[u8; 32], body: &[u8]) -> String {
    let mut body = body.to_vec();
    if let Some(unstable) = body.get_mut(164..228) {
        unstable.fill(0);
    }
    let path = format!("{source}:{destination}:");
    let hash = Keccak256::digest([path.as_bytes(), sender, &body].concat());
    hex_text(&hash)
}

fn sent_v2(context: &Context<'_>, found: &EventLog<'_>) -> Option<Draft> {
    found.emitter?;
    let mut message = ByteReader(found.bytes("message")?);
    if message.u32()? != 1 {
        return None;
    }
    let (source, destination) = (message.u32()?, message.u32()?.to_string());
    let own = context.tables.id_in(FAMILY, context.transaction.chain)?;
    if own != source.to_string() {
        return None;
    }
    let _nonce = message.word()?;
    let sender = message.word()?;
    // Recipient, destination caller, and both finality thresholds.
    message.take(32 + 32 + 4 + 4)?;
    let body = message.0;
    let other = context.tables.chain_in(FAMILY, &destination);
    let leg = context.leg(found, Step::Sent, MatchClass::Content, key_v2(source, &destination, &sender, body));
    Some(leg.with(|half| {
        half.other_chain = other;
        if let Some(burn) = burn(body, 1) {
            half.sender = Some(Party::from_bytes(Some(context.transaction.chain), &burn.sender));
            half.receiver = Some(Party::from_bytes(other, &burn.receiver));
            half.token = Some(Token::Contract(Party::from_bytes(Some(context.transaction.chain), &burn.token)));
            half.amount = Some(burn.amount);
        }
    }))
}

fn received(context: &Context<'_>, found: &EventLog<'_>) -> Option<Draft> {
    found.emitter?;
    let source = u32::try_from(found.small("sourceDomain")?).ok()?;
    let sender = found.word("sender")?;
    let body = found.bytes("messageBody")?;
    let (version, key, class) = match found.small("nonce") {
        Some(nonce) => (0, format!("{source}:{nonce}"), MatchClass::UniqueTuple),
        None => {
            let own = context.tables.id_in(FAMILY, context.transaction.chain)?;
            (1, key_v2(source, own, &sender, body), MatchClass::Content)
        }
    };
    let other = context.tables.chain_in(FAMILY, &source.to_string());
    let mint = mint_of(context, found);
    Some(context.leg(found, Step::Received, class, key).with(|half| {
        half.other_chain = other;
        if let Some(burn) = burn(body, version) {
            let here: Option<BridgeChain> = Some(context.transaction.chain);
            half.sender = Some(Party::from_bytes(other, &burn.sender));
            half.receiver = Some(Party::from_bytes(here, &burn.receiver));
            half.other_token = Some(Token::Contract(Party::from_bytes(other, &burn.token)));
            half.other_amount = Some(burn.amount);
        }
        if let Some(mint) = mint {
            half.token = mint.account("mintToken").map(|token| Token::Contract(context.here(token)));
            half.amount = mint.number("amount");
            half.receiver = mint.account("mintRecipient").map(|to| context.here(to)).or(half.receiver.take());
        }
    }))
}

/// The mint before a message, after the message before that.
fn mint_of<'a>(context: &Context<'a>, found: &EventLog<'_>) -> Option<EventLog<'a>> {
    let before = |other: &EventLog<'_>| other.emitter.is_some() && other.log.index < found.log.index;
    let message = context.events(FAMILY, "MessageReceived").filter(before).map(|other| other.log.index).max();
    let mints = context.events(FAMILY, "MintAndWithdraw").filter(before);
    mints.filter(|mint| message.is_none_or(|message| mint.log.index > message)).max_by_key(|mint| mint.log.index)
}

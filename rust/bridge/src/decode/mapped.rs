//! Legs that the event tables describe in full.

use std::fmt::Write as _;

use headwater_types::{Amount, Family as ChainFamily, TxHash};
use sha3::{Digest, Keccak256};

use super::context::{Context, EventLog};
use super::draft::Draft;
use crate::abi::{MalformedLog, Value};
use crate::chain::BridgeChain;
use crate::half::{Half, LinkKey, Step, Token};
use crate::party::Party;
use crate::tables::{Condition, Fetch, Mapping, Mark, Modifier, Term};

/// A value of a cell.
enum Cell<'a> {
    Value(Value<'a>),
    Text(String),
    /// Text of the table, not of the log: the name of a chain or a token.
    Named(&'a str),
    Chain(BridgeChain),
    Native,
}

type DecodeResult<T> = Result<Option<T>, MalformedLog>;

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let read = |found: &EventLog<'_>| {
        let mapping = found.event.mapping.as_ref()?;
        let counts = found.emitter.is_some() || (mapping.has(Mark::Unlisted) && context.has_listed(found.event.family));
        if counts { leg(context, found, mapping).ok().flatten() } else { None }
    };
    context.found.iter().filter_map(read).collect()
}

/// The leg, `None` where a part of its key is not stated.
fn leg(context: &Context<'_>, found: &EventLog<'_>, mapping: &Mapping) -> DecodeResult<Draft> {
    let row = Row { context, found };
    let Some(key) = row.key(&mapping.key)? else { return Ok(None) };
    let failed = mapping.failed_unless.as_ref().map_or(Ok(false), |condition| row.fails(condition))?;
    let step = if failed { Step::Failed } else { mapping.step };
    let mut draft = context.leg(found, step, mapping.class, key);
    draft.listed = true;
    draft.transport = mapping.has(Mark::Transport);
    let half = &mut draft.half;
    if !mapping.also.is_empty() {
        half.keys.extend(row.key(&mapping.also)?.map(LinkKey::new));
    }
    let here = Some(context.transaction.chain);
    half.other_chain = row.optional(mapping.other_chain.as_ref(), |cell| Ok(row.chain(cell)))?;
    half.other_transaction = row.optional(mapping.other_transaction.as_ref(), transaction)?;
    let (from, to) = match step {
        Step::Sent | Step::Carried => (here, half.other_chain),
        Step::Received | Step::Failed => (half.other_chain, here),
        Step::Refunded => (here, here),
    };
    half.sender = row.optional(mapping.sender.as_ref(), |cell| party(cell, from))?;
    half.receiver = row.optional(mapping.receiver.as_ref(), |cell| party(cell, to))?;
    half.token = row.optional(mapping.token.as_ref(), |cell| token(cell, here))?;
    half.amount = row.optional(mapping.amount.as_ref(), amount)?;
    half.other_token = row.optional(mapping.other_token.as_ref(), |cell| token(cell, half.other_chain))?;
    half.other_amount = row.optional(mapping.other_amount.as_ref(), amount)?;
    if mapping.has(Mark::Paid) {
        paid(context, found, half);
    }
    if mapping.has(Mark::Underlying) {
        underlying(context, found, half);
    }
    Ok(Some(draft))
}

/// A log as its row reads it.
struct Row<'c, 'a> {
    context: &'c Context<'a>,
    found: &'c EventLog<'a>,
}

impl<'a> Row<'_, 'a> {
    /// The parts with `:` between them. A key of zeros alone names nothing.
    fn key(&self, parts: &[Fetch]) -> DecodeResult<String> {
        let mut key = String::new();
        let mut names = false;
        for part in parts {
            let Some(cell) = self.cell(part)? else { return Ok(None) };
            if !key.is_empty() {
                key.push(':');
            }
            names |= parts.len() > 1 || !matches!(cell, Cell::Value(Value::Word([0, rest @ ..])) if rest == [0; 31]);
            write_text(&mut key, &cell);
        }
        Ok(Some(key).filter(|_| names))
    }

    fn optional<T>(&self, fetch: Option<&Fetch>, read: impl FnOnce(&Cell<'_>) -> DecodeResult<T>) -> DecodeResult<T> {
        match fetch.map(|fetch| self.cell(fetch)).transpose()?.flatten() {
            Some(cell) => read(&cell),
            None => Ok(None),
        }
    }

    fn cell<'c>(&'c self, fetch: &'c Fetch) -> DecodeResult<Cell<'c>> {
        let transaction = self.context.transaction;
        let family = self.context.tables.family_of(self.found.event);
        let log = self.found.log;
        let cell = match &fetch.term {
            Term::Field(place) => place.read(log.topics, log.data)?.map(Cell::Value),
            Term::Difference(from, less) => match (place_number(from, self.found)?, place_number(less, self.found)?) {
                (Some(from), Some(less)) => from.checked_sub(less).map(|rest| Cell::Value(Value::Number(rest))),
                _ => None,
            },
            Term::Beside { event, field } => match self.beside(event) {
                Some(found) => found.event.value(found.log, field)?.map(Cell::Value),
                None => None,
            },
            Term::Literal(text) => Some(Cell::Named(text)),
            Term::OwnId => self.context.tables.id_of(family, transaction.chain).map(Cell::Text),
            Term::Peer => family.peers.and_then(|[left, right]| {
                let other = if transaction.chain == left { Some(right) } else { None };
                other.or_else(|| (transaction.chain == right).then_some(left)).map(Cell::Chain)
            }),
            Term::Transaction => Some(Cell::Value(Value::Word(*transaction.hash.as_bytes()))),
            Term::Kappa => {
                let text = format!("0x{}", hex::encode(transaction.hash.as_bytes()));
                Some(Cell::Value(Value::Word(Keccak256::digest(text.as_bytes()).into())))
            }
            Term::Emitter => Some(Cell::Value(Value::Account(log.contract))),
            Term::Signer => transaction.from.map(|from| Cell::Value(Value::Account(from))),
            Term::Role => self.found.emitter.and_then(|emitter| emitter.role_detail()).map(Cell::Named),
            Term::Native => Some(Cell::Native),
            Term::LogIndex => Some(Cell::Text(log.index.to_string())),
        };
        Ok(cell.and_then(|cell| modified(cell, fetch.modifier)))
    }

    /// The log of an event beside this one: the one with the same ordinal if there are as many, else the nearest before
    /// it, else the first behind it.
    fn beside(&self, name: &str) -> Option<EventLog<'a>> {
        let listed = |found: &&EventLog<'a>| found.event.family == self.found.event.family && found.emitter.is_some();
        let logs: Vec<_> =
            self.context.found.iter().filter(listed).filter(|found| found.event.name() == name).collect();
        let own: Vec<_> = self
            .context
            .found
            .iter()
            .filter(listed)
            .filter(|found| found.event.name == self.found.event.name)
            .collect();
        if logs.len() == own.len() {
            let ordinal = own.iter().position(|found| found.log.index == self.found.log.index)?;
            return logs.get(ordinal).map(|found| **found);
        }
        let index = self.found.log.index;
        let before = logs.iter().rev().find(|found| found.log.index < index);
        before.or_else(|| logs.first()).map(|found| **found)
    }

    fn chain(&self, cell: &Cell<'_>) -> Option<BridgeChain> {
        match cell {
            Cell::Chain(chain) => Some(*chain),
            Cell::Named(name) => BridgeChain::from_name(name),
            Cell::Value(_) | Cell::Text(_) | Cell::Native => {
                let mut id = String::new();
                write_text(&mut id, cell);
                self.context.tables.chain_of(self.context.tables.family_of(self.found.event), &id)
            }
        }
    }

    fn fails(&self, condition: &Condition) -> Result<bool, MalformedLog> {
        Ok(place_number(&condition.place, self.found)? != Some(Amount::from(condition.number)))
    }
}

fn place_number(place: &crate::abi::FieldPath, found: &EventLog<'_>) -> DecodeResult<Amount> {
    match place.read(found.log.topics, found.log.data)? {
        Some(Value::Number(number)) => Ok(Some(number)),
        Some(_) => Err(MalformedLog),
        None => Ok(None),
    }
}

fn modified(cell: Cell<'_>, modifier: Modifier) -> Option<Cell<'_>> {
    match (modifier, cell) {
        (Modifier::Plain, cell) => Some(cell),
        (Modifier::NonZero, Cell::Value(value)) => {
            let zero = match value {
                Value::Number(number) | Value::Signed(number) => number.is_zero(),
                Value::Account(account) => account == [0; 20],
                Value::Word(word) => word == [0; 32],
                Value::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
                Value::Text(text) => text.is_empty(),
            };
            (!zero).then_some(Cell::Value(value))
        }
        (Modifier::Head, Cell::Value(Value::Text(text))) => {
            text.split('-').next().map(|head| Cell::Value(Value::Text(head)))
        }
        (Modifier::Reversed, Cell::Value(Value::Word(mut word))) => {
            word.reverse();
            Some(Cell::Value(Value::Word(word)))
        }
        (Modifier::NonZero | Modifier::Head | Modifier::Reversed, _) => None,
    }
}

/// Numbers in decimal digits, everything else in hex, text as it is.
fn write_text(text: &mut String, cell: &Cell<'_>) {
    let written = match cell {
        Cell::Value(Value::Number(number) | Value::Signed(number)) => write!(text, "{number}"),
        Cell::Value(Value::Account(account)) => write!(text, "0x{}", hex::encode(account)),
        Cell::Value(Value::Word(word)) => write!(text, "0x{}", hex::encode(word)),
        Cell::Value(Value::Bytes(bytes)) => write!(text, "0x{}", hex::encode(bytes)),
        Cell::Value(Value::Text(value)) | Cell::Named(value) => write!(text, "{value}"),
        Cell::Text(value) => write!(text, "{value}"),
        Cell::Chain(chain) => write!(text, "{chain}"),
        Cell::Native => write!(text, "native"),
    };
    written.expect("text takes any length");
}

fn party(cell: &Cell<'_>, chain: Option<BridgeChain>) -> DecodeResult<Party> {
    let party = match cell {
        Cell::Value(Value::Account(account)) => Party::from_account(chain, *account),
        Cell::Value(Value::Word(word)) => Party::from_bytes(chain, word),
        Cell::Value(Value::Bytes(bytes)) => Party::from_bytes(chain, bytes),
        Cell::Value(Value::Text(text)) => Party::from_text(chain, text),
        _ => return Err(MalformedLog),
    };
    Ok(Some(party).filter(|party| !party.is_zero()))
}

fn token(cell: &Cell<'_>, chain: Option<BridgeChain>) -> DecodeResult<Token> {
    let symbol = |text: &str| (!text.is_empty()).then(|| Token::Symbol(text.into()));
    match cell {
        Cell::Native => Ok(Some(Token::Native)),
        Cell::Named(name) => Ok(symbol(name)),
        Cell::Value(Value::Text(text)) => Ok(symbol(text)),
        Cell::Value(Value::Account(account)) if *account == [0xee; 20] => Ok(Some(Token::Native)),
        // `party` has no account of zeros: bridges write the native coin so.
        cell => Ok(Some(party(cell, chain)?.map_or(Token::Native, Token::Contract))),
    }
}

fn amount(cell: &Cell<'_>) -> DecodeResult<Amount> {
    match cell {
        Cell::Value(Value::Number(number)) => Ok(Some(*number)),
        _ => Err(MalformedLog),
    }
}

fn transaction(cell: &Cell<'_>) -> DecodeResult<TxHash> {
    match cell {
        Cell::Value(Value::Word(word)) => Ok(Some(TxHash::new(*word))),
        Cell::Value(Value::Text(text)) => Ok(TxHash::parse(ChainFamily::Utxo, text).ok()),
        _ => Err(MalformedLog),
    }
}

/// Takes token and amount of the transfer that pays the receiver.
fn paid(context: &Context<'_>, found: &EventLog<'_>, half: &mut Half) {
    let Some(receiver) = half.receiver.as_ref().and_then(Party::address).and_then(crate::tables::account_bytes) else {
        return;
    };
    if let Some(transfer) = context.transfer_near(found.log.index, |transfer| transfer.to == receiver) {
        half.token = Some(Token::Contract(context.here(transfer.token)));
        half.amount = Some(transfer.amount);
    }
}

/// Takes the token that is behind a wrapper: the other one of which the same amount moves.
fn underlying(context: &Context<'_>, found: &EventLog<'_>, half: &mut Half) {
    let wrapper = half.token.clone();
    let other = |token: [u8; 20]| Some(Token::Contract(context.here(token))) != wrapper;
    let moved = context
        .transfer_near(found.log.index, |transfer| Some(transfer.amount) == half.amount && other(transfer.token));
    if let Some(transfer) = moved {
        half.token = Some(Token::Contract(context.here(transfer.token)));
    }
}

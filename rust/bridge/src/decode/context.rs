//! A transaction with the events of bridges found in it.

use std::sync::Arc;

use headwater_types::Amount;

use super::draft::Draft;
use crate::abi::{MalformedLog, Value};
use crate::half::{Half, LinkKey, MatchClass, Step};
use crate::log::{Log, TokenTransfer, Transaction};
use crate::party::Party;
use crate::tables::{Contract, Event, Family, Tables};

/// A log that is an event of the tables.
#[derive(Clone, Copy)]
pub(super) struct EventLog<'a> {
    pub(super) event: &'a Event,
    pub(super) log: &'a Log<'a>,
    /// The contract table's row of the emitter, if it belongs to the family.
    pub(super) emitter: Option<&'a Contract>,
}

impl<'a> EventLog<'a> {
    pub(super) fn value(&self, field: &str) -> Result<Option<Value<'a>>, MalformedLog> {
        self.event.value(self.log, field)
    }

    pub(super) fn number(&self, field: &str) -> Option<Amount> {
        match self.value(field) {
            Ok(Some(Value::Number(number))) => Some(number),
            _ => None,
        }
    }

    pub(super) fn small(&self, field: &str) -> Option<u64> {
        self.number(field).and_then(Amount::to_u128).and_then(|number| u64::try_from(number).ok())
    }

    pub(super) fn account(&self, field: &str) -> Option<[u8; 20]> {
        match self.value(field) {
            Ok(Some(Value::Account(account))) => Some(account),
            _ => None,
        }
    }

    pub(super) fn word(&self, field: &str) -> Option<[u8; 32]> {
        match self.value(field) {
            Ok(Some(Value::Word(word))) => Some(word),
            _ => None,
        }
    }

    pub(super) fn bytes(&self, field: &str) -> Option<&'a [u8]> {
        match self.value(field) {
            Ok(Some(Value::Bytes(bytes))) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn text(&self, field: &str) -> Option<&'a str> {
        match self.value(field) {
            Ok(Some(Value::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the emitter is listed, with a role that begins so.
    pub(super) fn is_emitted_by(&self, role: &str) -> bool {
        self.emitter.is_some_and(|emitter| emitter.role().starts_with(role))
    }
}

/// The input of a decoder.
pub(super) struct Context<'a> {
    pub(super) tables: &'a Tables,
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) found: Vec<EventLog<'a>>,
    pub(super) transfers: Vec<TokenTransfer>,
}

impl<'a> Context<'a> {
    /// Finds the events; `None` where there is none, and nothing else is known of the transaction.
    pub(super) fn new(tables: &'a Tables, transaction: &'a Transaction<'a>, is_known: bool) -> Option<Self> {
        let mut found = Vec::new();
        for log in transaction.logs {
            let Some(topic0) = log.topics.first() else { continue };
            for event in tables.events_of(topic0).filter(|event| event.fits(log)) {
                let emitter = tables.emitter(tables.family_of(event), transaction.chain, &log.contract);
                found.push(EventLog { event, log, emitter });
            }
        }
        if found.is_empty() && !is_known {
            return None;
        }
        let from_logs = transaction.logs.iter().filter_map(TokenTransfer::of);
        let mut transfers: Vec<TokenTransfer> = from_logs.chain(transaction.transfers.iter().copied()).collect();
        transfers.sort_by_key(|transfer| transfer.index);
        transfers.dedup_by_key(|transfer| transfer.index);
        Some(Self { tables, transaction, found, transfers })
    }

    /// The events with a name in a family.
    pub(super) fn events(&self, family: &'a str, name: &'a str) -> impl Iterator<Item = EventLog<'a>> + '_ {
        let of_family = move |found: &&EventLog<'a>| *self.tables.family_of(found.event).name == *family;
        self.found.iter().filter(move |found| found.event.name() == name).filter(of_family).copied()
    }

    pub(super) fn family(&self, name: &str) -> Option<&'a Family> {
        self.tables.families().iter().find(|family| *family.name == *name)
    }

    /// Returns whether a listed contract of the family emitted anything.
    pub(super) fn has_listed(&self, family: usize) -> bool {
        self.found.iter().any(|found| found.event.family == family && found.emitter.is_some())
    }

    /// A leg that was read from a log.
    pub(super) fn leg(&self, found: &EventLog<'_>, step: Step, class: MatchClass, key: String) -> Draft {
        let family = self.tables.family_of(found.event);
        let bridge = found.emitter.map_or_else(|| default_name(family), Contract::bridge_name);
        let event = Arc::clone(&found.event.name);
        let listed = found.emitter.is_some();
        Draft { half: self.half(family, (bridge, event), step, class, key, found.log.index), listed, transport: false }
    }

    /// A leg that was read from call data.
    pub(super) fn call_leg(
        &self,
        family: &Family,
        contract: &Contract,
        step: Step,
        class: MatchClass,
        key: String,
    ) -> Draft {
        let names = (contract.bridge_name(), Arc::from("call data"));
        let half = self.half(family, names, step, class, key, u64::MAX);
        Draft { half, listed: true, transport: true }
    }

    /// A leg with nothing but its place and key.
    pub(super) fn half(
        &self,
        family: &Family,
        (bridge, event): (Arc<str>, Arc<str>),
        step: Step,
        class: MatchClass,
        key: String,
        log_index: u64,
    ) -> Half {
        Half {
            family: Arc::clone(&family.name),
            bridge,
            event,
            step,
            class,
            keys: vec![LinkKey::new(key)],
            chain: self.transaction.chain,
            block: self.transaction.block,
            time: self.transaction.time,
            transaction: self.transaction.hash,
            log_index,
            other_chain: None,
            other_transaction: None,
            sender: None,
            receiver: None,
            token: None,
            amount: None,
            other_token: None,
            other_amount: None,
        }
    }

    /// An account of the transaction's chain.
    pub(super) fn here(&self, account: [u8; 20]) -> Party {
        Party::from_account(Some(self.transaction.chain), account)
    }

    /// Returns who signed the transaction.
    pub(super) fn signer(&self) -> Option<Party> {
        self.transaction.from.map(|from| self.here(from))
    }

    /// The last transfer before a log that passes.
    pub(super) fn transfer_before(
        &self,
        index: u64,
        passes: impl Fn(&TokenTransfer) -> bool,
    ) -> Option<&TokenTransfer> {
        self.transfers.iter().rev().find(|transfer| transfer.index < index && passes(transfer))
    }

    /// The transfer nearest to a log that passes, an earlier one if two are as near.
    pub(super) fn transfer_near(&self, index: u64, passes: impl Fn(&TokenTransfer) -> bool) -> Option<&TokenTransfer> {
        self.transfers.iter().filter(|transfer| passes(transfer)).min_by_key(|transfer| transfer.index.abs_diff(index))
    }
}

/// The name of a bridge whose emitter is not listed: that of the family.
fn default_name(family: &Family) -> Arc<str> {
    let own = family.names.iter().find(|(name, _)| *name == family.name).or_else(|| family.names.first());
    own.map_or_else(|| Arc::clone(&family.name), |(_, display)| Arc::clone(display))
}

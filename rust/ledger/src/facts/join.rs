//! The join of facts of one thing from two sources.
//!
//! The join is field by field: what one source leaves out the other may state, and what both state must be equal, or
//! the join fails and says where. Where it succeeds it is commutative, associative and idempotent, so the order and
//! the number of sources do not matter. Three kinds of statement are not facts of the chain but wordings of a source,
//! and never in conflict: the name of a method, the reason of a failure, and what is said of a token. Of two wordings
//! the longer one prevails, of equally long ones the greater; of two numbers of decimals the greater. What facts imply is
//! joined as if it were stated.
//!
//! An exact amount takes the place of an approximate one that agrees with it, and of two approximate ones that agree
//! the smaller one prevails.
//!
//! Movements of a transaction are joined as [`Movement::ordinal`] says. A log that one source calls a token movement
//! and another a non-fungible one is non-fungible, whatever amount it carries.

use std::collections::BTreeSet;
use std::fmt::Debug;

use headwater_types::Chain;

use super::approximate::{StatedAmount, reconciled};
use super::implied::name_owner;
use super::movements::{StatedMovements, join_movements, settle};
use super::place::FactRef;
use super::{AmountOf, BlockFacts, Body, InputFacts, LogFacts, TokenFacts, TransactionFacts, UtxoFacts};
use crate::error::Result;

impl TransactionFacts {
    /// These facts and others of the same transaction, as one. The result is canonical.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when both state a field and differ.
    ///
    /// # Panics
    /// When the hashes differ: then these are not facts of one transaction.
    pub fn join(mut self, mut other: Self, chain: Chain) -> Result<Self> {
        assert_eq!(self.hash, other.hash, "only facts of one transaction can be joined");
        let id = || self.hash.display(chain.family());
        let at = FactRef { chain, what: "transaction", id: &id };
        if self.block != other.block {
            return Err(at.conflict("block", &self.block, &other.block));
        }
        let block_hash = at.same_block("block hash", self.block_hash, other.block_hash)?;
        // Movements that one source leaves open are compared as the body of the other completes them. Two bodies that
        // differ are a conflict below.
        let body = self.body.or(other.body);
        name_owner(&mut self.movements, body);
        name_owner(&mut other.movements, body);
        // Where lists of holders differ, the rows that do say more than the digests of the lists.
        let (movements, mut approximate) = join_movements(
            &at,
            StatedMovements { movements: self.movements, approximate: &self.approximate },
            StatedMovements { movements: other.movements, approximate: &other.approximate },
        )?;
        let value = |body: Option<Body>, approximate: &BTreeSet<AmountOf>| {
            body.map(|body| (body, approximate.contains(&AmountOf::Value)))
        };
        let body = join_bodies(&at, value(self.body, &self.approximate), value(other.body, &other.approximate))?;
        if body.is_some_and(|(_, is_approximate)| is_approximate) {
            approximate.insert(AmountOf::Value);
        }
        let joined = Self {
            hash: self.hash,
            block: self.block,
            time: at.same("time", self.time, other.time)?,
            block_hash,
            index: at.same("index", self.index, other.index)?,
            body: body.map(|(body, _)| body),
            created: at.same("created contract", self.created, other.created)?,
            status: at.same("status", self.status, other.status)?,
            failure_reason: wording(self.failure_reason, other.failure_reason),
            nonce: at.same("nonce", self.nonce, other.nonce)?,
            gas_limit: at.same("gas limit", self.gas_limit, other.gas_limit)?,
            gas_used: at.same("gas used", self.gas_used, other.gas_used)?,
            gas_price: at.same("gas price", self.gas_price, other.gas_price)?,
            effective_gas_price: at.same("effective gas price", self.effective_gas_price, other.effective_gas_price)?,
            fee: at.same("fee", self.fee, other.fee)?,
            carries_blobs: self.carries_blobs || other.carries_blobs,
            input: at.same("input", self.input.map(Bytes), other.input.map(Bytes))?.map(|bytes| bytes.0),
            method_id: at.same("method id", self.method_id, other.method_id)?,
            method: wording(self.method, other.method),
            movements,
            logs: join_logs(&at, self.logs, other.logs)?,
            utxo: join_utxo(&at, self.utxo, other.utxo)?,
            approximate,
        };
        joined.with_implied(&at, chain)
    }

    /// Puts facts that need no join into canonical form where they are, and returns whether that was all they needed;
    /// the others are for [`TransactionFacts::canonical`].
    pub(crate) fn settle(&mut self, chain: Chain) -> bool {
        name_owner(&mut self.movements, self.body);
        self.logs.sort_by_key(|log| log.index);
        self.approximate.is_empty()
            && !self.lacks_implied(chain)
            && settle(&mut self.movements)
            && self.logs.array_windows().all(|[a, b]| a.index != b.index)
    }

    /// The same facts in the one form that equality compares: movements and logs in order, repeated indexed rows
    /// once, unindexed rows without a number.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when two rows of one ordinal differ.
    pub fn canonical(mut self, chain: Chain) -> Result<Self> {
        let hash = self.hash;
        let id = || hash.display(chain.family());
        let at = FactRef { chain, what: "transaction", id: &id };
        name_owner(&mut self.movements, self.body);
        let stated = StatedMovements { movements: self.movements, approximate: &self.approximate };
        let nothing = StatedMovements { movements: Vec::new(), approximate: &BTreeSet::new() };
        let (movements, mut approximate) = join_movements(&at, stated, nothing)?;
        if self.body.is_some() && self.approximate.contains(&AmountOf::Value) {
            approximate.insert(AmountOf::Value);
        }
        (self.movements, self.approximate) = (movements, approximate);
        self.logs = join_logs(&at, self.logs, Vec::new())?;
        self.with_implied(&at, chain)
    }
}

impl BlockFacts {
    /// These facts and others of the same block, as one.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when both state a field and differ.
    ///
    /// # Panics
    /// When the numbers differ.
    pub fn join(self, other: &Self, chain: Chain) -> Result<Self> {
        assert_eq!(self.number, other.number, "only facts of one block can be joined");
        let id = || self.number.to_string();
        let at = FactRef { chain, what: "block", id: &id };
        // Two blocks of one height differ in all of it: the hash says it best.
        let hash = at.same_block("hash", self.hash, other.hash)?;
        if self.time != other.time {
            return Err(at.contradiction("time", &self.time, &other.time));
        }
        let parent = at.same_block("parent", self.parent, other.parent)?;
        Ok(Self { number: self.number, hash, parent, time: self.time })
    }
}

impl TokenFacts {
    /// These facts and others of the same contract, as one. Never in conflict: what a token says of itself is a
    /// wording, and nothing rests on it.
    ///
    /// # Panics
    /// When the contracts differ.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        assert_eq!(self.contract, other.contract, "only facts of one token can be joined");
        Self {
            contract: self.contract,
            symbol: wording(self.symbol, other.symbol),
            name: wording(self.name, other.name),
            decimals: self.decimals.max(other.decimals),
            is_non_fungible: self.is_non_fungible || other.is_non_fungible,
        }
    }
}

/// Bytes that an error message shows as hex.
#[derive(PartialEq)]
struct Bytes(Vec<u8>);

impl Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, " ({} bytes)", self.0.len())
    }
}

/// Returns the wording of the two that says more.
fn wording(held: Option<String>, offered: Option<String>) -> Option<String> {
    held.into_iter().chain(offered).max_by(|a, b| (a.len(), a).cmp(&(b.len(), b)))
}

/// Bodies, and whether their values are approximate.
fn join_bodies(
    at: &FactRef<'_>,
    held: Option<(Body, bool)>,
    offered: Option<(Body, bool)>,
) -> Result<Option<(Body, bool)>> {
    let (Some((held, is_held_approximate)), Some((offered, is_offered_approximate))) = (held, offered) else {
        return Ok(held.or(offered));
    };
    if held.from != offered.from {
        return Err(at.conflict("sender", &held.from, &offered.from));
    }
    if held.to != offered.to {
        return Err(at.conflict("receiver", &held.to, &offered.to));
    }
    let one = StatedAmount { amount: held.value, is_approximate: is_held_approximate };
    let other = StatedAmount { amount: offered.value, is_approximate: is_offered_approximate };
    let value = reconciled(at, "value", (one, other), (&held.value, &offered.value))?;
    Ok(Some((Body { value: value.amount, ..held }, value.is_approximate)))
}

fn join_logs(at: &FactRef<'_>, held: Vec<LogFacts>, offered: Vec<LogFacts>) -> Result<Vec<LogFacts>> {
    let mut logs = held;
    logs.extend(offered);
    logs.sort_by_key(|log| log.index);
    for [held, offered] in logs.array_windows() {
        if held.index == offered.index && held != offered {
            return Err(at.conflict("log", held, offered));
        }
    }
    logs.dedup();
    Ok(logs)
}

fn join_utxo(at: &FactRef<'_>, held: Option<UtxoFacts>, offered: Option<UtxoFacts>) -> Result<Option<UtxoFacts>> {
    let (held, offered) = match (held, offered) {
        (Some(held), Some(offered)) => (held, offered),
        (held, offered) => return Ok(held.or(offered)),
    };
    if held.coinbase != offered.coinbase {
        return Err(at.conflict("coinbase", &held.coinbase, &offered.coinbase));
    }
    if held.inputs.len() != offered.inputs.len() {
        return Err(at.conflict("number of inputs", &held.inputs.len(), &offered.inputs.len()));
    }
    if held.outputs.len() != offered.outputs.len() {
        return Err(at.conflict("number of outputs", &held.outputs.len(), &offered.outputs.len()));
    }
    if let Some((held, offered)) = held.outputs.iter().zip(&offered.outputs).find(|(held, offered)| held != offered) {
        return Err(at.conflict("output", held, offered));
    }
    let inputs = held.inputs.into_iter().zip(offered.inputs).map(|(held, offered)| join_inputs(at, held, offered));
    Ok(Some(UtxoFacts {
        coinbase: held.coinbase,
        version: at.same("version", held.version, offered.version)?,
        lock_time: at.same("lock time", held.lock_time, offered.lock_time)?,
        weight_wu: at.same("weight", held.weight_wu, offered.weight_wu)?,
        inputs: inputs.collect::<Result<_>>()?,
        outputs: held.outputs,
    }))
}

fn join_inputs(at: &FactRef<'_>, held: InputFacts, offered: InputFacts) -> Result<InputFacts> {
    let previous = match (held.previous, offered.previous) {
        (held, offered) if held == offered || offered.is_unknown() => held,
        (held, offered) if held.is_unknown() => offered,
        (held, offered) => return Err(at.conflict("output that an input spends", &held, &offered)),
    };
    Ok(InputFacts {
        previous,
        spent: at.same("spent output", held.spent, offered.spent)?,
        sequence: at.same("sequence number", held.sequence, offered.sequence)?,
    })
}

#[cfg(test)]
mod tests;

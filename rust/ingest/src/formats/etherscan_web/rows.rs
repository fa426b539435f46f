//! Transactions and internal transactions.

use headwater_ledger::facts::{Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, TxHash};

use super::Export;
use super::layout::Table;
use super::values::{cell, coins_in, needed, outcome, time};
use crate::Sink;
use crate::error::{Fault, FieldError};
use crate::source::{Row, hex_bytes};

impl Export {
    /// Returns the facts of the transaction in every row.
    pub(super) fn head(&self, row: &Row<'_>) -> Result<TransactionFacts, FieldError> {
        let layout = &self.layout;
        let block = needed(row.u64(&layout.block)?, &layout.block, "the number of a block")?;
        self.head_in(row, block)
    }

    /// The same, of a transaction whose block is known.
    pub(super) fn head_in(&self, row: &Row<'_>, block: u64) -> Result<TransactionFacts, FieldError> {
        let mut facts = TransactionFacts::new(self.hash(row)?, block);
        facts.time = Some(time(row, &self.layout)?);
        Ok(facts)
    }

    pub(super) fn hash(&self, row: &Row<'_>) -> Result<TxHash, FieldError> {
        let column = &self.layout.hash;
        needed(row.transaction(column, self.chain)?, column, "a transaction hash of 64 hex digits")
    }

    pub(super) fn address(&self, row: &Row<'_>, column: &str) -> Result<Option<Address>, FieldError> {
        match cell(row, column)? {
            Some(_) => row.address(column, self.chain),
            None => Ok(None),
        }
    }

    pub(super) fn needed_address(&self, row: &Row<'_>, column: &str) -> Result<Address, FieldError> {
        needed(self.address(row, column)?, column, "an address")
    }

    /// A row of an account: the value stands in the column of its direction, that of a transfer to itself in both.
    pub(super) fn transaction(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut facts = self.head(row)?;
        let from = match cell(row, &self.layout.from)? {
            Some(text) if text == "GENESIS" => None,
            _ => Some(self.needed_address(row, &self.layout.from)?),
        };
        let to = self.address(row, &self.layout.to)?;
        facts.body = Some(Body { from, to, value: self.value(row)? });
        let (status, reason) = outcome(row, &self.layout)?;
        (facts.status, facts.failure_reason) = (Some(status), reason);
        if to.is_none() && status == Status::Success {
            facts.created = self.address(row, &self.layout.contract)?;
        }
        if !facts.hash.is_made() {
            facts.fee = coins_in(row, &self.layout.fee, self.chain)?;
            self.method(row, &mut facts)?;
        }
        sink.transaction(facts);
        Ok(sink.boundary()?)
    }

    /// A row of a list page. It prints what a creation created as the receiver.
    pub(super) fn listed_transaction(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        /// The beginning of the code that creates a contract.
        const INIT_CODE: [u8; 3] = [0x3d, 0x60, 0x61];
        let mut facts = self.head(row)?;
        let (from, to) = (self.needed_address(row, &self.layout.from)?, self.address(row, &self.layout.to)?);
        let value = self.amount(row)?;
        let (status, reason) = outcome(row, &self.layout)?;
        (facts.status, facts.failure_reason) = (Some(status), reason);
        self.method(row, &mut facts)?;
        let may_create = facts.method_id.is_some_and(|id| INIT_CODE.contains(&id[0]));
        if value.is_zero() && may_create {
            sink.omit("transactions of a list page that may create contracts: it prints the contract as the receiver");
            return Ok(());
        }
        facts.body = Some(Body { from: Some(from), to, value });
        sink.warn("the list page rounds fees: they are left unknown");
        sink.transaction(facts);
        Ok(sink.boundary()?)
    }

    /// A call inside a transaction.
    pub(super) fn internal(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let head = self.head(row)?;
        let value = match self.layout.table {
            Table::ListedInternal => self.amount(row)?,
            _ => self.value(row)?,
        };
        if outcome(row, &self.layout)?.0 == Status::Failed {
            sink.omit("internal transactions that failed");
            return Ok(());
        }
        let kind = cell(row, &self.layout.kind)?.map(|kind| kind.to_lowercase()).unwrap_or_default();
        if ["delegatecall", "callcode", "staticcall"].iter().any(|word| kind.starts_with(word)) {
            sink.omit("internal transactions of a kind that moves no value");
            return Ok(());
        }
        self.order.turn_to(head.block, &self.layout.block, sink)?;
        let to = self.address(row, &self.layout.to)?;
        let created = self.address(row, &self.layout.contract)?.filter(|_| kind.starts_with("create"));
        if let Some(created) = created {
            sink.contract(created);
        }
        if !value.is_zero() {
            let movement = Movement {
                kind: MovementFact::Internal,
                ordinal: Ordinal::Unindexed(0),
                from: Some(self.needed_address(row, &self.layout.from)?),
                to: Some(needed(to.or(created), &self.layout.to, "an address")?),
                asset: Asset::Native,
                amount: value,
            };
            sink.movement(head, movement);
        }
        Ok(())
    }

    /// The value of a row that has a column for each direction.
    fn value(&self, row: &Row<'_>) -> Result<Amount, FieldError> {
        let layout = &self.layout;
        let amounts = (coins_in(row, &layout.value_in, self.chain)?, coins_in(row, &layout.value_out, self.chain)?);
        match amounts {
            (Some(one), Some(other)) if one == other || other.is_zero() => Ok(one),
            (Some(zero), Some(other)) if zero.is_zero() => Ok(other),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (Some(_), Some(_)) => {
                let shown = cell(row, &layout.value_out)?;
                let expected = format!("nothing, or the value of {}", layout.value_in);
                Err(FieldError::new(&layout.value_out, shown.as_deref(), expected))
            }
            (None, None) => Err(FieldError::new(&layout.value_in, None, "an amount")),
        }
    }

    /// The value of a row that has one column for it.
    fn amount(&self, row: &Row<'_>) -> Result<Amount, FieldError> {
        let column = &self.layout.amount;
        needed(coins_in(row, column, self.chain)?, column, "an amount")
    }

    /// The method: its name, or where no name is known the first four bytes of the call data.
    fn method(&self, row: &Row<'_>, facts: &mut TransactionFacts) -> Result<(), FieldError> {
        let Some(text) = cell(row, &self.layout.method)? else { return Ok(()) };
        match hex_bytes(&text) {
            Some(bytes) => facts.method_id = bytes.try_into().ok(),
            None => facts.method = Some(text.into_owned()),
        }
        Ok(())
    }
}

//! Transfers of tokens.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::{Movement, MovementFact, TokenFacts};
use headwater_ledger::read::Ordinal;
use headwater_types::{Address, Amount, Asset};

use super::super::Job;
use super::super::etherscan::account_in;
use super::Export;
use super::values::{cell, decimal, needed};
use crate::error::{Fault, FieldError};
use crate::source::Row;
use crate::{IngestError, Sink};

/// The names of exports of one token, rather than of one account.
const EXPORT_OF_TOKEN: &str = "export-token-0x";

/// The tokens of a file.
#[derive(Default)]
pub(super) struct Tokens {
    /// The token of all rows, where they name none.
    of_file: Option<Address>,
    decimals: BTreeMap<Address, Option<u8>>,
    handed_over: BTreeSet<TokenFacts>,
    read: u64,
    unknown: u64,
}

impl Tokens {
    pub(super) fn new(job: &Job, sink: &Sink<'_>) -> Result<Self, IngestError> {
        let (chain, options, name) = (sink.chain(), &sink.options().snapshot, job.input.name());
        let missing =
            |option, why: String| IngestError::MissingOption { path: job.input.path().to_owned(), option, why };
        let given = options.contract.as_deref().map(|text| Address::parse(chain, text)).transpose();
        let given = given.map_err(|error| missing("--contract", error.to_string()))?;
        let of_file = given.or_else(|| account_in(chain, &name).filter(|_| name.starts_with(EXPORT_OF_TOKEN)));
        let decimals = of_file.into_iter().filter_map(|contract| Some((contract, Some(options.decimals?)))).collect();
        Ok(Self { of_file, decimals, ..Self::default() })
    }

    /// Decimals of a token, asked for once.
    fn decimals(&mut self, contract: Address, sink: &Sink<'_>) -> Result<Option<u8>, IngestError> {
        if let Some(known) = self.decimals.get(&contract) {
            return Ok(*known);
        }
        let known = sink.token_decimals(&contract)?;
        self.decimals.insert(contract, known);
        Ok(known)
    }

    fn tell(&mut self, token: TokenFacts, sink: &mut Sink<'_>) {
        if self.handed_over.insert(token.clone()) {
            sink.token(token);
        }
    }

    /// A file of which no row could be read is refused.
    pub(super) fn end(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        const REMEDY: &str = "import a registry that lists the token (headwater tokens import), give --contract and \
                              --decimals, or use the export of the API, which has amounts in the smallest unit";
        if self.unknown > 0 && self.read == 0 {
            let why =
                format!("the page prints token amounts in whole units without the decimals of the token: {REMEDY}");
            let path = job.input.path().to_owned();
            return Err(IngestError::MissingOption { path, option: "--decimals", why });
        }
        if self.unknown > 0 {
            sink.warn(format!("{} transfers of tokens of unknown decimals are left out: {REMEDY}", self.unknown));
        }
        Ok(())
    }
}

impl Export {
    /// A transfer of a fungible token, in whole units.
    pub(super) fn token(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let expected = "an address; give the token of the export with --contract";
        let contract = self.address(row, &self.layout.contract)?.or(self.tokens.of_file);
        let contract = needed(contract, &self.layout.contract, expected)?;
        let Some(decimals) = self.tokens.decimals(contract, sink)? else {
            self.tokens.unknown += 1;
            sink.omit("transfers of tokens of unknown decimals, in whole units");
            return Ok(());
        };
        let text = cell(row, &self.layout.amount)?;
        let amount = text.as_deref().and_then(|text| decimal(text, decimals));
        let expected = format!("an amount with at most {decimals} decimals");
        let amount = amount.ok_or_else(|| FieldError::new(&self.layout.amount, text.as_deref(), expected))?;
        self.moved(row, (MovementFact::Token, contract, amount), Some(decimals), sink)?;
        self.tokens.read += 1;
        Ok(())
    }

    /// A transfer of a non-fungible token: it counts in no amount. As in logs, its amount is the id, that of a
    /// multi-token the quantity.
    pub(super) fn non_fungible(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let contract = self.needed_address(row, &self.layout.contract)?;
        let is_multi = match cell(row, &self.layout.kind)? {
            Some(kind) => kind.contains("1155"),
            None => cell(row, &self.layout.quantity)?.is_some(),
        };
        let column = if is_multi { &self.layout.quantity } else { &self.layout.token_id };
        let text = cell(row, column)?;
        let amount = text.as_deref().and_then(|text| decimal(text, 0));
        let expected = "an unsigned whole number of at most 256 bits";
        let amount = amount.ok_or_else(|| FieldError::new(column, text.as_deref(), expected))?;
        self.moved(row, (MovementFact::NonFungible, contract, amount), None, sink)?;
        sink.count_non_fungible(1);
        Ok(())
    }

    fn moved(
        &mut self,
        row: &Row<'_>,
        (kind, contract, amount): (MovementFact, Address, Amount),
        decimals: Option<u8>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let head = self.head_in(row, self.block(row, sink)?)?;
        self.order.turn_to(head.block, &self.layout.block, sink)?;
        let movement = Movement {
            kind,
            ordinal: Ordinal::Unindexed(0),
            from: Some(self.needed_address(row, &self.layout.from)?),
            to: Some(self.needed_address(row, &self.layout.to)?),
            asset: Asset::Token(contract),
            amount,
        };
        // The pages mask names that they suspect: `ERC-20 TOKEN*`.
        let word = |column: &str| {
            let text = cell(row, column)?.filter(|text| !text.ends_with('*'));
            Ok::<_, FieldError>(text.map(std::borrow::Cow::into_owned))
        };
        let (symbol, name) = (word(&self.layout.token_symbol)?, word(&self.layout.token_name)?);
        self.tokens.tell(TokenFacts { contract, symbol, name, decimals, is_non_fungible: false }, sink);
        sink.movement(head, movement);
        Ok(())
    }

    /// The block of a row. Old exports have none: then it is that of the transaction, where it is held.
    fn block(&self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<u64, Fault> {
        let column = &self.layout.block;
        if let Some(block) = row.u64(column)? {
            return Ok(block);
        }
        let held = sink.place_of(&self.hash(row)?)?;
        let expected = "the number of a block, or a transaction that is held: ingest its blocks first";
        Ok(needed(held, column, expected)?.0)
    }
}

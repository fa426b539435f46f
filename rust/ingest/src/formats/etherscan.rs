//! Account exports of Etherscan and its sisters: the transactions, or the token transfers, of one account.
//!
//! An export has no log index. Equal rows inside one export are separate movements, equal rows of two exports the
//! same one: so the rows of one transaction are gathered per export, and the store keeps the larger count.

use std::collections::{BTreeSet, HashMap};

use headwater_ledger::facts::{Body, Claim, Movement, MovementFact, TokenFacts, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Asset, Chain};

use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError};
use crate::source::{Content, Probe, Row, each_row, hex_bytes};
use crate::{IngestError, Sink};

/// Exports are cut at this many rows.
const EXPORT_LIMIT: u64 = 10_000;

const TRANSACTIONS: u8 = 0;
const TOKENS: u8 = 1;

/// The required columns of exports of transactions.
const TRANSACTION_COLUMNS: &[&str] =
    &["blockNumber", "timeStamp", "hash", "from", "to", "value", "gasPrice", "gasUsed", "isError"];
/// The required columns of exports of token transfers.
#[rustfmt::skip]
const TOKEN_COLUMNS: &[&str] = &[
    "blockNumber", "timeStamp", "hash", "from", "to", "value", "gasPrice", "gasUsed", "contractAddress", "tokenDecimal",
];

const COLUMNS: &[&str] = &[
    "blockNumber",
    "timeStamp",
    "hash",
    "blockHash",
    "nonce",
    "transactionIndex",
    "from",
    "to",
    "value",
    "gas",
    "gasPrice",
    "gasUsed",
    "isError",
    "input",
    "contractAddress",
    "methodId",
    "functionName",
    "tokenName",
    "tokenSymbol",
    "tokenDecimal",
    "AccountId",
];

pub(super) struct EtherscanExport;

impl Format for EtherscanExport {
    fn name(&self) -> &'static str {
        "etherscan-export"
    }

    fn describe(&self) -> &'static str {
        "account exports of Etherscan, BscScan and the like (CSV or Parquet): transactions or token transfers"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        vec![("transactions", TRANSACTION_COLUMNS), ("token transfers", TOKEN_COLUMNS)]
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let rows = matches!(probe.content(), Content::Csv | Content::Parquet);
        let table = match () {
            () if !rows => return None,
            () if probe.has(TOKEN_COLUMNS) => TOKENS,
            () if probe.has(TRANSACTION_COLUMNS) => TRANSACTIONS,
            () => return None,
        };
        Some(Sniffed {
            chain: SniffedChain::Usually(Chain::ETHEREUM),
            table,
            rank: if table == TOKENS { 4 } else { 1 },
            first_block: probe.first("blockNumber").and_then(|text| text.parse().ok()),
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let chain = sink.chain();
        let mut export = Export { chain, named: account_in(chain, &job.input.name()), ..Export::default() };
        let table = job.sniffed.table;
        each_row(&job.input, &job.content, COLUMNS, sink, |row: &Row<'_>, sink: &mut Sink<'_>| match table {
            TOKENS => export.token_row(row, sink),
            _ => export.transaction_row(row, sink),
        })?;
        if job.content == Content::Csv {
            export.claim(table, sink);
        }
        Ok(())
    }
}

struct Export {
    chain: Chain,
    named: Option<Address>,
    accounts: HashMap<Option<Address>, Account>,
    current: Option<Address>,
    block: Option<u64>,
    rows: u64,
    tokens: BTreeSet<TokenFacts>,
}

/// One export inside a file.
#[derive(Default)]
struct Account {
    number: u64,
    /// The block of its last row, and how many commits there were at that time.
    seen: (Option<u64>, u64),
}

impl Default for Export {
    fn default() -> Self {
        Self {
            chain: Chain::ETHEREUM,
            named: None,
            accounts: HashMap::new(),
            current: None,
            block: None,
            rows: 0,
            tokens: BTreeSet::new(),
        }
    }
}

impl Export {
    /// Turns to the export that a row comes from. `false` when the row says that its account did nothing.
    fn turn_to_account(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<bool, FieldError> {
        let account = row.address("AccountId", self.chain)?.or(self.named);
        let number = u64::try_from(self.accounts.len()).unwrap_or(u64::MAX);
        sink.source(self.accounts.entry(account).or_insert(Account { number, ..Account::default() }).number);
        self.current = account;
        let nothing = row.text("hash")?.is_none() && row.text("blockNumber")?.is_none() && row.text("from")?.is_none();
        self.rows += u64::from(!nothing);
        Ok(!nothing)
    }

    /// Allows a commit between blocks: there it parts no rows of one transaction, whether a file is in order of blocks
    /// or of accounts. An account whose last block continues after a commit is reported, rather than counted wrong.
    fn turn_to_block(&mut self, block: u64, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if self.block != Some(block) {
            sink.boundary()?;
            self.block = Some(block);
        }
        let account = self.accounts.entry(self.current).or_default();
        let seen = (Some(block), sink.commits());
        if account.seen.0 == seen.0 && account.seen != seen {
            let expected = "the rows of one export in order of blocks: sort the file by blockNumber";
            return Err(FieldError::new("blockNumber", Some(&block.to_string()), expected).into());
        }
        account.seen = seen;
        Ok(())
    }

    /// Returns the facts of a transaction that both kinds of export state.
    fn head(&self, row: &Row<'_>) -> Result<TransactionFacts, FieldError> {
        let needed = |column| FieldError::new(column, None, "a value");
        let hash = row.transaction("hash", self.chain)?.ok_or_else(|| needed("hash"))?;
        let block = row.u64("blockNumber")?.ok_or_else(|| needed("blockNumber"))?;
        let mut facts = TransactionFacts::new(hash, block);
        facts.time = Some(row.time("timeStamp")?.ok_or_else(|| needed("timeStamp"))?);
        if hash.is_made() {
            return Ok(facts);
        }
        facts.block_hash = row.block_hash("blockHash", self.chain)?;
        facts.index = row.u32("transactionIndex")?;
        facts.nonce = row.u64("nonce")?;
        facts.gas_limit = row.u64("gas")?;
        facts.gas_used = row.u64("gasUsed")?;
        facts.gas_price = row.amount("gasPrice")?;
        Ok(facts)
    }

    fn transaction_row(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if !self.turn_to_account(row, sink)? {
            return Ok(());
        }
        let mut facts = self.head(row)?;
        let from = match row.text("from")? {
            Some(text) if text == "GENESIS" => None,
            _ => {
                let from = row.address("from", self.chain)?;
                Some(from.ok_or_else(|| FieldError::new("from", None, "an address, or GENESIS"))?)
            }
        };
        let to = row.address("to", self.chain)?;
        let value = row.amount("value")?.ok_or_else(|| FieldError::new("value", None, "an amount in wei"))?;
        facts.body = Some(Body { from, to, value });
        facts.status = status(row)?;
        if to.is_none() && facts.status != Some(Status::Failed) {
            facts.created = row.address("contractAddress", self.chain)?;
        }
        if !facts.hash.is_made() {
            call(row, &mut facts)?;
        }
        sink.transaction(facts);
        sink.boundary()?;
        Ok(())
    }

    fn token_row(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if !self.turn_to_account(row, sink)? {
            return Ok(());
        }
        let head = self.head(row)?;
        self.turn_to_block(head.block, sink)?;
        let needed = |column| FieldError::new(column, None, "a value");
        let contract = row.address("contractAddress", self.chain)?.ok_or_else(|| needed("contractAddress"))?;
        let movement = Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Unindexed(0),
            from: Some(row.address("from", self.chain)?.ok_or_else(|| needed("from"))?),
            to: row.address("to", self.chain)?,
            asset: Asset::Token(contract),
            amount: row.amount("value")?.ok_or_else(|| needed("value"))?,
        };
        let text = |column| Ok::<_, FieldError>(row.text(column)?.map(std::borrow::Cow::into_owned));
        let token = TokenFacts {
            contract,
            symbol: text("tokenSymbol")?,
            name: text("tokenName")?,
            // A token may claim any number of decimals; one that no amount can have says nothing.
            decimals: row.text("tokenDecimal")?.and_then(|text| text.parse().ok()),
            is_non_fungible: false,
        };
        if self.tokens.insert(token.clone()) {
            sink.token(token);
        }
        sink.movement(head, movement);
        Ok(())
    }

    /// An export of one account is complete unless it was cut. A collection of exports may be a selection.
    fn claim(&self, table: u8, sink: &mut Sink<'_>) {
        let mut accounts = self.accounts.keys().flatten();
        let (Some(address), None) = (accounts.next().or(self.named.as_ref()), accounts.next()) else { return };
        if self.rows >= EXPORT_LIMIT {
            sink.warn(format!(
                "the export has {} rows and was cut at {EXPORT_LIMIT}: history is incomplete",
                self.rows
            ));
        } else if sink.skipped() == 0 {
            let tables: &[_] = match table {
                TOKENS => &[CoverageTable::TokenTransfers],
                _ => &[CoverageTable::Transactions, CoverageTable::Receipts],
            };
            for table in tables {
                sink.claim(Claim::Account { address: *address, table: *table });
            }
        }
    }
}

/// Returns the facts of the call of a row.
fn call(row: &Row<'_>, facts: &mut TransactionFacts) -> Result<(), FieldError> {
    // Exports write "deprecated" where they no longer give the input.
    let given = |column| Ok::<_, FieldError>(row.text(column)?.filter(|text| text != "deprecated"));
    if let Some(input) = given("input")? {
        let bytes = hex_bytes(&input);
        facts.input = Some(bytes.ok_or_else(|| FieldError::new("input", Some(&input), "bytes in hex after 0x"))?);
    }
    if let Some(text) = given("methodId")?.filter(|text| text != "0x") {
        let digits = if text.starts_with("0x") { text.into_owned() } else { format!("0x{text}") };
        let bytes = hex_bytes(&digits)
            .filter(|bytes| bytes.len() <= 4)
            .ok_or_else(|| FieldError::new("methodId", Some(&digits), "at most four bytes in hex"))?;
        // Call data of fewer bytes stands here as it is, and calls no method.
        facts.method_id = bytes.try_into().ok();
    }
    // Some exports cut the arguments: without them all agree.
    let name = given("functionName")?.map(|text| text.split('(').next().unwrap_or_default().trim().to_owned());
    facts.method = name.filter(|name| !name.is_empty());
    Ok(())
}

fn status(row: &Row<'_>) -> Result<Option<Status>, FieldError> {
    match row.text("isError")?.as_deref() {
        None => Ok(None),
        Some("0" | "false") => Ok(Some(Status::Success)),
        Some("1" | "true") => Ok(Some(Status::Failed)),
        Some(other) => Err(FieldError::new("isError", Some(other), "0 or 1")),
    }
}

/// The address that a file is named for, as in `0x..._normal_txn.csv` or `export-0x....csv`.
pub(super) fn account_in(chain: Chain, name: &str) -> Option<Address> {
    name.match_indices("0x").find_map(|(start, _)| Address::parse(chain, name.get(start..start + 42)?).ok())
}

#[cfg(test)]
#[path = "etherscan_tests.rs"]
mod tests;

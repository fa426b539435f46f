//! Lists of TRC-20 transfers of accounts: exports of `TronScan`, and answers of `TronGrid`
//! (`/v1/accounts/<address>/transactions/trc20`).
//!
//! Neither states the log index: equal rows of one account are separate movements, equal rows of two accounts the same one,
//! as in other account exports. Neither states the block: where nothing that was read before does, it is counted from the
//! time, of which every three seconds could have brought one.

use std::collections::{BTreeSet, HashMap};

use headwater_ledger::facts::{Movement, MovementFact, TokenFacts, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Asset, Chain, Timestamp, TxHash};

use super::documents::{each_value, one};
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError, RowError};
use crate::source::json::Value;
use crate::source::{Content, Object, Probe, Row, each_row, plain_number};
use crate::{IngestError, Sink};

/// The time of block 1.
const FIRST_BLOCK_SECS: i64 = 1_529_891_469;
const BLOCK_SECS: i64 = 3;

const EXPORT: u8 = 0;
const ANSWER: u8 = 1;

pub(super) struct TronTrc20;

impl Format for TronTrc20 {
    fn name(&self) -> &'static str {
        "tron-trc20"
    }

    fn describe(&self) -> &'static str {
        "TRC-20 transfers of accounts: exports of TronScan (CSV), answers of TronGrid (JSON)"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let export = ["wallet", "timestamp", "tx_id", "from_address", "to_address", "quant", "token_id"];
        let table = match probe.content() {
            Content::Csv if probe.has(&export) => EXPORT,
            Content::Json => {
                let document = probe.document()?;
                // A row may lack its token, or the value of it.
                let named = ["transaction_id", "token_info", "block_timestamp", "from", "to", "value"];
                let is_transfer = |row: &Value<'_>| named.iter().all(|name| row.get(name).is_some());
                document.get("data")?.items().iter().any(is_transfer).then_some(ANSWER)?
            }
            _ => return None,
        };
        Some(Sniffed { chain: SniffedChain::Is(Chain::TRON), table, rank: 4, first_block: None })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut list = List::default();
        if job.sniffed.table == EXPORT {
            return each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
                list.turn_to(row.address("wallet", Chain::TRON)?, sink)?;
                list.transfer(exported(row)?, sink)
            });
        }
        each_value(job, sink, &mut |value, place, sink| {
            let answer = Object::whole(value);
            let transfers = match answer.list("data") {
                Ok(transfers) => transfers,
                Err(wrong) => return one(job, place, sink, |_| Err(wrong.into())),
            };
            // No commit may fall between the rows of one list.
            transfers.iter().try_for_each(|transfer| {
                sink.count_row(place)?;
                match answered(transfer).map_err(Fault::from).and_then(|row| list.transfer(row, sink)) {
                    Ok(()) => Ok(()),
                    Err(Fault::Field(field)) => {
                        sink.reject(RowError { file: job.input.path().to_owned(), place, field })
                    }
                    Err(Fault::Fatal(error)) => Err(error),
                }
            })
        })
    }
}

/// One row of either form.
struct Transfer {
    hash: TxHash,
    time: Timestamp,
    status: Option<Status>,
    failure_reason: Option<String>,
    /// `None` for what is no fungible token.
    movement: Option<Movement>,
    token: TokenFacts,
}

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

/// Why a row does not count that names no token: TRC-10 tokens have no contract, and interfaces write nothing for them.
const WITHOUT_TOKEN: &str = "rows without a token contract";

/// A row of an export; `None` when it names no token.
fn exported(row: &Row<'_>) -> Result<Option<Transfer>, FieldError> {
    if row.text("token_id")?.is_none_or(|token| token.trim().is_empty()) {
        return Ok(None);
    }
    let address = |column| needed(row.address(column, Chain::TRON)?, column);
    let text = |column| Ok::<_, FieldError>(row.text(column)?.map(std::borrow::Cow::into_owned));
    let millis = needed(row.u64("timestamp")?, "timestamp")?;
    let secs = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
    let returned = text("contract_return")?.filter(|returned| !returned.is_empty());
    let failed = returned.as_deref().is_some_and(|returned| returned != "SUCCESS");
    let token = text("token_type")?;
    let is_fungible = token.as_deref().is_none_or(|token| token.eq_ignore_ascii_case("trc20"));
    Ok(Some(Transfer {
        hash: needed(row.transaction("tx_id", Chain::TRON)?, "tx_id")?,
        time: Timestamp::new(secs),
        status: returned.as_ref().map(|_| if failed { Status::Failed } else { Status::Success }),
        failure_reason: returned.filter(|_| failed),
        movement: if is_fungible {
            Some(movement(
                address("from_address")?,
                address("to_address")?,
                address("token_id")?,
                needed(row.amount("quant")?, "quant")?,
            ))
        } else {
            None
        },
        token: TokenFacts {
            contract: address("token_id")?,
            symbol: text("token_abbr")?,
            name: text("token_name")?,
            decimals: row.text("token_decimal")?.and_then(|text| plain_number(&text)),
            is_non_fungible: false,
        },
    }))
}

/// A row of an answer; `None` when it names no token.
fn answered(transfer: &Object<'_>) -> Result<Option<Transfer>, FieldError> {
    let names_token = |token: &Object<'_>| token.text("address").is_some_and(|address| !address.trim().is_empty());
    let token = match transfer.object("token_info") {
        Some(token) if names_token(&token) => token,
        Some(_) => return Ok(None),
        None if !transfer.has("token_info") || transfer.text("token_info") == Some("") => return Ok(None),
        None => return Err(transfer.wrong("token_info", "an object")),
    };
    let address = |object: &Object<'_>, name: &str| {
        object.need(name, object.address_on(name, Chain::TRON)?, "an address of tron")
    };
    let contract = address(&token, "address")?;
    // Approvals are in the list, too.
    let is_transfer = transfer.text("type").is_none_or(|kind| kind == "Transfer");
    let hash = transfer.transaction_on("transaction_id", Chain::TRON)?;
    let time = transfer.epoch_millis("block_timestamp")?;
    Ok(Some(Transfer {
        hash: transfer.need("transaction_id", hash, "the hash of a transaction")?,
        time: transfer.need("block_timestamp", time, "epoch milliseconds")?,
        // What failed moved nothing, and is not listed.
        status: Some(Status::Success),
        failure_reason: None,
        movement: if is_transfer {
            let value = transfer.need("value", transfer.quantity("value")?, "an amount in the smallest unit")?;
            Some(movement(address(transfer, "from")?, address(transfer, "to")?, contract, value))
        } else {
            None
        },
        token: TokenFacts {
            contract,
            symbol: token.text("symbol").map(str::to_owned),
            name: token.text("name").map(str::to_owned),
            decimals: token.text("decimals").and_then(plain_number),
            is_non_fungible: false,
        },
    }))
}

fn movement(from: Address, to: Address, contract: Address, amount: headwater_types::Amount) -> Movement {
    Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Unindexed(0),
        from: Some(from),
        to: Some(to),
        asset: Asset::Token(contract),
        amount,
    }
}

/// The lists of a file, one per account.
#[derive(Default)]
struct List {
    /// The number of an account's list, and how many commits there were when its last row was read.
    accounts: HashMap<Option<Address>, (u64, u64)>,
    /// The account of the last row; none, and nobody's, before the first.
    current: Option<Address>,
    begun: bool,
    tokens: BTreeSet<TokenFacts>,
}

impl List {
    /// Turns to the list that a row comes from. A commit may fall between two lists: there it parts no equal rows of one.
    fn turn_to(&mut self, account: Option<Address>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if !self.begun || self.current != account {
            sink.boundary()?;
            (self.begun, self.current) = (true, account);
        }
        let number = u64::try_from(self.accounts.len()).unwrap_or(u64::MAX);
        let seen = self.accounts.entry(account).or_insert((number, sink.commits()));
        if seen.1 != sink.commits() {
            let shown = account.map(|account| account.to_string());
            let expected = "the rows of one wallet together: sort the file by wallet";
            return Err(FieldError::new("wallet", shown.as_deref(), expected).into());
        }
        sink.source(seen.0);
        Ok(())
    }

    fn transfer(&mut self, row: Option<Transfer>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let Some(row) = row else {
            sink.omit(WITHOUT_TOKEN);
            return Ok(());
        };
        let block = match sink.place_of(&row.hash)? {
            Some((block, _)) => block,
            None => {
                sink.warn(
                    "the list tells no blocks: they are counted from the times, one every three seconds, and are not those \
                     of the chain",
                );
                block_at(row.time)?
            }
        };
        let mut head = TransactionFacts::new(row.hash, block);
        head.time = Some(row.time);
        head.status = row.status;
        head.failure_reason = row.failure_reason;
        if self.tokens.insert(row.token.clone()) {
            sink.token(row.token);
        }
        match row.movement {
            Some(movement) => sink.movement(head, movement),
            None => sink.warn("rows that are no transfers of TRC-20 tokens were left out"),
        }
        Ok(())
    }
}

/// The block that there would be at a time if none had ever been missed: not below the true one, in the same order, and
/// the same for the same time.
fn block_at(time: Timestamp) -> Result<u64, FieldError> {
    let since = time.secs() - FIRST_BLOCK_SECS;
    let block = u64::try_from(since.div_euclid(BLOCK_SECS)).ok().and_then(|slots| slots.checked_add(1));
    let expected = "a time after the first block of tron";
    block.ok_or_else(|| FieldError::new("timestamp", Some(&time.secs().to_string()), expected))
}

#[cfg(test)]
#[path = "tron_trc20_tests.rs"]
mod tests;

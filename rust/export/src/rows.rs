//! Rows of the table `transfers`, gathered column by column.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{
    ArrayRef, BooleanBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, RecordBatch,
    StringBuilder, StringDictionaryBuilder, TimestampMicrosecondBuilder, UInt8Builder,
};
use arrow::datatypes::{DataType, Field, Int16Type, Schema, SchemaRef, TimeUnit};
use headwater_ledger::read::{AccountRef, AssetRef, Direction, Posting, Result, Status, TransactionRef};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Amount, Chain};

/// Digits of the decimal column: what Spark, `DuckDB` and polars all hold.
const DIGITS: u8 = 38;
const UTC: &str = "UTC";

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let word = || DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8));
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()));
    Arc::new(Schema::new(vec![
        Field::new("address", DataType::Utf8, false),
        Field::new("block", DataType::Int64, false),
        Field::new("time", time, false),
        Field::new("tx_index", DataType::Int32, true),
        Field::new("tx_hash", DataType::Utf8, false),
        Field::new("kind", word(), false),
        Field::new("ordinal", DataType::Int64, false),
        Field::new("log_index", DataType::Int64, true),
        Field::new("direction", word(), false),
        Field::new("counterparty", DataType::Utf8, true),
        Field::new("contract", DataType::Utf8, true),
        Field::new("symbol", DataType::Utf8, true),
        Field::new("decimals", DataType::UInt8, true),
        Field::new("amount", DataType::Utf8, false),
        Field::new("amount_decimal", DataType::Decimal128(DIGITS, 0), true),
        Field::new("amount_float", DataType::Float64, true),
        Field::new("status", word(), true),
        Field::new("is_primary", DataType::Boolean, false),
    ]))
});

/// The columns of `transfers`, in order.
///
/// | column | what |
/// |---|---|
/// | `address` | whose row it is, canonical text; the file is sorted by it, then by what follows up to `ordinal` |
/// | `block`, `time`, `tx_index`, `tx_hash` | where it is; `tx_index` null where no source stated it |
/// | `kind` | `native`, `internal`, `token`; `utxo` the net change of an address in a transaction |
/// | `ordinal` | separates movements of one kind and transaction |
/// | `log_index` | log index or trace ordinal, null where the source gave none |
/// | `direction` | `in`, `out`, or `self` from the address to itself |
/// | `counterparty` | the other end; null for minting, burning, rewards, and for utxo rows, which have several |
/// | `contract` | the token, null for the native coin |
/// | `symbol`, `decimals` | of the registry, else what the token says of itself, else null |
/// | `amount` | exact, in the smallest unit, as text |
/// | `amount_decimal` | the same as a number; null past 38 digits |
/// | `amount_float` | in whole units, rounded; null where decimals are unknown |
/// | `status` | `success`, `failed`, null when unknown; failed ones moved nothing |
/// | `is_primary` | true on one row of each movement: sum over these to count each movement once |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

/// The texts that the rows of one asset have in common.
#[derive(Clone)]
struct AssetText {
    contract: Option<String>,
    symbol: Option<String>,
    decimals: Option<u8>,
}

type Word = StringDictionaryBuilder<Int16Type>;

/// Gathers rows of one file.
pub(crate) struct Rows<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    assets: HashMap<AssetRef, AssetText>,
    others: HashMap<AccountRef, String>,
    /// Hash and index of the transaction that came last: its movements come one after the other.
    head: Option<(TransactionRef, String, Option<i32>)>,
    count: usize,
    address: StringBuilder,
    block: Int64Builder,
    time: TimestampMicrosecondBuilder,
    tx_index: Int32Builder,
    tx_hash: StringBuilder,
    kind: Word,
    ordinal: Int64Builder,
    log_index: Int64Builder,
    direction: Word,
    counterparty: StringBuilder,
    contract: StringBuilder,
    symbol: StringBuilder,
    decimals: UInt8Builder,
    amount: StringBuilder,
    amount_decimal: Decimal128Builder,
    amount_float: Float64Builder,
    status: Word,
    is_primary: BooleanBuilder,
}

/// Counterparties whose text is kept between rows.
const KEPT_TEXTS: usize = 1 << 16;

impl<'a> Rows<'a> {
    pub fn new(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        let decimal = DataType::Decimal128(DIGITS, 0);
        Self {
            ledger,
            chain,
            assets: HashMap::new(),
            others: HashMap::new(),
            head: None,
            count: 0,
            address: StringBuilder::new(),
            block: Int64Builder::new(),
            time: TimestampMicrosecondBuilder::new().with_timezone(UTC),
            tx_index: Int32Builder::new(),
            tx_hash: StringBuilder::new(),
            kind: Word::new(),
            ordinal: Int64Builder::new(),
            log_index: Int64Builder::new(),
            direction: Word::new(),
            counterparty: StringBuilder::new(),
            contract: StringBuilder::new(),
            symbol: StringBuilder::new(),
            decimals: UInt8Builder::new(),
            amount: StringBuilder::new(),
            amount_decimal: Decimal128Builder::new().with_data_type(decimal),
            amount_float: Float64Builder::new(),
            status: Word::new(),
            is_primary: BooleanBuilder::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn push(&mut self, address: &str, posting: &Posting) -> Result<()> {
        self.count += 1;
        self.address.append_value(address);
        self.block.append_value(number(posting.block));
        self.time.append_value(posting.time.secs().saturating_mul(1_000_000));
        self.transaction(posting.transaction)?;
        self.kind.append_value(posting.kind.name());
        self.ordinal.append_value(number(posting.ordinal.number()));
        self.log_index.append_option(posting.ordinal.shown().map(number));
        self.direction.append_value(match posting.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::Own => "self",
        });
        self.other(posting.counterparty)?;
        self.asset(posting.asset, posting.amount)?;
        self.status.append_option(posting.status.map(|status| match status {
            Status::Success => "success",
            Status::Failed => "failed",
        }));
        self.is_primary.append_value(posting.direction != Direction::In || posting.counterparty.is_none());
        Ok(())
    }

    fn transaction(&mut self, transaction: TransactionRef) -> Result<()> {
        if self.head.as_ref().is_none_or(|(held, ..)| *held != transaction) {
            let head = self.ledger.transaction_head(transaction)?;
            let index = head.index.and_then(|index| i32::try_from(index).ok());
            self.head = Some((transaction, head.hash.display(self.chain.family()), index));
        }
        if let Some((_, hash, index)) = &self.head {
            self.tx_hash.append_value(hash);
            self.tx_index.append_option(*index);
        }
        Ok(())
    }

    fn other(&mut self, account: Option<AccountRef>) -> Result<()> {
        let Some(account) = account else {
            self.counterparty.append_null();
            return Ok(());
        };
        if !self.others.contains_key(&account) {
            if self.others.len() == KEPT_TEXTS {
                self.others.clear();
            }
            self.others.insert(account, self.ledger.address(account)?.to_string());
        }
        self.counterparty.append_value(&self.others[&account]);
        Ok(())
    }

    fn asset(&mut self, asset: AssetRef, amount: Amount) -> Result<()> {
        if !self.assets.contains_key(&asset) {
            let text = self.look_up(asset)?;
            self.assets.insert(asset, text);
        }
        let text = &self.assets[&asset];
        self.contract.append_option(text.contract.as_deref());
        self.symbol.append_option(text.symbol.as_deref());
        self.decimals.append_option(text.decimals);
        self.amount.append_value(amount.to_string());
        self.amount_decimal.append_option(decimal(amount));
        self.amount_float.append_option(text.decimals.map(|decimals| amount.to_f64(decimals)));
        Ok(())
    }

    fn look_up(&self, asset: AssetRef) -> std::result::Result<AssetText, LedgerError> {
        let asset = self.ledger.asset(asset)?;
        let contract = asset.contract().map(Address::to_string);
        if let Some(entry) = self.ledger.registry().entry(self.chain, &asset) {
            return Ok(AssetText { contract, symbol: Some(entry.symbol.clone()), decimals: Some(entry.decimals) });
        }
        let facts = match asset.contract() {
            Some(contract) => self.ledger.token_facts(self.chain, contract)?,
            None => None,
        };
        let symbol = facts.as_ref().and_then(|facts| facts.symbol.as_deref()).map(str::to_lowercase);
        Ok(AssetText { contract, symbol, decimals: facts.and_then(|facts| facts.decimals) })
    }

    /// The rows gathered since the last call.
    pub fn take(&mut self) -> RecordBatch {
        self.count = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.address.finish()),
            Arc::new(self.block.finish()),
            Arc::new(self.time.finish()),
            Arc::new(self.tx_index.finish()),
            Arc::new(self.tx_hash.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.ordinal.finish()),
            Arc::new(self.log_index.finish()),
            Arc::new(self.direction.finish()),
            Arc::new(self.counterparty.finish()),
            Arc::new(self.contract.finish()),
            Arc::new(self.symbol.finish()),
            Arc::new(self.decimals.finish()),
            Arc::new(self.amount.finish()),
            Arc::new(self.amount_decimal.finish()),
            Arc::new(self.amount_float.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.is_primary.finish()),
        ];
        RecordBatch::try_new(schema(), columns).expect("every push fills every column of the schema")
    }
}

/// Blocks and ordinals stay far below 2^63; no other engine reads unsigned numbers.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn decimal(amount: Amount) -> Option<i128> {
    const END: i128 = 10_i128.pow(DIGITS as u32);
    amount.to_u128().and_then(|value| i128::try_from(value).ok()).filter(|value| *value < END)
}

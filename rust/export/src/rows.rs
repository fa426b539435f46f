//! Rows of the table `transfers`, gathered column by column.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, RecordBatch,
    StringBuilder, StringDictionaryBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Int16Type};
use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{AccountRef, AssetRef, Direction, Posting, Result, Status, TransactionRef};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Amount, Chain};

use crate::columns::{DIGITS, UTC, schema};

/// The texts that the rows of one asset have in common.
#[derive(Clone)]
struct AssetText {
    contract: Option<String>,
    terms: AssetTerms,
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
    decimals: Int32Builder,
    amount: StringBuilder,
    amount_decimal: Decimal128Builder,
    amount_float: Float64Builder,
    status: Word,
    is_primary: BooleanBuilder,
    creates_contract: BooleanBuilder,
    verified: BooleanBuilder,
    is_approximate: BooleanBuilder,
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
            decimals: Int32Builder::new(),
            amount: StringBuilder::new(),
            amount_decimal: Decimal128Builder::new().with_data_type(decimal),
            amount_float: Float64Builder::new(),
            status: Word::new(),
            is_primary: BooleanBuilder::new(),
            creates_contract: BooleanBuilder::new(),
            verified: BooleanBuilder::new(),
            is_approximate: BooleanBuilder::new(),
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
        self.is_primary.append_value(is_primary(posting));
        self.creates_contract.append_value(posting.creates_contract);
        self.is_approximate.append_value(posting.approximate);
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
        let AssetText { contract, terms } = &self.assets[&asset];
        self.contract.append_option(contract.as_deref());
        self.symbol.append_option(terms.symbol.as_deref());
        self.decimals.append_option(terms.decimals.map(i32::from));
        self.amount.append_value(amount.to_string());
        self.amount_decimal.append_option(decimal(amount));
        self.amount_float.append_option(terms.decimals.map(|decimals| amount.to_f64(decimals)));
        self.verified.append_value(terms.verified);
        Ok(())
    }

    fn look_up(&self, asset: AssetRef) -> std::result::Result<AssetText, LedgerError> {
        let asset = self.ledger.asset(asset)?;
        let facts = |contract: &Address| self.ledger.token_facts(self.chain, contract);
        let terms = AssetTerms::of(self.ledger.registry(), self.chain, &asset, facts)?;
        Ok(AssetText { contract: asset.contract().map(Address::to_string), terms })
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
            Arc::new(self.creates_contract.finish()),
            Arc::new(self.verified.finish()),
            Arc::new(self.is_approximate.finish()),
        ];
        RecordBatch::try_new(schema(), columns).expect("every push fills every column of the schema")
    }
}

/// Returns whether a row counts its movement: the one of the sender, or the only one.
pub(crate) fn is_primary(posting: &Posting) -> bool {
    posting.direction != Direction::In || posting.counterparty.is_none()
}

/// Blocks and ordinals stay far below 2^63; no other engine reads unsigned numbers.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn decimal(amount: Amount) -> Option<i128> {
    const END: i128 = 10_i128.pow(DIGITS as u32);
    amount.to_u128().and_then(|value| i128::try_from(value).ok()).filter(|value| *value < END)
}

//! The columns of the table `transfers`: name, type, meaning.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// Digits of the decimal column: the number that Spark, `DuckDB` and polars all support.
pub(crate) const DIGITS: u8 = 38;
pub(crate) const UTC: &str = "UTC";

/// The type of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    Text,
    /// Text of a few words, as a dictionary in Arrow.
    Word,
    Integer,
    Short,
    Decimal,
    Float,
    Boolean,
    Time,
}

impl Cells {
    const fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Word => "text",
            Self::Integer => "integer",
            Self::Short => "integer of 32 bits",
            Self::Decimal => "decimal(38, 0)",
            Self::Float => "double",
            Self::Boolean => "boolean",
            Self::Time => "time in UTC",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Word => DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8)),
            Self::Integer => DataType::Int64,
            Self::Short => DataType::Int32,
            Self::Decimal => DataType::Decimal128(DIGITS, 0),
            Self::Float => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        }
    }
}

/// A column of `transfers`.
#[derive(Debug, Clone, Copy)]
pub struct TransferColumn {
    /// Name.
    pub name: &'static str,
    cells: Cells,
    is_nullable: bool,
    /// Meaning and unit, for documents.
    pub meaning: &'static str,
}

impl TransferColumn {
    /// The name of the type in documents.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.cells.name()
    }

    fn field(&self) -> Field {
        Field::new(self.name, self.cells.data_type(), self.is_nullable)
    }
}

macro_rules! columns {
    ($($name:literal: $cells:ident $null:ident = $meaning:literal;)+) => {
        &[$(TransferColumn {
            name: $name, cells: Cells::$cells, is_nullable: columns!(@ $null), meaning: $meaning,
        }),+]
    };
    (@ nullable) => { true };
    (@ always) => { false };
}

/// The columns of `transfers`, in order.
pub const TRANSFER_COLUMNS: &[TransferColumn] = columns! {
    "address": Text always = "the address whose row it is, in the canonical text of its chain";
    "block": Integer always = "number of the block";
    "time": Time always = "time of the block";
    "tx_index": Short nullable = "position of the transaction in the block; null where no source states it";
    "tx_hash": Text always = "the transaction, or the id of a movement without one, such as `REWARD_<block>_<receiver>`";
    "kind": Word always = "`native`, `internal`, `token`, or `utxo`: the net change of an address in a Bitcoin transaction";
    "ordinal": Integer always = "number of the movement within its kind and transaction; together with them it names a movement";
    "log_index": Integer nullable = "log index or trace ordinal; 0 for native movements, null where no source states it";
    "direction": Word always = "`in`, `out`, or `self` from the address to itself";
    "counterparty": Text nullable = "the other end; null where there is none, as for rewards, and on Bitcoin, where there are several";
    "contract": Text nullable = "the token; null for the native coin";
    "symbol": Text nullable = "lowercase symbol, by the registry, else by the token itself; null where neither names it";
    "decimals": Short nullable = "decimals of the asset; null where nobody states them";
    "amount": Text always = "the smallest units";
    "amount_decimal": Decimal nullable = "the same as a number; null past 38 digits";
    "amount_float": Float nullable = "whole units, rounded to a double; null where `decimals` is null";
    "status": Word nullable = "`success` or `failed`; null where it is not known. A failed transaction moved nothing";
    "is_primary": Boolean always = "true on one row of each movement: filter by it to count each movement once";
    "creates_contract": Boolean always = "true if the movement created the contract that receives it";
    "verified": Boolean always = "true if the registry vouches for the asset as the token people mean, and for native coins";
    "is_approximate": Boolean always = "true if the source states the amount to the precision of a double only";
};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = TRANSFER_COLUMNS.iter().map(TransferColumn::field);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// Returns the columns of `transfers` as a schema; [`TRANSFER_COLUMNS`] documents them.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

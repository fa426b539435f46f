//! Facts from the rows of an export: what a ledger in memory needs to answer about the addresses of these rows.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampSecondType};
use headwater_ledger::facts::{Batch, Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::{MovementKind, Ordinal, Status};
use headwater_types::{Address, Amount, Asset, Chain, Family, Timestamp, TxHash};

/// The reason why rows cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    /// A UTXO chain.
    #[error(
        "blockchain: rows of {0} do not contain the inputs and outputs of its transactions; use the store itself, or an \
         account chain such as ethereum"
    )]
    UtxoChain(Chain),
    /// A column is missing.
    #[error(
        "the rows have no column `{column}`; expected all columns of the table `transfers` of export format 2: export \
         the store again with this version"
    )]
    MissingColumn {
        /// The column.
        column: &'static str,
    },
    /// A column has a type that cannot be read.
    #[error("column `{column}` is of type {found}; expected {expected}")]
    ColumnType {
        /// The column.
        column: &'static str,
        /// Its type.
        found: DataType,
        /// The type of exports.
        expected: DataType,
    },
    /// A value is not valid.
    #[error("row {row}: {column}: {found}; expected {expected}")]
    Value {
        /// The row, counted from 1.
        row: usize,
        /// The column.
        column: &'static str,
        /// The value.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// Rows contradict each other.
    #[error(
        "row {row}: {column} of {what} differs from an earlier row; read the rows of one export and one chain together"
    )]
    Contradiction {
        /// The row, counted from 1.
        row: usize,
        /// The column.
        column: &'static str,
        /// The transaction or token.
        what: String,
    },
    /// An address has rows, and one that another address has of the same movement is missing.
    #[error(
        "the row of {address} about transaction {transaction} is missing; give all rows of each address, as whole \
         buckets of an export contain them"
    )]
    MissingRow {
        /// The address.
        address: Address,
        /// The transaction.
        transaction: String,
    },
}

type Result<T> = std::result::Result<T, ReadBackError>;

/// The facts of rows of `transfers`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedFacts {
    /// The transactions with the movements of the rows, each once.
    pub batch: Batch,
    /// The entries of the registry of the store, by contract.
    pub tokens: Vec<TokenListing>,
    /// The addresses of the column `address`, each once, in the order of the rows.
    pub addresses: Vec<Address>,
}

/// Reads rows of the table `transfers` of one chain back into facts, with all rows of each address in them.
///
/// A ledger of these facts has the same movements of these addresses as the store of the export, in the same order, under the
/// same registry. It has a part of the movements of their counterparties.
///
/// Types of columns may differ from [`crate::schema`] where no value changes: engines have texts, integers and times of several
/// widths. Time and memory O(rows).
///
/// # Errors
/// [`ReadBackError`].
pub fn read_back(rows: &[RecordBatch], chain: Chain) -> Result<ExportedFacts> {
    if chain.family() == Family::Utxo {
        return Err(ReadBackError::UtxoChain(chain));
    }
    let mut reader = FactReader::new(chain);
    for batch in rows {
        let columns = Columns::of(batch)?;
        for place in 0..batch.num_rows() {
            reader.count += 1;
            reader.row(&columns, place)?;
        }
    }
    reader.finish()
}

/// The columns that facts are made of.
struct Columns {
    address: StringArray,
    block: Int64Array,
    time: PrimitiveArray<TimestampSecondType>,
    tx_index: Int64Array,
    tx_hash: StringArray,
    kind: StringArray,
    ordinal: Int64Array,
    direction: StringArray,
    counterparty: StringArray,
    contract: StringArray,
    symbol: StringArray,
    decimals: Int64Array,
    amount: StringArray,
    status: StringArray,
    creates_contract: BooleanArray,
    verified: BooleanArray,
}

impl Columns {
    fn of(batch: &RecordBatch) -> Result<Self> {
        let column = |column, expected| converted(batch, column, &expected);
        let text = |name| Ok::<_, ReadBackError>(column(name, DataType::Utf8)?.as_string::<i32>().clone());
        let integer = |name| Ok::<_, ReadBackError>(column(name, DataType::Int64)?.as_primitive().clone());
        let boolean = |name| Ok::<_, ReadBackError>(column(name, DataType::Boolean)?.as_boolean().clone());
        Ok(Self {
            address: text("address")?,
            block: integer("block")?,
            time: column("time", DataType::Timestamp(TimeUnit::Second, None))?.as_primitive().clone(),
            tx_index: integer("tx_index")?,
            tx_hash: text("tx_hash")?,
            kind: text("kind")?,
            ordinal: integer("ordinal")?,
            direction: text("direction")?,
            counterparty: text("counterparty")?,
            contract: text("contract")?,
            symbol: text("symbol")?,
            decimals: integer("decimals")?,
            amount: text("amount")?,
            status: text("status")?,
            creates_contract: boolean("creates_contract")?,
            verified: boolean("verified")?,
        })
    }
}

/// Returns a column as another type, if that changes no value.
fn converted(batch: &RecordBatch, column: &'static str, expected: &DataType) -> Result<ArrayRef> {
    let found = batch.column_by_name(column).ok_or(ReadBackError::MissingColumn { column })?;
    let refused = || ReadBackError::ColumnType { column, found: found.data_type().clone(), expected: expected.clone() };
    let read = cast(found, expected).map_err(|_| refused())?;
    // A cast makes null of a value that does not fit, and cuts fractions. Integers with nulls are doubles in pandas.
    let is_same = match found.data_type() {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            expected.is_integer() && cast(&read, found.data_type()).is_ok_and(|back| back.as_ref() == found.as_ref())
        }
        _ => read.logical_null_count() == found.logical_null_count(),
    };
    if is_same { Ok(read) } else { Err(refused()) }
}

/// A movement as its rows state it.
#[derive(Debug, Clone, PartialEq)]
struct StatedMovement {
    from: Option<Address>,
    to: Option<Address>,
    asset: Asset,
    amount: Amount,
    creates_contract: bool,
}

/// A movement, and which of its rows were read.
struct ReadMovement {
    stated: StatedMovement,
    has_sender: bool,
    has_receiver: bool,
}

/// Place of the transaction, kind, ordinal.
type MovementId = (usize, MovementKind, u64);

struct FactReader {
    chain: Chain,
    /// Rows so far.
    count: usize,
    transactions: Vec<TransactionFacts>,
    places: HashMap<TxHash, usize>,
    movements: HashMap<MovementId, ReadMovement>,
    tokens: BTreeMap<Address, TokenListing>,
    addresses: Vec<Address>,
    known: HashSet<Address>,
}

impl FactReader {
    fn new(chain: Chain) -> Self {
        Self {
            chain,
            count: 0,
            transactions: Vec::new(),
            places: HashMap::new(),
            movements: HashMap::new(),
            tokens: BTreeMap::new(),
            addresses: Vec::new(),
            known: HashSet::new(),
        }
    }

    fn row(&mut self, columns: &Columns, place: usize) -> Result<()> {
        let address = self.address("address", &columns.address, place)?;
        let address = address.ok_or_else(|| self.refused("address", "null", "an address"))?;
        if self.known.insert(address) {
            self.addresses.push(address);
        }
        let other = self.address("counterparty", &columns.counterparty, place)?;
        let contract = self.address("contract", &columns.contract, place)?;
        let direction = self.text("direction", &columns.direction, place)?;
        let (from, to) = match direction {
            "in" => (other, Some(address)),
            "out" => (Some(address), other),
            "self" => (Some(address), Some(address)),
            direction => return Err(self.refused("direction", direction, "in, out or self")),
        };
        let kind = match (self.text("kind", &columns.kind, place)?, contract) {
            ("native", None) => MovementKind::Native,
            ("internal", None) => MovementKind::Internal,
            ("token", Some(_)) => MovementKind::Token,
            (kind, _) => {
                return Err(self.refused("kind", kind, "native or internal without a contract, token with one"));
            }
        };
        if let Some(contract) = contract {
            self.token(contract, columns, place)?;
        }
        let amount = self.text("amount", &columns.amount, place)?;
        let parsed =
            Amount::parse_raw(amount).map_err(|_| self.refused("amount", amount, "digits, at most 256 bits"))?;
        let stated = StatedMovement {
            from,
            to,
            asset: contract.map_or(Asset::Native, Asset::Token),
            amount: parsed,
            creates_contract: self.boolean("creates_contract", &columns.creates_contract, place)?,
        };
        let transaction = self.transaction(columns, place)?;
        let id = (transaction, kind, self.whole("ordinal", &columns.ordinal, place)?);
        self.movement(id, stated, direction)
    }

    fn movement(&mut self, id: MovementId, stated: StatedMovement, direction: &str) -> Result<()> {
        let (is_sender, is_receiver) = (direction != "in", direction != "out");
        if let Some(read) = self.movements.get_mut(&id) {
            if read.stated != stated {
                let what = self.transactions[id.0].hash.display(self.chain.family());
                return Err(ReadBackError::Contradiction { row: self.count, column: "amount or an end", what });
            }
            read.has_sender |= is_sender;
            read.has_receiver |= is_receiver;
            return Ok(());
        }
        let facts = &mut self.transactions[id.0];
        let StatedMovement { from, to, asset, amount, creates_contract } = stated;
        let kind = match id.1 {
            MovementKind::Native | MovementKind::Utxo => None,
            MovementKind::Internal => Some(MovementFact::Internal),
            MovementKind::Token => Some(MovementFact::Token),
        };
        match kind {
            None => {
                facts.body = Some(Body { from, to: to.filter(|_| !creates_contract), value: amount });
                facts.created = to.filter(|_| creates_contract);
            }
            // The number of a movement without an index is above all indexes, so that as an index it keeps its place.
            Some(kind) => {
                facts.movements.push(Movement { kind, ordinal: Ordinal::Indexed(id.2), from, to, asset, amount });
            }
        }
        self.movements.insert(id, ReadMovement { stated, has_sender: is_sender, has_receiver: is_receiver });
        Ok(())
    }

    /// Returns the place of the transaction of a row.
    fn transaction(&mut self, columns: &Columns, place: usize) -> Result<usize> {
        let text = self.text("tx_hash", &columns.tx_hash, place)?;
        let hash = TxHash::parse(self.chain.family(), text)
            .map_err(|_| self.refused("tx_hash", text, &format!("a transaction of {}", self.chain)))?;
        let mut facts = TransactionFacts::new(hash, self.whole("block", &columns.block, place)?);
        if columns.time.is_null(place) {
            return Err(self.refused("time", "null", "a time"));
        }
        facts.time = Some(Timestamp::new(columns.time.value(place)));
        if !columns.tx_index.is_null(place) {
            let index = columns.tx_index.value(place);
            let whole = u32::try_from(index);
            facts.index = Some(whole.map_err(|_| self.refused("tx_index", &index.to_string(), "0 or more, or null"))?);
        }
        if !columns.status.is_null(place) {
            facts.status = Some(match columns.status.value(place) {
                "success" => Status::Success,
                "failed" => Status::Failed,
                status => return Err(self.refused("status", status, "success, failed or null")),
            });
        }
        let Some(&held) = self.places.get(&hash) else {
            self.places.insert(hash, self.transactions.len());
            self.transactions.push(facts);
            return Ok(self.transactions.len() - 1);
        };
        let known = &self.transactions[held];
        let same = [
            ("block", known.block == facts.block),
            ("time", known.time == facts.time),
            ("tx_index", known.index == facts.index),
            ("status", known.status == facts.status),
        ];
        match same.into_iter().find(|(_, is_same)| !is_same) {
            Some((column, _)) => Err(self.contradiction(column, text)),
            None => Ok(held),
        }
    }

    /// Notes what the registry of the store said about a token.
    fn token(&mut self, contract: Address, columns: &Columns, place: usize) -> Result<()> {
        let verified = self.boolean("verified", &columns.verified, place)?;
        let symbol = (!columns.symbol.is_null(place)).then(|| columns.symbol.value(place));
        let decimals = (!columns.decimals.is_null(place)).then(|| columns.decimals.value(place));
        let narrow = |decimals: i64| {
            let refused = || self.refused("decimals", &decimals.to_string(), "0 to 255, or null");
            u8::try_from(decimals).map_err(|_| refused())
        };
        let decimals = decimals.map(narrow).transpose()?;
        if verified && (symbol.is_none() || decimals.is_none()) {
            return Err(self.refused("verified", "true", "false for a token without symbol or decimals"));
        }
        // An unverified token is listed too, since the registry of this version may vouch for it.
        let symbol = symbol.unwrap_or_default().to_owned();
        let listing = TokenListing {
            chain: self.chain,
            contract,
            name: symbol.clone(),
            symbol,
            decimals: decimals.unwrap_or_default(),
            verified,
            coingecko_id: None,
        };
        match self.tokens.get(&contract) {
            Some(known) if *known != listing => {
                Err(self.contradiction("symbol, decimals or verified", &contract.to_string()))
            }
            Some(_) => Ok(()),
            None => {
                self.tokens.insert(contract, listing);
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<ExportedFacts> {
        // Of several missing rows the first one in order is named, whatever the order of the map.
        let missing = self.movements.iter().filter_map(|(id, read)| {
            let end = |end: Option<Address>, is_read: bool| end.filter(|end| !is_read && self.known.contains(end));
            let sender = end(read.stated.from, read.has_sender);
            sender.or_else(|| end(read.stated.to, read.has_receiver)).map(|address| (*id, address))
        });
        if let Some(((transaction, ..), address)) = missing.min() {
            let transaction = self.transactions[transaction].hash.display(self.chain.family());
            return Err(ReadBackError::MissingRow { address, transaction });
        }
        let batch = Batch { transactions: self.transactions, ..Batch::new(self.chain) };
        Ok(ExportedFacts { batch, tokens: self.tokens.into_values().collect(), addresses: self.addresses })
    }

    fn address(&self, column: &'static str, texts: &StringArray, place: usize) -> Result<Option<Address>> {
        if texts.is_null(place) {
            return Ok(None);
        }
        let text = texts.value(place);
        let parsed = Address::parse(self.chain, text);
        parsed.map(Some).map_err(|_| self.refused(column, text, &format!("an address of {}", self.chain)))
    }

    fn text<'t>(&self, column: &'static str, texts: &'t StringArray, place: usize) -> Result<&'t str> {
        if texts.is_null(place) { Err(self.refused(column, "null", "text")) } else { Ok(texts.value(place)) }
    }

    fn boolean(&self, column: &'static str, booleans: &BooleanArray, place: usize) -> Result<bool> {
        if booleans.is_null(place) {
            return Err(self.refused(column, "null", "true or false"));
        }
        Ok(booleans.value(place))
    }

    fn whole(&self, column: &'static str, integers: &Int64Array, place: usize) -> Result<u64> {
        let found = (!integers.is_null(place)).then(|| integers.value(place));
        let whole = found.and_then(|found| u64::try_from(found).ok());
        let shown = || found.map_or_else(|| "null".to_owned(), |found| found.to_string());
        whole.ok_or_else(|| self.refused(column, &shown(), "a whole number of 0 or more"))
    }

    fn refused(&self, column: &'static str, found: &str, expected: &str) -> ReadBackError {
        let found = if found == "null" { found.to_owned() } else { format!("{found:?}") };
        ReadBackError::Value { row: self.count, column, found, expected: expected.to_owned() }
    }

    fn contradiction(&self, column: &'static str, what: &str) -> ReadBackError {
        ReadBackError::Contradiction { row: self.count, column, what: what.to_owned() }
    }
}

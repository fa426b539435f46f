//! Tables in memory, as notebooks hand them over through Arrow: transfers, tokens and prices.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use headwater_ledger::facts::{Batch, Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Asset, Chain, Family, TxHash};

use crate::IngestError;
use crate::error::{FieldError, Place, RowError};
use crate::market::{listing_of, price_of};
use crate::source::{Row, text_columns};

/// The facts of a frame of transfers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transfers {
    /// The facts, one batch per chain, ordered by name of chain.
    pub batches: Vec<Batch>,
    /// The tokens that the frame names with `symbol` and `decimals`, ordered by chain and contract.
    pub tokens: Vec<TokenListing>,
}

/// Reads a frame of transfers.
///
/// Columns: `blockchain`, `block_number`, `timestamp` (epoch seconds, or a date and time), `tx_hash`, `from_address`,
/// `to_address`, `contract` (null for the native coin), `amount_raw` (integers, decimals or text; never floats), and
/// optionally `kind` (`native`, `internal`, `token`), `log_index`, `tx_index`, `status` (`success` or `failed`),
/// `symbol`, `decimals`.
///
/// The first native row of a transaction is its own value, further ones are internal movements, unless `kind` states it.
/// Token rows without a log index stay separate however equal they are. The frame vouches for the tokens it names.
///
/// # Errors
/// When a column is missing or of a type that does not keep amounts, or a value is not what it should be.
pub fn transfers_batch(frame: &[RecordBatch]) -> Result<Transfers, IngestError> {
    let mut reading = Reading::default();
    for batch in frame {
        if let Some(field) = batch.schema().field_with_name("amount_raw").ok().filter(|f| f.data_type().is_floating()) {
            let kind: &DataType = field.data_type();
            let expected = "integers, decimals or text: floats do not keep all digits of an amount";
            return Err(row_error(
                "transfers",
                Place::Row(1),
                FieldError::new("amount_raw", Some(&kind.to_string()), expected),
            ));
        }
    }
    each_row("transfers", frame, &["blockchain", "block_number", "timestamp", "tx_hash", "amount_raw"], |row| {
        reading.row(row)
    })?;
    Ok(Transfers { batches: reading.batches.into_values().collect(), tokens: reading.tokens.into_values().collect() })
}

/// Reads a frame of tokens: `blockchain` (or `chainId`), `contract` (or `address`), `symbol`, `decimals`, and
/// optionally `name`, `verified` (true unless said otherwise), `coingecko_id`.
///
/// # Errors
/// When a column is missing or a value is not what it should be.
pub fn tokens(frame: &[RecordBatch]) -> Result<Vec<TokenListing>, IngestError> {
    let mut listings = Vec::new();
    each_row("tokens", frame, &["symbol", "decimals"], |row| {
        listings.push(listing_of(row, None, Chain::ETHEREUM)?);
        Ok(())
    })?;
    Ok(listings)
}

/// Reads a frame of prices: `symbol`, `ts` (or `timestamp`) in epoch seconds, `price_usd`. Rows without a price are
/// left out.
///
/// # Errors
/// When a column is missing or a value is not what it should be.
pub fn prices(frame: &[RecordBatch]) -> Result<Vec<PricePoint>, IngestError> {
    let mut points = Vec::new();
    each_row("prices", frame, &["symbol", "price_usd"], |row| {
        points.extend(price_of(row)?);
        Ok(())
    })?;
    Ok(points)
}

fn row_error(name: &str, place: Place, field: FieldError) -> IngestError {
    IngestError::Row(Box::new(RowError { file: PathBuf::from(name), place, field }))
}

fn each_row(
    name: &str,
    frame: &[RecordBatch],
    needed: &[&'static str],
    mut handle: impl FnMut(&Row<'_>) -> Result<(), FieldError>,
) -> Result<(), IngestError> {
    let mut number = 0;
    for batch in frame {
        for column in needed {
            if batch.schema().field_with_name(column).is_err() {
                let field = FieldError::new(column, None, "a column of this name");
                return Err(row_error(name, Place::Row(0), field));
            }
        }
        let (header, columns) = text_columns(batch).map_err(|field| row_error(name, Place::Row(number + 1), field))?;
        for row in 0..batch.num_rows() {
            number += 1;
            handle(&Row::frame(&columns, &header, row, number))
                .map_err(|field| row_error(name, Place::Row(number), field))?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reading {
    batches: BTreeMap<Chain, Batch>,
    places: HashMap<(Chain, TxHash), usize>,
    tokens: BTreeMap<(Chain, Address), TokenListing>,
}

impl Reading {
    fn row(&mut self, row: &Row<'_>) -> Result<(), FieldError> {
        let needed = |column| FieldError::new(column, None, "a value");
        let name = row.need("blockchain", "the name of a chain")?;
        let chain: Chain =
            name.parse().map_err(|error| FieldError::new("blockchain", Some(&name), format!("{error}")))?;
        if chain.family() == Family::Utxo {
            let expected = "an account chain: transfers tell no inputs and outputs";
            return Err(FieldError::new("blockchain", Some(&name), expected));
        }
        let hash = row.transaction("tx_hash", chain)?.ok_or_else(|| needed("tx_hash"))?;
        let block = row.u64("block_number")?.ok_or_else(|| needed("block_number"))?;
        let mut head = TransactionFacts::new(hash, block);
        head.time = Some(row.time("timestamp")?.ok_or_else(|| needed("timestamp"))?);
        head.index = row.u32("tx_index")?;
        head.status = status(row)?;

        let from = row.address("from_address", chain)?;
        let to = row.address("to_address", chain)?;
        let amount = row.amount("amount_raw")?.ok_or_else(|| needed("amount_raw"))?;
        let contract = row.address("contract", chain)?;
        if let Some(contract) = contract {
            self.token(row, chain, contract)?;
        }

        let log_index = row.u64("log_index")?;
        let kind = row.text("kind")?;
        let facts = self.transaction(chain, &head);
        let kind = match (kind.as_deref(), contract) {
            (None | Some("token"), Some(_)) => Some(MovementFact::Token),
            (Some("internal"), None) => Some(MovementFact::Internal),
            (Some("native"), None) => None,
            (None, None) => facts.body.is_some().then_some(MovementFact::Internal),
            (Some(other), _) => {
                let expected = "token with a contract, native or internal without one";
                return Err(FieldError::new("kind", Some(other), expected));
            }
        };
        let Some(kind) = kind else {
            let body = Body { from, to, value: amount };
            if facts.body.is_some_and(|held| held != body) {
                let expected = "at most one row of a transaction that is its own value";
                return Err(FieldError::new("kind", Some("native"), expected));
            }
            facts.body = Some(body);
            return Ok(());
        };
        facts.movements.push(Movement {
            kind,
            ordinal: log_index.map_or(Ordinal::Unindexed(0), Ordinal::Indexed),
            from,
            to,
            asset: contract.map_or(Asset::Native, Asset::Token),
            amount,
        });
        Ok(())
    }

    fn transaction(&mut self, chain: Chain, head: &TransactionFacts) -> &mut TransactionFacts {
        let batch = self.batches.entry(chain).or_insert_with(|| Batch::new(chain));
        let place = *self.places.entry((chain, head.hash)).or_insert_with(|| {
            batch.transactions.push(TransactionFacts::new(head.hash, head.block));
            batch.transactions.len() - 1
        });
        let facts = &mut batch.transactions[place];
        facts.time = facts.time.or(head.time);
        facts.index = facts.index.or(head.index);
        facts.status = facts.status.or(head.status);
        facts
    }

    fn token(&mut self, row: &Row<'_>, chain: Chain, contract: Address) -> Result<(), FieldError> {
        if let (Some(symbol), Some(decimals)) = (row.text("symbol")?, row.text("decimals")?) {
            let number =
                decimals.parse().map_err(|_| FieldError::new("decimals", Some(&decimals), "a number from 0 to 255"))?;
            self.tokens.entry((chain, contract)).or_insert_with(|| TokenListing {
                chain,
                contract,
                symbol: symbol.to_string(),
                name: symbol.to_string(),
                decimals: number,
                verified: true,
                coingecko_id: None,
            });
        }
        Ok(())
    }
}

fn status(row: &Row<'_>) -> Result<Option<Status>, FieldError> {
    match row.text("status")?.as_deref() {
        None | Some("unknown") => Ok(None),
        Some("success" | "true" | "1") => Ok(Some(Status::Success)),
        Some("failed" | "false" | "0") => Ok(Some(Status::Failed)),
        Some(other) => Err(FieldError::new("status", Some(other), "success or failed")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray, TimestampMillisecondArray, UInt8Array,
    };
    use headwater_types::Amount;

    use super::*;

    const A: &str = "0x00000000000000000000000000000000000000aa";
    const B: &str = "0x00000000000000000000000000000000000000bb";
    const T: &str = "0x00000000000000000000000000000000000000cc";

    fn frame(amounts: ArrayRef, times: ArrayRef) -> RecordBatch {
        let text = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        let hash = "0xabababababababababababababababababababababababababababababababab";
        RecordBatch::try_from_iter_with_nullable([
            ("blockchain", text(vec![Some("ethereum"); 4]), true),
            ("block_number", Arc::new(Int64Array::from(vec![5; 4])) as ArrayRef, true),
            ("timestamp", times, true),
            ("tx_hash", text(vec![Some(hash); 4]), true),
            ("from_address", text(vec![Some(A); 4]), true),
            ("to_address", text(vec![Some(B); 4]), true),
            ("contract", text(vec![None, None, Some(T), Some(T)]), true),
            ("amount_raw", amounts, true),
            ("log_index", Arc::new(Int64Array::from(vec![None, None, Some(3), None])) as ArrayRef, true),
            ("symbol", text(vec![Some("ETH"), Some("ETH"), Some("TOK"), Some("TOK")]), true),
            ("decimals", Arc::new(UInt8Array::from(vec![18, 18, 6, 6])) as ArrayRef, true),
            ("status", text(vec![Some("success"); 4]), true),
        ])
        .unwrap()
    }

    fn secs() -> ArrayRef {
        Arc::new(Int64Array::from(vec![77; 4]))
    }

    #[test]
    fn rows_of_one_transaction_become_its_value_and_its_movements() {
        let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        let amounts: ArrayRef = Arc::new(StringArray::from(vec!["1", "2", max, "4"]));
        let transfers = transfers_batch(&[frame(amounts, secs())]).unwrap();
        let [facts] = &transfers.batches[0].transactions[..] else { panic!("one transaction") };
        assert_eq!((facts.body.unwrap().value, facts.time.unwrap().secs()), (Amount::from(1), 77));
        assert_eq!(facts.status, Some(Status::Success));
        let rows: Vec<_> = facts.movements.iter().map(|row| (row.kind, row.ordinal, row.amount)).collect();
        assert_eq!(
            rows,
            [
                (MovementFact::Internal, Ordinal::Unindexed(0), Amount::from(2)),
                (MovementFact::Token, Ordinal::Indexed(3), Amount::MAX),
                (MovementFact::Token, Ordinal::Unindexed(0), Amount::from(4)),
            ]
        );
        let [token] = &transfers.tokens[..] else { panic!("one token") };
        assert_eq!((token.symbol.as_str(), token.decimals, token.verified), ("TOK", 6, true));
    }

    #[test]
    fn frames_accept_decimals_and_dates_but_no_float_amounts() {
        let decimals = Decimal128Array::from(vec![100_i128, 200, 300, 400]).with_precision_and_scale(30, 2).unwrap();
        let millis: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![77_999; 4]));
        let transfers = transfers_batch(&[frame(Arc::new(decimals), millis)]).unwrap();
        let facts = &transfers.batches[0].transactions[0];
        assert_eq!((facts.body.unwrap().value, facts.time.unwrap().secs()), (Amount::from(1), 77));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 4]));
        let error = transfers_batch(&[frame(floats, secs())]).unwrap_err().to_string();
        assert!(error.contains("amount_raw") && error.contains("floats do not keep"), "{error}");
        let negative: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, -4]));
        let error = transfers_batch(&[frame(negative, secs())]).unwrap_err().to_string();
        assert!(error.contains("row 4") && error.contains("\"-4\""), "{error}");
    }

    #[test]
    fn a_missing_column_is_named() {
        let whole = frame(Arc::new(Int64Array::from(vec![1; 4])), secs());
        let place = whole.schema().index_of("tx_hash").unwrap();
        let mut less = whole.clone();
        less.remove_column(place);
        assert!(transfers_batch(&[less]).unwrap_err().to_string().contains("tx_hash"));
        assert!(tokens(&[whole.project(&[0]).unwrap()]).is_err());
    }

    #[test]
    fn frames_of_tokens_and_prices_are_read() {
        let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
        let token = RecordBatch::try_from_iter([
            ("blockchain", text("bsc")),
            ("contract", text(T)),
            ("symbol", text("TOK")),
            ("decimals", Arc::new(Int64Array::from(vec![6])) as ArrayRef),
        ]);
        let listing = &tokens(&[token.unwrap()]).unwrap()[0];
        assert_eq!((listing.chain, listing.decimals, listing.verified), (Chain::BSC, 6, true));
        let price = RecordBatch::try_from_iter([
            ("symbol", text("ETH")),
            ("ts", Arc::new(Int64Array::from(vec![5])) as ArrayRef),
            ("price_usd", Arc::new(Float64Array::from(vec![0.1])) as ArrayRef),
        ]);
        let point = &prices(&[price.unwrap()]).unwrap()[0];
        assert_eq!((point.symbol.as_str(), point.time.secs()), ("eth", 5));
        assert!((point.usd - 0.1).abs() < f64::EPSILON);
    }
}

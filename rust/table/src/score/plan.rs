//! The parts of a job as columns, for engines that distribute them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use headwater_engine::score::{Addresses, PartAddresses, PlannedPart, ScoreError, ScorePlan, Scorer};

/// Returns a table with a row for each part of a plan: `part`, `first` and `last` address, the numbers of `addresses` and
/// `movements`, the `checksum` of number and addresses, and `texts`, the addresses as a list has them. Parts of a whole
/// chain have no texts, those of a list no first and last address.
///
/// # Errors
/// When the list cannot be read.
pub fn plan_table(scorer: &Scorer, addresses: Addresses<'_>, plan: &ScorePlan) -> Result<RecordBatch, ScoreError> {
    let mut texts = ListBuilder::new(StringBuilder::new());
    match addresses {
        Addresses::All => {
            for _ in &plan.parts {
                texts.append_null();
            }
        }
        Addresses::List(_) => {
            for part in plan.read(scorer, addresses, |_| true)? {
                let (_, PartAddresses::Texts(of_part)) = part? else { continue };
                texts.append_value(of_part);
            }
        }
    }
    let number = |of: fn(&PlannedPart) -> u64| -> ArrayRef {
        let numbers = plan.parts.iter().map(|part| i64::try_from(of(part)).unwrap_or(i64::MAX));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let bounds: Vec<_> = plan
        .parts
        .iter()
        .map(|part| part.range.map(|(first, last)| [first, last].map(|one| one.to_string())))
        .collect();
    let bound = |place: usize| -> ArrayRef {
        Arc::new(bounds.iter().map(|range| range.as_ref().map(|range| range[place].as_str())).collect::<StringArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        number(|part| part.number as u64),
        bound(0),
        bound(1),
        number(|part| part.addresses),
        number(|part| part.movements),
        Arc::new(plan.parts.iter().map(|part| Some(format!("{:016x}", part.checksum))).collect::<StringArray>()),
        Arc::new(texts.finish()),
    ];
    let schema = Schema::new(vec![
        Field::new("part", DataType::Int64, false),
        Field::new("first", DataType::Utf8, true),
        Field::new("last", DataType::Utf8, true),
        Field::new("addresses", DataType::Int64, false),
        Field::new("movements", DataType::Int64, false),
        Field::new("checksum", DataType::Utf8, false),
        Field::new_list("texts", Field::new_list_field(DataType::Utf8, true), true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| ScoreError::Columns(Box::new(error)))
}

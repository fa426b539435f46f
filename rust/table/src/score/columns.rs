//! Scores of addresses as columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Float64Builder, ListBuilder, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use headwater_engine::score::{RiskScore, ScoreRow, Scorer};

/// Returns the columns of a table of scores.
#[must_use]
pub fn score_schema(scorer: &Scorer) -> SchemaRef {
    let mut fields = vec![Field::new("address", DataType::Utf8, true)];
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let list = |name: &str| Field::new_list(name, Field::new_list_field(DataType::Utf8, true), true);
    if scorer.columns().risk {
        fields.extend([
            text("assessment"),
            list("assessment_reasons"),
            number("risk_score"),
            text("risk_level"),
            text("gate_reason"),
            text("context"),
            number("intel_score"),
            number("behavior_score"),
            number("graph_score"),
            list("behaviors"),
            list("disputed_labels"),
        ]);
    }
    if scorer.columns().class {
        fields.extend([text("predicted_class"), number("confidence")]);
        fields.extend(scorer.classes().iter().map(|class| number(&format!("p_{}", class.to_lowercase()))));
    }
    fields.extend(scorer.features().iter().map(|feature| number(feature.name)));
    fields.push(text("error"));
    Arc::new(Schema::new(fields))
}

/// Encodes scores as columns of [`score_schema`].
pub(super) fn score_batch(scorer: &Scorer, schema: &SchemaRef, rows: &[ScoreRow]) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(rows.iter().map(|row| row.address.as_deref()).collect::<StringArray>())];
    if scorer.columns().risk {
        let number = |of: fn(&RiskScore) -> Option<f64>| -> ArrayRef {
            Arc::new(rows.iter().map(|row| row.risk.as_ref().and_then(of)).collect::<Float64Array>())
        };
        let text = |of: fn(&RiskScore) -> Option<&'static str>| -> ArrayRef {
            Arc::new(rows.iter().map(|row| row.risk.as_ref().and_then(of)).collect::<StringArray>())
        };
        let codes = |of: fn(&RiskScore) -> &[&'static str]| -> ArrayRef {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for row in rows {
                match &row.risk {
                    Some(risk) => lists.append_value(of(risk).iter().map(Some)),
                    None => lists.append_null(),
                }
            }
            Arc::new(lists.finish())
        };
        columns.extend([
            text(|risk| Some(risk.assessment)),
            codes(|risk| &risk.assessment_reasons),
            number(|risk| Some(risk.score)),
            text(|risk| Some(risk.level)),
            text(|risk| risk.gate),
            text(|risk| risk.context),
            number(|risk| Some(risk.intel)),
            number(|risk| risk.behaviour),
            number(|risk| risk.graph),
            codes(|risk| &risk.behaviours),
            codes(|risk| &risk.disputed),
        ]);
    }
    if scorer.columns().class {
        let class = |row: &ScoreRow| row.class.as_ref().map(|class| class.class.clone());
        let confidence = |row: &ScoreRow| row.class.as_ref().map(|class| class.confidence);
        columns.push(Arc::new(rows.iter().map(class).collect::<StringArray>()));
        columns.push(Arc::new(rows.iter().map(confidence).collect::<Float64Array>()));
        columns.extend(numbers(rows, scorer.classes().len(), |row| {
            row.class.as_ref().map(|class| class.probabilities.as_slice())
        }));
    }
    columns.extend(numbers(rows, scorer.features().len(), |row| row.features.as_deref()));
    columns.push(Arc::new(rows.iter().map(|row| row.error.as_deref()).collect::<StringArray>()));
    RecordBatch::try_new(SchemaRef::clone(schema), columns)
}

/// Returns the columns of numbers that rows have as lists; NaN is null.
fn numbers(rows: &[ScoreRow], count: usize, of: impl Fn(&ScoreRow) -> Option<&[f64]>) -> Vec<ArrayRef> {
    let mut builders: Vec<_> = (0..count).map(|_| Float64Builder::with_capacity(rows.len())).collect();
    for row in rows {
        let values = of(row);
        for (place, builder) in builders.iter_mut().enumerate() {
            builder.append_option(values.map(|values| values[place]).filter(|value| !value.is_nan()));
        }
    }
    builders.into_iter().map(|mut builder| Arc::new(builder.finish()) as ArrayRef).collect()
}

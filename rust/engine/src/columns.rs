//! Columns of tables, derived from the schemas of row types.

use std::collections::BTreeMap;

use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayItems, Schema, SchemaType, Type};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, that of the field.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnKind,
}

/// The type of a column; every column is nullable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Exact decimal text in whole units.
    Amount,
    /// Exact integers as text in the smallest unit, up to 78 digits.
    RawAmount,
    /// Integers of 64 bits.
    Integer,
    /// Epoch seconds.
    Time,
    /// Doubles.
    Float,
    /// True or false.
    Boolean,
    /// Lists of text.
    Texts,
    /// A record of these fields.
    Record(Vec<Column>),
    /// Lists of such records.
    Records(Vec<Column>),
    /// Any JSON value, such as a map.
    Json,
}

/// The columns of a list whose rows are such records: their fields, in their order.
#[must_use]
pub fn columns<R: ToSchema>() -> Vec<Column> {
    Schemas::below::<R>().columns(&R::schema())
}

/// The columns of a report as a table: those of the records in its list `rows`, or its own fields with the report as
/// the only row. How a query went (`meta`) is not a column.
pub(crate) fn columns_of_report<R: ToSchema>(rows: Option<&str>) -> Vec<Column> {
    let mut fields = columns::<R>();
    let Some(rows) = rows else {
        fields.retain(|field| field.name != "meta");
        return fields;
    };
    match fields.into_iter().find(|field| field.name == rows).map(|field| field.kind) {
        Some(ColumnKind::Records(columns)) => columns,
        other => unreachable!("{rows} of {} is {other:?}, not a list of records", R::name()),
    }
}

/// What the values of a form are, by its type.
fn kind_of_form(name: &str) -> Option<ColumnKind> {
    Some(match name {
        "ChainName" | "ChainText" => ColumnKind::Text,
        "Time" => ColumnKind::Time,
        "DecimalText" | "SignedDecimalText" | "OutputAmount" => ColumnKind::Amount,
        "RawAmountText" => ColumnKind::RawAmount,
        _ => return None,
    })
}

/// The named schemas that a schema refers to.
struct Schemas(BTreeMap<String, RefOr<Schema>>);

impl Schemas {
    fn below<R: ToSchema>() -> Self {
        let mut schemas = Vec::new();
        R::schemas(&mut schemas);
        Self(schemas.into_iter().collect())
    }

    fn resolved<'a>(&'a self, schema: &'a RefOr<Schema>) -> Option<&'a Schema> {
        match schema {
            RefOr::T(schema) => Some(schema),
            RefOr::Ref(reference) => {
                let (_, name) = reference.ref_location.rsplit_once('/')?;
                self.resolved(self.0.get(name)?)
            }
        }
    }

    fn columns(&self, record: &RefOr<Schema>) -> Vec<Column> {
        match self.resolved(record) {
            Some(Schema::Object(object)) => object
                .properties
                .iter()
                .map(|(name, schema)| Column { name: name.clone(), kind: self.kind(schema) })
                .collect(),
            Some(Schema::AllOf(parts)) => parts.items.iter().flat_map(|part| self.columns(part)).collect(),
            // Of a report in several forms those of the first, which is the usual one.
            Some(Schema::OneOf(forms)) => forms.items.first().map(|form| self.columns(form)).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn kind(&self, field: &RefOr<Schema>) -> ColumnKind {
        if let RefOr::Ref(reference) = field
            && let Some(kind) = reference.ref_location.rsplit('/').next().and_then(kind_of_form)
        {
            return kind;
        }
        match self.resolved(field) {
            Some(Schema::Object(object)) if !object.properties.is_empty() => ColumnKind::Record(self.columns(field)),
            Some(Schema::Object(object)) => kind_of_type(&object.schema_type).unwrap_or(ColumnKind::Json),
            Some(Schema::AllOf(_)) => ColumnKind::Record(self.columns(field)),
            Some(Schema::Array(array)) => match &array.items {
                ArrayItems::RefOrSchema(items) => match self.kind(items) {
                    ColumnKind::Record(columns) => ColumnKind::Records(columns),
                    ColumnKind::Text => ColumnKind::Texts,
                    ColumnKind::Amount
                    | ColumnKind::RawAmount
                    | ColumnKind::Integer
                    | ColumnKind::Time
                    | ColumnKind::Float
                    | ColumnKind::Boolean
                    | ColumnKind::Texts
                    | ColumnKind::Records(_)
                    | ColumnKind::Json => ColumnKind::Json,
                },
                ArrayItems::False => ColumnKind::Json,
            },
            // A record that may be null is one of null and the record.
            Some(Schema::OneOf(one_of)) => {
                let mut kinds = one_of.items.iter().map(|item| self.kind(item));
                kinds.find(|kind| *kind != ColumnKind::Json).unwrap_or(ColumnKind::Json)
            }
            _ => ColumnKind::Json,
        }
    }
}

fn kind_of_type(of: &SchemaType) -> Option<ColumnKind> {
    let kind = |of: &Type| match of {
        Type::String => Some(ColumnKind::Text),
        Type::Integer => Some(ColumnKind::Integer),
        Type::Number => Some(ColumnKind::Float),
        Type::Boolean => Some(ColumnKind::Boolean),
        Type::Object | Type::Array | Type::Null => None,
    };
    match of {
        SchemaType::Type(of) => kind(of),
        SchemaType::Array(several) => several.iter().find_map(kind),
        SchemaType::AnyValue => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransferRow;
    use crate::endpoints::{
        chains::ChainsReport, resolve::ResolveReport, token_concentration::TokenConcentrationReport,
    };

    fn kind<'a>(columns: &'a [Column], name: &str) -> Option<&'a ColumnKind> {
        columns.iter().find(|column| column.name == name).map(|column| &column.kind)
    }

    #[test]
    fn columns_are_the_fields_of_a_row_in_their_order() {
        let columns = columns::<TransferRow>();
        assert_eq!(columns[0], Column { name: "id".to_owned(), kind: ColumnKind::Text });
        for (name, expected) in [
            ("timestamp", ColumnKind::Time),
            ("log_index", ColumnKind::Integer),
            ("amount", ColumnKind::Amount),
            ("amount_raw", ColumnKind::RawAmount),
            ("amount_usd", ColumnKind::Float),
            ("verified", ColumnKind::Boolean),
            ("flags", ColumnKind::Texts),
            ("counterparties", ColumnKind::Texts),
        ] {
            assert_eq!(kind(&columns, name), Some(&expected), "{name}");
        }
    }

    #[test]
    fn records_in_a_row_have_their_own_columns() {
        let chains = columns_of_report::<ChainsReport>(Some("chains"));
        assert_eq!(kind(&chains, "endpoints"), Some(&ColumnKind::Json));
        let Some(ColumnKind::Records(tokens)) = kind(&chains, "tokens") else { panic!("{chains:?}") };
        assert_eq!(kind(tokens, "decimals"), Some(&ColumnKind::Integer));
        let resolved = columns_of_report::<ResolveReport>(Some("assets"));
        assert_eq!(resolved.last().map(|column| column.name.as_str()), Some("matched_by"));
        assert_eq!(resolved[..tokens.len()], tokens[..]);
        let concentration = columns_of_report::<TokenConcentrationReport>(None);
        assert!(matches!(kind(&concentration, "concentration"), Some(ColumnKind::Record(_))));
        assert_eq!(kind(&concentration, "meta"), None);
    }
}

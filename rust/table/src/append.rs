//! The way of a value into its column, as serde hands it over.

use arrow::array::StringBuilder;
use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::Value;
use serde_json::value::Serializer as JsonSerializer;

use crate::builder::{ColumnBuilder, ListBuilder, Misfit, RecordBuilder, without_zeros};

impl ColumnBuilder {
    fn integer(&mut self, number: i64) -> Result<(), Misfit> {
        match self {
            Self::Integer(integers) => integers.append_value(number),
            Self::Time(times) => Self::append_secs(times, number),
            #[expect(clippy::cast_precision_loss, reason = "a column of doubles has the nearest one")]
            Self::Float(floats) => floats.append_value(number as f64),
            Self::Text(texts) => texts.append_value(number.to_string()),
            Self::Boolean(_) | Self::List(_) | Self::Record(_) => return Err(self.misfit("an integer")),
        }
        Ok(())
    }

    fn misfit(&self, given: &str) -> Misfit {
        let kind = match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "integers",
            Self::Time(_) => "times",
            Self::Float(_) => "numbers",
            Self::Boolean(_) => "booleans",
            Self::List(_) => "lists",
            Self::Record(_) => "records",
        };
        Misfit::new(format!("{given} in a column of {kind}"))
    }

    fn map(&mut self) -> Result<FieldAppender<'_>, Misfit> {
        match self {
            Self::Record(record) => Ok(FieldAppender::Record { record, expected: 0, key: String::new() }),
            Self::Text(texts) => Ok(FieldAppender::Json(texts, JsonSerializer.serialize_map(None)?)),
            _ => Err(self.misfit("a record")),
        }
    }

    fn seq(&mut self) -> Result<ItemAppender<'_>, Misfit> {
        match self {
            Self::List(list) => Ok(ItemAppender::List(list)),
            Self::Text(texts) => Ok(ItemAppender::Json(texts, JsonSerializer.serialize_seq(None)?)),
            _ => Err(self.misfit("a list")),
        }
    }
}

/// Appends the JSON of a value as text.
fn append_json(texts: &mut StringBuilder, mut value: Value) {
    without_zeros(&mut value);
    texts.append_value(value.to_string());
}

macro_rules! integers {
    ($($method:ident $kind:ty),*) => {$(
        fn $method(self, number: $kind) -> Result<(), Misfit> {
            let number = i64::try_from(number).map_err(|_| Misfit::new(format!("{number} has more than 64 bits")))?;
            self.integer(number)
        }
    )*};
}

impl<'a> Serializer for &'a mut ColumnBuilder {
    type Ok = ();
    type Error = Misfit;
    type SerializeSeq = ItemAppender<'a>;
    type SerializeTuple = ItemAppender<'a>;
    type SerializeTupleStruct = ItemAppender<'a>;
    type SerializeTupleVariant = ser::Impossible<(), Misfit>;
    type SerializeMap = FieldAppender<'a>;
    type SerializeStruct = FieldAppender<'a>;
    type SerializeStructVariant = ser::Impossible<(), Misfit>;

    integers!(
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_i128 i128, serialize_u8 u8,
        serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_u128 u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), Misfit> {
        match self {
            ColumnBuilder::Boolean(booleans) => booleans.append_value(value),
            ColumnBuilder::Text(texts) => texts.append_value(if value { "true" } else { "false" }),
            _ => return Err(self.misfit("a boolean")),
        }
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Misfit> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Misfit> {
        match self {
            ColumnBuilder::Float(floats) => floats.append_value(number),
            ColumnBuilder::Text(texts) => append_json(texts, number.into()),
            _ => return Err(self.misfit("a number")),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Misfit> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Misfit> {
        match self {
            ColumnBuilder::Text(texts) => texts.append_value(text),
            _ => return Err(self.misfit("text")),
        }
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Misfit> {
        Err(self.misfit("bytes"))
    }

    fn serialize_none(self) -> Result<(), Misfit> {
        self.append_null();
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Misfit> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Misfit> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Misfit> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Misfit> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Misfit> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Result<(), Misfit> {
        Err(self.misfit(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ItemAppender<'a>, Misfit> {
        self.seq()
    }

    fn serialize_tuple(self, _: usize) -> Result<ItemAppender<'a>, Misfit> {
        self.seq()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ItemAppender<'a>, Misfit> {
        self.seq()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Misfit> {
        Err(self.misfit(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<FieldAppender<'a>, Misfit> {
        self.map()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<FieldAppender<'a>, Misfit> {
        self.map()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Misfit> {
        Err(self.misfit(variant))
    }
}

/// Takes the items of a list.
pub(crate) enum ItemAppender<'a> {
    List(&'a mut ListBuilder),
    Json(&'a mut StringBuilder, <JsonSerializer as Serializer>::SerializeSeq),
}

impl ser::SerializeSeq for ItemAppender<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Misfit> {
        match self {
            Self::List(list) => item.serialize(&mut list.items),
            Self::Json(_, items) => Ok(items.serialize_element(item)?),
        }
    }

    fn end(self) -> Result<(), Misfit> {
        match self {
            Self::List(list) => list.close()?,
            Self::Json(texts, items) => append_json(texts, items.end()?),
        }
        Ok(())
    }
}

impl ser::SerializeTuple for ItemAppender<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Misfit> {
        ser::SerializeSeq::serialize_element(self, item)
    }

    fn end(self) -> Result<(), Misfit> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeTupleStruct for ItemAppender<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Misfit> {
        ser::SerializeSeq::serialize_element(self, item)
    }

    fn end(self) -> Result<(), Misfit> {
        ser::SerializeSeq::end(self)
    }
}

/// Takes the fields of a record.
pub(crate) enum FieldAppender<'a> {
    Record {
        record: &'a mut RecordBuilder,
        /// The column of the next field, where fields come in their order.
        expected: usize,
        /// The name of the next field of a map.
        key: String,
    },
    Json(&'a mut StringBuilder, <JsonSerializer as Serializer>::SerializeMap),
}

impl FieldAppender<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Misfit> {
        match self {
            Self::Record { record, expected, .. } => {
                if let Some(place) = record.position(name, *expected) {
                    *expected = place + 1;
                    value.serialize(&mut record.columns[place])?;
                }
                Ok(())
            }
            Self::Json(_, fields) => Ok(ser::SerializeMap::serialize_entry(fields, name, value)?),
        }
    }

    fn close(self) -> Result<(), Misfit> {
        match self {
            Self::Record { record, .. } => record.close(),
            Self::Json(texts, fields) => append_json(texts, ser::SerializeMap::end(fields)?),
        }
        Ok(())
    }
}

impl ser::SerializeStruct for FieldAppender<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Misfit> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Misfit> {
        self.close()
    }
}

impl ser::SerializeMap for FieldAppender<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Misfit> {
        match self {
            Self::Record { key, .. } => {
                let name = serde_json::to_value(name)?;
                name.as_str().unwrap_or_default().clone_into(key);
            }
            Self::Json(_, fields) => ser::SerializeMap::serialize_key(fields, name)?,
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        match self {
            Self::Record { key, .. } => {
                let name = std::mem::take(key);
                self.field(&name, value)
            }
            Self::Json(_, fields) => Ok(ser::SerializeMap::serialize_value(fields, value)?),
        }
    }

    fn end(self) -> Result<(), Misfit> {
        self.close()
    }
}

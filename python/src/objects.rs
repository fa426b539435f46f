//! Values of the engine as Python objects, and Python objects as values: what JSON can write, without its text.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::{Map, Number, Value};

/// The maximum depth of a value, as JSON text may have it.
const MAX_DEPTH: usize = 127;

/// Returns the Python form of a value: records and maps are dicts, lists of every kind are lists.
pub fn object_of<'py>(py: Python<'py>, value: &(impl Serialize + ?Sized)) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Objects::new(py)).map_err(|Unwritable(error)| error)
}

/// Returns the Python form of a record without one of its fields.
pub fn object_without<'py>(
    py: Python<'py>,
    value: &(impl Serialize + ?Sized),
    field: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Objects { py, without: Some(field) }).map_err(|Unwritable(error)| error)
}

/// Returns the value of a Python object that consists of dicts, lists, text, numbers, booleans and `None`.
pub fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, MAX_DEPTH)
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(boolean) = object.cast::<PyBool>() {
        return Ok(Value::Bool(boolean.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return number(object);
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Number::from_f64(float.value()).map_or(Value::Null, Value::Number));
    }
    let deeper = depth.checked_sub(1).ok_or_else(|| PyValueError::new_err("recursion limit exceeded"))?;
    if let Ok(fields) = object.cast::<PyDict>() {
        let mut map = Map::with_capacity(fields.len());
        for (name, value) in fields {
            map.insert(name.cast::<PyString>()?.to_cow()?.into_owned(), nested(&value, deeper)?);
        }
        return Ok(Value::Object(map));
    }
    if let Ok(items) = object.cast::<PyList>() {
        return items.iter().map(|item| nested(&item, deeper)).collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return items.iter().map(|item| nested(&item, deeper)).collect::<PyResult<_>>().map(Value::Array);
    }
    let kind = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("{kind} is not a type of JSON")))
}

/// Returns an integer; one past 64 bits is the nearest double, as in JSON text.
fn number(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(integer) = object.extract::<i64>() {
        return Ok(integer.into());
    }
    if let Ok(integer) = object.extract::<u64>() {
        return Ok(integer.into());
    }
    Ok(Number::from_f64(object.extract()?).map_or(Value::Null, Value::Number))
}

/// The error of a value that has no Python form.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Unwritable(#[from] PyErr);

impl ser::Error for Unwritable {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(PyValueError::new_err(message.to_string()))
    }
}

/// Makes Python objects.
#[derive(Clone, Copy)]
struct Objects<'py> {
    py: Python<'py>,
    /// The field that a record leaves out.
    without: Option<&'static str>,
}

type Made<'py> = Result<Bound<'py, PyAny>, Unwritable>;

impl<'py> Objects<'py> {
    const fn new(py: Python<'py>) -> Self {
        Self { py, without: None }
    }

    fn object<T: IntoPyObjectExt<'py>>(self, value: T) -> Made<'py> {
        value.into_bound_py_any(self.py).map_err(Unwritable)
    }

    fn variant(self, name: &str, value: Bound<'py, PyAny>) -> Made<'py> {
        let fields = PyDict::new(self.py);
        fields.set_item(name, value)?;
        Ok(fields.into_any())
    }
}

macro_rules! numbers {
    ($($method:ident $kind:ty),*) => {$(
        fn $method(self, number: $kind) -> Made<'py> {
            self.object(number)
        }
    )*};
}

impl<'py> Serializer for Objects<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;
    type SerializeSeq = Items<'py>;
    type SerializeTuple = Items<'py>;
    type SerializeTupleStruct = Items<'py>;
    type SerializeTupleVariant = ser::Impossible<Bound<'py, PyAny>, Unwritable>;
    type SerializeMap = Entries<'py>;
    type SerializeStruct = Entries<'py>;
    type SerializeStructVariant = ser::Impossible<Bound<'py, PyAny>, Unwritable>;

    numbers!(
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_u8 u8,
        serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_char char, serialize_str &str
    );

    fn serialize_f32(self, number: f32) -> Made<'py> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Made<'py> {
        if number.is_finite() { self.object(number) } else { self.serialize_none() }
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Made<'py> {
        Ok(PyList::new(self.py, bytes)?.into_any())
    }

    fn serialize_none(self) -> Made<'py> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'py> {
        Ok(PyString::intern(self.py, variant).into_any())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made<'py> {
        self.variant(variant, value.serialize(self)?)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items<'py>, Unwritable> {
        Ok(Items { py: self.py, items: Vec::with_capacity(length.unwrap_or(0)) })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'py>, Unwritable> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items<'py>, Unwritable> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        Err(ser::Error::custom(format!("{variant} has no fixed fields")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'py>, Unwritable> {
        Ok(Entries { fields: PyDict::new(self.py), key: self.serialize_none()?, without: self.without })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Entries<'py>, Unwritable> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        Err(ser::Error::custom(format!("{variant} has no fixed fields")))
    }
}

/// The items of a list.
struct Items<'py> {
    py: Python<'py>,
    items: Vec<Bound<'py, PyAny>>,
}

impl<'py> Items<'py> {
    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unwritable> {
        self.items.push(item.serialize(Objects::new(self.py))?);
        Ok(())
    }

    fn list(self) -> Made<'py> {
        Ok(PyList::new(self.py, self.items)?.into_any())
    }
}

impl<'py> ser::SerializeSeq for Items<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unwritable> {
        self.push(item)
    }

    fn end(self) -> Made<'py> {
        self.list()
    }
}

impl<'py> ser::SerializeTuple for Items<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unwritable> {
        self.push(item)
    }

    fn end(self) -> Made<'py> {
        self.list()
    }
}

impl<'py> ser::SerializeTupleStruct for Items<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unwritable> {
        self.push(item)
    }

    fn end(self) -> Made<'py> {
        self.list()
    }
}

/// The fields of a record, or the entries of a map.
struct Entries<'py> {
    fields: Bound<'py, PyDict>,
    /// The key of the next entry of a map.
    key: Bound<'py, PyAny>,
    /// The field of a record that is left out.
    without: Option<&'static str>,
}

impl<'py> ser::SerializeMap for Entries<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unwritable> {
        let key = key.serialize(Objects::new(self.fields.py()))?;
        self.key = key.str()?.into_any();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unwritable> {
        Ok(self.fields.set_item(&self.key, value.serialize(Objects::new(self.fields.py()))?)?)
    }

    fn end(self) -> Made<'py> {
        Ok(self.fields.into_any())
    }
}

impl<'py> ser::SerializeStruct for Entries<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unwritable> {
        if self.without == Some(name) {
            return Ok(());
        }
        let py = self.fields.py();
        Ok(self.fields.set_item(PyString::intern(py, name), value.serialize(Objects::new(py))?)?)
    }

    fn end(self) -> Made<'py> {
        Ok(self.fields.into_any())
    }
}

//! A call of a function, with its arguments.

use crate::abi::{Declaration, FieldPath, Value};

/// A call of a function.
pub(super) struct Call<'a> {
    pub(super) declaration: &'static Declaration,
    pub(super) arguments: &'a [u8],
}

impl<'a> Call<'a> {
    pub(super) fn value(&self, name: &str) -> Option<Value<'a>> {
        FieldPath::of(self.declaration, name).ok()?.read(&[], self.arguments).ok().flatten()
    }

    pub(super) fn bytes(&self, name: &str) -> Option<&'a [u8]> {
        match self.value(name) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

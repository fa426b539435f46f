//! The Arrow C data interface between the two libraries: the only unsafe code outside the memory maps of the ledger.
#![expect(unsafe_code, reason = "both libraries export the C structures of Arrow, each as a type of its own")]

use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::datatypes::DataType;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use polars_arrow::array::Array;
use polars_arrow::datatypes::Field;
use polars_arrow::ffi::{
    ArrowArray, ArrowSchema, export_array_to_c, export_field_to_c, import_array_from_c, import_field_from_c,
};

use crate::FrameError;

// The C structures have one layout, fixed by the specification. That each side declares all of it is checked here.
const _: () = assert!(size_of::<FFI_ArrowArray>() == size_of::<ArrowArray>());
const _: () = assert!(align_of::<FFI_ArrowArray>() == align_of::<ArrowArray>());
const _: () = assert!(size_of::<FFI_ArrowSchema>() == size_of::<ArrowSchema>());
const _: () = assert!(align_of::<FFI_ArrowSchema>() == align_of::<ArrowSchema>());

/// Returns whether polars, as it is built here, knows the type. It panics on some of those it does not.
pub(crate) fn crosses(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Boolean
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Float32
            | DataType::Float64
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

pub(crate) fn import(data: &ArrayData, column: &str) -> Result<Box<dyn Array>, FrameError> {
    let (array, schema) = to_ffi(data).map_err(|source| FrameError::Arrow { column: column.to_owned(), source })?;
    let polars = |source| FrameError::Polars { column: column.to_owned(), source };
    // SAFETY: both are the C structures of the Arrow specification, `repr(C)`, of equal size. The value is moved, and
    // either type calls `release` when it is dropped, so it is called once.
    let (array, schema) = unsafe {
        (
            std::mem::transmute::<FFI_ArrowArray, ArrowArray>(array),
            std::mem::transmute::<FFI_ArrowSchema, ArrowSchema>(schema),
        )
    };
    // SAFETY: arrow-rs exported a valid schema and a valid array of that schema.
    unsafe {
        let field = import_field_from_c(&schema).map_err(polars)?;
        import_array_from_c(array, field.dtype).map_err(polars)
    }
}

pub(crate) fn export(array: Box<dyn Array>, column: &str) -> Result<ArrayRef, FrameError> {
    let schema = export_field_to_c(&Field::new(column.into(), array.dtype().clone(), true));
    let array = export_array_to_c(array);
    // SAFETY: as in `import`, the other way round.
    let (array, schema) = unsafe {
        (
            std::mem::transmute::<ArrowArray, FFI_ArrowArray>(array),
            std::mem::transmute::<ArrowSchema, FFI_ArrowSchema>(schema),
        )
    };
    // SAFETY: polars exported a valid schema and a valid array of that schema.
    let data = unsafe { from_ffi(array, &schema) };
    data.map(make_array).map_err(|source| FrameError::Arrow { column: column.to_owned(), source })
}

//! One row on its way: what counts it, what reads it, and what becomes of it when it is wrong.

use crate::IngestError;
use crate::error::{Fault, Place, RowError};
use crate::source::{Input, Row};

/// Counts rows, and decides about those that are wrong.
pub(crate) trait Counts {
    /// Counts a row read, which stands there.
    fn count_row(&mut self, place: Place) -> Result<(), IngestError>;

    /// Leaves a row out, or gives its error back to stop.
    fn reject(&mut self, error: RowError) -> Result<(), IngestError>;
}

/// The function that reads one row. A [`Fault::Field`] leaves the row out or stops, as the counter says.
pub(crate) trait Handle<C>: FnMut(&Row<'_>, &mut C) -> Result<(), Fault> {}
impl<C, F: FnMut(&Row<'_>, &mut C) -> Result<(), Fault>> Handle<C> for F {}

/// Counts one row, hands it on, and deals with what is wrong with it.
pub(crate) fn one_row<C: Counts>(
    input: &Input,
    row: &Row<'_>,
    sink: &mut C,
    handle: &mut impl Handle<C>,
) -> Result<(), IngestError> {
    sink.count_row(row.place())?;
    match handle(row, sink) {
        Ok(()) => Ok(()),
        Err(Fault::Field(field)) => sink.reject(RowError { file: input.path().to_owned(), place: row.place(), field }),
        Err(Fault::Fatal(error)) => Err(error),
    }
}

//! Rebuilding sidecars after a command that changes the store.

use headwater_ingest::Progress;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError};

use super::progress::{Bar, Unit};

/// Builds sidecars that are missing or stale. Changes no answer.
pub(super) fn rebuild(writer: &mut Writer, cancel: &Cancel) -> Result<(), LedgerError> {
    let bar = Bar::new(Unit::Steps);
    writer.rebuild_sidecars(&|kind, done, total| bar.building(kind, done, total), cancel)?;
    Ok(())
}

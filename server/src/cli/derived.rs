//! What a command that changes the store leaves to be built anew.

use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError};

use super::progress::{Bar, Unit};

/// Builds edges and holder tables where they are missing, or stale since an import. Changes no answer.
pub(super) fn rebuild(writer: &mut Writer, cancel: &Cancel) -> Result<(), LedgerError> {
    let bar = Bar::new(Unit::Steps);
    writer.rebuild_edges(&|done, total| bar.update(done, total, "building edges"), cancel)?;
    drop(bar);
    let bar = Bar::new(Unit::Steps);
    writer.rebuild_holders(&|done, total| bar.update(done, total, "building holder tables"), cancel)?;
    Ok(())
}

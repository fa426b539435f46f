//! Look-up of legs of bridge transfers.

use headwater_bridge::LinkKey;

use super::{Snapshot, pack, unpack};
use crate::Cancel;
use crate::error::Result;
use crate::read::{Bridges, TransactionRef};

impl Bridges for Snapshot {
    fn with_link_key(&self, family: &str, key: &LinkKey, cancel: &Cancel) -> Result<Option<Vec<TransactionRef>>> {
        let mut found = Vec::new();
        for (place, (segment, index)) in (0..).zip(self.segments.iter().zip(&self.bridges)) {
            let Some(rows) = index.rows(segment, family, key, cancel)? else { return Ok(None) };
            found.extend(rows.into_iter().map(|row| TransactionRef(pack(place, row))));
        }
        Ok(Some(found))
    }

    fn has_bridge_legs(&self, transaction: TransactionRef, cancel: &Cancel) -> Result<Option<bool>> {
        let (place, row) = unpack(transaction.0);
        self.bridges[place as usize].has_legs(&self.segments[place as usize], row, cancel)
    }
}

//! The table `traces`.

use headwater_ledger::read::Status;
use headwater_types::Chain;

use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::stated_amount::ReadAmount;
use super::{needed, transactions};
use crate::error::FieldError;
use crate::source::{Row, list_items, whole_number};

/// A frame, or a movement outside transactions.
pub(super) fn frame(row: &Row<'_>, chain: Chain, amount: ReadAmount) -> Result<FrameRow, FieldError> {
    let kind = match &*needed(row.text("trace_type")?, "trace_type")? {
        "reward" => FrameKind::Reward,
        "genesis" => FrameKind::Genesis,
        "daofork" => FrameKind::Fork,
        "call" => FrameKind::Call { moves: matches!(row.text("call_type")?.as_deref(), None | Some("call")) },
        "create" => FrameKind::Create,
        "suicide" => FrameKind::Suicide,
        other => {
            let expected = "one of call, create, suicide, reward, genesis, daofork";
            return Err(FieldError::new("trace_type", Some(other), expected));
        }
    };
    let status = transactions::status(row, "status")?;
    let error = row.text("error")?.map(std::borrow::Cow::into_owned);
    Ok(FrameRow {
        block: needed(row.u64("block_number")?, "block_number")?,
        time: row.time("block_timestamp")?,
        block_hash: row.block_hash("block_hash", chain)?,
        hash: row.transaction("transaction_hash", chain)?,
        index: row.u32("transaction_index")?,
        path: path(row)?,
        kind,
        from: row.address("from_address", chain)?,
        to: row.address("to_address", chain)?,
        value: amount(row, "value")?,
        failed: status.map_or(error.is_some(), |status| status == Status::Failed),
        error,
    })
}

/// The place of a frame in the tree of its transaction; nothing for the root.
pub(in super::super) fn path(row: &Row<'_>) -> Result<Vec<u32>, FieldError> {
    let Some(text) = row.text("trace_address")? else { return Ok(Vec::new()) };
    let items = list_items(&text).unwrap_or_default();
    let parts: Option<Vec<u32>> = items.into_iter().flat_map(|item| item.split('_')).map(whole_number).collect();
    parts.ok_or_else(|| FieldError::new("trace_address", Some(&text), "numbers joined by commas"))
}

//! Traces: trees of the call tracer, and the flat frames of `trace_block`.

use headwater_types::{Address, Amount, Chain, TxHash};

use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::stated_amount::StatedAmount;
use super::{Reader, Spot};
use crate::Sink;
use crate::error::{Fault, FieldError, Place};
use crate::source::Object;

/// The transaction of a tree: its hash, or its place in the block.
#[derive(Clone, Copy)]
struct Of {
    block: u64,
    hash: Option<TxHash>,
    index: Option<u32>,
}

impl Reader<'_> {
    /// The traces of a block that names itself.
    pub(super) fn block_traces(&mut self, object: &Object<'_>, spot: &Spot, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let block = object.need("block_number", object.count("block_number")?, "the number of a block")?;
        self.extent.trace(block, None);
        for (index, tree) in (0..).zip(&object.list("transaction_traces")?) {
            self.extent.trace(block, Some(index));
            self.tree(tree, Of { block, hash: None, index: Some(index) }, spot.place, sink)?;
        }
        Ok(())
    }

    /// The tree of one transaction.
    pub(super) fn call_trace(&mut self, object: &Object<'_>, spot: &Spot, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if object.has("error") && !object.has("result") && !object.has("type") {
            return Err(object.wrong("error", "a trace, not an error of the node").into());
        }
        let hash = object.transaction_on("txHash", self.chain)?;
        let known = match hash {
            Some(hash) => sink.place_of(&hash)?.map(|(block, _)| block),
            None => None,
        };
        let expected =
            "the hash of a transaction ingested before its traces, or the number of the block in the name of the file";
        let block = known.or(self.named_block).ok_or_else(|| object.wrong("txHash", expected))?;
        if hash.is_none() && spot.number.is_none() {
            return Err(object.wrong("txHash", "the hash of the transaction").into());
        }
        if let Some(index) = spot.number {
            self.extent.trace(block, Some(index));
        }
        let tree = object.object("result");
        // The place in the list is that in the block only where nothing else names the transaction.
        let of = Of { block, hash, index: spot.number.filter(|_| hash.is_none()) };
        self.tree(tree.as_ref().unwrap_or(object), of, spot.place, sink)
    }

    fn tree(&mut self, root: &Object<'_>, of: Of, place: Place, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut frames = Vec::new();
        gather(root, &mut Vec::new(), self.chain, of, &mut frames)?;
        frames.into_iter().try_for_each(|frame| self.frames.take(frame, place, sink))
    }

    /// One frame of a node that lists them.
    pub(super) fn flat_trace(&mut self, object: &Object<'_>, spot: &Spot, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let block = object.need("blockNumber", object.count("blockNumber")?, "the number of a block")?;
        let action = object.object("action").ok_or_else(|| object.wrong("action", "an object"))?;
        let kind = match object.text("type") {
            // Anvil writes self-destructions as calls.
            Some("call") if action.text("refundAddress").is_some() => FrameKind::Suicide,
            Some("call") => FrameKind::Call { moves: matches!(action.text("callType"), None | Some("call")) },
            Some("create") => FrameKind::Create,
            Some("suicide" | "selfdestruct") => FrameKind::Suicide,
            Some("reward") => FrameKind::Reward,
            _ => return Err(object.wrong("type", "one of call, create, suicide, reward").into()),
        };
        let (from, to, value) = parties(kind, object, &action, self.chain)?;
        let error = object.text("error").map(str::to_owned);
        let path = path(object)?;
        let index = object.count("transactionPosition")?.and_then(|index| u32::try_from(index).ok());
        if path.is_empty() && spot.number.is_some() {
            self.extent.trace(block, index);
        }
        let frame = FrameRow {
            block,
            time: None,
            block_hash: object.block_hash_on("blockHash", self.chain)?,
            hash: object.transaction_on("transactionHash", self.chain)?,
            index,
            path,
            kind,
            from,
            to,
            value: value.map(StatedAmount::exact),
            failed: error.is_some(),
            error,
        };
        self.frames.take(frame, spot.place, sink)
    }
}

type Parties = (Option<Address>, Option<Address>, Option<Amount>);

fn parties(kind: FrameKind, object: &Object<'_>, action: &Object<'_>, chain: Chain) -> Result<Parties, FieldError> {
    let address = |name| action.address_on(name, chain);
    Ok(match kind {
        FrameKind::Create => {
            let created = object.object("result").map(|result| result.address_on("address", chain)).transpose()?;
            (address("from")?, created.flatten(), action.quantity("value")?)
        }
        FrameKind::Suicide => (address("address")?, address("refundAddress")?, action.quantity("balance")?),
        FrameKind::Reward => {
            let author = action.need("author", address("author")?, "an address")?;
            let value = action.need("value", action.quantity("value")?, "an amount in wei")?;
            (None, Some(author), Some(value))
        }
        FrameKind::Call { .. } | FrameKind::Genesis | FrameKind::Fork => {
            (address("from")?, address("to")?, action.quantity("value")?)
        }
    })
}

fn path(object: &Object<'_>) -> Result<Vec<u32>, FieldError> {
    let parts: Option<Vec<u32>> = object.texts("traceAddress")?.into_iter().map(crate::source::plain_number).collect();
    parts.ok_or_else(|| object.wrong("traceAddress", "a list of numbers"))
}

/// The frames of a tree, depth first. The tree is no deeper than documents may be nested.
fn gather(
    frame: &Object<'_>,
    path: &mut Vec<u32>,
    chain: Chain,
    of: Of,
    frames: &mut Vec<FrameRow>,
) -> Result<(), FieldError> {
    let kind = match frame.text("type") {
        Some("CALL") => FrameKind::Call { moves: true },
        Some("DELEGATECALL" | "STATICCALL" | "CALLCODE") => FrameKind::Call { moves: false },
        Some("CREATE" | "CREATE2") => FrameKind::Create,
        Some("SELFDESTRUCT") => FrameKind::Suicide,
        _ => {
            let expected = "one of CALL, DELEGATECALL, STATICCALL, CALLCODE, CREATE, CREATE2, SELFDESTRUCT";
            return Err(frame.wrong("type", expected));
        }
    };
    let error = frame.text("error").map(str::to_owned);
    frames.push(FrameRow {
        block: of.block,
        time: None,
        block_hash: None,
        hash: of.hash,
        index: of.index,
        path: path.clone(),
        kind,
        from: frame.address_on("from", chain)?,
        to: frame.address_on("to", chain)?,
        value: frame.quantity("value")?.map(StatedAmount::exact),
        failed: error.is_some(),
        error,
    });
    for (number, call) in (0..).zip(&frame.list_if_any("calls")?) {
        path.push(number);
        gather(call, path, chain, of, frames)?;
        path.pop();
    }
    Ok(())
}

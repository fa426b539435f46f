//! The batches of a scan on their way out: in order, of one size, no more than are asked for.

use std::ops::ControlFlow;
use std::sync::mpsc::SyncSender;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use headwater_engine::{Error, ErrorKind};
use rayon::prelude::*;

/// One message of the thread that reads.
pub(crate) enum StreamMessage {
    Batch(RecordBatch),
    Failed(Box<Error>),
    /// All rows were sent.
    Done,
}

/// The sink of the batches of a scan.
pub(crate) struct Output {
    coalescer: BatchCoalescer,
    /// Rows that may still be sent.
    left: Option<u64>,
    sender: SyncSender<StreamMessage>,
}

/// Chunks that each thread decodes before their batches are sent.
const CHUNKS_PER_THREAD: usize = 2;

impl Output {
    pub fn new(schema: SchemaRef, batch_rows: usize, limit: Option<u64>, sender: SyncSender<StreamMessage>) -> Self {
        Self { coalescer: BatchCoalescer::new(schema, batch_rows), left: limit, sender }
    }

    /// Takes rows; breaks once no more are wanted.
    pub fn push(&mut self, batch: RecordBatch) -> Result<ControlFlow<()>, Error> {
        let rows = batch.num_rows();
        let taken = self.left.map_or(rows, |left| usize::try_from(left).map_or(rows, |left| left.min(rows)));
        if let Some(left) = &mut self.left {
            *left -= taken as u64;
        }
        let batch = if taken < rows { batch.slice(0, taken) } else { batch };
        self.coalescer.push_batch(batch).map_err(|error| internal(&error))?;
        let sent = self.send_completed();
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { sent })
    }

    /// Sends what is left.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.coalescer.finish_buffered_batch().map_err(|error| internal(&error))?;
        // A reader that is gone wants nothing.
        let _ = self.send_completed();
        Ok(())
    }

    fn send_completed(&mut self) -> ControlFlow<()> {
        while let Some(batch) = self.coalescer.next_completed_batch() {
            if self.sender.send(StreamMessage::Batch(batch)).is_err() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Decodes items on all threads and takes their rows in the order of the items. Few items are under way at first, so
    /// that a scan that is soon given up reads little.
    pub fn in_order<T: Send>(
        &mut self,
        items: impl Iterator<Item = Result<T, Error>>,
        decode: impl Fn(T) -> Result<RecordBatch, Error> + Sync,
    ) -> Result<ControlFlow<()>, Error> {
        let mut items = items.fuse();
        let mut width = 1;
        loop {
            let chunks: Vec<T> = items.by_ref().take(width).collect::<Result<_, _>>()?;
            if chunks.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let decoded: Vec<Result<RecordBatch, Error>> = chunks.into_par_iter().map(&decode).collect();
            for batch in decoded {
                if self.push(batch?)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            width = (width * 2).min(CHUNKS_PER_THREAD * rayon::current_num_threads());
        }
    }
}

pub(crate) fn internal(error: &ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}

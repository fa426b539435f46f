//! Freezes by issuers of tokens in followed blocks.

use std::collections::HashSet;
use std::sync::LazyLock;

use headwater_ingest::labels::{freeze_topics, issuers, refresh_freezes};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::read::Generation as _;
use headwater_ledger::store::Writer;

use super::FollowOptions;
use crate::error::NodeError;

static TOPICS: LazyLock<HashSet<[u8; 32]>> = LazyLock::new(|| freeze_topics().collect());

/// Returns whether an issuer froze or unfroze an account in a batch.
pub(super) fn are_in(batch: &Batch) -> bool {
    let logs = batch.transactions.iter().flat_map(|transaction| &transaction.logs);
    let is_of_issuer =
        |contract| issuers().iter().any(|issuer| issuer.chain == batch.chain && issuer.contract == contract);
    logs.filter(|log| log.topics.first().is_some_and(|topic| TOPICS.contains(topic)))
        .any(|log| is_of_issuer(log.address))
}

/// Imports the freezes of the store as it is now: those of a block that was taken back are gone. Returns the generation, or
/// `None` if nothing has changed.
pub(super) fn refresh(writer: &mut Writer, options: &FollowOptions, cancel: &Cancel) -> Result<Option<u64>, NodeError> {
    let (version, _) = refresh_freezes(writer, options.imported_at(), cancel)?;
    Ok(version.map(|_| writer.snapshot().generation()))
}

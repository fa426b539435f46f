//! Freezes by issuers of tokens in followed blocks.

use std::collections::HashSet;
use std::sync::LazyLock;

use headwater_ingest::labels::{freeze_topics, issuers};
use headwater_ledger::facts::Batch;

static TOPICS: LazyLock<HashSet<[u8; 32]>> = LazyLock::new(|| freeze_topics().collect());

/// Returns whether an issuer froze or unfroze an account in a batch.
pub(super) fn are_in(batch: &Batch) -> bool {
    let logs = batch.transactions.iter().flat_map(|transaction| &transaction.logs);
    let is_of_issuer =
        |contract| issuers().iter().any(|issuer| issuer.chain == batch.chain && issuer.contract == contract);
    logs.filter(|log| log.topics.first().is_some_and(|topic| TOPICS.contains(topic)))
        .any(|log| is_of_issuer(log.address))
}

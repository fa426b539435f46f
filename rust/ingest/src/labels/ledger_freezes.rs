//! The freezes that the logs of a ledger hold.

use headwater_ledger::labels::Claim;
use headwater_ledger::logs::{FirstTopic, Log, LogFilter};
use headwater_ledger::{Cancel, Ledger, LedgerError};

use super::freezes::{FreezeLog, Issuer, freeze_topics, freezes};
use super::outcome::Labels;

/// Reads the freezes that these issuers made from the log index of a ledger; [`issuers`](super::issuers) are those that
/// are known.
///
/// # Errors
/// When a log cannot be read, or the work is cancelled.
pub fn ledger_freezes(ledger: &dyn Ledger, issuers: &[Issuer], cancel: &Cancel) -> Result<Labels, LedgerError> {
    let first_topic = FirstTopic::OneOf(freeze_topics().collect());
    let mut logs: Vec<Log> = Vec::new();
    for issuer in issuers.iter().filter(|issuer| ledger.coverage().contains_key(&issuer.chain)) {
        let filter = LogFilter { first_topic: first_topic.clone(), ..LogFilter::of(issuer.contract) };
        for log in ledger.logs(issuer.chain, &filter, cancel)? {
            logs.push(log?);
        }
    }
    let read = logs.iter().map(|log| FreezeLog {
        chain: log.head.chain,
        block: log.head.block,
        time: log.head.time,
        log_index: log.index,
        contract: log.contract,
        topics: &log.topics,
        data: &log.data,
    });
    Ok(freezes(read, issuers))
}

/// The freezes that the labels of a ledger hold already of a source, in the order of [`ledger_freezes`].
///
/// # Errors
/// When the labels cannot be read.
pub fn held_freezes(ledger: &dyn Ledger, source: &str) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = Vec::new();
    ledger.labels().each(&mut |_, claim| {
        if claim.source == source {
            claims.push(claim.to_owned());
        }
        Ok(())
    })?;
    claims.sort();
    Ok(claims)
}

//! The freezes in the logs of a ledger, and their import.

use headwater_ledger::labels::Claim;
use headwater_ledger::logs::{FirstTopic, Log, LogFilter};
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, Writer};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Timestamp;

use super::freezes::{FreezeLog, Issuer, freeze_topics, freezes, issuers};
use super::outcome::Labels;

/// Reads the freezes of these issuers from the log index of a ledger; [`issuers`] are the known ones.
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

/// Reads the freezes of the known issuers from the logs of a store, and imports them. Returns the version, or `None` if
/// no freeze has changed.
///
/// # Errors
/// When the store cannot be read or written, or the work is cancelled.
pub fn refresh_freezes(
    writer: &mut Writer,
    imported_at: Timestamp,
    cancel: &Cancel,
) -> Result<(Option<u64>, Labels), LedgerError> {
    writer.exclusively(cancel, |writer| {
        let found = ledger_freezes(&*writer.snapshot(), issuers(), cancel)?;
        Ok((import_freezes(writer, &found, imported_at)?, found))
    })
}

/// Imports freezes as a version of labels. Returns the version, or `None` if the store has the same ones.
///
/// # Errors
/// When the store cannot be read or written.
pub fn import_freezes(writer: &mut Writer, found: &Labels, imported_at: Timestamp) -> Result<Option<u64>, LedgerError> {
    writer.exclusively(&Cancel::new(), |writer| import_changed(writer, found, imported_at))
}

fn import_changed(writer: &mut Writer, found: &Labels, imported_at: Timestamp) -> Result<Option<u64>, LedgerError> {
    let mut claims = found.claims.clone();
    claims.sort();
    if claims == stored_claims(&*writer.snapshot(), &found.source)? {
        return Ok(None);
    }
    let version = writer.import_labels(LabelImport {
        source: found.source.clone(),
        list: found.list.clone(),
        licence: found.licence.clone(),
        imported_at,
        ended_at: imported_at,
        claims,
        vanished: MissingClaims::Forgotten,
        shrinking: ShrinkPolicy::Accepted,
        sanctions_of: Vec::new(),
    })?;
    Ok(Some(version))
}

/// Returns the claims of a source in order.
fn stored_claims(ledger: &dyn Ledger, source: &str) -> Result<Vec<Claim>, LedgerError> {
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

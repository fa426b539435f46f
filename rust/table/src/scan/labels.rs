//! The table `labels`: what the lists in force say of addresses.

use std::collections::BTreeMap;

use arrow::array::{ArrayRef, RecordBatch};
use headwater_engine::Error;
use headwater_ledger::labels::{Action, Claim, Code, DateBasis, LabelTable, ListOrigin};
use headwater_ledger::{Cancelled, LedgerError};

use super::cells::{booleans, floats, texts, times};
use super::job::Job;
use super::output::Output;
use super::tables::{StoredTable, columns};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "labels",
    row: "one claim of one list in force about one address; claims that ended are among them, with the time of their end",
    order: "list by list in the order of imports, then address",
    filters: &["blockchain", "address"],
    columns: columns! {
        "blockchain": Text = "the chain; `evm` where the claim holds on all EVM chains";
        "address": Text = "the address";
        "code": Text = "the code; null where the source gives a name only";
        "name": Text = "the name of the address in the source";
        "entity": Text = "the entity behind the address, by the source";
        "source": Text = "the source";
        "source_url": Text = "the page where the source says so";
        "list": Text = "the list that was imported";
        "licence": Text = "the licence of the list; null where it is not known";
        "group": Text = "claims of one group count once";
        "level": Text = "the level of trust in the source, by its kind";
        "confidence": Float = "the trust in the source, 0 to 1";
        "asserted_at": Time = "when the source said so first; null where it gives no date";
        "date_basis": Text = "`address` or `entity`: what the date belongs to";
        "last_seen": Time = "when the source said so last; null where it is the same time";
        "valid_until": Time = "when the claim ended; null while it holds";
        "action": Text = "`add`, or `remove` where a curator takes a code back";
        "is_disputed": Boolean = "true if the claim is disputed";
    },
    produce,
};

/// Claims of a batch.
const CHUNK: usize = 8192;

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    let table = job.ledger.labels();
    let origins: BTreeMap<u64, &ListOrigin> = table.versions().zip(table.origins()).collect();
    let (mut rows, length, mut failed) = (Vec::new(), job.chunk(CHUNK), None);
    let mut visit = |version: u64, claim: Claim<&'_ str>| {
        if job.cancel.check().is_err() {
            return Err(LedgerError::from(Cancelled));
        }
        job.count(1);
        if claim.scope.chains().any(|chain| job.filter.holds_chain(chain)) {
            rows.push((version, claim.to_owned()));
        }
        if rows.len() < length {
            return Ok(());
        }
        let full = std::mem::take(&mut rows);
        match batch(job, table, &origins, &full).and_then(|batch| output.push(batch)) {
            Ok(flow) if flow.is_continue() => Ok(()),
            // What ended the walk is looked at below.
            Ok(_) => Err(LedgerError::from(Cancelled)),
            Err(error) => {
                failed = Some(error);
                Err(LedgerError::from(Cancelled))
            }
        }
    };
    let walked = match job.filter.address_set() {
        None => table.each(&mut visit),
        Some(addresses) => table.each_about(&addresses, &mut visit),
    };
    if let Some(error) = failed {
        return Err(error);
    }
    match walked {
        Err(LedgerError::Cancelled(_)) if job.cancel.check().is_ok() => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(()) => {}
    }
    // The walk has ended, so nobody asks whether more is wanted.
    let _ = output.push(batch(job, table, &origins, &rows)?)?;
    Ok(())
}

fn batch(
    job: &Job<'_>,
    table: &LabelTable,
    origins: &BTreeMap<u64, &ListOrigin>,
    rows: &[(u64, Claim)],
) -> Result<RecordBatch, Error> {
    job.batch(|name| match name {
        "is_disputed" => disputed(table, rows),
        _ => Ok(column(origins, rows, name)),
    })
}

fn disputed(table: &LabelTable, rows: &[(u64, Claim)]) -> Result<ArrayRef, Error> {
    let mut cells = Vec::with_capacity(rows.len());
    for (_, claim) in rows {
        let mut is_disputed = false;
        if !table.disputes().is_empty() {
            let marked = table.claims_about(&claim.address)?;
            is_disputed = marked.iter().any(|held| {
                held.dispute.is_some()
                    && Claim { dispute: None, ..*held } == Claim { dispute: None, ..claim.borrowed() }
            });
        }
        cells.push(Some(is_disputed));
    }
    Ok(booleans(cells.into_iter()))
}

fn column(origins: &BTreeMap<u64, &ListOrigin>, rows: &[(u64, Claim)], name: &str) -> ArrayRef {
    let claims = || rows.iter().map(|(_, claim)| claim);
    let of_list = || rows.iter().map(|(version, _)| origins.get(version));
    match name {
        "address" => texts(claims().map(|claim| Some(claim.address.to_string()))),
        "blockchain" => texts(claims().map(|claim| Some(claim.scope.name()))),
        "code" => texts(claims().map(|claim| claim.code.map(Code::name))),
        "name" => texts(claims().map(|claim| claim.name.as_deref())),
        "entity" => texts(claims().map(|claim| claim.entity.as_deref())),
        "source" => texts(claims().map(|claim| Some(&*claim.source))),
        "source_url" => texts(claims().map(|claim| claim.source_url.as_deref())),
        "list" => texts(of_list().map(|origin| origin.map(|origin| origin.list.as_str()))),
        "licence" => texts(of_list().map(|origin| origin?.licence.as_deref())),
        "group" => texts(claims().map(|claim| Some(&*claim.group))),
        "level" => texts(claims().map(|claim| Some(claim.level.name()))),
        "confidence" => floats(claims().map(|claim| Some(f64::from(claim.reliability) / 1000.0))),
        "asserted_at" => times(claims().map(|claim| claim.asserted_at)),
        "date_basis" => texts(claims().map(|claim| claim.date_basis.map(DateBasis::name))),
        "last_seen" => times(claims().map(|claim| claim.last_seen)),
        "valid_until" => times(claims().map(|claim| claim.valid_until)),
        "action" => texts(claims().map(|claim| {
            Some(match claim.action {
                Action::Add => "add",
                Action::Remove => "remove",
            })
        })),
        _ => unreachable!("the columns of a scan are those of its table"),
    }
}

//! Answers that are kept for who repeats a request: the same key with the same request is answered again, and paid once.

use std::fmt;
use std::sync::Arc;

use super::db::{Tx, Value, checksum};
use super::{StateError, checksums, now_ms};

/// The time an answer is kept.
pub(super) const KEPT_MS: i64 = 24 * 3_600_000;

/// The record of an answer to be kept.
#[derive(Debug, Clone)]
pub struct AnswerRecord {
    /// The client's key.
    pub key: String,
    /// Digest of the request that the key belongs to.
    pub request_hash: [u8; 32],
    /// The body of the answer.
    pub answer: AnswerBody,
}

/// An answer in the form that it is kept in.
#[derive(Clone)]
pub enum AnswerBody {
    /// The body, given the balance after the charge.
    Envelope(Arc<dyn Fn(i64) -> Vec<u8> + Send + Sync>),
    /// A table, which is made again from this generation of the store.
    Table {
        /// Number of the generation.
        generation: u64,
    },
    /// A body that holds a secret, sealed under the master key.
    Sealed(Vec<u8>),
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerBody(..)")
    }
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Digest of the request that it answered.
    pub request_hash: [u8; 32],
    /// Id of that request.
    pub request_id: String,
    /// Its status.
    pub status: u16,
    /// The body; `None` for a table.
    pub body: Option<Vec<u8>>,
    /// True if the body is sealed.
    pub sealed: bool,
    /// The generation that a table is made again from.
    pub generation: Option<u64>,
}

/// Returns whether an answer is kept under this key.
pub(super) fn is_kept(tx: &mut Tx<'_>, account: i64, key: &str) -> Result<bool, StateError> {
    Ok(find(tx, account, key)?.is_some())
}

/// Keeps an answer, inside the transaction that makes what it reports; `balance` is what is left after it.
///
/// # Errors
/// What the database says.
pub fn keep(
    tx: &mut Tx<'_>,
    account: i64,
    keep: &AnswerRecord,
    (request_id, status): (&str, u16),
    balance: i64,
) -> Result<(), StateError> {
    let (body, sealed, generation) = match &keep.answer {
        AnswerBody::Envelope(body) => (Some(body(balance)), false, None),
        AnswerBody::Table { generation } => (None, false, Some(i64::try_from(*generation).unwrap_or(i64::MAX))),
        AnswerBody::Sealed(body) => (Some(body.clone()), true, None),
    };
    // One that is past its time gives way.
    tx.execute("DELETE FROM idempotency WHERE account_id = ?1 AND key = ?2", &[account.into(), (&keep.key).into()])?;
    let mut values: Vec<Value<'_>> = vec![
        account.into(),
        (&keep.key).into(),
        (&keep.request_hash).into(),
        request_id.into(),
        i64::from(status).into(),
        body.as_ref().into(),
        i64::from(sealed).into(),
        generation.into(),
        now_ms().into(),
    ];
    values.push(checksum(&values).into());
    tx.execute(
        "INSERT INTO idempotency
             (account_id, key, request_hash, request_id, status, body, sealed, generation, created_at_ms, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        &values,
    )?;
    Ok(())
}

/// The answer that is kept under this key.
///
/// # Errors
/// When it cannot be read, or was changed on the disk.
pub fn find(tx: &mut Tx<'_>, account: i64, key: &str) -> Result<Option<StoredAnswer>, StateError> {
    let row = tx.row(
        "SELECT account_id, key, request_hash, request_id, status, body, sealed, generation, created_at_ms, checksum
         FROM idempotency WHERE account_id = ?1 AND key = ?2 AND created_at_ms > ?3",
        &[account.into(), key.into(), (now_ms() - KEPT_MS).into()],
    )?;
    row.map(|row| {
        if !checksums::fits(&row) {
            return Err(StateError::CorruptRow { table: "idempotency", id: key.to_owned() });
        }
        Ok(StoredAnswer {
            request_hash: row.digest(2)?,
            request_id: row.text(3)?.to_owned(),
            status: u16::try_from(row.int(4)?).unwrap_or(200),
            sealed: row.int(6)? != 0,
            body: row.maybe_blob(5)?.map(<[u8]>::to_vec),
            generation: row.maybe_int(7)?.and_then(|number| u64::try_from(number).ok()),
        })
    })
    .transpose()
}

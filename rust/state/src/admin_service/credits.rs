//! Credits: added, and given back.

use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::{AdminService, is_possible};
use crate::ledger::{Entry, Kind, book};
use crate::{Home, Row, StateError, checksums, killed_runs, now_ms};

/// A charge whose answer may never have arrived, because the server was killed while it was on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostAnswer {
    /// Id of the request.
    pub request_id: String,
    /// Key that was charged.
    pub key_id: Option<String>,
    /// Endpoint that was called.
    pub endpoint: Option<String>,
    /// Credits charged.
    pub credits: i64,
    /// Unix milliseconds of the request.
    pub ts_ms: i64,
    /// Unix milliseconds of the refund; null while it is none.
    pub refunded_at_ms: Option<i64>,
}

impl LostAnswer {
    fn read(row: &Row) -> Result<Self, StateError> {
        Ok(Self {
            request_id: row.text(0)?.to_owned(),
            key_id: row.maybe_text(1)?.map(str::to_owned),
            endpoint: row.maybe_text(2)?.map(str::to_owned),
            credits: -row.int(3)?,
            ts_ms: row.int(4)?,
            refunded_at_ms: row.maybe_int(5)?,
        })
    }
}

impl AdminService<'_, '_> {
    /// Adds credits to the account of a key; gives the balance after it.
    ///
    /// # Errors
    /// When the key is unknown, or `amount` is not above 0 or more than a balance can hold.
    pub fn add_credits(&mut self, key_id: &str, amount: i64) -> Result<i64, StateError> {
        if amount <= 0 {
            return Err(StateError::BadAmount { amount });
        }
        let account = self.account_of(key_id)?;
        let after = self.book(account, Some(key_id), Kind::Grant, amount)?;
        let (before, now) = (json!({"credits": after - amount}), json!({"credits": after}));
        self.changed("credits.add", key_id, Some(&before), Some(&now))?;
        Ok(after)
    }

    /// Gives back what a request of the account of this key cost; gives the credits and the balance after it.
    ///
    /// # Errors
    /// As [`AdminService::refund`], and when another account paid.
    pub fn refund_of(&mut self, key_id: &str, request_id: &str) -> Result<(i64, i64), StateError> {
        let unknown = || StateError::UnknownCharge(shortened(request_id, SHOWN));
        let account = self.account_of(key_id)?;
        if !is_possible(request_id) {
            return Err(unknown());
        }
        let paid = self.tx.row(
            "SELECT 1 FROM credit_ledger WHERE request_id = ?1 AND account_id = ?2 AND kind = 'charge'",
            &[request_id.into(), account.into()],
        )?;
        paid.ok_or_else(unknown)?;
        self.refund(request_id)
    }

    /// Gives back what a request cost; gives the credits and the balance after it.
    ///
    /// # Errors
    /// When no charge has this id, or it was given back before.
    pub fn refund(&mut self, request_id: &str) -> Result<(i64, i64), StateError> {
        let unknown = || StateError::UnknownCharge(shortened(request_id, SHOWN));
        if !is_possible(request_id) {
            return Err(unknown());
        }
        let row = self.tx.row(
            "SELECT account_id, amount, key_id, endpoint FROM credit_ledger WHERE request_id = ?1 AND kind = 'charge'",
            &[request_id.into()],
        )?;
        let row = row.ok_or_else(unknown)?;
        let (account, credits) = (row.int(0)?, -row.int(1)?);
        // Another refund of it is done or not begun; in the order in which all of them lock.
        self.tx.row("SELECT 1 FROM lost_answer WHERE request_id = ?1 /*lock*/", &[request_id.into()])?;
        self.tx.row("SELECT 1 FROM account WHERE id = ?1 /*lock*/", &[account.into()])?;
        // The id of a refund is made of that of its charge, so that there can be one only.
        let refund_id = format!("refund:{request_id}");
        if self.tx.row("SELECT 1 FROM credit_ledger WHERE request_id = ?1", &[(&refund_id).into()])?.is_some() {
            return Err(unknown());
        }
        let entry = Entry {
            request_id: &refund_id,
            account,
            kind: Kind::Refund,
            amount: credits,
            key_id: row.maybe_text(2)?,
            endpoint: row.maybe_text(3)?,
            ts_ms: now_ms(),
        };
        let after = book(self.tx, entry)?.ok_or(StateError::BadAmount { amount: credits })?;
        self.tx.execute(
            "UPDATE lost_answer SET refunded_at_ms = ?2 WHERE request_id = ?1",
            &[request_id.into(), now_ms().into()],
        )?;
        checksums::renew(self.tx, &checksums::LOST, &[request_id.into()])?;
        let (before, now) = (json!({"credits": after - credits}), json!({"credits": after}));
        self.changed("credits.refund", request_id, Some(&before), Some(&now))?;
        Ok((credits, after))
    }

    /// Gives back every charge that [`AdminService::lost_answers`] lists; gives how many. Accounts whose balance does not fit
    /// their ledger are skipped with a line in the log; if there are no others, the result is an error.
    ///
    /// # Errors
    /// When the database fails, and as above.
    pub fn refund_lost(&mut self) -> Result<u64, StateError> {
        // No server may start before what is noted here is committed: it would note it as well.
        let absence = self.home.and_then(Home::absence);
        killed_runs::note_all_killed(self.tx, absence.is_some())?;
        self.refund_noted()
    }

    /// Gives back every charge that was noted as lost, as [`AdminService::refund_lost`] does.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn refund_noted(&mut self) -> Result<u64, StateError> {
        // By account, the order in which charges lock them; what another server gives back just now it gives back.
        let open = self.tx.rows(
            "SELECT lost_answer.request_id, credit_ledger.account_id FROM lost_answer
                 JOIN credit_ledger ON credit_ledger.request_id = lost_answer.request_id
             WHERE refunded_at_ms IS NULL AND NOT EXISTS (
                 SELECT 1 FROM credit_ledger AS given WHERE given.request_id = 'refund:' || lost_answer.request_id)
             ORDER BY credit_ledger.account_id, lost_answer.request_id /*skip locked*/",
            &[],
        )?;
        // All of them before the first change of one, behind which other changes wait while they hold theirs.
        for row in &open {
            self.tx.row("SELECT 1 FROM account WHERE id = ?1 /*lock*/", &[row.int(1)?.into()])?;
        }
        let (mut refunded, mut broken) = (0, None);
        for row in &open {
            match self.refund(row.text(0)?) {
                Ok(_) => refunded += 1,
                // Given back by somebody else meanwhile.
                Err(StateError::UnknownCharge(_)) => {}
                // Found before anything was written.
                Err(error @ StateError::BrokenLedger { .. }) => {
                    tracing::error!(%error, "lost answers of an account cannot be given back");
                    broken = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match broken {
            Some(error) if refunded == 0 => Err(error),
            _ => Ok(refunded),
        }
    }

    /// Returns the number of charges whose answers may be lost and are not refunded.
    ///
    /// # Errors
    /// When the database fails.
    pub fn open_losses(&mut self) -> Result<i64, StateError> {
        let row = self.tx.row(
            "SELECT count(*) FROM lost_answer WHERE refunded_at_ms IS NULL AND NOT EXISTS (
                 SELECT 1 FROM credit_ledger WHERE credit_ledger.request_id = 'refund:' || lost_answer.request_id)",
            &[],
        )?;
        let noted = row.map_or(Ok(0), |row| row.int(0))?;
        let open = self.unnoted_losses()?.iter().filter(|lost| lost.refunded_at_ms.is_none()).count();
        Ok(noted + i64::try_from(open).unwrap_or(i64::MAX))
    }

    /// Charges whose answers may be lost, newest first: those that were noted at the start of a server, and those of servers
    /// that were killed since. Of a state in a folder they are known at once, of a shared one two seconds after the last sign
    /// of a server.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lost_answers(&mut self, limit: u32) -> Result<Vec<LostAnswer>, StateError> {
        let mut lost = self.unnoted_losses()?;
        lost.extend(self.noted_losses(limit)?);
        lost.sort_by(|one, other| other.request_id.cmp(&one.request_id));
        lost.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(lost)
    }

    /// Charges of killed servers that no server has noted as lost yet.
    fn unnoted_losses(&mut self) -> Result<Vec<LostAnswer>, StateError> {
        let absence = self.home.and_then(Home::absence);
        let mut lost = Vec::new();
        for request_id in killed_runs::killed_unsent(self.tx, absence.is_some())? {
            let row = self.tx.row(
                "SELECT request_id, key_id, endpoint, amount, ts_ms,
                     (SELECT given.ts_ms FROM credit_ledger AS given
                      WHERE given.request_id = 'refund:' || credit_ledger.request_id)
                 FROM credit_ledger WHERE request_id = ?1 AND kind = 'charge'
                     AND NOT EXISTS (SELECT 1 FROM lost_answer WHERE lost_answer.request_id = ?1)",
                &[(&request_id).into()],
            )?;
            if let Some(row) = row {
                lost.push(LostAnswer::read(&row)?);
            }
        }
        Ok(lost)
    }

    fn noted_losses(&mut self, limit: u32) -> Result<Vec<LostAnswer>, StateError> {
        let rows = self.tx.rows(
            "SELECT lost_answer.request_id, key_id, endpoint, amount, ts_ms, coalesce(refunded_at_ms,
                 (SELECT given.ts_ms FROM credit_ledger AS given
                  WHERE given.request_id = 'refund:' || lost_answer.request_id))
             FROM lost_answer JOIN credit_ledger ON credit_ledger.request_id = lost_answer.request_id
             ORDER BY lost_answer.request_id DESC LIMIT ?1",
            &[i64::from(limit).into()],
        )?;
        rows.iter().map(LostAnswer::read).collect()
    }

    pub(super) fn book(
        &mut self,
        account: i64,
        key_id: Option<&str>,
        kind: Kind,
        amount: i64,
    ) -> Result<i64, StateError> {
        let request_id = Uuid::now_v7().to_string();
        let entry = Entry { request_id: &request_id, account, kind, amount, key_id, endpoint: None, ts_ms: now_ms() };
        book(self.tx, entry)?.ok_or(StateError::BadAmount { amount })
    }
}

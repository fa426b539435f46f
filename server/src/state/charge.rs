//! An answer that is paid for: how it is booked, and how who waits for it is told.

use std::collections::{BTreeMap, HashSet};

use tokio::sync::oneshot;

use super::StateError;
use super::audit::{AuditRow, Page};
use super::book::Hold;
use super::db::Tx;
use super::idempotency::{self, Keep};
use super::lease::{self, Leases};
use super::ledger::{Chain, Entry, Kind, Link};

/// An answer to be paid for. `audit.bytes` is the size of its body without the digits of the balance.
pub(super) struct Charge {
    pub hold: Hold,
    pub audit: AuditRow,
    /// What is kept of the answer for who repeats the request.
    pub keep: Option<Keep>,
    pub done: oneshot::Sender<Result<i64, StateError>>,
}

/// How a booking ended, where the database itself did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Booked {
    Done(i64),
    Insufficient,
    Repeated,
    CalledIn,
}

impl Charge {
    pub fn finish(self, outcome: Booked) {
        let refused = match outcome {
            Booked::Done(balance) => {
                self.hold.settle(balance);
                // Whoever waited may be gone; what is committed stays.
                let _ = self.done.send(Ok(balance));
                return;
            }
            Booked::Insufficient => StateError::Insufficient { cost: self.hold.cost() },
            Booked::Repeated => StateError::Repeated,
            Booked::CalledIn => StateError::NotCommitted("the credits lent to this replica were called in".to_owned()),
        };
        self.fail(refused);
    }

    pub fn fail(self, error: StateError) {
        // Given back before anybody hears of it.
        drop(self.hold);
        let _ = self.done.send(Err(error));
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            request_id: &self.audit.request_id,
            account: self.hold.account().id(),
            kind: Kind::Charge,
            amount: -self.hold.cost(),
            key_id: self.audit.key_id.as_deref(),
            endpoint: self.audit.endpoint,
            ts_ms: self.audit.ts_ms,
        }
    }
}

/// Books charges account by account, in order of their numbers so that replicas never wait for one another in a
/// circle. Gives outcomes in the order of the charges, and the page of the audit, which is still to be written.
pub(super) fn write_charges(
    tx: &mut Tx<'_>,
    charges: &[Charge],
    leases: &Leases,
    spent: &mut lease::Spent,
) -> Result<(Vec<Booked>, Option<Page>), StateError> {
    let mut by_account: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, charge) in charges.iter().enumerate() {
        by_account.entry(charge.hold.account().id()).or_default().push(place);
    }
    let mut outcomes = vec![Booked::Insufficient; charges.len()];
    for (account, places) in by_account {
        let Some(mut chain) = Chain::of(tx, account)? else { continue };
        let mut links: Vec<Link<'_>> = Vec::with_capacity(places.len());
        let mut booked: HashSet<&str> = HashSet::new();
        for &place in &places {
            let charge = &charges[place];
            if !charge.hold.is_current() {
                outcomes[place] = Booked::CalledIn;
                continue;
            }
            if let Some(keep) = &charge.keep
                && (!booked.insert(&keep.key) || idempotency::is_kept(tx, account, &keep.key)?)
            {
                outcomes[place] = Booked::Repeated;
                continue;
            }
            if let Some(link) = chain.link(charge.entry()) {
                outcomes[place] = Booked::Done(link.after);
                links.push(link);
            }
        }
        let credits: i64 = places
            .iter()
            .filter(|place| matches!(outcomes[**place], Booked::Done(_)))
            .map(|place| charges[*place].hold.cost())
            .sum();
        // First, since no more may be lent than the balance holds.
        if leases.settle(tx, account, credits, spent)? {
            chain.write(tx, &links)?;
        } else {
            for place in places {
                outcomes[place] = Booked::CalledIn;
            }
        }
    }
    let done = charges.iter().zip(&outcomes).filter_map(|(charge, outcome)| match outcome {
        Booked::Done(balance) => Some((charge, *balance)),
        Booked::Insufficient | Booked::Repeated | Booked::CalledIn => None,
    });
    for (charge, balance) in done.clone() {
        if let Some(keep) = &charge.keep {
            let answered = (charge.audit.request_id.as_str(), charge.audit.status);
            idempotency::keep(tx, charge.hold.account().id(), keep, answered, balance)?;
        }
    }
    let rows: Vec<AuditRow> = done
        .map(|(charge, balance)| {
            // The body of an envelope holds the balance, which is known only now; that of a table is still to be written.
            let digits = u64::from(balance.checked_ilog10().unwrap_or(0) + 1);
            let bytes = if charge.audit.bytes == 0 { 0 } else { charge.audit.bytes + digits };
            AuditRow { bytes, ..charge.audit.clone() }
        })
        .collect();
    Ok((outcomes, Page::of(&rows)))
}

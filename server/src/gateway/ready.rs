//! The readiness of the gateway for traffic.

use std::sync::Arc;

use headwater_engine::Details;
use headwater_ledger::LedgerError;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_state::{Health, causes, now_ms};
use headwater_types::Chain;

use super::problem::Status;
use super::{Gateway, Problem};

/// The reason why the gateway cannot take traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReady {
    /// It is shutting down.
    Draining,
    /// The store cannot be read, or the state cannot be written.
    StorageFailed,
    /// A chain of the store is no longer followed: its node contradicts final blocks.
    Halted {
        /// The chain.
        chain: Chain,
        /// The contradiction, and the remedy.
        reason: String,
    },
    /// A followed chain lies behind the clock by more than the operator allows.
    Lagging {
        /// The chain.
        chain: Chain,
        /// The seconds from the time of its newest block to now.
        lag_secs: i64,
    },
}

/// The generation that a gateway answers from while it takes traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// The newest one of the store.
    Current,
    /// An earlier one, since the newest one cannot be read.
    Stale,
}

impl NotReady {
    /// The `details.reason`.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::StorageFailed => "storage_failed",
            Self::Halted { .. } => "halted",
            Self::Lagging { .. } => "lagging",
        }
    }

    /// The 503 of `/readyz`. `details.value` names the chain, where the reason lies in one.
    pub(crate) fn problem(&self) -> Problem {
        let (cause, chain) = match self {
            Self::Draining | Self::StorageFailed => (String::new(), None),
            Self::Halted { chain, reason } => (format!(": following {chain} is halted: {reason}"), Some(chain)),
            Self::Lagging { chain, lag_secs } => {
                (format!(": the newest block of {chain} is {lag_secs} seconds old"), Some(chain))
            }
        };
        let details = Details {
            reason: self.reason().to_owned(),
            value: chain.map(|chain| chain.name().to_owned()),
            ..Details::default()
        };
        let problem = Problem::new(Status::ServiceUnavailable, format!("the service takes no traffic now{cause}"));
        Problem { details: Some(Box::new(details)), ..problem }
    }
}

impl Gateway {
    /// Returns whether traffic may come.
    ///
    /// # Errors
    /// When it may not, why.
    pub async fn ready(&self) -> Result<Readiness, NotReady> {
        if self.is_draining() {
            return Err(NotReady::Draining);
        }
        let (ledgers, max_lag) = (Arc::clone(&self.0.ledgers), self.settings().max_lag_secs);
        let checked = tokio::task::spawn_blocking(move || check_store(&*ledgers, max_lag));
        checked.await.unwrap_or(Err(NotReady::StorageFailed))?;
        if self.0.state.health() != Health::Good {
            return Err(NotReady::StorageFailed);
        }
        Ok(if self.0.ledgers.stale().is_some() { Readiness::Stale } else { Readiness::Current })
    }
}

/// Checks that the store can be read, and the followers of its chains.
fn check_store(ledgers: &dyn Generations, max_lag_secs: u64) -> Result<(), NotReady> {
    let failed = |error: LedgerError| {
        tracing::warn!(error = causes(&error), "the store cannot be read");
        NotReady::StorageFailed
    };
    let ledger = ledgers.current().map_err(failed)?;
    let Some(folder) = ledgers.folder() else { return Ok(()) };
    let statuses = LiveStatus::read_all(folder).map_err(failed)?;
    for status in &statuses {
        // However old it is: the chain stays halted until a follower continues.
        if let LiveState::Halted { reason } = &status.state {
            return Err(NotReady::Halted { chain: status.chain, reason: reason.clone() });
        }
    }
    if max_lag_secs == 0 {
        return Ok(());
    }
    for LiveStatus { chain, .. } in statuses {
        let newest = ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time);
        let lag_secs = newest.map_or(0, |newest| (now_ms() / 1000).saturating_sub(newest.secs()));
        if u64::try_from(lag_secs).unwrap_or(0) > max_lag_secs {
            return Err(NotReady::Lagging { chain, lag_secs });
        }
    }
    Ok(())
}

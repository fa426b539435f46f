//! What traces, paths and exposure take for granted.

use headwater_ledger::labels::{Category, Code};

use crate::request::refused;
use crate::{Error, Reason};

/// Movements that a walk looks at, some seconds of work: a limit of work and not of time, so that equal requests have equal
/// answers.
pub(crate) const MAX_MOVEMENTS: u64 = 5_000_000;
/// Movements that a trace keeps until it has divided the money, some 60 MB of memory.
pub(crate) const MAX_KEPT: usize = 750_000;
/// Distinct counterparties from which an account is a hub, where nothing is said.
pub(crate) const HUB_COUNTERPARTIES: i64 = 10_000;
/// Labels whose addresses are not looked through, where nothing is said: what leaves them is other people's money.
pub(crate) const STOP_CODES: [Code; 5] = [Code::Exchange, Code::Mixer, Code::Bridge, Code::Dex, Code::MiningPool];

/// What an address with a code counts as in exposure: the family of a risk, or the kind of a service. `None` for codes that
/// name nobody.
pub(crate) fn exposure_category(code: Code) -> Option<&'static str> {
    match (code.category(), code) {
        (Category::Historical | Category::Activity, _) => None,
        (Category::Identity, Code::ExchangeHotWallet | Code::Deposit) => Some(Code::Exchange.name()),
        (Category::Identity, _) => Some(code.name()),
        (risk, _) => Some(risk.name()),
    }
}

/// A number within its bounds, or its default.
pub(crate) fn bounded(
    field: &str,
    value: Option<i64>,
    (least, (default, most)): (i64, (i64, i64)),
) -> Result<i64, Error> {
    match value {
        None => Ok(default),
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => {
            let why = format!("expected a number from {least} to {most}, got {value}");
            Err(refused(Reason::InvalidValue, field, &value.to_string(), &why))
        }
    }
}

//! Claims and imports of labels with few words.

use std::sync::Arc;

use headwater_ledger::labels::{Action, Claim, Code, Level, Link, Scope};
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy};
use headwater_types::{Address, Chain, Timestamp};

/// A claim of the source `group` about an address on one chain: no date, no name, no entity.
#[must_use]
pub fn claim(chain: Chain, address: Address, code: Code, level: Level, group: &str) -> Claim {
    Claim {
        address,
        scope: Scope::Chain(chain),
        code: Some(code),
        name: None,
        entity: None,
        source: Arc::from(group),
        source_url: None,
        group: Arc::from(group),
        level,
        reliability: level.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    }
}

/// An edition of a list of the same name as its source, imported at a second.
#[must_use]
pub fn label_import(list: &str, claims: Vec<Claim>, secs: i64) -> LabelImport {
    let (source, list, time) = (list.to_owned(), list.to_owned(), Timestamp::new(secs));
    let (vanished, shrinking) = (MissingClaims::End, ShrinkPolicy::Refused);
    LabelImport {
        source,
        list,
        licence: None,
        imported_at: time,
        ended_at: time,
        claims,
        vanished,
        shrinking,
        sanctions_of: Vec::new(),
    }
}

//! Circles between modules that are still to be opened. An entry goes with its circle.

use crate::circles::Allowed;

const fn open(member: &'static str, parent: &'static str, modules: &'static [&'static str]) -> Allowed {
    Allowed { member, parent, modules, reason: "still to be opened" }
}

#[rustfmt::skip]
pub(crate) const TO_OPEN: &[Allowed] = &[
    open("headwater-ledger", "crate", &["cancel", "memory"]),
    open("headwater-ledger", "crate", &["edges", "external", "facts", "feed", "holders", "market", "read", "segment", "snapshot", "store"]),
    open("headwater-ledger", "crate::edges", &["merge", "strongest"]),
    open("headwater-ledger", "crate::facts", &["approximate", "join", "movements"]),
    open("headwater-ledger", "crate::holders", &["build", "changes", "file", "ranked", "records"]),
    open("headwater-ledger", "crate::market", &["core_tokens", "registry"]),
    open("headwater-ledger", "crate::market", &["plausible", "prices"]),
    open("headwater-ledger", "crate::segment", &["column", "container", "layout", "marks", "opening", "pack", "record"]),
    open("headwater-ledger", "crate::segment", &["posting", "read"]),
    open("headwater-ledger", "crate::segment::read", &["hubs", "openings"]),
    open("headwater-ledger", "crate::snapshot", &["columns", "postings"]),
    open("headwater-ledger", "crate::store", &["contents", "feed", "folder", "imports", "manifest", "sidecars"]),
    open("headwater-ledger", "crate::store::feed", &["entry", "run"]),
    open("headwater-engine", "crate", &["analysis", "balances", "calendar", "completeness", "description", "edge_groups", "endpoint", "endpoints", "events", "flows", "holdings", "overflow", "query_meta", "ranking", "request", "rows", "scope", "table", "unverified", "valuation", "walk"]),
    open("headwater-engine", "crate::events", &["subscription", "threshold"]),
    open("headwater-server", "crate", &["config", "events", "gateway", "recurring", "routes", "state"]),
    open("headwater-server", "crate::events::stream", &["link", "protocol"]),
    open("headwater-server", "crate::events::webhook", &["deliveries", "endpoints"]),
    open("headwater-server", "crate::gateway", &["arguments", "context", "limits", "listener", "record", "said", "sent"]),
    open("headwater-server", "crate::gateway", &["metrics", "problem"]),
    open("headwater-server", "crate::routes", &["examples", "openapi", "own", "stream", "system"]),
    open("headwater-server", "crate::state", &["copy", "db"]),
];

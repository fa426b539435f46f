//! Followers of live nodes.

use std::path::Path;

use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_ledger::{Ledger, Store};
use headwater_state::{causes, now_ms};
use headwater_types::Timestamp;

use super::{Findings, unreadable};

const AREA: &str = "live";

/// Returns whether the followers of the store run, and how far they are.
pub(super) fn examine(store: &Path, findings: &mut Findings) {
    let statuses = match LiveStatus::read_all(store) {
        Ok(statuses) => statuses,
        Err(error) if unreadable::report(AREA, &error, findings) => return,
        Err(error) => {
            return findings.broken(AREA, causes(&error), "delete the file: the follower of the chain writes it anew");
        }
    };
    let snapshot = Store::open(store).and_then(|store| store.snapshot()).ok();
    for status in statuses {
        examine_one(&status, snapshot.as_deref().map(|snapshot| snapshot as &dyn Ledger), findings);
    }
}

fn examine_one(status: &LiveStatus, ledger: Option<&dyn Ledger>, findings: &mut Findings) {
    let LiveStatus { chain, head_block, .. } = status;
    let start = format!(
        "start it with `headwater follow --chain {chain}` or `serve --follow {chain}=URL`; if {chain} is no longer to be \
         followed, delete live/{chain}.json in the store"
    );
    if let LiveState::Halted { reason } = &status.state {
        return findings.broken(
            AREA,
            format!("{chain}: following is halted, and /readyz answers 503: {reason}"),
            format!("compare the block with other nodes; then {start}"),
        );
    }
    if !status.is_live(u64::try_from(now_ms()).unwrap_or(0)) {
        let written = Timestamp::new(i64::try_from(status.written_ms / 1000).unwrap_or(i64::MAX));
        return findings.warn(AREA, format!("{chain}: the follower stopped; its last status is of {written}"), start);
    }
    if let LiveState::Waiting { reason } = &status.state {
        let remedy = "see that its nodes answer; it continues by itself";
        return findings.warn(AREA, format!("{chain}: the follower waits for its nodes: {reason}"), remedy);
    }
    if !status.silent.is_empty() {
        let nodes = status.silent.join(", ");
        findings.warn(
            AREA,
            format!("{chain}: {nodes} does not answer the follower, which asks the other nodes alone"),
            "see `headwater providers`",
        );
    }
    let coverage = ledger.and_then(|ledger| ledger.coverage().get(chain));
    let lag = coverage.and_then(|coverage| coverage.last_time).map(|time| status.lag_secs(time));
    let lag = lag.map_or_else(String::new, |lag| format!(", the newest held one is {lag} s old"));
    findings.good(
        AREA,
        format!("{chain}: {} at block {head_block} of the node{lag}", status.state.name().replace('_', " ")),
    );
}

//! The log of the followers of a store, in whichever process they run: one line per change of state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_state::{ErrorThrottle, now_ms};
use headwater_types::{Chain, Timestamp};
use tracing::Level;

use crate::gateway::STOPPED;

/// The interval at which the status of followers is read.
const LOOK: Duration = Duration::from_secs(1);

/// Logs each change of state of the followers of a store, until it is dropped.
pub(crate) async fn log_changes(store: PathBuf) {
    let mut known: BTreeMap<Chain, &'static str> = BTreeMap::new();
    let recurring = ErrorThrottle::default();
    loop {
        let folder = store.clone();
        match tokio::task::spawn_blocking(move || LiveStatus::read_all(&folder)).await {
            Ok(Ok(statuses)) => statuses.iter().for_each(|status| log(&mut known, status)),
            Ok(Err(error)) => recurring.met("the status of followers cannot be read", &error),
            Err(_) => tracing::error!("reading the status of followers panicked"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn log(known: &mut BTreeMap<Chain, &'static str>, status: &LiveStatus) {
    let now_ms = u64::try_from(now_ms()).unwrap_or(0);
    let is_current = status.is_halted() || status.is_live(now_ms);
    let state = if is_current { status.state.name() } else { STOPPED };
    let before = known.insert(status.chain, state);
    let Some((level, message)) = change(before, state, status) else { return };
    if level == Level::ERROR {
        tracing::error!("{message}");
    } else if level == Level::WARN {
        tracing::warn!("{message}");
    } else {
        tracing::info!("{message}");
    }
}

/// Returns the line about a change of state; `None` where the state is the same.
fn change(before: Option<&str>, state: &str, status: &LiveStatus) -> Option<(Level, String)> {
    if before == Some(state) {
        return None;
    }
    let LiveStatus { chain, head_block, .. } = status;
    if state == STOPPED {
        let seconds = i64::try_from(status.written_ms / 1000).unwrap_or(i64::MAX);
        let message = format!("{chain}: the follower stopped; its last status is of {}", Timestamp::new(seconds));
        return Some((Level::WARN, message));
    }
    let end = if before == Some("halted") { " (no longer halted)" } else { "" };
    Some(match &status.state {
        LiveState::CatchingUp => (Level::INFO, format!("{chain}: catching up with block {head_block}{end}")),
        LiveState::Following => (Level::INFO, format!("{chain}: following its node at block {head_block}{end}")),
        LiveState::Waiting { reason } => (Level::WARN, format!("{chain}: waiting for its nodes{end}: {reason}")),
        LiveState::Halted { reason } => {
            (Level::ERROR, format!("{chain}: FOLLOWING IS HALTED, /readyz answers 503 until it continues: {reason}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_has_one_line_per_change_of_state() {
        let halted = LiveState::Halted { reason: "block 5 differs".to_owned() };
        let waiting = LiveState::Waiting { reason: "no answer".to_owned() };
        let (mut before, mut lines) = (None, Vec::new());
        for state in
            [LiveState::Following, LiveState::Following, waiting, halted.clone(), halted, LiveState::CatchingUp]
        {
            let name = state.name();
            let (chain, written_ms) = (Chain::TRON, 0);
            let status = LiveStatus { chain, state, head_block: 7, final_block: 3, written_ms, silent: Vec::new() };
            lines.extend(change(before, name, &status));
            before = Some(name);
        }
        let expected = [
            (Level::INFO, "tron: following its node at block 7"),
            (Level::WARN, "tron: waiting for its nodes: no answer"),
            (Level::ERROR, "tron: FOLLOWING IS HALTED, /readyz answers 503 until it continues: block 5 differs"),
            (Level::INFO, "tron: catching up with block 7 (no longer halted)"),
        ];
        assert_eq!(lines, expected.map(|(level, line)| (level, line.to_owned())));
    }
}

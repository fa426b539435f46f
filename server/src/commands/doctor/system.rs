//! The machine.

use std::path::{Path, PathBuf};

use headwater_cli::output::{date, grouped, size};
use headwater_state::{Home, now_ms};
use rustix::process::{Resource, getrlimit};

use super::Findings;
use crate::config::Config;

const AREA: &str = "system";
/// Below this, commits may begin to fail.
const LITTLE_SPACE: u64 = 1 << 30;
/// Below this, nothing can be written.
const NO_SPACE: u64 = 64 << 20;
/// Segments, connections and the database each need some.
const FEW_FILES: u64 = 1024;
/// No clock that is right is before this version was made: 2025-01-01.
const EARLIEST_SECS: i64 = 1_735_689_600;

/// Disk space, open files, clock.
pub(super) fn examine(config: &Config, findings: &mut Findings) {
    let store = config.store.clone();
    let state = match &config.state {
        Some(state) if !state.contains("://") => Some(PathBuf::from(state)),
        Some(_) => None,
        None => store.as_deref().map(Home::beside),
    };
    for path in [store, state].into_iter().flatten() {
        space(&path, findings);
    }
    files(findings);
    clock(now_ms() / 1000, findings);
}

fn space(path: &Path, findings: &mut Findings) {
    // What is not there yet will be where its parent is.
    let Some(there) = path.ancestors().find(|folder| folder.exists()) else { return };
    match rustix::fs::statvfs(there) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let what = format!("{} are free at {}", size(free), path.display());
            let remedy = "make room, or move the folder to a larger disk";
            match free {
                0..NO_SPACE => findings.broken(AREA, what, remedy),
                NO_SPACE..LITTLE_SPACE => findings.warn(AREA, what, remedy),
                LITTLE_SPACE.. => findings.good(AREA, what),
            }
        }
        Err(error) => findings.warn(
            AREA,
            format!("the free space at {} is not known: {error}", path.display()),
            "see that the folder can be read",
        ),
    }
}

fn files(findings: &mut Findings) {
    // No limit at all is enough.
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let what = format!("{} files may be open at a time", grouped(limit));
    if limit < FEW_FILES {
        findings.warn(AREA, what, "raise it with `ulimit -n 65536`, or LimitNOFILE of the service");
    } else {
        findings.good(AREA, what);
    }
}

fn clock(now_secs: i64, findings: &mut Findings) {
    let what = format!("the clock says {}", date(now_secs));
    if now_secs < EARLIEST_SECS {
        findings.broken(AREA, what, "set it, by NTP: keys would expire and rows be filed under the wrong day");
    } else {
        findings.good(AREA, what);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_clock_of_the_past_is_broken() {
        let mut findings = Findings::default();
        clock(EARLIEST_SECS, &mut findings);
        assert_eq!(findings.worst(), Level::Good);
        clock(0, &mut findings);
        assert_eq!(findings.worst(), Level::Broken);
    }
}

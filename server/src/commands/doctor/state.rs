//! Keys, credits and audit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use headwater_cli::output::grouped;
use headwater_state::{Home, KeyStatus, SECRET_FILES, StateError, StateLocation, causes};

use super::{Findings, unreadable};

const AREA: &str = "state";

/// Returns whether the state opens, its credits add up, and its secrets are private.
pub(super) fn examine(place: &StateLocation, secrets_dir: Option<&Path>, findings: &mut Findings) {
    // Before it is opened, which puts the modes right.
    if let Some(folder) = secrets_dir.or(match place {
        StateLocation::Folder(path) => Some(path),
        StateLocation::Postgres(_) => None,
    }) {
        modes(folder, findings);
    }
    let home = match Home::open_existing(place, secrets_dir) {
        Ok(home) => home,
        Err(error @ StateError::NoState { .. }) => {
            return findings.warn(
                AREA,
                error.to_string(),
                "`headwater state init` makes it, and `headwater keys create` its first key",
            );
        }
        Err(error) if unreadable::report(AREA, &error, findings) => return,
        Err(error) => {
            let remedy = "put right what is named, or restore a backup with `headwater state restore`";
            return findings.broken(AREA, causes(&error), remedy);
        }
    };
    match home.check() {
        Ok(checked) => {
            findings.good(AREA, format!("it opens, and {} entries of the credit ledger fit", grouped(checked.entries)));
        }
        Err(error) if unreadable::report(AREA, &error, findings) => return,
        Err(error) => {
            let remedy = "restore a backup with `headwater state restore`: balances are not to be trusted";
            return findings.broken(AREA, causes(&error), remedy);
        }
    }
    let counted = home.consult(|admin| {
        let good = admin.list_keys()?.iter().filter(|key| key.status == KeyStatus::Active).count();
        Ok((good, admin.open_losses()?))
    });
    match counted {
        Ok((0, _)) => {
            findings.warn(AREA, "there is no key that is accepted", "`headwater keys create --credits 1000` makes one");
        }
        Ok((keys, lost)) => {
            findings.good(AREA, format!("{keys} keys are good"));
            if lost > 0 {
                findings.warn(
                    AREA,
                    "a killed server charged for answers that may never have arrived",
                    "`headwater credits lost` lists them, `headwater credits refund --lost` gives them back",
                );
            }
        }
        Err(error) if unreadable::report(AREA, &error, findings) => {}
        Err(error) => findings.broken(AREA, causes(&error), "see that the database can be read"),
    }
}

/// Secrets that others can read are not secrets.
fn modes(folder: &Path, findings: &mut Findings) {
    for name in SECRET_FILES {
        let path = folder.join(name);
        let Ok(found) = fs::metadata(&path) else { continue };
        let mode = found.permissions().mode() & 0o777;
        if mode.trailing_zeros() >= 6 {
            findings.good(AREA, format!("{} is for its owner only", path.display()));
        } else {
            findings.warn(
                AREA,
                format!("{} has the mode {mode:o}, others can read it", path.display()),
                "it is put to 600 now; if others were on this machine, rotate what it protects",
            );
        }
    }
}

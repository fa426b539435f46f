//! Findings about what could not be read. It may be whole: nothing of it is to be restored from a backup.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use headwater_state::{AccessFault, causes};

use super::Findings;
use super::permissions::User;

/// Reports an error that says that something could not be read, with what helps; returns whether it did. Any other error is
/// the caller's.
pub(super) fn report(area: &'static str, error: &(dyn Error + 'static), findings: &mut Findings) -> bool {
    let Some(fault) = AccessFault::of(error) else { return false };
    let user = User::current();
    findings.broken(area, format!("cannot be read by {}: {}", user.name(), causes(error)), remedy(fault));
    true
}

/// Reports a file that cannot be read from end to end; returns whether it did.
pub(super) fn report_file(area: &'static str, path: &Path, findings: &mut Findings) -> bool {
    let read = File::open(path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
    let Err(error) = read else { return false };
    let Some(fault) = AccessFault::of(&error) else { return false };
    let what = format!("{} cannot be read by {}: {error}", path.display(), User::current().name());
    findings.broken(area, what, remedy(fault));
    true
}

const fn remedy(fault: AccessFault) -> &'static str {
    match fault {
        AccessFault::Denied => {
            "run this command as the user that serves, or as root; if the server is that user and fails too, give it the \
             files with `chown`; what is stored is not known to be damaged"
        }
        AccessFault::Busy => {
            "another process has it: wait for its end, or stop it, and run this command again; what is stored is not known \
             to be damaged"
        }
        AccessFault::Failing => {
            "see that the disk or mount works (`dmesg`, `findmnt`, `df`) and files can be opened (`ulimit -n`), and run this \
             command again; what is stored is not known to be damaged"
        }
        AccessFault::Unreachable => {
            "see that the database server runs and can be reached from here, and run this command again; what is stored is \
             not known to be damaged"
        }
    }
}

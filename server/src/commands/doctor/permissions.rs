//! The users who may read and change the files of state, secrets and store.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use headwater_state::{SECRET_FILES, StateLocation};

use super::Findings;
use crate::config::Config;

const AREA: &str = "permissions";
/// Rights as the bits of a mode have them.
const READ: u32 = 0o4;
const READ_WRITE: u32 = 0o6;
const ENTER: u32 = 0o5;

/// A user of the system with the groups that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    id: u32,
    name: String,
    groups: Vec<u32>,
}

impl User {
    /// The user of this process.
    pub(super) fn current() -> Self {
        Self::of(rustix::process::geteuid().as_raw())
    }

    fn of(id: u32) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::among(id, &read("/etc/passwd"), &read("/etc/group"))
    }

    /// Reads a user from the texts of `/etc/passwd` and `/etc/group`.
    fn among(id: u32, users: &str, groups: &str) -> Self {
        let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
        let found = users.lines().map(fields).find(|user| user.get(2).is_some_and(|field| *field == id.to_string()));
        let name = found.as_ref().map_or_else(|| id.to_string(), |user| user[0].clone());
        let own = found.and_then(|user| user.get(3)?.parse().ok());
        let in_group = |line: &str| {
            let fields: Vec<&str> = line.split(':').collect();
            let is_member = fields.get(3)?.split(',').any(|member| member == name);
            if is_member { fields.get(2)?.parse().ok() } else { None }
        };
        let groups = own.into_iter().chain(groups.lines().filter_map(in_group)).collect();
        Self { id, name, groups }
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it has these rights to a file by its owner, group and mode.
    fn may(&self, rights: u32, owner: u32, group: u32, mode: u32) -> bool {
        let theirs = if self.id == owner {
            mode >> 6
        } else if self.groups.contains(&group) {
            mode >> 3
        } else {
            mode
        };
        self.id == 0 || theirs & rights == rights
    }

    fn may_use(&self, rights: u32, file: &Metadata) -> bool {
        self.may(rights, file.uid(), file.gid(), file.mode())
    }
}

/// Returns whether the user that serves can use its files, and nobody else more of them than needed. That user is the owner
/// of the state's folder, or of the folder of its secrets.
pub(super) fn examine(config: &Config, state: Option<&StateLocation>, findings: &mut Findings) {
    let folder = match state {
        Some(StateLocation::Folder(path)) => Some(path.as_path()),
        Some(StateLocation::Postgres(_)) | None => None,
    };
    let secrets = config.secrets_dir.as_deref().filter(|secrets| Some(*secrets) != folder);
    let owner = folder.or(secrets).and_then(|path| fs::metadata(path).ok()).map(|found| User::of(found.uid()));
    let user = owner.unwrap_or_else(User::current);
    let before = findings.0.len();
    for path in [folder, secrets].into_iter().flatten() {
        private(path, &user, findings);
    }
    if let Some(store) = &config.store {
        shared(store, &user, findings);
    }
    if findings.0.len() == before && (folder.or(secrets).is_some() || config.store.is_some()) {
        findings.good(AREA, format!("{} can use its files, and others cannot change them", user.name()));
    }
}

/// Files that only their owner is to read.
fn private(folder: &Path, user: &User, findings: &mut Findings) {
    let Some(found) = entries(folder, user, findings) else { return };
    for (path, file) in found {
        let mode = file.permissions().mode() & 0o777;
        let is_secret = path.file_name().is_some_and(|name| SECRET_FILES.iter().any(|secret| *secret == name));
        if mode & 0o077 != 0 && !is_secret {
            let right = if file.is_dir() { "700" } else { "600" };
            findings.warn(
                AREA,
                format!("{} has the mode {mode:o}: others than {} can use it", path.display(), user.name()),
                format!("`chmod {right} {}`", path.display()),
            );
        }
        let rights = if file.is_dir() || is_secret { READ } else { READ_WRITE };
        if !user.may_use(rights, &file) {
            unusable(&path, &file, user, findings);
        }
    }
}

/// Files that anybody may read, and only their owner is to change.
fn shared(folder: &Path, user: &User, findings: &mut Findings) {
    let (mut open, mut unreadable) = (Vec::new(), Vec::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Some(found) = entries(&folder, user, findings) else { return };
        for (path, file) in found {
            if file.is_dir() && path != folder {
                folders.push(path);
                continue;
            }
            if file.mode() & 0o002 != 0 {
                open.push(path.clone());
            }
            if !user.may_use(READ, &file) {
                unreadable.push((path, file));
            }
        }
    }
    if let Some(path) = open.first() {
        findings.warn(
            AREA,
            format!("every user of this machine can change {}", named(path, open.len())),
            format!("`chmod -R o-w {}`", folder.display()),
        );
    }
    if let Some((path, file)) = unreadable.first() {
        findings.broken(
            AREA,
            format!("{} cannot be read by {}{}", named(path, unreadable.len()), user.name(), owned(file)),
            format!("`chown -R {0} {1}` and `chmod -R u+rwX {1}`", user.name(), folder.display()),
        );
    }
}

fn named(path: &Path, count: usize) -> String {
    match count {
        1 => path.display().to_string(),
        more => format!("{} and {} more", path.display(), more - 1),
    }
}

/// A folder that the user can enter, with its entries; `None` where it is not there, or was reported as unusable.
fn entries(folder: &Path, user: &User, findings: &mut Findings) -> Option<Vec<(PathBuf, Metadata)>> {
    let full = fs::canonicalize(folder).ok();
    for above in full.iter().flat_map(|full| full.ancestors()) {
        let Ok(found) = fs::metadata(above) else { continue };
        let rights = if Some(above) == full.as_deref() { ENTER } else { 0o1 };
        if !user.may_use(rights, &found) {
            unusable(above, &found, user, findings);
            return None;
        }
    }
    let listed = fs::read_dir(folder).and_then(|entries| {
        let mut found = vec![(folder.to_owned(), fs::metadata(folder)?)];
        for entry in entries {
            let path = entry?.path();
            match fs::metadata(&path) {
                Ok(file) => found.push((path, file)),
                // Collected by a writer, or a link into nowhere.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    });
    match listed {
        Ok(mut found) => {
            found.sort_by(|one, other| one.0.cmp(&other.0));
            Some(found)
        }
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                let current = User::current();
                findings.broken(
                    AREA,
                    format!("{} cannot be looked into by {}: {error}", folder.display(), current.name()),
                    format!("run this command as the user that serves, or as root; what is in {} is not known to be damaged", folder.display()),
                );
            }
            None
        }
    }
}

/// A file or folder that the user that serves cannot use.
fn unusable(path: &Path, file: &Metadata, user: &User, findings: &mut Findings) {
    let what = if file.is_dir() { "entered" } else { "used" };
    let remedy = if file.is_dir() {
        format!(
            "give {} the right to enter it, such as by `chmod o+x {}`, or move what is in it",
            user.name(),
            path.display()
        )
    } else {
        format!("`chown {} {}`", user.name(), path.display())
    };
    findings.broken(
        AREA,
        format!("{} cannot be {what} by {}, the user that serves{}", path.display(), user.name(), owned(file)),
        remedy,
    );
}

/// The owner and mode of a file, for messages.
fn owned(file: &Metadata) -> String {
    format!(": it belongs to {}, mode {:o}", User::of(file.uid()).name(), file.permissions().mode() & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/sh\nheadwater:x:990:991::/:/bin/false\nada:x:1000:1000::/:/bin/sh\n";
    const GROUPS: &str = "root:x:0:\nheadwater:x:991:\nchains:x:992:ada,headwater\n";

    #[test]
    fn user_has_its_own_group_and_those_that_name_it() {
        let user = User::among(990, USERS, GROUPS);
        assert_eq!((user.name(), &user.groups[..]), ("headwater", &[991, 992][..]));
        assert_eq!(User::among(4711, USERS, GROUPS), User { id: 4711, name: "4711".to_owned(), groups: Vec::new() });
    }

    #[test]
    fn rights_are_those_of_owner_group_or_others() {
        let user = User::among(990, USERS, GROUPS);
        assert!(user.may(READ_WRITE, 990, 0, 0o600) && !user.may(READ_WRITE, 990, 0, 0o400));
        assert!(user.may(READ, 0, 992, 0o640) && !user.may(READ_WRITE, 0, 992, 0o640));
        assert!(!user.may(READ, 0, 0, 0o640) && user.may(READ, 0, 0, 0o644));
        // The owner has the owner's rights alone, whatever others have.
        assert!(!user.may(READ, 990, 0, 0o044));
        assert!(User::among(0, USERS, GROUPS).may(READ_WRITE, 990, 990, 0o000));
    }
}

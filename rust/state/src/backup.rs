//! Copies of a state: made while it runs, checked, and put back.
//!
//! A backup is a folder as a state is one: the database, and the two secrets that it cannot be used without. It is made
//! under another name and appears whole or not at all. It is the same whichever database the state is in, and becomes a
//! state in either.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::db::{Access, Db, StateLocation};
use super::home::{DATABASE, Home, LOG, WATERMARK};
use super::secrets::{MASTER, PEPPER, io_error, put};
use super::{Pepper, StateError, check_ledger, checksums, copy, row_macs};

/// The extent of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckReport {
    /// Entries of the credit ledger.
    pub entries: u64,
}

impl Home {
    /// Opens a state that is there already; makes nothing.
    ///
    /// # Errors
    /// As [`Home::open`], and when there is none.
    pub fn open_existing(place: &StateLocation, secrets_dir: Option<&Path>) -> Result<Self, StateError> {
        match place {
            StateLocation::Folder(path) => {
                let database = path.join(DATABASE);
                match fs::metadata(&database) {
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        return Err(StateError::NoState { path: path.clone() });
                    }
                    // It may be there.
                    Err(error) => return Err(io_error("cannot read", &database)(error)),
                }
            }
            StateLocation::Postgres(address) => {
                let made = "SELECT CAST(tablename AS TEXT) FROM pg_tables
                            WHERE tablename = 'setting' AND schemaname = ANY (current_schemas(false))";
                let found = Db::open_postgres(address, Access::Read)?.transaction(|tx| tx.row(made, &[]))?;
                found.ok_or_else(|| StateError::NoState { path: address.to_string().into() })?;
            }
        }
        Self::open(place, secrets_dir)
    }

    /// Checks the structure of the database, the MACs of keys, accounts and plans, and that every balance is the end of an
    /// unbroken chain of entries.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<CheckReport, StateError> {
        // It takes long, and writers need not wait for it.
        check(&mut self.connect(Access::Read)?, self.pepper())
    }

    /// Copies database and secrets into a new folder, while others may write; the copy is the state of one moment, and
    /// is checked before it gets its name.
    ///
    /// # Errors
    /// When `folder` is there already, cannot be written, or the copy does not pass the check.
    pub fn back_up(&self, folder: &Path) -> Result<CheckReport, StateError> {
        vacant(folder)?;
        let draft = Draft::make(folder)?;
        let copy = draft.path.join(DATABASE);
        make_file(&copy)?;
        copy::copy_to_file(&mut self.connect(Access::Read)?, &copy)?;
        let checked = check(&mut Db::open_sqlite(&copy, Access::Read)?, self.pepper())?;
        put(&draft.path, PEPPER, self.pepper().bytes())?;
        put(&draft.path, MASTER, self.master().bytes())?;
        draft.keep_as(folder)?;
        Ok(checked)
    }

    /// Makes a state out of a backup. The backup stays as it is.
    ///
    /// # Errors
    /// When there is a state or a secret in the way, or the backup is not whole.
    pub fn restore(
        backup: &Path,
        place: &StateLocation,
        secrets_dir: Option<&Path>,
    ) -> Result<CheckReport, StateError> {
        match place {
            StateLocation::Folder(folder) => Self::restore_folder(backup, folder, secrets_dir),
            StateLocation::Postgres(address) => {
                let secrets = secrets_dir.ok_or(StateError::NoSecretsDir)?;
                let draft = Draft::make(secrets)?;
                let (home, _) = unpack(backup, &draft)?;
                let mut to = Db::open_postgres(address, Access::Write)?;
                to.transaction(copy::check_empty)?;
                // Before the rows: with them the state is there, and it is nothing without these.
                put_secrets(&home, secrets)?;
                copy::copy(&mut home.connect(Access::Read)?, &mut to)?;
                Self::open(place, secrets_dir)?.check()
            }
        }
    }

    fn restore_folder(backup: &Path, folder: &Path, secrets_dir: Option<&Path>) -> Result<CheckReport, StateError> {
        vacant(folder)?;
        let draft = Draft::make(folder)?;
        let (home, checked) = unpack(backup, &draft)?;
        if let Some(secrets) = secrets_dir {
            put_secrets(&home, secrets)?;
            for name in [PEPPER, MASTER] {
                let path = draft.path.join(name);
                fs::remove_file(&path).map_err(io_error("cannot remove", &path))?;
            }
        }
        draft.keep_as(folder)?;
        Ok(checked)
    }
}

/// A state in a folder out of a backup, opened as a state is opened: schema, secrets and database must fit.
fn unpack(backup: &Path, draft: &Draft) -> Result<(Home, CheckReport), StateError> {
    let log = backup.join(LOG);
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(StateError::NoBackup { path: log });
    }
    for name in [DATABASE, WATERMARK, PEPPER, MASTER] {
        let from = backup.join(name);
        if name == WATERMARK && !from.exists() {
            // Only the folder of a state that was served has a watermark, which shows whether its log of commits is
            // missing.
            continue;
        }
        let bytes = fs::File::open(&from).map_err(io_error("cannot read", &from))?;
        let mut to = make_file(&draft.path.join(name))?;
        std::io::copy(&mut &bytes, &mut to).and_then(|_| to.sync_all()).map_err(io_error("cannot copy", &from))?;
    }
    let home = Home::in_folder(&draft.path)?;
    let checked = home.check()?;
    Ok((home, checked))
}

/// Puts the secrets of a state into a folder, unless they are there; others are not overwritten.
fn put_secrets(home: &Home, folder: &Path) -> Result<(), StateError> {
    let ours = [(PEPPER, home.pepper().bytes()), (MASTER, home.master().bytes())];
    let mut missing = Vec::new();
    for (name, bytes) in ours {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(found) if found == bytes => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push((name, bytes)),
            Ok(_) | Err(_) => return Err(StateError::Occupied { path }),
        }
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(io_error("cannot make the folder", folder))?;
    missing.into_iter().try_for_each(|(name, bytes)| put(folder, name, bytes))
}

fn check(db: &mut Db, pepper: &Pepper) -> Result<CheckReport, StateError> {
    db.check_integrity()?;
    db.transaction(|tx| {
        tx.repeatable_read()?;
        row_macs::check(tx, pepper)?;
        checksums::check(tx)
    })?;
    Ok(CheckReport { entries: check_ledger(db)? })
}

/// Nothing may be there, an empty folder excepted.
fn vacant(path: &Path) -> Result<(), StateError> {
    let occupied = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if occupied { Err(StateError::Occupied { path: path.to_owned() }) } else { Ok(()) }
}

fn make_file(path: &Path) -> Result<fs::File, StateError> {
    let opened = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    opened.map_err(io_error("cannot make", path))
}

/// A folder that goes away again unless it is kept.
struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Makes it beside where it is to be, so that a rename is enough.
    fn make(target: &Path) -> Result<Self, StateError> {
        let mut name = target.file_name().unwrap_or("state".as_ref()).to_os_string();
        name.push(format!(".draft-{}", uuid::Uuid::now_v7().simple()));
        let path = target.with_file_name(name);
        if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(io_error("cannot make the folder", parent))?;
        }
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(io_error("cannot make the folder", &path))?;
        Ok(Self { path })
    }

    fn keep_as(self, target: &Path) -> Result<(), StateError> {
        let synced = fs::File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("cannot sync", &self.path))?;
        fs::rename(&self.path, target).map_err(io_error("cannot make", target))?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(parent).and_then(|folder| folder.sync_all()).map_err(io_error("cannot sync", parent))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Not there any more where it was kept.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{Environment, Options, State};

    fn state(path: &Path) -> (Home, String) {
        let home = Home::in_folder(path).unwrap();
        let made = home.admin("test", |admin| admin.create_key("k", Environment::Live, 7, None)).unwrap();
        (home, made.id)
    }

    #[test]
    fn a_backup_is_private_and_becomes_a_state_again() {
        let place = tempfile::tempdir().unwrap();
        let (home, id) = state(&place.path().join("state"));
        let backup = place.path().join("deep/backup");
        assert_eq!(home.back_up(&backup).unwrap(), CheckReport { entries: 1 });
        for (name, mode) in [(DATABASE, 0o600), (PEPPER, 0o600), (MASTER, 0o600), (".", 0o700)] {
            assert_eq!(fs::metadata(backup.join(name)).unwrap().permissions().mode() & 0o777, mode, "{name}");
        }
        home.admin("test", |admin| admin.add_credits(&id, 5)).unwrap();
        let again = place.path().join("again");
        Home::restore(&backup, &StateLocation::Folder(again.clone()), None).unwrap();
        let restored = Home::open_existing(&StateLocation::Folder(again), None).unwrap();
        assert_eq!(restored.admin("test", |admin| admin.key(&id)).unwrap().credits, 7);
        assert_eq!(restored.pepper().digest(&[b"x"]), home.pepper().digest(&[b"x"]));
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_half_done_stays() {
        let place = tempfile::tempdir().unwrap();
        let (home, _) = state(&place.path().join("state"));
        let backup = place.path().join("backup");
        home.back_up(&backup).unwrap();
        assert!(matches!(home.back_up(&backup), Err(StateError::Occupied { .. })));
        let occupied = Home::restore(&backup, home.place(), None);
        assert!(matches!(occupied, Err(StateError::Occupied { .. })));
        let to = StateLocation::Folder(place.path().join("to"));
        fs::write(backup.join(PEPPER), [1; 32]).unwrap();
        assert!(matches!(Home::restore(&backup, &to, None), Err(StateError::WrongSecret { .. })));
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(matches!(Home::open_existing(&to, None), Err(StateError::NoState { .. })));
    }

    #[test]
    fn a_backup_that_was_changed_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (home, _) = state(&place.path().join("state"));
        let backup = place.path().join("backup");
        home.back_up(&backup).unwrap();
        let database = rusqlite::Connection::open(backup.join(DATABASE)).unwrap();
        database.execute_batch("UPDATE account SET balance = 8").unwrap();
        drop(database);
        let refused = Home::restore(&backup, &StateLocation::Folder(place.path().join("to")), None);
        assert!(matches!(refused, Err(StateError::BrokenLedger { .. })), "{refused:?}");
    }

    #[test]
    fn the_folder_of_a_state_whose_log_holds_commits_is_no_backup() {
        let place = tempfile::tempdir().unwrap();
        let (home, id) = state(&place.path().join("state"));
        let StateLocation::Folder(folder) = home.place() else { unreachable!("it was made in a folder") };
        // Who reads leaves the log as it is.
        let mut reader = home.connect(Access::Read).unwrap();
        reader.transaction(|tx| tx.rows("SELECT id FROM account", &[])).unwrap();
        home.admin("test", |admin| admin.add_credits(&id, 5)).unwrap();
        drop(reader);
        let to = StateLocation::Folder(place.path().join("to"));
        let refused = Home::restore(folder, &to, None).unwrap_err();
        assert!(matches!(&refused, StateError::NoBackup { path } if path.ends_with(LOG)), "{refused:?}");
        assert!(refused.to_string().contains("`headwater state backup`"), "{refused}");
        fs::remove_file(folder.join(LOG)).unwrap();
        let missed = Home::restore(folder, &to, None);
        assert!(matches!(missed, Err(StateError::LostCommits { .. })), "{missed:?}");
    }

    #[test]
    fn a_state_that_was_stopped_is_one_file_whoever_read_of_it() {
        let place = tempfile::tempdir().unwrap();
        let (home, _) = state(&place.path().join("state"));
        let state = State::start(&home, Options::default(), Box::new(|| panic!("latched"))).unwrap();
        state.read(|tx| tx.rows("SELECT id FROM account", &[])).unwrap();
        state.close();
        let StateLocation::Folder(folder) = home.place() else { unreachable!("it was made in a folder") };
        assert!(!folder.join(LOG).exists());
        Home::restore(folder, &StateLocation::Folder(place.path().join("to")), None).unwrap();
    }

    #[test]
    fn secrets_can_be_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let (home, _) = state(&place.path().join("state"));
        let backup = place.path().join("backup");
        home.back_up(&backup).unwrap();
        let (to, secrets) = (StateLocation::Folder(place.path().join("to")), place.path().join("secrets"));
        Home::restore(&backup, &to, Some(&secrets)).unwrap();
        assert!(Home::open(&to, Some(&secrets)).is_ok());
        assert!(!place.path().join("to").join(PEPPER).exists());
    }
}

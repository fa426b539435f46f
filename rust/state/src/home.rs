//! The home of the state: its database, and in files that only their owner reads the secrets that it depends on.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::db::{Access, Db, StateLocation, Tx};
use super::secrets::{self, MASTER, Master, PEPPER};
use super::{Pepper, StateError};

pub(super) const DATABASE: &str = "gateway.sqlite";
/// The log of commits that are not brought into the database yet.
pub(super) const LOG: &str = "gateway.sqlite-wal";
/// The file that shows that commits are missing.
pub(super) const WATERMARK: &str = "gateway.watermark";

/// The file by whose locks servers on one folder know of each other.
const SERVING: &str = "serving";

/// Says to other servers on the same folder that this one lives, for as long as it is kept.
#[derive(Debug)]
pub(super) struct Presence {
    _lock: fs::File,
    /// True if it was the only one when it came: any other that did not say it ended was killed.
    pub alone: bool,
}

impl Presence {
    fn in_folder(folder: &Path) -> Result<Self, StateError> {
        let path = folder.join(SERVING);
        let opened = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = opened.map_err(secrets::io_error("cannot open", &path))?;
        let lock_shared = || lock.lock_shared().map_err(secrets::io_error("cannot lock", &path));
        let mut alone = lock.try_lock().is_ok();
        if !alone {
            // A command that looks whether a server runs has the lock for a moment; servers have it for as long as they run.
            lock_shared()?;
            alone = lock.try_lock().is_ok();
        }
        lock_shared()?;
        Ok(Self { _lock: lock, alone })
    }
}

/// Keeps servers from starting on a folder that no server runs on.
#[derive(Debug)]
pub(super) struct Absence {
    _lock: fs::File,
}

impl Absence {
    /// Returns `None` where a server runs, and where that cannot be known.
    fn in_folder(folder: &Path) -> Option<Self> {
        let lock = fs::OpenOptions::new().write(true).open(folder.join(SERVING)).ok()?;
        lock.try_lock().is_ok().then_some(Self { _lock: lock })
    }
}

/// An opened state.
#[derive(Debug, Clone)]
pub struct Home {
    place: StateLocation,
    pepper: Pepper,
    master: Master,
}

impl Home {
    /// Opens the state. A folder is made (mode 0700) with its database and its secrets (mode 0600) where they are not
    /// there yet; the secrets of a shared database are in `secrets_dir` and are never made here.
    ///
    /// # Errors
    /// When it cannot be made, read or reached, or when its secrets do not belong to its database.
    pub fn open(place: &StateLocation, secrets_dir: Option<&Path>) -> Result<Self, StateError> {
        match place {
            StateLocation::Folder(path) => Self::open_folder(path, secrets_dir.unwrap_or(path)),
            StateLocation::Postgres(_) => {
                let folder = secrets_dir.ok_or_else(|| StateError::MissingSecret { path: PathBuf::from(PEPPER) })?;
                let home =
                    Self { place: place.clone(), pepper: secrets::pepper(folder)?, master: secrets::master(folder)? };
                let mut db = home.connect(Access::Write)?;
                home.check_secrets(&mut db, folder)?;
                Ok(home)
            }
        }
    }

    /// Opens the state in a folder.
    ///
    /// # Errors
    /// As [`Home::open`].
    pub fn in_folder(path: &Path) -> Result<Self, StateError> {
        Self::open(&StateLocation::Folder(path.to_owned()), None)
    }

    /// Makes a state: also the secrets of a shared one, which [`Home::open`] never makes, so that a replica cannot come
    /// up with its own.
    ///
    /// # Errors
    /// As [`Home::open`]. Secrets that a database was made with and that are missing are not made anew.
    pub fn init(place: &StateLocation, secrets_dir: Option<&Path>) -> Result<Self, StateError> {
        if let (StateLocation::Postgres(address), Some(folder)) = (place, secrets_dir) {
            let mut db = Db::open_postgres(address, Access::Write)?;
            if db.transaction(|tx| fingerprint(tx, "pepper"))?.is_none() {
                secrets::make(folder)?;
            }
        }
        Self::open(place, secrets_dir)
    }

    fn open_folder(path: &Path, secrets_dir: &Path) -> Result<Self, StateError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(secrets::io_error("cannot make the folder", path))?;
        let database = path.join(DATABASE);
        // Made before SQLite opens it, so that it and its companions (which take its mode) are private from the start.
        fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&database)
            .map_err(secrets::io_error("cannot open", &database))?;
        let mut db = Db::open_sqlite(&database, Access::Write)?;
        let known = db.transaction(|tx| fingerprint(tx, "pepper"))?.is_some();
        if !known {
            secrets::make(secrets_dir)?;
        }
        let place = StateLocation::Folder(path.to_owned());
        let home = Self { place, pepper: secrets::pepper(secrets_dir)?, master: secrets::master(secrets_dir)? };
        home.check_secrets(&mut db, secrets_dir)?;
        Ok(home)
    }

    /// The default place: `DIR.state` beside the store `DIR`.
    #[must_use]
    pub fn beside(store: &Path) -> PathBuf {
        let mut name = store.file_name().unwrap_or("store".as_ref()).to_os_string();
        name.push(".state");
        store.with_file_name(name)
    }

    /// Returns where it is.
    #[must_use]
    pub const fn place(&self) -> &StateLocation {
        &self.place
    }

    /// The database file of a state in a folder.
    #[must_use]
    pub fn database(&self) -> Option<PathBuf> {
        match &self.place {
            StateLocation::Folder(path) => Some(path.join(DATABASE)),
            StateLocation::Postgres(_) => None,
        }
    }

    /// Returns what digests of keys depend on.
    #[must_use]
    pub const fn pepper(&self) -> &Pepper {
        &self.pepper
    }

    /// Returns what secrets are sealed under.
    #[must_use]
    pub const fn master(&self) -> &Master {
        &self.master
    }

    /// Lets a server be known to others; of a shared database they know by its beats.
    pub(super) fn presence(&self) -> Result<Option<Presence>, StateError> {
        match &self.place {
            StateLocation::Folder(path) => Presence::in_folder(path).map(Some),
            StateLocation::Postgres(_) => Ok(None),
        }
    }

    /// Keeps servers from starting for a moment where none runs; of a shared database nobody can.
    pub(super) fn absence(&self) -> Option<Absence> {
        match &self.place {
            StateLocation::Folder(path) => Absence::in_folder(path),
            StateLocation::Postgres(_) => None,
        }
    }

    /// A connection of its own.
    ///
    /// # Errors
    /// When the database cannot be opened or reached.
    pub fn connect(&self, access: Access) -> Result<Db, StateError> {
        match &self.place {
            StateLocation::Folder(path) => Db::open_sqlite(&path.join(DATABASE), access),
            StateLocation::Postgres(address) => Db::open_postgres(address, access),
        }
    }

    /// The database remembers digests of its secrets, so that wrong ones are refused at the start and not key by key.
    fn check_secrets(&self, db: &mut Db, folder: &Path) -> Result<(), StateError> {
        let ours =
            [("pepper", self.pepper.digest(&[b"fingerprint"]), PEPPER), ("master", self.master.fingerprint(), MASTER)];
        for (name, digest, file) in ours {
            let same = db.transaction(|tx| {
                tx.execute(
                    "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                    &[name.into(), (&digest).into()],
                )?;
                Ok(fingerprint(tx, name)?.as_deref() == Some(digest.as_slice()))
            })?;
            if !same {
                return Err(StateError::WrongSecret { path: folder.join(file) });
            }
        }
        Ok(())
    }
}

fn fingerprint(tx: &mut Tx<'_>, name: &str) -> Result<Option<Vec<u8>>, StateError> {
    let row = tx.row("SELECT value FROM setting WHERE name = ?1", &[name.into()])?;
    row.map(|row| row.blob(0).map(<[u8]>::to_vec)).transpose()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::db::Value;

    #[test]
    fn secrets_are_for_the_owner_only_and_stay_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("demo.state");
        let first = Home::in_folder(&path).unwrap();
        let again = Home::in_folder(&path).unwrap();
        assert_eq!(first.pepper.digest(&[b"x"]), again.pepper.digest(&[b"x"]));
        assert_eq!(again.master.open(&first.master.seal(b"secret").unwrap()).unwrap(), b"secret");
        for (name, mode) in [(DATABASE, 0o600), (PEPPER, 0o600), (MASTER, 0o600), (".", 0o700)] {
            let found = fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name}");
        }
    }

    #[test]
    fn a_lost_or_foreign_secret_is_refused_at_the_start() {
        for file in [PEPPER, MASTER] {
            let place = tempfile::tempdir().unwrap();
            Home::in_folder(place.path()).unwrap();
            let secret = place.path().join(file);
            fs::write(&secret, [0; 32]).unwrap();
            assert!(matches!(Home::in_folder(place.path()), Err(StateError::WrongSecret { .. })));
            fs::write(&secret, [0; 31]).unwrap();
            assert!(matches!(Home::in_folder(place.path()), Err(StateError::BadSecret { .. })));
            fs::remove_file(&secret).unwrap();
            assert!(matches!(Home::in_folder(place.path()), Err(StateError::MissingSecret { .. })));
        }
    }

    #[test]
    fn changed_digest_in_the_database_blames_file_or_database() {
        for (name, file) in [("pepper", PEPPER), ("master", MASTER)] {
            let place = tempfile::tempdir().unwrap();
            let home = Home::in_folder(place.path()).unwrap();
            let mut db = home.connect(Access::Write).unwrap();
            let mut put = |digest: &[u8]| {
                let values: [Value<'_>; 2] = [name.into(), Value::Blob(digest)];
                db.transaction(|tx| tx.execute("UPDATE setting SET value = ?2 WHERE name = ?1", &values)).unwrap();
            };
            let mut digest = match file {
                PEPPER => home.pepper.digest(&[b"fingerprint"]),
                _ => home.master.fingerprint(),
            };
            digest[7] ^= 4;
            put(&digest);
            let said = Home::in_folder(place.path()).unwrap_err().to_string();
            let path = place.path().join(file);
            for part in [path.to_str().unwrap(), "the original file back", "damaged", "`headwater state restore`"] {
                assert!(said.contains(part), "{part}: {said}");
            }
            digest[7] ^= 4;
            put(&digest);
            assert!(Home::in_folder(place.path()).is_ok(), "nothing else was wrong with {name}");
        }
    }

    #[test]
    fn state_is_beside_the_store() {
        assert_eq!(Home::beside(Path::new("/data/demo")), Path::new("/data/demo.state"));
        assert_eq!(Home::beside(Path::new("demo/")), Path::new("demo.state"));
    }
}

//! The state folder: the database, and beside it the pepper in a file that only its owner reads.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::schema::{open_reader, open_writer};
use super::{Pepper, StateError};

const DATABASE: &str = "gateway.sqlite";
const PEPPER: &str = "key.pepper";

/// An opened state folder.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    pepper: Pepper,
}

impl StateFolder {
    /// Opens the folder, making it (mode 0700), its database and its pepper (mode 0600) where they are not there yet.
    ///
    /// # Errors
    /// When the folder cannot be made or read, or when its pepper does not belong to its database.
    pub fn open_or_create(path: &Path) -> Result<Self, StateError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(io_error("cannot make the folder", path))?;
        let database = path.join(DATABASE);
        let known = database.exists();
        // Made before SQLite opens it, so that it and its companions (which take its mode) are private from the start.
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&database)
            .map_err(io_error("cannot open", &database))?;
        let pepper_path = path.join(PEPPER);
        let connection = open_writer(&database)?;
        if known && !pepper_path.exists() && fingerprint(&connection, &database)?.is_some() {
            return Err(StateError::WrongPepper { path: pepper_path });
        }
        let folder = Self { path: path.to_owned(), pepper: read_or_make_pepper(path, &pepper_path)? };
        folder.check_pepper(&connection, &pepper_path)?;
        Ok(folder)
    }

    /// The default place: `DIR.state` beside the store `DIR`.
    #[must_use]
    pub fn beside(store: &Path) -> PathBuf {
        let mut name = store.file_name().unwrap_or("store".as_ref()).to_os_string();
        name.push(".state");
        store.with_file_name(name)
    }

    /// The database file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The pepper.
    #[must_use]
    pub const fn pepper(&self) -> &Pepper {
        &self.pepper
    }

    /// A connection that may write. The gateway keeps one in one thread; a command uses its own, briefly.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn writer(&self) -> Result<Connection, StateError> {
        open_writer(&self.database())
    }

    /// A connection that only reads.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn reader(&self) -> Result<Connection, StateError> {
        open_reader(&self.database())
    }

    /// The database remembers a digest of its pepper, so that a wrong one is refused at the start and not key by key.
    fn check_pepper(&self, connection: &Connection, pepper_path: &Path) -> Result<(), StateError> {
        let database = self.database();
        let ours = self.pepper.digest(&[b"fingerprint"]);
        connection
            .execute(
                "INSERT INTO setting (name, value) VALUES ('pepper', ?1) ON CONFLICT DO NOTHING",
                [ours.as_slice()],
            )
            .map_err(|source| StateError::Database { path: database.clone(), source })?;
        if fingerprint(connection, &database)?.as_deref() == Some(ours.as_slice()) {
            Ok(())
        } else {
            Err(StateError::WrongPepper { path: pepper_path.to_owned() })
        }
    }
}

fn fingerprint(connection: &Connection, database: &Path) -> Result<Option<Vec<u8>>, StateError> {
    connection
        .query_row("SELECT value FROM setting WHERE name = 'pepper'", [], |row| row.get(0))
        .optional()
        .map_err(|source| StateError::Database { path: database.to_owned(), source })
}

fn read_or_make_pepper(folder: &Path, path: &Path) -> Result<Pepper, StateError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_pepper(folder, path)?,
        Err(source) => return Err(io_error("cannot read", path)(source)),
        Ok(_) => {}
    }
    let mode = fs::metadata(path).map_err(io_error("cannot read", path))?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io_error("cannot protect", path))?;
    }
    let bytes = fs::read(path).map_err(io_error("cannot read", path))?;
    let found = bytes.len();
    <[u8; 32]>::try_from(bytes).map(Pepper::new).map_err(|_| StateError::BadPepper { path: path.to_owned(), found })
}

/// Two processes may come here at once: a hard link is made by one of them only, and the other reads what is there.
fn make_pepper(folder: &Path, path: &Path) -> Result<(), StateError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    let draft = folder.join(format!("{PEPPER}.{}", std::process::id()));
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
    let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    let synced = linked.and_then(|()| fs::File::open(folder)?.sync_all());
    // A draft that stays behind is harmless: the next one of this process id writes over it.
    let _ = fs::remove_file(&draft);
    synced.map_err(io_error("cannot write", path))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_for_the_owner_only_and_stay_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("demo.state");
        let first = StateFolder::open_or_create(&path).unwrap();
        let again = StateFolder::open_or_create(&path).unwrap();
        assert_eq!(first.pepper.digest(&[b"x"]), again.pepper.digest(&[b"x"]));
        for (name, mode) in [(DATABASE, 0o600), (PEPPER, 0o600), (".", 0o700)] {
            let found = fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name}");
        }
        assert_eq!(fs::read_dir(&path).unwrap().filter(|e| e.as_ref().unwrap().file_name() == "key.pepper").count(), 1);
    }

    #[test]
    fn a_lost_or_foreign_pepper_is_refused_at_the_start() {
        let place = tempfile::tempdir().unwrap();
        StateFolder::open_or_create(place.path()).unwrap();
        let pepper = place.path().join(PEPPER);
        fs::write(&pepper, [0; 32]).unwrap();
        assert!(matches!(StateFolder::open_or_create(place.path()), Err(StateError::WrongPepper { .. })));
        fs::write(&pepper, [0; 31]).unwrap();
        assert!(matches!(StateFolder::open_or_create(place.path()), Err(StateError::BadPepper { found: 31, .. })));
        fs::remove_file(&pepper).unwrap();
        assert!(matches!(StateFolder::open_or_create(place.path()), Err(StateError::WrongPepper { .. })));
    }

    #[test]
    fn the_state_stands_beside_the_store() {
        assert_eq!(StateFolder::beside(Path::new("/data/demo")), Path::new("/data/demo.state"));
        assert_eq!(StateFolder::beside(Path::new("demo/")), Path::new("demo.state"));
    }
}

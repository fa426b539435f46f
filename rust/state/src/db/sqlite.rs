//! `SQLite`, embedded.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::hooks::Wal;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior};

use super::{Access, Cell, FIRST_SCHEMA, Insert, Row, TransactionFailure, Value};
use crate::StateError;
use crate::secrets::io_error;

/// The steps from an empty database to the schema of this version; the first one leads to [`FIRST_SCHEMA`]. The number is
/// stored in `user_version`. A released step is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_state.sql"),
    include_str!("../../migrations/sqlite/0002_request_sums.sql"),
];

/// Rows that one statement inserts, where there are as many: to begin and end it takes about as long as a row.
const TOGETHER: usize = 32;

/// Pages of the log of commits from which on it is brought into the database.
const LOG_PAGES: std::ffi::c_int = 1000;

pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// True if a commit ended in an unknown state: nothing more is written on this connection.
    unknown: bool,
    /// The file where commits are noted; a connection that only reads has none.
    watermark: Option<Watermark>,
    /// Rows changed on this connection before the open transaction.
    changed: u64,
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Sqlite {
    pub fn open(path: &Path, access: Access) -> Result<Self, StateError> {
        let failed = |source| database_error(path, source);
        let flags = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(128);
        let mut opened = Self { connection, path: path.to_owned(), unknown: false, watermark: None, changed: 0 };
        if access == Access::Write {
            // Read first: commits of others in between are in the database then.
            let (watermark, noted) = Watermark::open(path)?;
            let turn = watermark.turn();
            opened.set_up()?;
            opened.has_all(noted)?;
            drop(turn);
            opened.watermark = Some(watermark);
        }
        Ok(opened)
    }

    fn set_up(&mut self) -> Result<(), StateError> {
        let failed = |source| database_error(&self.path, source);
        let pragmas = || {
            self.connection.pragma_update(None, "journal_mode", "WAL")?;
            self.connection.pragma_update(None, "synchronous", "FULL")?;
            self.connection.pragma_update(None, "trusted_schema", false)
        };
        pragmas().map_err(failed)?;
        // In place of SQLite's own, which says nothing of a sync that failed.
        self.connection.wal_hook(Some(bring_in)).map_err(|source| database_error(&self.path, source))?;
        self.migrate(MIGRATIONS)?;
        self.connection.pragma_update(None, "foreign_keys", true).map_err(|source| database_error(&self.path, source))
    }

    /// Takes the missing steps, each in its own transaction: after a crash between two steps the next start continues.
    fn migrate(&mut self, steps: &[&str]) -> Result<(), StateError> {
        let schemas = (FIRST_SCHEMA..).zip(steps);
        let known = schemas.clone().last().map_or(0, |(version, _)| version);
        for (version, sql) in schemas {
            let step = || {
                let step = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
                let found: i64 = step.pragma_query_value(None, "user_version", |row| row.get(0))?;
                let before = if version == FIRST_SCHEMA { 0 } else { version - 1 };
                if found != before {
                    return Ok(found);
                }
                step.execute_batch(sql)?;
                step.pragma_update(None, "user_version", version)?;
                step.commit()?;
                Ok(version)
            };
            let found = step().map_err(|source| database_error(&self.path, source))?;
            if !(version..=known).contains(&found) {
                return Err(StateError::OtherSchema { place: self.path.display().to_string(), found, known });
            }
        }
        Ok(())
    }

    pub const fn is_unknown(&self) -> bool {
        self.unknown
    }

    pub fn begin(&mut self) -> Result<(), StateError> {
        if self.unknown {
            return Err(StateError::Latched);
        }
        let behaviour = match self.connection.is_readonly("main") {
            Ok(true) => "BEGIN DEFERRED",
            _ => "BEGIN IMMEDIATE",
        };
        self.changed = self.connection.total_changes();
        let _turn = self.watermark.as_ref().map(Watermark::turn);
        self.connection.execute_batch(behaviour).map_err(|source| self.failed(source))
    }

    /// Returns whether a transaction is open: some failures, such as of a full disk, undo all of it at once.
    pub fn is_open(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Counts a commit that changes something; gives its number.
    fn count(&self) -> rusqlite::Result<Option<i64>> {
        if self.watermark.is_none() || self.connection.total_changes() == self.changed {
            return Ok(None);
        }
        let mut count =
            self.connection.prepare_cached("UPDATE commit_count SET number = number + 1 RETURNING number")?;
        count.query_row([], |row| row.get(0)).map(Some)
    }

    /// Returns whether all commits are there that were acknowledged.
    fn has_all(&self, noted: i64) -> Result<(), StateError> {
        let found: i64 = self
            .connection
            .query_row("SELECT number FROM commit_count", [], |row| row.get(0))
            .map_err(|source| self.failed(source))?;
        if found >= noted {
            return Ok(());
        }
        let place = self.path.display().to_string();
        Err(StateError::LostCommits { place, missing: noted - found, watermark: Watermark::of(&self.path) })
    }

    pub fn commit(&mut self) -> Result<(), TransactionFailure> {
        let number = match self.count() {
            Ok(number) => number,
            Err(source) => {
                self.roll_back();
                return Err(TransactionFailure::Certain(self.failed(source)));
            }
        };
        match self.connection.execute_batch("COMMIT") {
            Ok(()) => {
                if let (Some(watermark), Some(number)) = (&self.watermark, number) {
                    watermark.note(number);
                }
                Ok(())
            }
            Err(source) if is_known_undone(&source) => {
                self.roll_back();
                Err(TransactionFailure::Certain(self.failed(source)))
            }
            Err(source) => {
                self.unknown = true;
                Err(TransactionFailure::Unknown(self.failed(source)))
            }
        }
    }

    pub fn roll_back(&mut self) {
        // Some errors have rolled back already.
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, path = %self.path.display(), "a transaction could not be rolled back");
        }
    }

    pub fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StateError> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.execute(rusqlite::params_from_iter(values))
        };
        run().map(|changed| changed as u64).map_err(|source| self.failed(source))
    }

    pub fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StateError> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let cells = (0..columns).map(|column| row.get_ref(column).map(cell));
                found.push(Row(cells.collect::<rusqlite::Result<_>>()?));
            }
            Ok(found)
        };
        run().map_err(|source| self.failed(source))
    }

    pub fn each(&mut self, sql: &str, take: &mut dyn FnMut(Row) -> Result<(), StateError>) -> Result<(), StateError> {
        let failed = |source| database_error(&self.path, source);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let cells = (0..columns).map(|column| row.get_ref(column).map(cell));
            take(Row(cells.collect::<rusqlite::Result<_>>().map_err(failed)?))?;
        }
        Ok(())
    }

    pub fn insert(&mut self, into: &'static Insert, rows: &[Vec<Value<'_>>]) -> Result<u64, StateError> {
        let statement = |rows: usize| {
            let row = format!("({})", vec!["?"; into.columns].join(", "));
            let sql = format!("{} VALUES {} ON CONFLICT DO NOTHING", into.head, vec![row; rows].join(", "));
            self.connection.prepare_cached(&sql)
        };
        let run = || {
            let (many, rest) = rows.as_chunks::<TOGETHER>();
            let mut inserted = 0;
            if !many.is_empty() {
                let mut statement = statement(TOGETHER)?;
                for rows in many {
                    inserted += statement.execute(rusqlite::params_from_iter(rows.iter().flatten()))? as u64;
                }
            }
            if !rest.is_empty() {
                let mut statement = statement(1)?;
                for row in rest {
                    inserted += statement.execute(rusqlite::params_from_iter(row))? as u64;
                }
            }
            Ok(inserted)
        };
        run().map_err(|source| self.failed(source))
    }

    pub fn data_version(&mut self) -> Result<i64, StateError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|source| self.failed(source))
    }

    pub fn copy_to(&mut self, path: &Path) -> Result<(), StateError> {
        // Pages per step.
        const PAGES: std::ffi::c_int = 1024;
        let run = || {
            let mut copy = Connection::open(path)?;
            // One moment is read from the first page to the last: without that, SQLite begins anew with every commit
            // of others.
            let moment = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
            moment.query_row("SELECT number FROM commit_count", [], |_| Ok(()))?;
            let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy)?;
            backup.run_to_completion(PAGES, Duration::ZERO, None)?;
            drop(backup);
            moment.finish()?;
            Ok::<_, rusqlite::Error>(copy)
        };
        let connection = run().map_err(|source| database_error(path, source))?;
        Self { connection, path: path.to_owned(), unknown: false, watermark: None, changed: 0 }
            .checkpoint_to_single_file()
    }

    /// Ends as one file, without a companion, that is on the disk.
    pub fn checkpoint_to_single_file(self) -> Result<(), StateError> {
        let Self { connection, path, watermark, .. } = self;
        if watermark.is_some() {
            let watermark = Watermark::of(&path);
            std::fs::remove_file(&watermark).map_err(|source| StateError::Io {
                action: "cannot remove",
                path: watermark,
                source,
            })?;
        }
        connection.pragma_update(None, "journal_mode", "DELETE").map_err(|source| database_error(&path, source))?;
        drop(connection);
        std::fs::File::open(&path).and_then(|file| file.sync_all()).map_err(|source| StateError::Io {
            action: "cannot sync",
            path,
            source,
        })
    }

    pub fn check_integrity(&mut self) -> Result<(), StateError> {
        let said: String = self
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|source| self.failed(source))?;
        let damaged = |what| Err(StateError::Damaged { place: self.path.display().to_string(), what });
        if said != "ok" {
            return damaged(said);
        }
        let sound = || {
            let fresh = Connection::open_in_memory()?;
            MIGRATIONS.iter().try_for_each(|step| fresh.execute_batch(step))?;
            let (ours, found) = (definitions(&fresh)?, definitions(&self.connection)?);
            let other = ours.iter().zip(&found).find(|(ours, found)| ours != found).map(|(ours, _)| ours.0.clone());
            Ok(other.or_else(|| (ours.len() != found.len()).then(|| "something".to_owned())))
        };
        match sound().map_err(|source| self.failed(source))? {
            None => Ok(()),
            Some(name) => damaged(format!("the definition of {name} is not the one of this version")),
        }
    }

    fn failed(&self, source: rusqlite::Error) -> StateError {
        database_error(&self.path, source)
    }
}

/// Names and texts of all tables, indexes and triggers.
fn definitions(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut all =
        connection.prepare("SELECT name, type || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1")?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn database_error(path: &Path, source: rusqlite::Error) -> StateError {
    StateError::Database { place: path.display().to_string(), source: Box::new(source) }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        // There is no column of this type.
        #[expect(clippy::cast_possible_truncation, reason = "sums of integers come back as integers")]
        ValueRef::Real(value) => Cell::Int(value as i64),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_owned()),
    }
}

/// Brings the log of commits into the database when it has grown. Its syncs are as good or bad as those of commits: one
/// that fails fails the commit that it came with, though that one is there. What only has to wait waits.
fn bring_in(log: &mut Wal, pages: std::ffi::c_int) -> rusqlite::Result<()> {
    if pages < LOG_PAGES {
        return Ok(());
    }
    match log.checkpoint() {
        Err(error) if is_known_undone(&error) => Ok(()),
        done => done,
    }
}

/// A full disk or a database that another process holds leaves nothing behind. Anything else, a failed sync above
/// all, leaves it open what is on the disk.
fn is_known_undone(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The first bytes of the file.
const BEGIN: [u8; 8] = *b"HWMARK01";
const LENGTH: usize = 20;

/// An open watermark.
#[derive(Debug)]
pub(super) struct Watermark {
    file: File,
}

impl Watermark {
    /// Returns where the watermark of a database is.
    pub fn of(database: &Path) -> PathBuf {
        database.with_extension("watermark")
    }

    /// Opens the watermark of a database, and gives the number that it holds; 0 where it holds none that can be read.
    pub fn open(database: &Path) -> Result<(Self, i64), StateError> {
        let path = Self::of(database);
        let failed = |source| io_error("cannot open", &path)(source);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let mut bytes = Vec::with_capacity(LENGTH);
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok((Self { file }, number(&bytes).unwrap_or(0)))
    }

    /// The turn to begin a transaction, until it is dropped. `SQLite` has no turns: a writer that comes back at once
    /// finds the database free each time, and another that asks now and then may never do so. Who waits longer than any
    /// turn takes goes without.
    pub fn turn(&self) -> Turn<'_> {
        const LONGEST: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_micros(200);
        let mut since = None;
        while let Err(TryLockError::WouldBlock) = self.file.try_lock() {
            if since.get_or_insert_with(Instant::now).elapsed() > LONGEST {
                break;
            }
            thread::sleep(PAUSE);
        }
        Turn(&self.file)
    }

    /// Notes a commit. One that cannot be noted leaves the older watermark, which sees less.
    pub fn note(&self, number: i64) {
        if let Err(error) = self.file.write_all_at(&bytes(number), 0) {
            tracing::debug!(%error, "the watermark of commits could not be written");
        }
    }
}

/// A turn of [`Watermark::turn`].
pub(super) struct Turn<'a>(&'a File);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "a turn could not be given up");
        }
    }
}

fn bytes(number: i64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&BEGIN);
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn number(found: &[u8]) -> Option<i64> {
    let number = i64::from_le_bytes(found.get(8..16)?.try_into().ok()?);
    (found == bytes(number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    #[test]
    fn lost_acknowledged_commits_are_detected() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.sqlite");
        let commit = |count: usize| {
            let mut opened = Sqlite::open(&path, Access::Write)?;
            for _ in 0..count {
                opened.begin()?;
                opened.execute("INSERT INTO setting VALUES (hex(randomblob(8)), x'00')", &[])?;
                opened.commit().map_err(StateError::from)?;
                // What changes nothing is not a commit to be missed.
                opened.begin()?;
                opened.rows("SELECT * FROM setting", &[])?;
                opened.commit().map_err(StateError::from)?;
            }
            Ok::<(), StateError>(())
        };
        commit(3).unwrap();
        let older = std::fs::read(&path).unwrap();
        commit(2).unwrap();
        std::fs::write(&path, older).unwrap();
        let missed = commit(0);
        assert!(matches!(missed, Err(StateError::LostCommits { missing: 2, .. })), "{missed:?}");
        std::fs::remove_file(Watermark::of(&path)).unwrap();
        commit(1).unwrap();
    }

    #[test]
    fn a_writer_that_never_rests_keeps_no_other_waiting() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.sqlite");
        let write = |opened: &mut Sqlite, time: Duration| {
            opened.begin()?;
            opened.execute("INSERT INTO setting VALUES (hex(randomblob(8)), x'00')", &[])?;
            std::thread::sleep(time);
            opened.commit().map_err(StateError::from)
        };
        let mut busy = Sqlite::open(&path, Access::Write).unwrap();
        let done = AtomicBool::new(false);
        let (commits, mut waited) = std::thread::scope(|scope| {
            let busy = scope.spawn(|| {
                let mut commits = 0;
                while !done.load(Ordering::Relaxed) {
                    // So long that the database is free for a small part of the time only.
                    write(&mut busy, Duration::from_millis(3)).unwrap();
                    commits += 1;
                }
                commits
            });
            let waited: Vec<_> = (0..20)
                .map(|_| {
                    let begun = Instant::now();
                    let written =
                        Sqlite::open(&path, Access::Write).and_then(|mut other| write(&mut other, Duration::ZERO));
                    done.fetch_or(written.is_err(), Ordering::Relaxed);
                    written.unwrap();
                    begun.elapsed()
                })
                .collect();
            done.store(true, Ordering::Relaxed);
            (busy.join().unwrap(), waited)
        });
        waited.sort_unstable();
        println!("20 commits beside {commits} of a writer that never rests: {:?} to {:?}", waited[0], waited[19]);
        // Each of them begins twice: to see whether the schema is the newest, and to write.
        assert!((1..=20 * 10).contains(&commits), "{commits}");
    }

    #[test]
    fn a_copy_comes_to_its_end_beside_commits_and_is_of_one_moment() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.sqlite");
        let mut busy = Sqlite::open(&path, Access::Write).unwrap();
        let write = |opened: &mut Sqlite, sql: &str| {
            opened.begin()?;
            opened.execute(sql, &[])?;
            opened.commit().map_err(StateError::from)
        };
        // More pages than are copied in one step, of which each commit changes two that lie far apart.
        write(&mut busy, "INSERT INTO setting VALUES ('first', x'00'), ('large', zeroblob(40000000)), ('last', x'00')")
            .unwrap();
        let done = AtomicBool::new(false);
        let copy = place.path().join("copy.sqlite");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let both = "UPDATE setting SET value = CAST((SELECT number FROM commit_count) AS BLOB)
                                WHERE name IN ('first', 'last')";
                    write(&mut busy, both).unwrap();
                }
            });
            let copied = Sqlite::open(&path, Access::Read).and_then(|mut reader| reader.copy_to(&copy));
            done.store(true, Ordering::Relaxed);
            copied.unwrap();
        });
        let mut copied = Sqlite::open(&copy, Access::Read).unwrap();
        copied.check_integrity().unwrap();
        let both = "SELECT count(DISTINCT value) FROM setting WHERE name IN ('first', 'last')";
        assert_eq!(copied.rows(both, &[]).unwrap()[0].int(0).unwrap(), 1);
    }

    #[test]
    fn a_transaction_that_the_database_undid_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let mut opened = Sqlite::open(&place.path().join("state.sqlite"), Access::Write).unwrap();
        opened.begin().unwrap();
        assert!(opened.is_open());
        opened.execute("ROLLBACK", &[]).unwrap();
        assert!(!opened.is_open());
    }

    #[test]
    fn schema_of_another_version_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.sqlite");
        let mut opened = Sqlite::open(&path, Access::Write).unwrap();
        opened.check_integrity().unwrap();
        opened.connection.execute_batch("DROP TRIGGER credit_ledger_no_update").unwrap();
        assert!(matches!(opened.check_integrity(), Err(StateError::Damaged { .. })));
    }

    #[test]
    fn a_failed_migration_step_leaves_the_schema_before_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state.sqlite");
        let connection = Connection::open(&path).unwrap();
        let mut opened = Sqlite { connection, path, unknown: false, watermark: None, changed: 0 };
        let first = "CREATE TABLE one (a INTEGER) STRICT";
        assert!(opened.migrate(&[first, "CREATE TABLE two (a INTEGER); nonsense"]).is_err());
        let schema = |opened: &mut Sqlite| {
            let found = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version";
            let rows = opened.rows(found, &[]).unwrap();
            (rows[0].int(0).unwrap(), rows[0].int(1).unwrap())
        };
        assert_eq!(schema(&mut opened), (FIRST_SCHEMA, 1));
        // The first step is not taken again.
        opened.migrate(&[first, "CREATE TABLE two (a INTEGER)"]).unwrap();
        assert_eq!(schema(&mut opened), (FIRST_SCHEMA + 1, 2));
        let refused = opened.migrate(&[first]);
        let is_newer = |found, known| (found, known) == (FIRST_SCHEMA + 1, FIRST_SCHEMA);
        assert!(
            matches!(refused, Err(StateError::OtherSchema { found, known, .. }) if is_newer(found, known)),
            "{refused:?}"
        );
    }

    #[test]
    fn a_mark_that_was_changed_by_a_bit_says_nothing() {
        let whole = bytes(0x0123_4567_89ab);
        assert_eq!(number(&whole), Some(0x0123_4567_89ab));
        for bit in 0..LENGTH * 8 {
            let mut changed = whole;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(number(&changed), None, "bit {bit}");
        }
        assert_eq!((number(&[]), number(&whole[..19])), (None, None));
    }
}

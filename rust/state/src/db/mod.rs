//! One set of SQL for both databases: `SQLite` embedded, `PostgreSQL` for replicas.
//!
//! Statements are written once, with `?1` for parameters and 64-bit integers, text and bytes as the only types.
//! Where the two differ a comment says so: `/*lock*/` at the end of a query locks its rows in `PostgreSQL`,
//! `/*skip locked*/` takes those that nobody else has. `SQLite` has one writer at a time and reads past both.

mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use super::StateError;

pub use self::postgres::PostgresAddress;
pub(super) use self::postgres::is_held_up;

/// Number of the first schema; those below it were never released, and their states are refused.
const FIRST_SCHEMA: i64 = 10;

/// A connection to the state's database.
pub struct Db(Connection);

enum Connection {
    Sqlite(sqlite::Sqlite),
    Postgres(Box<self::postgres::Postgres>),
}

/// An open transaction.
pub struct Tx<'a>(&'a mut Connection);

/// The reason why a transaction is not there.
#[derive(Debug)]
pub(super) enum TransactionFailure {
    /// It could not even begin: nothing in it is to blame.
    NotBegun(StateError),
    /// Nothing of it is in the database.
    Certain(StateError),
    /// It may or may not be there.
    Unknown(StateError),
}

impl TransactionFailure {
    /// Returns the error of the database.
    pub const fn error(&self) -> &StateError {
        match self {
            Self::NotBegun(error) | Self::Certain(error) | Self::Unknown(error) => error,
        }
    }
}

impl From<TransactionFailure> for StateError {
    fn from(undone: TransactionFailure) -> Self {
        match undone {
            TransactionFailure::NotBegun(error)
            | TransactionFailure::Certain(error)
            | TransactionFailure::Unknown(error) => error,
        }
    }
}

/// The rights of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everything; brings the schema up to date.
    Write,
    /// Reads.
    Read,
}

impl Db {
    /// Opens a `SQLite` file.
    ///
    /// # Errors
    /// When it cannot be opened, or has another schema.
    pub fn open_sqlite(path: &Path, access: Access) -> Result<Self, StateError> {
        sqlite::Sqlite::open(path, access).map(|sqlite| Self(Connection::Sqlite(sqlite)))
    }

    /// Connects to a `PostgreSQL` server.
    ///
    /// # Errors
    /// When it cannot be reached, or has another schema.
    pub fn open_postgres(address: &PostgresAddress, access: Access) -> Result<Self, StateError> {
        self::postgres::Postgres::open(address, access).map(|one| Self(Connection::Postgres(Box::new(one))))
    }

    /// Runs `work` in a transaction: all of it is there afterwards, or nothing.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn transaction<T>(&mut self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
        Ok(self.attempt(work)?)
    }

    /// The same, telling a commit of unknown outcome from one that is certainly not there.
    pub(super) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>,
    ) -> Result<T, TransactionFailure> {
        match &mut self.0 {
            Connection::Sqlite(sqlite) => sqlite.begin(),
            Connection::Postgres(postgres) => postgres.begin(),
        }
        .map_err(TransactionFailure::NotBegun)?;
        match work(&mut Tx(&mut self.0)) {
            Ok(value) => {
                match &mut self.0 {
                    Connection::Sqlite(sqlite) => sqlite.commit()?,
                    Connection::Postgres(postgres) => postgres.commit()?,
                }
                Ok(value)
            }
            Err(error) => {
                // A transaction that cannot even be rolled back ends with its connection.
                match &mut self.0 {
                    Connection::Sqlite(sqlite) => sqlite.roll_back(),
                    Connection::Postgres(postgres) => postgres.roll_back(),
                }
                Err(TransactionFailure::Certain(error))
            }
        }
    }

    /// A number that changes when another connection of `SQLite` changed something; `None` for `PostgreSQL`, whose
    /// changes are counted in a table.
    pub(super) fn data_version(&mut self) -> Result<Option<i64>, StateError> {
        match &mut self.0 {
            Connection::Sqlite(sqlite) => sqlite.data_version().map(Some),
            Connection::Postgres(_) => Ok(None),
        }
    }

    /// Returns whether replicas share this database.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self.0, Connection::Postgres(_))
    }

    /// Returns whether a commit on this connection ended in an unknown state.
    pub(super) const fn is_unknown(&self) -> bool {
        match &self.0 {
            Connection::Sqlite(sqlite) => sqlite.is_unknown(),
            // Its server can be asked.
            Connection::Postgres(_) => false,
        }
    }

    /// Copies a `SQLite` database, whole and as it is at one moment, while others write to it, into a new file, which is
    /// there already and empty. Of `PostgreSQL` it does nothing and gives `false`.
    ///
    /// # Errors
    /// When the copy cannot be written.
    pub(super) fn copy_file(&mut self, path: &Path) -> Result<bool, StateError> {
        match &mut self.0 {
            Connection::Sqlite(sqlite) => sqlite.copy_to(path).map(|()| true),
            Connection::Postgres(_) => Ok(false),
        }
    }

    /// Ends a `SQLite` connection so that its database is one file, without a companion, that is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn checkpoint_to_single_file(self) -> Result<(), StateError> {
        match self.0 {
            Connection::Sqlite(sqlite) => sqlite.checkpoint_to_single_file(),
            Connection::Postgres(_) => Ok(()),
        }
    }

    /// Reads every page of a `SQLite` database and checks its structure; of `PostgreSQL`, which checks its pages itself,
    /// that what is set aside of balances is what is lent.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check_integrity(&mut self) -> Result<(), StateError> {
        match &mut self.0 {
            Connection::Sqlite(sqlite) => sqlite.check_integrity(),
            Connection::Postgres(postgres) => postgres.check_integrity(),
        }
    }
}

impl Tx<'_> {
    /// Runs a statement; gives how many rows it changed.
    ///
    /// # Errors
    /// What the database says.
    pub fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StateError> {
        match &mut *self.0 {
            Connection::Sqlite(sqlite) => sqlite.execute(sql, values),
            Connection::Postgres(postgres) => postgres.execute(sql, values),
        }
    }

    /// Runs a query.
    ///
    /// # Errors
    /// What the database says.
    pub fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StateError> {
        match &mut *self.0 {
            Connection::Sqlite(sqlite) => sqlite.rows(sql, values),
            Connection::Postgres(postgres) => postgres.rows(sql, values),
        }
    }

    /// Runs a query whose rows may be too many to be held at once.
    ///
    /// # Errors
    /// What the database says, or what `take` fails with.
    pub fn each(
        &mut self,
        sql: &'static str,
        take: &mut dyn FnMut(Row) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        match &mut *self.0 {
            Connection::Sqlite(sqlite) => sqlite.each(sql, take),
            Connection::Postgres(postgres) => postgres.each(sql, take),
        }
    }

    /// Lets all reads of the transaction see one moment, however long they take. Before the first of them; those of
    /// `SQLite` do so by themselves.
    ///
    /// # Errors
    /// What the database says.
    pub fn repeatable_read(&mut self) -> Result<(), StateError> {
        match &mut *self.0 {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(postgres) => postgres
                .order("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0"),
        }
    }

    /// Lets the statements of the transaction take as long as they need, and what is done between them a minute.
    ///
    /// # Errors
    /// What the database says.
    pub fn lift_statement_timeout(&mut self) -> Result<(), StateError> {
        match &mut *self.0 {
            Connection::Sqlite(_) => Ok(()),
            Connection::Postgres(postgres) => {
                postgres.order("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '60s'")
            }
        }
    }

    /// Runs a query of at most one row.
    ///
    /// # Errors
    /// What the database says.
    pub fn row(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Option<Row>, StateError> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Inserts rows that may be many, passing over those whose key is there already; gives how many are new.
    ///
    /// # Errors
    /// What the database says.
    pub fn insert(&mut self, into: &'static Insert, rows: &[Vec<Value<'_>>]) -> Result<u64, StateError> {
        match &mut *self.0 {
            Connection::Sqlite(sqlite) => sqlite.insert(into, rows),
            Connection::Postgres(postgres) => postgres.insert(into, rows),
        }
    }

    /// Runs `work` so that its failure undoes its own changes only.
    ///
    /// # Errors
    /// What `work` fails with, or the database.
    pub fn savepoint<T>(&mut self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
        self.execute("SAVEPOINT part", &[])?;
        match work(&mut Tx(self.0)) {
            Ok(value) => self.execute("RELEASE SAVEPOINT part", &[]).map(|_| value),
            Err(error) => {
                self.execute("ROLLBACK TO SAVEPOINT part", &[])?;
                self.execute("RELEASE SAVEPOINT part", &[])?;
                Err(error)
            }
        }
    }

    /// Fails where a failure before has undone the whole transaction: what came next would be committed by itself.
    ///
    /// # Errors
    /// When the transaction is no more.
    pub(super) fn still_open(&self) -> Result<(), StateError> {
        match &*self.0 {
            Connection::Sqlite(sqlite) if !sqlite.is_open() => {
                Err(StateError::NotCommitted("the database undid the whole transaction".to_owned()))
            }
            Connection::Sqlite(_) | Connection::Postgres(_) => Ok(()),
        }
    }

    /// Returns whether replicas share this database.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(&*self.0, Connection::Postgres(_))
    }

    /// Unix milliseconds by the one clock that all servers of this state go by in what is due and what is leased: that of
    /// a shared database; else the clock of the system as it was when the process began, moved on by a clock that nobody
    /// sets. No jump of the system's clock makes a lease end early or holds back what is due.
    ///
    /// # Errors
    /// What the database says.
    pub fn clock_ms(&mut self) -> Result<i64, StateError> {
        static BEGUN: LazyLock<(Instant, i64)> = LazyLock::new(|| (Instant::now(), super::now_ms()));
        if !self.is_shared() {
            let (begun, at_ms) = &*BEGUN;
            return Ok(at_ms + i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX / 2));
        }
        let row = self.row("SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)", &[])?;
        row.ok_or(StateError::Shape { column: 0, expected: "a time" })?.int(0)
    }
}

/// A table and the columns that are written.
#[derive(Debug)]
pub struct Insert {
    /// `INSERT INTO table (columns)`.
    pub head: &'static str,
    /// The number of columns those are.
    pub columns: usize,
}

/// The location of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateLocation {
    /// A folder with a `SQLite` database in it.
    Folder(PathBuf),
    /// A `PostgreSQL` server.
    Postgres(PostgresAddress),
}

impl StateLocation {
    /// Reads a folder's path or a `postgres://` address.
    ///
    /// # Errors
    /// When an address cannot be read, or is of something else.
    pub fn parse(text: &str) -> Result<Self, StateError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            PostgresAddress::parse(text).map(Self::Postgres)
        } else if let Some((scheme, _)) = text.split_once("://") {
            // Without the rest, where a password may be.
            Err(StateError::BadScheme(scheme.to_owned()))
        } else {
            Ok(Self::Folder(PathBuf::from(text)))
        }
    }
}

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// An integer.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Blob(value)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(value: &'a Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Value<'_> {
    /// Hands out bytes that encode the type, the length and the value.
    fn feed(&self, each: &mut dyn FnMut(&[u8])) {
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Int(value) => {
                each(&[1]);
                return each(&value.to_be_bytes());
            }
            Self::Text(text) => (2, text.as_bytes()),
            Self::Blob(bytes) => (3, bytes),
        };
        each(&[tag]);
        each(&(bytes.len() as u64).to_be_bytes());
        each(bytes);
    }

    /// The same in one piece.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        self.feed(&mut |bytes| all.extend_from_slice(bytes));
        all
    }
}

/// A checksum of a row: no single flipped bit keeps it.
#[must_use]
pub fn checksum(values: &[Value<'_>]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for value in values {
        value.feed(&mut |bytes| hasher.update(bytes));
    }
    i64::from(hasher.finalize())
}

/// A value as it came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row; columns are named by their place, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(super) Vec<Cell>);

impl Row {
    /// Its columns, to be written elsewhere.
    #[must_use]
    pub fn values(&self) -> Vec<Value<'_>> {
        self.0
            .iter()
            .map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Int(value) => Value::Int(*value),
                Cell::Text(text) => Value::Text(text),
                Cell::Blob(bytes) => Value::Blob(bytes),
            })
            .collect()
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |cell: &Cell| match cell {
            Cell::Null | Cell::Int(_) => 0,
            Cell::Text(text) => text.len(),
            Cell::Blob(bytes) => bytes.len(),
        };
        self.0.iter().map(bytes).sum::<usize>() + self.0.len() * size_of::<Cell>()
    }

    /// An integer, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_int(&self, column: usize) -> Result<Option<i64>, StateError> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(Some(*value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Text(_) | Cell::Blob(_)) | None => Err(StateError::Shape { column, expected: "an integer" }),
        }
    }

    /// Text, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_text(&self, column: usize) -> Result<Option<&str>, StateError> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Int(_) | Cell::Blob(_)) | None => Err(StateError::Shape { column, expected: "text" }),
        }
    }

    /// Bytes, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_blob(&self, column: usize) -> Result<Option<&[u8]>, StateError> {
        match self.0.get(column) {
            Some(Cell::Blob(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Int(_) | Cell::Text(_)) | None => Err(StateError::Shape { column, expected: "bytes" }),
        }
    }

    /// An integer.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn int(&self, column: usize) -> Result<i64, StateError> {
        self.maybe_int(column)?.ok_or(StateError::Shape { column, expected: "an integer" })
    }

    /// Text.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn text(&self, column: usize) -> Result<&str, StateError> {
        self.maybe_text(column)?.ok_or(StateError::Shape { column, expected: "text" })
    }

    /// Bytes.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn blob(&self, column: usize) -> Result<&[u8], StateError> {
        self.maybe_blob(column)?.ok_or(StateError::Shape { column, expected: "bytes" })
    }

    /// A digest of 32 bytes.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn digest(&self, column: usize) -> Result<[u8; 32], StateError> {
        self.blob(column)?.try_into().map_err(|_| StateError::Shape { column, expected: "32 bytes" })
    }
}

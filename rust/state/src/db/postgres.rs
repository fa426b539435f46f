//! `PostgreSQL`, for replicas.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::time::Duration;

use postgres::error::{DbError, Severity, SqlState};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Access, Cell, FIRST_SCHEMA, Insert, Row, TransactionFailure, Value};
use crate::StateError;

/// The steps from an empty database to the schema of this version; the first one leads to [`FIRST_SCHEMA`]. A released
/// step is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_state.sql"),
    include_str!("../../migrations/postgres/0002_request_sums.sql"),
];

/// Begins a migration: under a lock, so that one of several replicas that start together does it, and however long it
/// takes. The connection of a replica whose machine died ends before long.
const MIGRATION: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;
     SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL client_min_messages = warning;
     SELECT pg_advisory_xact_lock(7522525836719780965)";

/// The idle time of a connection before it is probed, where its address does not state it.
const USUAL_IDLE: Duration = Duration::from_hours(2);

/// Most parameters of one statement that the protocol can count.
const PARAMETERS: usize = 65_535;

/// The address of a database, password included; shown without it.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    text: String,
    shown: String,
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl PostgresAddress {
    /// Reads `postgres://user:password@host:port/database?options`.
    ///
    /// # Errors
    /// When it is not such an address. The message holds no password.
    pub fn parse(text: &str) -> Result<Self, StateError> {
        let config = Config::from_str(text).map_err(|_| StateError::BadAddress)?;
        let hosts: Vec<String> = config
            .get_hosts()
            .iter()
            .map(|host| match host {
                postgres::config::Host::Tcp(name) => match config.get_ports() {
                    [port] if *port != 5432 => format!("{name}:{port}"),
                    _ => name.clone(),
                },
                #[cfg(unix)]
                postgres::config::Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        let shown = format!(
            "postgres://{}@{}/{}",
            config.get_user().unwrap_or("(default)"),
            hosts.join(","),
            config.get_dbname().unwrap_or("(default)")
        );
        Ok(Self { text: text.to_owned(), shown })
    }

    fn config(&self) -> Config {
        let mut config = Config::from_str(&self.text).expect("the address was read when it was made");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(3));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(5));
        }
        // Nothing is left unacknowledged where the machine dies between a request and its answer: only probes find out.
        if config.get_keepalives_idle() == USUAL_IDLE {
            config.keepalives_idle(Duration::from_secs(5));
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(Duration::from_secs(2));
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(3);
        }
        config.application_name("headwater");
        config
    }

    /// Calls `notified` for every change of the roster, on a connection of its own, until it gives false or the
    /// connection breaks; now and then without a change, to see whether to continue. The connection has the lock of the run
    /// meanwhile, which the server releases as soon as the process ends, however it ends.
    pub(crate) fn listen(&self, run_id: &str, notified: &dyn Fn() -> bool) -> Result<(), StateError> {
        const LOOK: Duration = Duration::from_secs(2);
        let mut client = self.connect()?;
        let locked = client.execute("SELECT pg_advisory_lock(hashtextextended('headwater run ' || $1, 0))", &[&run_id]);
        locked.map_err(|source| self.failed(source))?;
        client.batch_execute("LISTEN headwater").map_err(|source| self.failed(source))?;
        loop {
            client.notifications().timeout_iter(LOOK).next().map_err(|source| self.failed(source))?;
            if !notified() {
                return Ok(());
            }
            if client.is_closed() {
                return Ok(());
            }
        }
    }

    fn connect(&self) -> Result<Client, StateError> {
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider supports the versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        self.config().connect(MakeRustlsConnect::new(tls)).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: postgres::Error) -> StateError {
        StateError::Database { place: self.shown.clone(), source: Box::new(source) }
    }
}

pub(super) struct Postgres {
    address: PostgresAddress,
    access: Access,
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// Separates a commit that the server refused from one whose answer never came.
    lost: bool,
}

impl Postgres {
    pub fn open(address: &PostgresAddress, access: Access) -> Result<Self, StateError> {
        let client = address.connect()?;
        let mut opened = Self { address: address.clone(), access, client, statements: HashMap::new(), lost: false };
        if access == Access::Write {
            opened.migrate()?;
        }
        opened.set_up()?;
        Ok(opened)
    }

    fn set_up(&mut self) -> Result<(), StateError> {
        let mode = match self.access {
            // Others wait for a lock for less time than they trust what they know of keys, and a replica that is stopped
            // within a transaction does not keep its locks for long.
            Access::Write => {
                "SET lock_timeout = '3s'; SET statement_timeout = '30s'; SET synchronous_commit = on;
                 SET idle_in_transaction_session_timeout = '10s'"
            }
            Access::Read => "SET default_transaction_read_only = on; SET statement_timeout = '30s'",
        };
        self.client.batch_execute(mode).map_err(|source| self.address.failed(source))
    }

    fn migrate(&mut self) -> Result<(), StateError> {
        let address = self.address.clone();
        let failed = |source| address.failed(source);
        let schemas = (FIRST_SCHEMA..).zip(MIGRATIONS);
        let known = schemas.clone().last().map_or(0, |(version, _)| version);
        let mut step = self.client.transaction().map_err(failed)?;
        step.batch_execute(MIGRATION).map_err(failed)?;
        step.batch_execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)").map_err(failed)?;
        let found: i64 =
            step.query_one("SELECT coalesce(max(version), 0) FROM schema_version", &[]).map_err(failed)?.get(0);
        if found != 0 && !(FIRST_SCHEMA..=known).contains(&found) {
            return Err(StateError::OtherSchema { place: self.address.to_string(), found, known });
        }
        for (version, sql) in schemas.filter(|(version, _)| *version > found) {
            step.batch_execute(sql).map_err(failed)?;
            step.execute("INSERT INTO schema_version VALUES ($1)", &[&version]).map_err(failed)?;
        }
        step.commit().map_err(failed)
    }

    pub fn begin(&mut self) -> Result<(), StateError> {
        if self.lost || self.client.is_closed() {
            self.client = self.address.connect()?;
            self.statements.clear();
            self.lost = false;
            self.set_up()?;
        }
        let begun = self.client.batch_execute("BEGIN");
        self.checked(begun)
    }

    pub fn commit(&mut self) -> Result<(), TransactionFailure> {
        match self.client.batch_execute("COMMIT") {
            Ok(()) => Ok(()),
            // What the server says is certain; silence is not, and neither is what it says while it goes away.
            Err(source) if source.as_db_error().is_some_and(|said| !is_going(said)) => {
                Err(TransactionFailure::Certain(self.address.failed(source)))
            }
            Err(source) => {
                self.lost = true;
                Err(TransactionFailure::Unknown(self.address.failed(source)))
            }
        }
    }

    pub fn roll_back(&mut self) {
        if !self.lost && self.client.batch_execute("ROLLBACK").is_err() {
            self.lost = true;
        }
    }

    pub fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StateError> {
        let statement = self.statement(sql)?;
        let done = self.client.execute(&statement, &parameters(values));
        self.checked(done)
    }

    pub fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StateError> {
        let statement = self.statement(sql)?;
        let found = self.client.query(&statement, &parameters(values));
        let rows: Result<_, _> = self.checked(found)?.iter().map(cells).collect();
        rows.map_err(|source| self.address.failed(source))
    }

    pub fn each(
        &mut self,
        sql: &'static str,
        take: &mut dyn FnMut(Row) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let statement = self.statement(sql)?;
        let nothing = std::iter::empty::<&(dyn ToSql + Sync)>();
        let failed = |source| self.address.failed(source);
        let mut rows = self.client.query_raw(&statement, nothing).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            take(cells(&row).map_err(failed)?)?;
        }
        Ok(())
    }

    /// Runs statements without parameters or rows.
    pub fn order(&mut self, sql: &'static str) -> Result<(), StateError> {
        let done = self.client.batch_execute(sql);
        self.checked(done)
    }

    pub fn check_integrity(&mut self) -> Result<(), StateError> {
        // One statement, so that what replicas borrow meanwhile is not half seen.
        let odd = self.rows(
            "SELECT id FROM account WHERE leased <> (SELECT CAST(coalesce(sum(granted - settled), 0) AS BIGINT)
                 FROM credit_lease WHERE account_id = account.id AND closed = 0) LIMIT 1",
            &[],
        )?;
        match odd.first() {
            None => Ok(()),
            Some(row) => Err(StateError::Damaged {
                place: self.address.to_string(),
                what: format!("what is set aside of account {} is not what is lent of it", row.int(0)?),
            }),
        }
    }

    pub fn insert(&mut self, into: &'static Insert, rows: &[Vec<Value<'_>>]) -> Result<u64, StateError> {
        let mut inserted = 0;
        for chunk in rows.chunks(PARAMETERS / into.columns) {
            let mut sql = format!("{} VALUES ", into.head);
            let mut place = 1;
            for number in 0..chunk.len() {
                sql.push_str(if number == 0 { "(" } else { ", (" });
                for column in 0..into.columns {
                    let comma = if column == 0 { "" } else { ", " };
                    write!(sql, "{comma}${place}").expect("text takes what is written");
                    place += 1;
                }
                sql.push(')');
            }
            sql.push_str(" ON CONFLICT DO NOTHING");
            let values: Vec<&(dyn ToSql + Sync)> =
                chunk.iter().flatten().map(|value| value as &(dyn ToSql + Sync)).collect();
            let done = self.client.execute(&sql, &values);
            inserted += self.checked(done)?;
        }
        Ok(inserted)
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, StateError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let text = translated(sql);
        let prepared = self.client.prepare(&text);
        let statement = self.checked(prepared)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn checked<T>(&mut self, result: Result<T, postgres::Error>) -> Result<T, StateError> {
        result.map_err(|source| {
            self.lost |= source.is_closed() || source.as_db_error().is_none();
            self.address.failed(source)
        })
    }
}

/// Returns whether somebody else held a row for too long.
pub(crate) fn is_held_up(error: &StateError) -> bool {
    let StateError::Database { source, .. } = error else { return false };
    let said = source.downcast_ref::<postgres::Error>().and_then(postgres::Error::code);
    said == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Returns whether an error says that the server or the connection ends, and not what became of a statement: a server
/// that panics over a failed sync of a commit, whatever code it gives, may find that commit again when it recovers.
fn is_going(said: &DbError) -> bool {
    // Where the severity is not in English, as by servers before 9.6, nothing is certain.
    let ends = said.parsed_severity().is_none_or(|severity| matches!(severity, Severity::Panic | Severity::Fatal));
    ends || ["08", "57P"].iter().any(|class| said.code().code().starts_with(class))
}

fn cells(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let cells = row.columns().iter().enumerate().map(|(place, column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(place)?.map_or(Cell::Null, Cell::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(place)?.map_or(Cell::Null, |value| Cell::Int(value.into())),
            Type::BOOL => row.try_get::<_, Option<bool>>(place)?.map_or(Cell::Null, |value| Cell::Int(value.into())),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(place)?.map_or(Cell::Null, Cell::Blob),
            _ => row.try_get::<_, Option<String>>(place)?.map_or(Cell::Null, Cell::Text),
        })
    });
    cells.collect::<Result<_, _>>().map(Row)
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// `?1` becomes `$1`, and the comments that stand for locks become the locks: those that leave the rows' keys alone, so
/// that rows which refer to them can be added meanwhile.
fn translated(sql: &str) -> String {
    sql.replace('?', "$")
        .replace("/*lock*/", "FOR NO KEY UPDATE")
        .replace("/*skip locked*/", "FOR NO KEY UPDATE SKIP LOCKED")
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Self::Int(value) => value.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    // The schema has three types, and every statement is run by the tests.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = PostgresAddress::parse("postgres://ada:secret@db.example:5433/gate?connect_timeout=1").unwrap();
        for shown in [address.to_string(), format!("{address:?}")] {
            assert_eq!(shown, "postgres://ada@db.example:5433/gate");
        }
        let refused = PostgresAddress::parse("postgres://ada:secret@db?nonsense=secret").unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("secret"));
    }

    #[test]
    fn lost_machine_is_noticed_within_seconds_by_default() {
        let config = |text: &str| PostgresAddress::parse(text).unwrap().config();
        let usual = config("postgres://db/gate");
        assert_eq!(usual.get_keepalives_idle(), Duration::from_secs(5));
        assert_eq!(usual.get_keepalives_interval(), Some(Duration::from_secs(2)));
        assert_eq!((usual.get_keepalives(), usual.get_keepalives_retries()), (true, Some(3)));
        assert_eq!(usual.get_tcp_user_timeout(), Some(&Duration::from_secs(5)));
        let said = config(
            "postgres://db/gate?keepalives_idle=60&keepalives_interval=9&keepalives_retries=4&tcp_user_timeout=70",
        );
        assert_eq!(said.get_keepalives_idle(), Duration::from_mins(1));
        assert_eq!(
            (said.get_keepalives_interval(), said.get_keepalives_retries()),
            (Some(Duration::from_secs(9)), Some(4))
        );
        assert_eq!(said.get_tcp_user_timeout(), Some(&Duration::from_secs(70)));
    }

    #[test]
    fn statements_are_written_once_for_both_databases() {
        let sql = "SELECT a FROM b WHERE c = ?1 AND d < ?2 /*skip locked*/";
        assert_eq!(translated(sql), "SELECT a FROM b WHERE c = $1 AND d < $2 FOR NO KEY UPDATE SKIP LOCKED");
    }
}

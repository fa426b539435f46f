//! Errors of the gateway's own state.

use std::path::PathBuf;

use headwater_types::Timestamp;

/// Everything the state can fail with.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The database refused.
    #[error("the state database {place} failed")]
    Database {
        /// The file, or the address without its password.
        place: String,
        /// The error of the database.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A column holds what it should not.
    #[error("column {column} of a row of the state is not {expected}")]
    Shape {
        /// Its place, from 0.
        column: usize,
        /// The value that is expected.
        expected: &'static str,
    },
    /// The database has a schema that this version neither uses nor upgrades.
    #[error(
        "the state database {place} has schema {found}, and this version uses schema {known}: use the version of headwater that wrote it, or make a new state in another place with `headwater state init --state PLACE` and new keys with `headwater keys create`; keys, credits, plans, webhooks and the audit of this one are not carried over"
    )]
    OtherSchema {
        /// The file, or the address without its password.
        place: String,
        /// Schema found.
        found: i64,
        /// Schema that this version uses.
        known: i64,
    },
    /// The structure of the database is broken.
    #[error("the state database {place} is damaged: {what}")]
    Damaged {
        /// The file.
        place: String,
        /// The mismatch.
        what: String,
    },
    /// An address of a server that cannot be read. Its text may hold a password and is not repeated.
    #[error("the address of the state is not of the form postgres://user:password@host:port/database")]
    BadAddress,
    /// A database that a backup is to be restored into is not empty.
    #[error(
        "the database holds a state already (there are rows in {table}), and nothing is overwritten: name an empty one"
    )]
    NotEmpty {
        /// The first table with rows in it.
        table: &'static str,
    },
    /// A shared state needs its secrets in files that every replica has a copy of.
    #[error("a state in PostgreSQL needs --secrets-dir (auth.secrets_dir): the folder that its secrets go to")]
    NoSecretsDir,
    /// Something is in the way of what is to be made.
    #[error("{} is there already, and nothing is overwritten: name another place, or move it away", path.display())]
    Occupied {
        /// The file or folder.
        path: PathBuf,
    },
    /// A folder that is to be restored is that of a state, whose database alone is not all of it.
    #[error(
        "{} holds commits that the database beside it lacks, so this is the folder of a state and no backup: make one of it with `headwater state backup`, or use it as it is with --state",
        path.display()
    )]
    NoBackup {
        /// The log of commits.
        path: PathBuf,
    },
    /// There is no state where one is needed.
    #[error("there is no state in {}: `headwater keys create` or `headwater state init` makes one", path.display())]
    NoState {
        /// The folder.
        path: PathBuf,
    },
    /// A secret file and the digest of it that the database keeps differ: either may be what changed.
    #[error("{} does not fit the digest that the state database keeps of it: put the original file back, with mode 0600, if it is another one; if it is the original the database is damaged, and `headwater state restore` puts a backup back", path.display())]
    WrongSecret {
        /// The file.
        path: PathBuf,
    },
    /// A secret file is not there.
    #[error("{} is missing: put the original file back, with mode 0600; replicas need a copy in auth.secrets_dir, and `headwater state init` makes the files of a new shared state", path.display())]
    MissingSecret {
        /// The file.
        path: PathBuf,
    },
    /// A secret file has not 32 bytes.
    #[error("{} holds {found} bytes where 32 are expected: put the original file back", path.display())]
    BadSecret {
        /// The file.
        path: PathBuf,
        /// Bytes found.
        found: usize,
    },
    /// Something sealed does not open under the master key.
    #[error(
        "a stored secret does not open under the master key: it or master.key was changed; put the original master.key \
         back, or restore the state from a backup where that one is there"
    )]
    Unsealed,
    /// No such key.
    #[error("there is no key with the id {0:?}: `headwater keys list` shows the ids")]
    UnknownKey(String),
    /// No such admin key.
    #[error("there is no admin key with the id {0:?}: `headwater admin list` shows the ids")]
    UnknownAdmin(String),
    /// A name that a key cannot have.
    #[error("the name {0:?} cannot be: a name has 1 to 200 characters, and no control characters among them")]
    BadName(String),
    /// The state is neither a folder nor in `PostgreSQL`.
    #[error("a state is a folder or `postgres://…`, not `{0}://…`")]
    BadScheme(String),
    /// The id that a list is to continue behind is not valid.
    #[error("{0:?} is not an id that a list can continue behind: give the one that the list before ended with")]
    BadCursor(String),
    /// A key that cannot be rotated any more.
    #[error(
        "the key {0:?} is revoked or was rotated already: where `headwater keys list` names a `rotated_to`, that is the key of the account now"
    )]
    DeadKey(String),
    /// An expired key whose end another key cannot have.
    #[error(
        "the key {id:?} expired at {at}: give the key in its place another end (--expires at a shell, expires_at over HTTP)"
    )]
    ExpiredKey {
        /// The key.
        id: String,
        /// Its end.
        at: Timestamp,
    },
    /// A time that a key cannot expire at.
    #[error(
        "a key cannot expire at {secs}: expected epoch seconds, not milliseconds, of a time after now, which is {now}"
    )]
    BadExpiry {
        /// The time.
        secs: i64,
        /// The clock.
        now: Timestamp,
    },
    /// A month that usage cannot be shown of.
    #[error("{month:?} is not a month with usage: expected one such as 2026-11, and not one that has yet to begin")]
    BadMonth {
        /// The text.
        month: String,
    },
    /// No such plan.
    #[error("there is no plan {0:?}: `headwater plans list` shows them")]
    UnknownPlan(String),
    /// The default plan is to be removed, and none is stored under its name.
    #[error(
        "no plan is stored under the name default, so there is none to remove: keys that have no other plan go by \
         limits.* of the configuration"
    )]
    DefaultPlan,
    /// A plan that cannot be.
    #[error("the plan {name:?} cannot be: {what}")]
    BadPlan {
        /// Its name.
        name: String,
        /// The mismatch.
        what: String,
    },
    /// No charge has this request id.
    #[error("no charge has the request id {0:?}, or it was refunded before")]
    UnknownCharge(String),
    /// An amount of credits that cannot be booked.
    #[error("{amount} credits cannot be added: the amount must be above 0 and the balance must stay below 2^63")]
    BadAmount {
        /// The amount.
        amount: i64,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gives no random bytes")]
    Randomness(#[from] getrandom::Error),
    /// A charge that the balance in the database does not cover.
    #[error("the balance does not cover {cost} credits")]
    Insufficient {
        /// The cost.
        cost: i64,
    },
    /// An answer of the same idempotency key was committed first.
    #[error("another call with the same idempotency key was answered first")]
    Repeated,
    /// The ledger of credits contradicts itself.
    #[error(
        "the credit ledger of account {account} is broken at entry {entry}: {what}; put a backup back with `headwater state restore`"
    )]
    BrokenLedger {
        /// The account.
        account: i64,
        /// Number of the entry.
        entry: i64,
        /// The mismatch.
        what: &'static str,
    },
    /// A row was changed by something else than the back office.
    #[error(
        "the row {id:?} of {table} does not match its checksum or MAC: it was changed on the disk or past the back office; put a backup back with `headwater state restore`"
    )]
    CorruptRow {
        /// The table.
        table: &'static str,
        /// Its id.
        id: String,
    },
    /// Commits that were acknowledged are not in the database.
    #[error("the state database {place} lacks the last {missing} commits that were acknowledged, because its log of commits is damaged or it is an older copy: put a backup back with `headwater state restore`, or remove {} to continue without them", watermark.display())]
    LostCommits {
        /// The file.
        place: String,
        /// The number of missing commits.
        missing: i64,
        /// The watermark that shows it.
        watermark: PathBuf,
    },
    /// The commit failed, so nothing of it may be answered as done.
    #[error("the commit failed: {0}")]
    NotCommitted(String),
    /// An earlier commit ended in an unknown state.
    #[error("an earlier commit of the state ended in an unknown state: restart the server")]
    Latched,
    /// The writer has ended.
    #[error("the state is closed")]
    Closed,
}

//! A PostgreSQL server of its own for a test, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use headwater_state::{Home, StateLocation, secrets};
use tempfile::TempDir;

use super::own_port;

/// A running server; stopped when dropped.
pub struct Postgres {
    folder: TempDir,
    port: u16,
}

/// Returns where Debian and others keep the server's programs.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin").join(name)).collect();
    found.retain(|path| path.exists());
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(name))
}

impl Postgres {
    pub fn start() -> Self {
        let server = Self { folder: owned_folder(), port: own_port() };
        copy(made_data(), Path::new(&server.data()));
        server.begin();
        server
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn run(name: &str, arguments: &[&str]) {
        let program = program(name);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let output = command.args(arguments).current_dir("/tmp").output().unwrap_or_else(|error| {
            panic!("{name} cannot be run: {error}. These tests need PostgreSQL: apt install postgresql")
        });
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts it, or starts it again. A crash here is one of its processes: what it has written is safe with the system.
    pub fn begin(&self) {
        let options = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c max_connections=60 -c log_min_messages=fatal -c fsync=off",
            self.port,
            self.folder.path().display()
        );
        let log = self.folder.path().join("log").display().to_string();
        Self::run("pg_ctl", &["-D", &self.data(), "-o", &options, "-l", &log, "-w", "start"]);
    }

    /// Stops it as a crash does.
    pub fn crash(&self) {
        Self::run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    pub fn address(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    pub fn url(&self) -> String {
        self.database("postgres")
    }

    /// The address of a database in it.
    pub fn database(&self, name: &str) -> String {
        format!("postgres://headwater@127.0.0.1:{}/{name}", self.port)
    }

    /// A state in it, with its secrets in `folder`.
    pub fn home(&self, folder: &Path) -> Home {
        self.home_in("postgres", folder)
    }

    /// A state in a database of it.
    pub fn home_in(&self, database: &str, folder: &Path) -> Home {
        secrets::make(folder).unwrap();
        Home::open(&StateLocation::parse(&self.database(database)).unwrap(), Some(folder)).unwrap()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let stop = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.crash()));
        if stop.is_err() {
            eprintln!("PostgreSQL was not running any more");
        }
    }
}

/// The data of a new server. Making them takes a second or two, so they are made once and kept among the builds.
fn made_data() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let version = program("initdb").display().to_string().replace('/', "-");
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres{version}"));
        if !kept.exists() {
            let folder = owned_folder();
            let data = folder.path().join("data");
            let options = ["-U", "headwater", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"];
            Postgres::run("initdb", &[&["-D", data.to_str().unwrap()][..], &options].concat());
            let partial = kept.with_extension(std::process::id().to_string());
            copy(&data, &partial);
            // Another process may have been faster: its copy is as good.
            let _ = std::fs::rename(&partial, &kept);
        }
        kept
    })
}

/// Copies a folder with its owner.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("--archive").args([from, to]).status().unwrap();
    assert!(copied.success(), "{} cannot be copied to {}", from.display(), to.display());
}

/// A folder that the server may write to.
fn owned_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("headwater-pg").tempdir_in("/tmp").unwrap();
    if is_root() {
        // The server refuses to run as root.
        let owned = Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap();
        assert!(owned.success());
    }
    folder
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

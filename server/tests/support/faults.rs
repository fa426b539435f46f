//! A server whose files and clock fail as a test says, and what a disk would hold after a loss of power.
//!
//! The faults are those of `faults.c`, which is built by the C compiler that bundled `SQLite` needs as well.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Built once for all tests of this process.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/faults.c");
        let folder = tempfile::Builder::new().prefix("headwater-faults").tempdir().unwrap().keep();
        let library = folder.join("faults.so");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let built = Command::new(&compiler)
            .args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
            .args([library.as_os_str(), source.as_os_str()])
            .args(["-ldl", "-pthread"])
            .output()
            .unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}. These tests need a C compiler"));
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        library
    })
}

/// The faults, as environment of a process.
#[derive(Debug, Clone)]
pub struct Faults(Vec<(&'static str, OsString)>);

impl Faults {
    /// None yet, on the files of a state.
    pub fn on(state: &Path) -> Self {
        Self(Vec::new()).with("LD_PRELOAD", library()).with("FAULTS_ROOT", state)
    }

    /// One more setting of `faults.c`.
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Meets the operation of this number, of those kinds (`w`, `t`, `s`).
    pub fn at(self, operations: &'static str, number: u64, what: &str) -> Self {
        self.with("FAULTS_OPS", operations).with("FAULTS_AT", number.to_string()).with("FAULTS_DO", what)
    }

    pub fn environment(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

/// One thing that happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEvent {
    Written {
        place: usize,
        bytes: Vec<u8>,
    },
    Truncated(usize),
    Synced,
    /// A sync that failed.
    NotSynced,
    Removed,
    /// The fault, with the nanoseconds since 1970.
    Struck(u64),
}

/// Returns what `faults.c` wrote down: file by file, in order.
pub fn read_log(log: &Path) -> Vec<(String, FileEvent)> {
    let all = fs::read(log).unwrap_or_default();
    let mut rest = all.as_slice();
    let mut list = Vec::new();
    // The last record of a killed process may be cut.
    while let Some((head, behind)) = rest.split_first_chunk::<24>() {
        let name_length = u32::from_ne_bytes(head[4..8].try_into().unwrap()) as usize;
        let place = u64::from_ne_bytes(head[8..16].try_into().unwrap());
        let length = usize::try_from(u64::from_ne_bytes(head[16..].try_into().unwrap())).unwrap();
        let Some((name, behind)) = behind.split_at_checked(name_length) else { break };
        let Some((bytes, behind)) = behind.split_at_checked(length) else { break };
        let happened = match head[0] {
            b'w' => FileEvent::Written { place: usize::try_from(place).unwrap(), bytes: bytes.to_vec() },
            b't' => FileEvent::Truncated(usize::try_from(place).unwrap()),
            b's' => FileEvent::Synced,
            b'f' => FileEvent::NotSynced,
            b'u' => FileEvent::Removed,
            b'!' => FileEvent::Struck(place),
            other => panic!("a record of kind {other}"),
        };
        list.push((String::from_utf8(name.to_vec()).unwrap(), happened));
        rest = behind;
    }
    list
}

/// The fate of what was written and not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsyncedPolicy {
    /// All of it is there, as after a kill.
    Kept,
    /// None of it is.
    Dropped,
    /// Chance decides of each sector of 512 bytes.
    Scattered(u64),
}

/// Makes in `to` the files that a disk would hold that held those of `from` when a process began, and lost its power at
/// the end of the log. A file that is made is there from its first sync on, as journaling file systems have it.
pub fn after_power_loss(from: &Path, log: &[(String, FileEvent)], unsynced: UnsyncedPolicy, to: &Path) {
    struct File {
        durable: Vec<u8>,
        pending: Vec<FileEvent>,
    }
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        // Shared memory is not content: it is made anew. The audit log in its folder is never waited for.
        if !name.ends_with("-shm") && entry.file_type().unwrap().is_file() {
            files.insert(name, File { durable: fs::read(entry.path()).unwrap(), pending: Vec::new() });
        }
    }
    let mut chance = Chance::new(match unsynced {
        UnsyncedPolicy::Scattered(seed) => seed,
        UnsyncedPolicy::Kept | UnsyncedPolicy::Dropped => 0,
    });
    let mut kept = |_| match unsynced {
        UnsyncedPolicy::Kept => true,
        UnsyncedPolicy::Dropped => false,
        UnsyncedPolicy::Scattered(_) => chance.below(2) == 0,
    };
    for (name, happened) in log {
        let file = files.entry(name.clone()).or_insert_with(|| File { durable: Vec::new(), pending: Vec::new() });
        match happened {
            FileEvent::Synced => {
                for one in std::mem::take(&mut file.pending) {
                    apply(&mut file.durable, &one, &mut |_| true);
                }
            }
            // What could not be brought to the disk counts as clean from then on: no later sync brings it there.
            FileEvent::NotSynced => {
                for one in std::mem::take(&mut file.pending) {
                    apply(&mut file.durable, &one, &mut kept);
                }
            }
            FileEvent::Removed => drop(files.remove(name)),
            FileEvent::Struck(_) => {}
            other => file.pending.push(other.clone()),
        }
    }
    fs::create_dir(to).unwrap();
    for (name, mut file) in files {
        for one in &file.pending {
            apply(&mut file.durable, one, &mut kept);
        }
        fs::write(to.join(&name), &file.durable).unwrap();
    }
}

fn apply(content: &mut Vec<u8>, one: &FileEvent, kept: &mut dyn FnMut(usize) -> bool) {
    const SECTOR: usize = 512;
    match one {
        FileEvent::Written { place, bytes } => {
            let mut done = 0;
            while done < bytes.len() {
                let at = place + done;
                let length = (SECTOR - at % SECTOR).min(bytes.len() - done);
                if kept(at / SECTOR) {
                    if content.len() < at + length {
                        content.resize(at + length, 0);
                    }
                    content[at..at + length].copy_from_slice(&bytes[done..done + length]);
                }
                done += length;
            }
        }
        FileEvent::Truncated(size) if kept(0) => content.resize(*size, 0),
        _ => {}
    }
}

/// Numbers out of a seed.
pub struct Chance(u64);

impl Chance {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

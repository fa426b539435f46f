//! Disks that fail: at the n-th operation, by losing power, or by being full.
//!
//! [`Model`] is between a store and a folder. It tracks what of the folder would outlive a loss of power: the bytes
//! of a file once it was synced, the names of a folder once that was synced. Nothing is really synced, so that a test
//! may die a thousand times.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use headwater_ledger::store::disk::{Disk, DiskFile};

/// The fault at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None: operations are counted.
    None,
    /// It fails, those after it do not.
    Error,
    /// The power goes: it fails, half done, and so do all after it.
    Power,
    /// Appending past so many bytes in all fails for want of space.
    Full { bytes: u64 },
}

/// The fate of data that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of it is there, as after the death of the process alone.
    Kept,
    /// All of it is gone.
    Dropped,
    /// Names are there up to one of them; files are cut at some sector, and a sector of what is left is zeros.
    Torn,
}

const SECTOR: u64 = 512;

/// One operation, as far as tests care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Append,
    Sync,
    Rename,
    SyncFolder,
    Remove,
}

enum Name {
    Created(PathBuf),
    /// A file that was there under the name, left by a crash and listed nowhere, is gone with it.
    Renamed {
        from: PathBuf,
        to: PathBuf,
        replaced: Option<Vec<u8>>,
    },
    Removed {
        path: PathBuf,
        bytes: Vec<u8>,
    },
}

impl Name {
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Created(path) | Self::Renamed { to: path, .. } | Self::Removed { path, .. } => path.parent(),
        }
    }

    fn undo(&self) {
        match self {
            Self::Created(path) => std::fs::remove_file(path).unwrap(),
            Self::Renamed { from, to, replaced } => {
                std::fs::rename(to, from).unwrap();
                if let Some(bytes) = replaced {
                    std::fs::write(to, bytes).unwrap();
                }
            }
            Self::Removed { path, bytes } => std::fs::write(path, bytes).unwrap(),
        }
    }
}

#[derive(Default)]
struct State {
    /// Every operation so far.
    log: Vec<Operation>,
    fault: Option<(Fault, usize)>,
    is_out: bool,
    appended: u64,
    /// Names that are not durable yet, in order.
    names: Vec<Name>,
    /// Bytes that are durable, of files that have others too.
    unsynced: BTreeMap<PathBuf, u64>,
}

/// A disk whose faults the test decides.
#[derive(Clone, Default)]
pub struct Model(Arc<Mutex<State>>);

impl Model {
    /// A disk that has a fault at the `at`-th operation, counted from zero.
    pub fn new(fault: Fault, at: usize) -> Self {
        Self(Arc::new(Mutex::new(State { fault: Some((fault, at)), ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn operations(&self) -> Vec<Operation> {
        self.state().log.clone()
    }

    /// Returns the number of bytes that were appended.
    pub fn appended(&self) -> u64 {
        self.state().appended
    }

    /// Makes space, or takes it.
    pub fn set_space(&self, bytes: u64) {
        self.state().fault = Some((Fault::Full { bytes }, 0));
    }

    /// Leaves in the folder what a loss of power would leave.
    pub fn lose(&self, loss: Loss, seed: u64) {
        let mut state = self.state();
        let mut seed = seed;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below.max(1)
        };
        for (path, durable) in &state.unsynced {
            let mut bytes = std::fs::read(path).unwrap();
            let durable = usize::try_from(*durable).unwrap();
            match loss {
                Loss::Kept => continue,
                Loss::Dropped => bytes.truncate(durable),
                Loss::Torn => {
                    let sectors = (bytes.len() - durable) as u64 / SECTOR;
                    bytes.truncate(durable + usize::try_from(next(sectors + 1) * SECTOR).unwrap());
                    let hole = durable + usize::try_from(next(sectors + 1) * SECTOR).unwrap();
                    bytes.iter_mut().skip(hole).take(512).for_each(|byte| *byte = 0);
                }
            }
            std::fs::write(path, bytes).unwrap();
        }
        let kept = match loss {
            Loss::Kept => state.names.len(),
            Loss::Dropped => 0,
            Loss::Torn => usize::try_from(next(state.names.len() as u64 + 1)).unwrap(),
        };
        state.names.drain(..).skip(kept).collect::<Vec<_>>().iter().rev().for_each(Name::undo);
        state.unsynced.clear();
    }

    fn step(&self, operation: Operation) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        let place = state.log.len();
        if !state.is_out {
            state.log.push(operation);
        }
        let gone = || io::Error::other("the power went");
        if state.is_out {
            return Err(gone());
        }
        match state.fault {
            Some((Fault::Error, at)) if at == place => Err(io::Error::other("a fault made by the test")),
            Some((Fault::Power, at)) if at == place => {
                state.is_out = true;
                Err(gone())
            }
            _ => Ok(state),
        }
    }
}

struct File {
    model: Model,
    path: PathBuf,
    on_disk: std::fs::File,
}

impl DiskFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        let mut state = match self.model.step(Operation::Append) {
            Ok(state) => state,
            Err(error) => {
                std::io::Write::write_all(&mut self.on_disk, half)?;
                return Err(error);
            }
        };
        if let Some((Fault::Full { bytes: space }, _)) = state.fault
            && state.appended + bytes.len() as u64 > space
        {
            std::io::Write::write_all(&mut self.on_disk, half)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.appended += bytes.len() as u64;
        std::io::Write::write_all(&mut self.on_disk, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.model.step(Operation::Sync)?;
        state.unsynced.remove(&self.path);
        Ok(())
    }
}

impl Disk for Model {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.step(Operation::Create)?;
        if !path.exists() {
            state.names.push(Name::Created(path.to_owned()));
        }
        state.unsynced.insert(path.to_owned(), 0);
        let file = std::fs::File::create(path)?;
        Ok(Box::new(File { model: self.clone(), path: path.to_owned(), on_disk: file }))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.step(Operation::Rename)?;
        assert!(!state.unsynced.contains_key(from), "named before it was synced: {}", to.display());
        let replaced = std::fs::read(to).ok();
        state.names.push(Name::Renamed { from: from.to_owned(), to: to.to_owned(), replaced });
        std::fs::rename(from, to)
    }

    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        let mut state = self.step(Operation::SyncFolder)?;
        state.names.retain(|name| name.folder() != Some(path));
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let mut state = self.step(Operation::Remove)?;
        let bytes = std::fs::read(path)?;
        state.unsynced.remove(path);
        state.names.push(Name::Removed { path: path.to_owned(), bytes });
        std::fs::remove_file(path)
    }
}

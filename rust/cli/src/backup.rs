//! `headwater backup`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use headwater_ledger::read::{Generation, Generations};
use headwater_ledger::store::{PinnedStore, StoreFile};
use headwater_ledger::{Cancel, LedgerError, Store};
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size};
use super::progress::{Bar, Unit};

/// Bytes that are copied between two looks at a cancellation.
const CHUNK: usize = 1 << 20;

/// Arguments of `backup`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder to create; the copy in it is a store.
    folder: PathBuf,
}

/// Copies the newest generation of the store, which is held meanwhile, and verifies the copy.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let (path, target) = (settings.store()?, &arguments.folder);
    let store = Store::open(&path)?;
    let held = PinnedStore::open(&path, store.current()?.generation())?;
    let (generation, files) = store.files(Some(held.snapshot().generation()))?;
    if let Some(warning) = held.warning() {
        eprintln!("note: {warning}");
    }
    fs::create_dir(target).map_err(|error| cannot("create", target, &error))?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let copied = copy_files(&path, target, &files, &cancel);
    if let Err(failure) = copied.and_then(|()| check(target, &cancel)) {
        // A part of a generation is of no use.
        return match fs::remove_dir_all(target) {
            Ok(()) => Err(failure),
            Err(error) => Err(cannot("remove the unfinished copy", target, &error)),
        };
    }
    let bytes = files.iter().map(|file| file.bytes).sum::<u64>();
    let report = json!({"folder": target, "generation": generation, "files": files.len(), "bytes": bytes});
    output.report(&report, || {
        let (files, bytes) = (grouped(files.len() as u64), size(bytes));
        vec![
            format!(
                "{} holds generation {generation} of the store: {files} files, {bytes}, verified",
                target.display()
            ),
            "keys and credits are not part of it: `headwater state backup FOLDER` copies them".to_owned(),
        ]
    })
}

/// Copies the files in their order: the manifest comes last, so that a copy is a store only once it is whole.
fn copy_files(store: &Path, target: &Path, files: &[StoreFile], cancel: &Cancel) -> Result<(), Failure> {
    let (bar, total) = (Bar::new(Unit::Bytes), files.iter().map(|file| file.bytes).sum());
    let mut done = 0;
    let mut buffer = vec![0; CHUNK];
    for file in files {
        let (from, to) = (store.join(&file.name), target.join(&file.name));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(|error| cannot("create", folder, &error))?;
        }
        let mut source = File::open(&from).map_err(|error| cannot("open", &from, &error))?;
        let mut copy = File::create_new(&to).map_err(|error| cannot("create", &to, &error))?;
        loop {
            cancel.check().map_err(LedgerError::from)?;
            let read = source.read(&mut buffer).map_err(|error| cannot("read", &from, &error))?;
            if read == 0 {
                break;
            }
            copy.write_all(&buffer[..read]).map_err(|error| cannot("write", &to, &error))?;
            done += read as u64;
            bar.update(done, total, &file.name);
        }
        copy.sync_all().map_err(|error| cannot("write", &to, &error))?;
    }
    Ok(())
}

/// Compares the copy with its checksums.
fn check(target: &Path, cancel: &Cancel) -> Result<(), Failure> {
    let bar = Bar::new(Unit::Bytes);
    let report = Store::open(target)?.verify(&|done, total| bar.update(done, total, "verifying"), cancel)?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::failed(format!(
            "the copy of {} is damaged at byte {}: {}; run `headwater verify` on the store",
            problem.file.display(),
            problem.offset,
            problem.what
        ))),
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::AlreadyExists => "; name a new folder",
        io::ErrorKind::NotFound => "; create the folder above it",
        _ => "",
    };
    Failure::failed(format!("cannot {what} {}: {error}{remedy}", path.display()))
}

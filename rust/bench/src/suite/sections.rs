//! The sizes of the files of a store, by section: read from the newest manifest and the directories of the files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::counters::bytes_below;
use super::error::doing;
use super::{Error, Result};

/// The place in the header of a container of format 1 of the offset and the length of its directory; later ones keep it
/// in a footer of 64 bytes before the checksums, of which the first word of the trailer, 40 bytes, says where they
/// begin.
const DIRECTORY_AT: u64 = 32;
const FOOTER: u64 = 64;
const TRAILER: u64 = 40;
const ENTRY: usize = 48;
const NAME: usize = 24;

/// The files that the newest manifest lists, itself included.
///
/// # Errors
/// When there is no manifest or it is not JSON.
pub fn live_files(store: &Path) -> Result<Vec<PathBuf>> {
    let mut manifests: Vec<PathBuf> = std::fs::read_dir(store)
        .map_err(doing(format!("listing {}", store.display())))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("manifest-")))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    manifests.sort();
    let Some(manifest) = manifests.pop() else {
        return Err(Error::Peer { peer: "headwater", what: format!("{} holds no manifest", store.display()) });
    };
    let text = std::fs::read_to_string(&manifest).map_err(doing("reading the manifest"))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Error::Peer { peer: "headwater", what: format!("the manifest: {error}") })?;
    let mut files = vec![manifest];
    collect(&value, store, &mut files);
    Ok(files)
}

fn collect(value: &Value, store: &Path, files: &mut Vec<PathBuf>) {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(file)), Some(Value::Number(_))) = (fields.get("file"), fields.get("length")) {
                files.push(store.join(file));
            }
            fields.values().for_each(|value| collect(value, store, files));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, store, files)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Name and bytes of each section of a file; what is not in a section is `container`, and a file of another form is
/// one section named after its folder.
///
/// # Errors
/// When it cannot be read.
pub fn of_file(path: &Path) -> Result<Vec<(String, u64)>> {
    let length = bytes_below(path)?;
    let mut file = File::open(path).map_err(doing(format!("opening {}", path.display())))?;
    let mut magic = [0; 4];
    if length < 64 || file.read_exact(&mut magic).is_err() || magic != *b"HDWT" {
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        return Ok(vec![(folder.unwrap_or_default(), length)]);
    }
    let mut word = |at: u64| -> Result<u64> {
        let mut bytes = [0; 8];
        file.seek(SeekFrom::Start(at)).map_err(doing("reading a directory"))?;
        file.read_exact(&mut bytes).map_err(doing("reading a directory"))?;
        Ok(u64::from_le_bytes(bytes))
    };
    let is_raw = word(8)? & 0xffff_ffff <= 1;
    let at = if is_raw { DIRECTORY_AT } else { word(length - TRAILER)? - FOOTER };
    let (directory, count) = (word(at)?, word(at + 8)?);
    let mut sections = Vec::new();
    let mut left = length;
    for number in 0..count {
        let at = directory + number * ENTRY as u64;
        let (size, items) = (word(at + NAME as u64)?, word(at + NAME as u64 + 16)?);
        let mut name = [0; NAME];
        for (place, part) in (0_u64..).zip(name.chunks_exact_mut(8)) {
            part.copy_from_slice(&word(at + place * 8)?.to_le_bytes());
        }
        let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
        left = left.saturating_sub(size * items);
        sections.push((name, size * items));
    }
    sections.push(("container".to_owned(), left));
    Ok(sections)
}

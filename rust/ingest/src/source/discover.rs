//! From paths, folders and patterns to the files they name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::IngestError;

/// The files that the arguments name: each once, in order of path. Folders are walked to their depth; hidden files
/// inside folders and symbolic links out of them are left alone.
pub(crate) fn discover(paths: &[PathBuf]) -> Result<Vec<PathBuf>, IngestError> {
    let mut found = BTreeSet::new();
    for path in paths {
        let before = found.len();
        if path.is_dir() {
            walk(path, &mut found)?;
        } else if path.is_file() {
            found.insert(path.clone());
        } else {
            expand(path, &mut found)?;
        }
        if found.len() == before && !found.contains(path) && !already_named(path, &found) {
            return Err(IngestError::NoInput(path.display().to_string()));
        }
    }
    Ok(found.into_iter().collect())
}

fn already_named(path: &Path, found: &BTreeSet<PathBuf>) -> bool {
    found.iter().any(|file| file.starts_with(path))
}

fn expand(pattern: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), IngestError> {
    let Some(text) = pattern.to_str() else {
        return Err(IngestError::NoInput(pattern.display().to_string()));
    };
    let matches = glob::glob(text)
        .map_err(|error| IngestError::Pattern { pattern: text.to_owned(), reason: error.msg.to_owned() })?;
    let mut any = false;
    for entry in matches {
        let path = entry.map_err(|error| IngestError::Io { path: error.path().to_owned(), source: error.into() })?;
        any = true;
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found.insert(path);
        }
    }
    if any { Ok(()) } else { Err(IngestError::NoInput(text.to_owned())) }
}

fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), IngestError> {
    let visible = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
    };
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(visible) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(folder).to_owned();
            IngestError::Io { path, source: error.into() }
        })?;
        if entry.file_type().is_file() {
            found.insert(entry.into_path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_named_twice_is_read_once_and_hidden_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        for name in ["b.csv", "a.csv", "sub/c.csv", ".hidden"] {
            std::fs::write(at(name), "x").unwrap();
        }
        let files = discover(&[at("a.csv"), folder.path().to_owned(), at("*.csv"), at("sub")]).unwrap();
        assert_eq!(files, [at("a.csv"), at("b.csv"), at("sub/c.csv")]);
        assert!(matches!(discover(&[at("nothing.csv")]), Err(IngestError::NoInput(_))));
        assert!(matches!(discover(&[at("[")]), Err(IngestError::Pattern { .. })));
    }
}

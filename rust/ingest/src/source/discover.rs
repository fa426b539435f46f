//! From paths, folders and patterns to the files they name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::IngestError;

/// The files that paths, folders and patterns name: each once, in order of path. Folders are walked to their depth;
/// hidden files inside folders and symbolic links out of them are left alone.
///
/// # Errors
/// When an argument names nothing, a pattern is malformed, or a folder cannot be read.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<PathBuf>, IngestError> {
    Ok(discover_with_origin(paths)?.into_iter().map(|(path, _)| path).collect())
}

/// [`discover`], with how each file was come by.
pub(crate) fn discover_with_origin(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Origin)>, IngestError> {
    let mut found = BTreeMap::new();
    for path in paths {
        let (named, origin) = if path.is_dir() {
            (walk(path)?, Origin::Found)
        } else if path.is_file() {
            (vec![path.clone()], Origin::Named)
        } else {
            (expand(path)?, Origin::Found)
        };
        if named.is_empty() {
            return Err(IngestError::NoInput(path.display().to_string()));
        }
        for path in named {
            let held = found.entry(path).or_insert(origin);
            *held = origin.max(*held);
        }
    }
    Ok(found.into_iter().collect())
}

/// The origin of a file in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// In a folder or by a pattern: it may be there for another reason.
    Found,
    /// By its own name: it is meant.
    Named,
}

fn expand(pattern: &Path) -> Result<Vec<PathBuf>, IngestError> {
    let text = pattern.to_str().ok_or_else(|| IngestError::NoInput(pattern.display().to_string()))?;
    let matches = glob::glob(text)
        .map_err(|error| IngestError::Pattern { pattern: text.to_owned(), reason: error.msg.to_owned() })?;
    let mut found = Vec::new();
    for entry in matches {
        let path = entry.map_err(|error| IngestError::Io { path: error.path().to_owned(), source: error.into() })?;
        if path.is_dir() {
            found.extend(walk(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn walk(folder: &Path) -> Result<Vec<PathBuf>, IngestError> {
    let visible = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
    };
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(visible) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(folder).to_owned();
            IngestError::Io { path, source: error.into() }
        })?;
        if entry.file_type().is_file() {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_reads_files_once_and_skips_hidden_ones() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        for name in ["b.csv", "a.csv", "sub/c.csv", ".hidden"] {
            std::fs::write(at(name), "x").unwrap();
        }
        let files = discover_with_origin(&[at("a.csv"), folder.path().to_owned(), at("*.csv"), at("sub")]).unwrap();
        let expected = [("a.csv", Origin::Named), ("b.csv", Origin::Found), ("sub/c.csv", Origin::Found)];
        assert_eq!(files, expected.map(|(name, origin)| (at(name), origin)));
        assert!(matches!(discover(&[at("nothing.csv")]), Err(IngestError::NoInput(_))));
        assert!(matches!(discover(&[at("[")]), Err(IngestError::Pattern { .. })));
    }
}

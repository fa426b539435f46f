//! New files in a store take the permissions of their folder, so that every user who may read the store may read each new
//! generation, whatever account and `umask` wrote it.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, fchown};
use std::path::Path;

/// The bits of a mode that a file takes from its folder: reading and writing.
const FILE_BITS: u32 = 0o666;
/// The bits that a folder takes from the one above it: access, and new files belong to the group of the folder.
const FOLDER_BITS: u32 = 0o2777;
/// The bit of a folder in which users delete only files of their own, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// The bit with which all users may write.
const WRITABLE_BY_ALL: u32 = 0o002;

/// Returns the part `bits` of the mode of a folder. Files of a folder that all users share are written by their owners
/// alone.
fn mode_within(folder: &Metadata, bits: u32) -> u32 {
    let mode = folder.mode() & bits;
    if folder.mode() & STICKY == 0 { mode } else { mode & !WRITABLE_BY_ALL }
}

/// Gives a new file the permissions of the folder that `path` is in, and its owner and group where the process may: as
/// root it may, others may give it a group of their own.
///
/// File systems without permissions refuse all of this, and it is not needed there; so a refusal is not an error.
pub fn inherit(file: &File, path: &Path) {
    let folder = path.parent().map(fs::metadata);
    let (Some(Ok(folder)), Ok(found)) = (folder, file.metadata()) else { return };
    if !found.is_file() {
        return;
    }
    if (found.uid(), found.gid()) != (folder.uid(), folder.gid()) {
        let _ =
            fchown(file, Some(folder.uid()), Some(folder.gid())).or_else(|_| fchown(file, None, Some(folder.gid())));
    }
    let mode = mode_within(&folder, FILE_BITS);
    if found.mode() & 0o777 != mode {
        let _ = file.set_permissions(Permissions::from_mode(mode));
    }
}

/// Creates a file of a store, or empties it, with the permissions of its folder.
///
/// # Errors
/// When the file cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    inherit(&file, path);
    Ok(file)
}

/// Creates a folder in a store, if it is missing, with the permissions of the folder that it is in.
///
/// # Errors
/// When the folder cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        fs::create_dir_all(path)?;
        inherit_folder(path);
    }
    Ok(())
}

/// Gives a new folder in a store the permissions of the folder that it is in, as [`inherit`] gives a file.
pub fn inherit_folder(path: &Path) {
    let parent = path.parent().map(fs::metadata);
    let (Some(Ok(parent)), Ok(found)) = (parent, fs::metadata(path)) else { return };
    if (found.uid(), found.gid()) != (parent.uid(), parent.gid()) {
        let _ = chown(path, Some(parent.uid()), Some(parent.gid())).or_else(|_| chown(path, None, Some(parent.gid())));
    }
    let _ = fs::set_permissions(path, Permissions::from_mode(mode_within(&parent, FOLDER_BITS)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn new_file_and_folder_have_the_mode_of_their_folder() {
        let place = tempfile::tempdir().unwrap();
        // The mode of the folder, of a file in it, and of a folder in it.
        for (of_folder, of_file, of_inner) in [
            (0o700, 0o600, 0o700),
            (0o750, 0o640, 0o750),
            (0o755, 0o644, 0o755),
            (0o2775, 0o664, 0o2775),
            (0o777, 0o666, 0o777),
            (0o1777, 0o664, 0o775),
        ] {
            let store = place.path().join(format!("{of_folder:o}"));
            fs::create_dir(&store).unwrap();
            fs::set_permissions(&store, Permissions::from_mode(of_folder)).unwrap();
            let (file, inner) = (store.join("file"), store.join("inner"));
            // As under `umask 077`.
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            create(&file).unwrap();
            create_folder(&inner).unwrap();
            assert_eq!((mode(&file), mode(&inner)), (of_file, of_inner), "{of_folder:o}");
        }
    }

    #[test]
    fn file_written_by_root_belongs_to_the_owner_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        // Only root gives files away; for others the folder stays their own.
        let is_given = chown(place.path(), Some(4711), Some(4712)).is_ok();
        let folder = fs::metadata(place.path()).unwrap();
        let file = place.path().join("file");
        create(&file).unwrap();
        let found = fs::metadata(&file).unwrap();
        assert_eq!((found.uid(), found.gid()), (folder.uid(), folder.gid()));
        assert!(!is_given || (found.uid(), found.gid()) == (4711, 4712));
    }
}

//! Errors that say that something could not be read, and nothing about what is stored in it.

use std::error::Error;
use std::io;

use postgres::error::SqlState;
use rusqlite::ErrorCode;

/// The reason why stored data could not be read. The data itself may be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessFault {
    /// The user of the process may not read it.
    Denied,
    /// Another process has it.
    Busy,
    /// The disk, the mount or the process cannot read now.
    Failing,
    /// The server that has it cannot be reached.
    Unreachable,
}

impl AccessFault {
    /// Returns the fault of access that an error or one of its causes is; `None` where the data itself is at fault, or is
    /// missing.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            let of_file = error.downcast_ref().and_then(Self::of_io);
            let of_sqlite = || error.downcast_ref().and_then(Self::of_sqlite);
            let of_postgres = || error.downcast_ref().and_then(Self::of_postgres);
            if let Some(fault) = of_file.or_else(of_sqlite).or_else(of_postgres) {
                return Some(fault);
            }
            next = error.source();
        }
        None
    }

    fn of_io(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(Self::Denied),
            io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock | io::ErrorKind::ExecutableFileBusy => {
                Some(Self::Busy)
            }
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::HostUnreachable => {
                Some(Self::Unreachable)
            }
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => None,
            // What the system says of a disk, a mount, or a limit of open files.
            _ if error.raw_os_error().is_some() => Some(Self::Failing),
            _ => None,
        }
    }

    fn of_sqlite(error: &rusqlite::Error) -> Option<Self> {
        match error.sqlite_error_code()? {
            ErrorCode::PermissionDenied | ErrorCode::CannotOpen | ErrorCode::ReadOnly => Some(Self::Denied),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Self::Busy),
            ErrorCode::SystemIoFailure | ErrorCode::DiskFull | ErrorCode::OutOfMemory => Some(Self::Failing),
            _ => None,
        }
    }

    fn of_postgres(error: &postgres::Error) -> Option<Self> {
        const DENIED: [SqlState; 3] = [
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::INVALID_PASSWORD,
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        ];
        const BUSY: [SqlState; 4] = [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::QUERY_CANCELED,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::CANNOT_CONNECT_NOW,
        ];
        match error.code() {
            Some(code) if DENIED.contains(code) => Some(Self::Denied),
            Some(code) if BUSY.contains(code) => Some(Self::Busy),
            Some(code) if *code == SqlState::IO_ERROR => Some(Self::Failing),
            None if error.is_closed() => Some(Self::Unreachable),
            // Without a code, a cause of the operating system decides.
            Some(_) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::StateError;

    fn of_file(source: io::Error) -> Option<AccessFault> {
        let error = StateError::Io { action: "cannot read", path: PathBuf::from("x"), source };
        AccessFault::of(&error)
    }

    fn of_database(code: i32) -> Option<AccessFault> {
        let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        AccessFault::of(&StateError::Database { place: "x".to_owned(), source: Box::new(source) })
    }

    #[test]
    fn fault_of_access_is_not_damage() {
        // Numbers of Linux: EACCES 13, EBUSY 16, EIO 5, ESTALE 116, EMFILE 24, ENOENT 2.
        let file = |number| of_file(io::Error::from_raw_os_error(number));
        assert_eq!([13, 16].map(file), [Some(AccessFault::Denied), Some(AccessFault::Busy)]);
        assert_eq!([5, 116, 24].map(file), [Some(AccessFault::Failing); 3]);
        assert_eq!(file(2), None, "it is missing");
        assert_eq!(of_file(io::Error::new(io::ErrorKind::InvalidData, "x")), None);
        // Result codes of SQLite: BUSY 5, LOCKED 6, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26.
        assert_eq!([5, 6].map(of_database), [Some(AccessFault::Busy); 2]);
        assert_eq!([8, 14].map(of_database), [Some(AccessFault::Denied); 2]);
        assert_eq!([10, 13].map(of_database), [Some(AccessFault::Failing); 2]);
        assert_eq!([11, 26].map(of_database), [None; 2]);
        assert_eq!(AccessFault::of(&StateError::Damaged { place: "x".to_owned(), what: "y".to_owned() }), None);
    }
}

//! Tables made of lines of JSON that a server sent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_engine::{Column, TableHead, endpoint};
use headwater_table::{Encoder, Format, TableError};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::errors::raise;
use crate::tables::{form_of, read, refused};

/// A table that is made of lines of JSON, each a row: a file in the form of its ending, or a table in memory. It is
/// encoded as the engine encodes its own, some thousand rows at a time.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct Lines {
    columns: Vec<Column>,
    path: Option<PathBuf>,
    making: Mutex<Making>,
}

/// Where a table is in its life.
enum Making {
    Waiting(Format, Out),
    Begun(Box<Encoder<Out>>),
    Ended,
}

/// Where a table goes. What stood at the path of a file stays until the new one is whole.
enum Out {
    File(Partial),
    Memory(Vec<u8>),
}

struct Partial {
    file: BufWriter<File>,
    path: PathBuf,
    is_whole: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_whole {
            // What is left of it is of no use; that it cannot be removed changes nothing.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(partial) => partial.file.write(bytes),
            Self::Memory(buffer) => buffer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(partial) => partial.file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

#[pymethods]
impl Lines {
    /// A table of the rows of a call, for a file or, without a path, for memory.
    #[new]
    #[pyo3(signature = (name, path=None))]
    fn new(py: Python<'_>, name: &str, path: Option<PathBuf>) -> PyResult<Self> {
        let endpoint =
            endpoint(name).ok_or_else(|| raise(py, "NotFound", &format!("there is no call {name:?}"), None, None))?;
        let columns = endpoint.columns().ok_or_else(|| {
            let message = format!("the answer of {name:?} is no list: it can be given as JSON only");
            raise(py, "InvalidInput", &message, Some("invalid_value"), Some("format"))
        })?;
        let waiting = match &path {
            None => Making::Waiting(Format::Arrow, Out::Memory(Vec::new())),
            Some(path) => {
                let format = form_of(py, path)?;
                let partial = create(path).map_err(|error| refused(py, &error.into(), Some(path)))?;
                Making::Waiting(format, Out::File(partial))
            }
        };
        Ok(Self { columns, path, making: Mutex::new(waiting) })
    }

    /// Says what the list says besides its rows, before the first of them.
    #[pyo3(signature = (total=None, as_of_block=None, amount_unit=None, next_cursor=None, pegged=vec![]))]
    fn begin(
        &self,
        py: Python<'_>,
        total: Option<u64>,
        as_of_block: Option<u64>,
        amount_unit: Option<String>,
        next_cursor: Option<String>,
        pegged: Vec<String>,
    ) -> PyResult<()> {
        let mut making = self.making();
        let Making::Waiting(format, out) = std::mem::replace(&mut *making, Making::Ended) else {
            return Err(raise(py, "InternalError", "a table begins once", None, None));
        };
        let head = TableHead { next_cursor, total, as_of_block, amount_unit, pegged, ..TableHead::default() };
        let encoder = Encoder::new(format, &self.columns, &head, out).map_err(|error| self.refuse(py, &error))?;
        *making = Making::Begun(Box::new(encoder));
        Ok(())
    }

    /// Adds whole lines.
    fn add(&self, py: Python<'_>, lines: &[u8]) -> PyResult<()> {
        let added = py.detach(|| match &mut *self.making() {
            Making::Begun(encoder) => Some(encoder.lines(lines)),
            Making::Waiting(..) | Making::Ended => None,
        });
        match added {
            Some(added) => added.map_err(|error| self.refuse(py, &error)),
            None => Err(raise(py, "InternalError", "a table takes rows once it has begun", None, None)),
        }
    }

    /// Ends the table; one in memory comes back.
    fn finish(&self, py: Python<'_>) -> PyResult<Option<PyTable>> {
        let Making::Begun(encoder) = std::mem::replace(&mut *self.making(), Making::Ended) else {
            return Err(raise(py, "InternalError", "a table ends once, after it has begun", None, None));
        };
        let out = py.detach(|| encoder.finish()).map_err(|error| self.refuse(py, &error))?;
        let (batches, schema) = match (out, &self.path) {
            (Out::File(mut partial), Some(path)) => {
                let kept = py.detach(|| partial.keep(path));
                return kept.map(|()| None).map_err(|error| self.refuse(py, &error.into()));
            }
            (Out::Memory(bytes), _) => read(bytes).map_err(|error| self.refuse(py, &error))?,
            (Out::File(_), None) => unreachable!("a table has a file because it has a path"),
        };
        PyTable::try_new(batches, schema).map(Some)
    }

    /// Gives the table up; what is left of a file is removed.
    fn give_up(&self) {
        *self.making() = Making::Ended;
    }
}

impl Lines {
    /// What panicked while it held the table left it ended.
    fn making(&self) -> MutexGuard<'_, Making> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, py: Python<'_>, error: &TableError) -> PyErr {
        refused(py, error, self.path.as_deref())
    }
}

impl Partial {
    fn keep(&mut self, path: &Path) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.path, path)?;
        self.is_whole = true;
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<Partial> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    Ok(Partial { file: BufWriter::new(File::create(&partial)?), path: partial, is_whole: false })
}

//! Label files: one file per format in `formats`, and what all of them share.
//!
//! A format reads its files into [`raw::RawLabels`]: texts, as they are written. Everything that formats have in common
//! happens behind it: addresses are read, concepts mapped to codes, sources to provenance groups, and copies joined.

mod concepts;
mod core_lists;
mod counts;
mod dates;
mod formats;
mod freezes;
mod hints;
mod import;
mod ledger_freezes;
mod normalise;
mod outcome;
mod raw;
mod store;

pub use core_lists::core_lists;
pub use counts::Counts;
pub use formats::{PoolTag, read_pool_tags};
pub use freezes::{FreezeLog, Issuer, freeze_topics, freezes, issuers};
pub(crate) use hints::label_format_of;
pub use import::{
    LabelOptions, LabelReading, LeftOutFile, label_formats, read_label_frame, read_label_lists, read_labels,
};
pub use ledger_freezes::{import_freezes, ledger_freezes, refresh_freezes};
pub use outcome::{Foreign, Labels};
pub use store::{ImportState, ImportTerms, ImportedList, LabelImportReport, import_core_lists, import_labels};

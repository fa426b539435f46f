//! The folder of segments.

/// A store on disk.
pub struct Store;

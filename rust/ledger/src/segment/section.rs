//! Names of sections with the types of their elements.

use std::marker::PhantomData;

/// A section by name and element type.
pub(crate) struct Section<T> {
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Section<T> {}

impl<T> Section<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, of: PhantomData }
    }

    pub(super) const fn name(self) -> &'static str {
        self.name
    }
}

/// The sections of packed blocks.
#[derive(Clone, Copy)]
pub(crate) struct PackedSections {
    pub(crate) blocks: Section<u8>,
    /// The beginning of each block, and the end of the last one.
    pub(crate) starts: Section<u64>,
}

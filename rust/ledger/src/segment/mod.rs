//! One immutable file of columns.

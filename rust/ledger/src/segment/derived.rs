//! Values that other modules find in a segment once and keep with it: generations that share it share them.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// One value of each type, dropped with the segment.
#[derive(Default)]
pub(crate) struct DerivedTables(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl DerivedTables {
    /// Returns the value of a type, which begins as its default.
    pub(crate) fn get<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        // A panic leaves the list as it was.
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = values.iter().find_map(|value| Arc::clone(value).downcast::<T>().ok()) {
            return held;
        }
        let made = Arc::new(T::default());
        values.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }
}

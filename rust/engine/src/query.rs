//! A call after its arguments were read: once, for every check that follows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::analysis::Analysis;
use crate::chain_scope::ChainsRead;
use crate::description::nested_fields;
use crate::request::{Arguments, CanonicalText, Cursor, Warnings, decode_with};
use crate::{Endpoint, Error};

/// A call of an endpoint, decoded. Cheap to share; it depends on no data, so it can be asked of any generation.
pub struct Query {
    endpoint: Endpoint,
    canonical: CanonicalText,
    /// The chains that the call reads.
    chains: ChainsRead,
    /// The chains of which one has to be held.
    subject: ChainsRead,
    /// The generation that its cursor names.
    generation: Result<Option<u64>, Error>,
    /// Items that are paid for, where the price is per item.
    items: Option<u32>,
    request: Result<Box<dyn Any + Send + Sync>, Error>,
    warnings: Warnings,
}

impl Query {
    /// Decodes the arguments of a call.
    pub(crate) fn of<A: Analysis>(endpoint: &Endpoint, mut arguments: Arguments) -> Self {
        let canonical = CanonicalText::new(endpoint.name, &mut arguments);
        let value = arguments.value();
        let mut warnings = Warnings::default();
        let is_text = |field: &str| arguments.is_text(field);
        let nested = nested_fields::<A::Request>;
        let request = decode_with::<A::Request>((value, &is_text), endpoint.method, &mut warnings, &nested);
        Self {
            endpoint: *endpoint,
            chains: endpoint.chains.of(value),
            subject: endpoint.chains.subject(value),
            generation: Cursor::pinned(value),
            items: A::PRICING.items(value),
            request: request.map(|request| Box::new(request) as Box<dyn Any + Send + Sync>),
            canonical,
            warnings,
        }
    }

    /// The endpoint that is called.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Endpoint, filters and paging as one text. Equal texts mean equal answers from the same data.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        self.canonical.shared()
    }

    /// The chains that the call reads.
    #[must_use]
    pub const fn chains(&self) -> &ChainsRead {
        &self.chains
    }

    /// The chains of which one has to be held.
    pub(crate) const fn subject(&self) -> &ChainsRead {
        &self.subject
    }

    /// The generation that its cursor names; `None` for the newest.
    ///
    /// # Errors
    /// `invalid_value` when it has a cursor that is not valid.
    pub fn generation(&self) -> Result<Option<u64>, Error> {
        self.generation.as_ref().copied().map_err(Error::repeated)
    }

    /// The most that the call can cost, in credits.
    #[must_use]
    pub fn max_credits(&self) -> u32 {
        self.endpoint.credits(self.items)
    }

    pub(crate) fn filter_hash(&self) -> u64 {
        self.canonical.filter_hash()
    }

    /// The request, with the warnings of decoding it.
    ///
    /// # Errors
    /// The fault of the arguments.
    pub(crate) fn request<R: Clone + 'static>(&self, warnings: &mut Warnings) -> Result<R, Error> {
        warnings.clone_from(&self.warnings);
        let request = self.request.as_ref().map_err(Error::repeated)?;
        Ok(request.downcast_ref::<R>().expect("a query is decoded for its own endpoint").clone())
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Query").field(&self.canonical.text()).finish()
    }
}

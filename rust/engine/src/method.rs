//! How the parameters of a call come.

/// HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Parameters in the query string.
    Get,
    /// Parameters in a JSON body.
    Post,
}

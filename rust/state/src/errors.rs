//! Errors as the log shows them.

/// An error with all that lies below it, for the log.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        below = cause.source();
    }
    text
}

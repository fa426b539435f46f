//! Numbers as answers show them.

/// Rounds to so many decimals, half to even. A number that would become zero keeps two significant digits: what earns points
/// is never shown as nothing.
///
/// ```
/// use headwater_intel::risk::significant;
/// assert_eq!([12.345, 0.0049, 0.0].map(|value| significant(value, 2)), [12.34, 0.0049, 0.0]);
/// assert_eq!(significant(0.000_123_456, 2), 0.000_12);
/// ```
#[must_use]
pub fn significant(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    // Adding zero turns minus zero into zero.
    let rounded = (value * unit).round_ties_even() / unit + 0.0;
    if rounded != 0.0 || value == 0.0 {
        return rounded;
    }
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Writes a number with so many decimals, or with more where it would read as zero.
///
/// ```
/// use headwater_intel::risk::shown;
/// assert_eq!([12.3, 0.0049, 0.0].map(|value| shown(value, 2)), ["12.30", "0.0049", "0.00"]);
/// ```
#[must_use]
pub fn shown(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if value == 0.0 || text.contains(|of: char| ('1'..='9').contains(&of)) {
        return text;
    }
    significant(value, i32::try_from(decimals).unwrap_or(i32::MAX)).to_string()
}

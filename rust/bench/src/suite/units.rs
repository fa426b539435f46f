//! Figures as people read them.

/// Nanoseconds in the unit that reads best.
#[must_use]
pub fn nanos(nanos: u64) -> String {
    let value = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} µs", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

/// Megabytes of a million bytes, rounded.
#[must_use]
pub fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// 1234567 as 1,234,567.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((grouped(7), grouped(1000), grouped(1_234_567)), ("7".into(), "1,000".into(), "1,234,567".into()));
        assert_eq!((nanos(999), nanos(1500), nanos(2_500_000)), ("999 ns".into(), "1.5 µs".into(), "2.50 ms".into()));
    }
}

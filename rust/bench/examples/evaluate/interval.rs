//! Shares with their intervals.

use std::fmt;

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub part: usize,
    pub whole: usize,
}

impl Share {
    pub fn count(&mut self, holds: bool) {
        self.part += usize::from(holds);
        self.whole += 1;
    }

    /// The interval of Wilson at 95 %.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few millions")]
    pub fn interval(self) -> (f64, f64) {
        let (n, z) = (self.whole as f64, 1.959_964_f64);
        if self.whole == 0 {
            return (0.0, 1.0);
        }
        let p = self.part as f64 / n;
        let middle = p + z * z / (2.0 * n);
        let reach = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z * z / n;
        // Rounding may pass the bounds, and a share of nothing is not -0.
        (((middle - reach) / scale).max(0.0), ((middle + reach) / scale).min(1.0))
    }
}

impl fmt::Display for Share {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few millions")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole == 0 {
            return f.write_str("–");
        }
        let (low, high) = self.interval();
        write!(f, "{:.3} ({low:.3} to {high:.3})", self.part as f64 / self.whole as f64)
    }
}

//! Output of commands: tables for people, JSON for scripts.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use headwater_engine::{Response, Warning};
use serde::Serialize;
use serde_json::json;

use super::error::Failure;
use super::table::Layout;
pub use super::table::table;

/// The form in which a command prints.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    terminal: bool,
}

impl Output {
    /// Creates output as JSON for scripts, or as text for people.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json, terminal: io::stdout().is_terminal() }
    }

    /// Prints a value for scripts, or `lines` for people.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn report(self, value: &impl Serialize, lines: impl FnOnce() -> Vec<String>) -> Result<(), Failure> {
        if self.json { self.json(value) } else { print(&(lines().join("\n") + "\n")) }
    }

    /// Prints an answer for scripts, or `lines` for people with the warnings after them.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn answer<R: Serialize>(
        self,
        response: &Response<R>,
        lines: impl FnOnce() -> Vec<String>,
    ) -> Result<(), Failure> {
        self.report(response, lines)?;
        self.warn(&response.warnings);
        Ok(())
    }

    /// Returns whether scripts read the output.
    #[must_use]
    pub const fn is_json(self) -> bool {
        self.json
    }

    /// Returns whether people read the output on a terminal.
    #[must_use]
    pub const fn is_on_terminal(self) -> bool {
        self.terminal && !self.json
    }

    /// Returns the room for tables: that of the terminal, without a bound elsewhere.
    #[must_use]
    pub fn layout(self) -> Layout {
        let size = if self.terminal { terminal_size::terminal_size() } else { None };
        Layout::of_width(size.map(|(width, _)| width.0.into()))
    }

    /// Prints JSON, indented on a terminal.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        print(&(self.to_text(value)? + "\n"))
    }

    /// Formats a value as JSON, indented on a terminal.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn to_text(self, value: &impl Serialize) -> Result<String, Failure> {
        let text = if self.terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        text.map_err(|error| Failure::from_error(&error))
    }

    /// Prints warnings for people on standard error, without those about the whole store ([`standing`]); the JSON for scripts
    /// contains all of them.
    pub fn warn(self, warnings: &[Warning]) {
        if !self.json {
            for warning in warnings.iter().filter(|warning| !STANDING.contains(&&*warning.code)) {
                say(&format!("warning: {}", warning.message));
            }
        }
    }

    /// Prints a failure on standard error and returns the exit code.
    #[must_use]
    pub fn failure(self, failure: &Failure) -> u8 {
        let text = if self.json {
            let error = failure.refusal.as_ref().map_or_else(
                || {
                    let code = if failure.code == 2 { "usage" } else { "failed" };
                    json!({"code": code, "message": failure.message})
                },
                |refusal| json!(refusal),
            );
            json!({"error": error}).to_string()
        } else {
            let place = failure.refusal.as_ref().and_then(|refusal| refusal.details.as_ref());
            let reason = place.map(|details| format!(" ({})", details.reason)).unwrap_or_default();
            format!("error: {}{reason}", failure.message)
        };
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "{text}");
        failure.code
    }
}

/// Warnings about the whole store, which would be in every answer: `stats` and `doctor` report them, and the answers that
/// rest on them most name them among their details.
const STANDING: [&str; 2] = ["partial_data", "sanctions_old"];

/// Returns the warnings about the whole store, as lines of details.
pub(super) fn standing(warnings: &[Warning]) -> Vec<String> {
    let standing = warnings.iter().filter(|warning| STANDING.contains(&&*warning.code));
    standing.map(|warning| format!("note: {}", warning.message)).collect()
}

/// Prints to standard output. A closed pipe (`| head`) is not a failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes a value as one line of JSON into a file.
pub(super) fn write_json(out: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::from_error(&error))?;
    write_file(out, &(text + "\n"))
}

/// Writes a file; an existing file is kept until the new one is complete.
pub(super) fn write_file(out: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut partial = out.as_os_str().to_owned();
    partial.push(".partial");
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, out));
    written.map_err(|error| {
        // The partial file is useless, and a failure to remove it changes nothing.
        let _ = fs::remove_file(&partial);
        Failure::failed(format!("cannot write {}: {error}", out.display()))
    })
}

/// Prints a line for people on standard error, beside the result.
pub fn say(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Formats a number with commas.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().copied().map(char::from));
    }
    text
}

/// Formats a size in bytes for people.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // One digit behind the point is all that is shown: tenths of a unit, counted in integers.
    let (mut unit, mut divisor) = (0, 1024_u64);
    while unit + 1 < UNITS.len() && bytes / divisor >= 1024 {
        divisor *= 1024;
        unit += 1;
    }
    let tenths = u128::from(bytes) * 10 / u128::from(divisor);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Formats Unix seconds as a date for people.
#[must_use]
pub fn date(secs: i64) -> String {
    let days = secs.div_euclid(86_400);
    let rest = secs.rem_euclid(86_400);
    // Days since 1970 to year, month, day: http://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sizes_and_dates_read_well() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(grouped), ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1023, 1024, 1536, 5 << 30].map(size), ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 GiB"]);
        assert_eq!(date(0), "1970-01-01 00:00:00Z");
        // 2000-02-29T12:34:56Z, as `date -u -d @951827696` prints it.
        assert_eq!(date(951_827_696), "2000-02-29 12:34:56Z");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59:59Z");
    }
}

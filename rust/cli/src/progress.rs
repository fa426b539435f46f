//! Progress bars: on standard error, only on a terminal, only for what takes longer than two seconds.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const MIN_DURATION: Duration = Duration::from_secs(2);

/// The unit of a bar.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// Bytes of files.
    Bytes,
    /// Items of any other kind.
    Steps,
}

/// A bar that appears when the work turns out to be long.
#[derive(Debug)]
pub(super) struct Bar {
    unit: Unit,
    started: Instant,
    shown: bool,
    drawn: OnceLock<ProgressBar>,
}

impl Bar {
    pub fn new(unit: Unit) -> Self {
        Self { unit, started: Instant::now(), shown: std::io::stderr().is_terminal(), drawn: OnceLock::new() }
    }

    /// Shows how far the work is.
    pub fn update(&self, done: u64, total: u64, what: &str) {
        self.update_from(0, (done, total), what);
    }

    /// Shows how far the work is. What was done before counts for neither rate nor time left.
    pub fn update_from(&self, before: u64, (done, total): (u64, u64), what: &str) {
        if !self.shown || self.started.elapsed() < MIN_DURATION {
            return;
        }
        let bar = self.drawn.get_or_init(|| {
            let counts = match self.unit {
                Unit::Bytes => "{bytes}/{total_bytes}  {bytes_per_sec}",
                Unit::Steps => "{human_pos}/{human_len}  {per_sec}",
            };
            let template = format!("{{bar:30}} {{percent:>3}}%  {counts}  {{eta}} left  {{wide_msg}}");
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
            // So that rate and time left count from the beginning of the work.
            let bar = bar.with_style(style).with_elapsed(self.started.elapsed());
            // The rate is measured from here: a jump to what is done already would count as speed.
            bar.set_position(done.max(before));
            bar.tick();
            bar.reset_eta();
            bar
        });
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(what.to_owned());
    }

    /// Removes the bar from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = self.drawn.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

impl headwater_ingest::Progress for Bar {
    fn update(&self, state: headwater_ingest::ProgressState<'_>) {
        let name = state.file.file_name().unwrap_or_default().to_string_lossy();
        let what =
            format!("{name} ({}/{}), {} rows", state.file_number, state.files, super::output::grouped(state.rows));
        Self::update(self, state.bytes_done, state.bytes_total, &what);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        Self::update(self, done, total, &format!("building {kind}"));
    }
}

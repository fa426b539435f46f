//! Forms of lists: a table that fits the terminal, a whole table, or CSV.

use super::error::Failure;
use super::output::Output;
use super::table::Layout;

/// `--csv` and `--wide`.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct View {
    /// Print comma-separated values with every column, for other programs.
    #[arg(long, conflicts_with = "wide")]
    pub csv: bool,
    /// Print every column, however wide the terminal is.
    #[arg(long)]
    pub wide: bool,
}

impl View {
    /// Returns the room for a table.
    pub fn layout(self, output: Output) -> Layout {
        if self.wide { output.layout().whole() } else { output.layout() }
    }

    /// Returns whether CSV is asked for.
    pub fn is_csv(self, output: Output) -> Result<bool, Failure> {
        if self.csv && output.is_json() {
            return Err(Failure::usage("--csv and --json are given: give one of the two"));
        }
        Ok(self.csv)
    }
}

/// `--wide` alone, of commands whose answer is more than one list.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct WideFlag {
    /// Print every column, however wide the terminal is.
    #[arg(long)]
    pub wide: bool,
}

impl WideFlag {
    /// Returns the room for tables.
    pub fn layout(self, output: Output) -> Layout {
        View { csv: false, wide: self.wide }.layout(output)
    }
}

//! Pictures of traces and paths: static as SVG and PNG, interactive as a page that needs nothing besides itself.
//!
//! A picture has a column for each hop, a box for each address with its name, its short address and the reason for which
//! the money was not followed further, and a line for each payment with its amount and dates. The same report gives
//! the same bytes. Texts of chains and lists are untrusted: all writers escape them and replace invisible characters.
//!
//! ```no_run
//! # fn example(report: &headwater_engine::endpoints::trace::TraceReport) -> Result<(), Box<dyn std::error::Error>> {
//! use headwater_picture::{Picture, PictureFormat};
//!
//! let picture = Picture::of_trace(report);
//! std::fs::write("trace.html", picture.write(PictureFormat::Html)?)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod collect;
mod data;
#[cfg(test)]
mod fixtures;
mod fonts;
mod graph;
mod html;
mod layout;
mod png;
mod style;
mod svg;
mod vocabulary;
mod words;

use std::path::Path;

use headwater_engine::endpoints::path::PathReport;
use headwater_engine::endpoints::trace::TraceReport;

pub use html::{Component, component, marks};
pub use vocabulary::{Vocabulary, vocabulary};
pub use words::{DIVISION_PARTS, stop_reason};

/// The reason for which there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The ending of a file names no format.
    #[error("{file} does not end in .html, .svg or .png, the formats of pictures: use one of these endings")]
    UnknownEnding {
        /// The file.
        file: String,
    },
    /// The picture could not be drawn as PNG.
    #[error("cannot draw the PNG: {0}; write .svg or .html instead")]
    Draw(String),
}

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// A page to look around in.
    Html,
    /// A static picture of any size.
    Svg,
    /// A static picture of pixels.
    Png,
}

impl PictureFormat {
    /// Returns the format that the ending of a file names.
    ///
    /// # Errors
    /// When the ending names none.
    ///
    /// ```
    /// use headwater_picture::PictureFormat;
    /// assert_eq!(PictureFormat::of_file("trace.SVG".as_ref()).unwrap(), PictureFormat::Svg);
    /// assert!(PictureFormat::of_file("trace.gif".as_ref()).is_err());
    /// ```
    pub fn of_file(file: &Path) -> Result<Self, PictureError> {
        match file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("html") => Ok(Self::Html),
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(PictureError::UnknownEnding { file: file.display().to_string() }),
        }
    }
}

/// A picture of a report.
#[derive(Debug, Clone)]
pub struct Picture {
    graph: graph::Graph,
    layout: layout::Layout,
}

impl Picture {
    /// Lays out the picture of a trace.
    #[must_use]
    pub fn of_trace(report: &TraceReport) -> Self {
        Self::of(collect::of_trace(report))
    }

    /// Lays out the picture of paths.
    #[must_use]
    pub fn of_path(report: &PathReport) -> Self {
        Self::of(collect::of_path(report))
    }

    fn of(graph: graph::Graph) -> Self {
        Self { layout: layout::layout(&graph), graph }
    }

    /// Returns the picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::svg(&self.graph, &self.layout)
    }

    /// Returns the picture as a page with scripts of its own.
    #[must_use]
    pub fn html(&self) -> String {
        html::html(&self.graph.title, &self.json())
    }

    /// Returns the data that the interactive component shows, as JSON without markup.
    #[must_use]
    pub fn json(&self) -> String {
        data::json(&self.graph, &self.layout)
    }

    /// Returns the picture as PNG.
    ///
    /// # Errors
    /// When it could not be drawn.
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        png::png(&self.svg())
    }

    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// When a PNG could not be drawn.
    pub fn write(&self, format: PictureFormat) -> Result<Vec<u8>, PictureError> {
        match format {
            PictureFormat::Html => Ok(self.html().into_bytes()),
            PictureFormat::Svg => Ok(self.svg().into_bytes()),
            PictureFormat::Png => self.png(),
        }
    }
}

//! Pictures as pages that need nothing besides themselves.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::svg::xml;

/// The graph library.
const LIBRARY: &str = include_str!("../assets/cytoscape.min.js");
/// The marks of addresses and payments.
const MARKS: &str = include_str!("../assets/marks.js");
/// The marks and the component.
const COMPONENT: &str = concat!(include_str!("../assets/marks.js"), include_str!("../assets/graph.js"));
/// The style of the marks.
const MARKS_STYLE: &str = include_str!("../assets/marks.css");
/// The style of both.
const STYLE: &str = concat!(include_str!("../assets/marks.css"), include_str!("../assets/graph.css"));
/// The start of the component on a page of its own.
const START: &str = "HeadwaterGraph.show(document.getElementById(\"picture\"), \
                     JSON.parse(document.getElementById(\"data\").textContent));";

/// The files of the interactive component, for pages and notebooks that contain it.
#[derive(Debug, Clone, Copy)]
pub struct Component {
    /// The graph library: a script that sets `cytoscape`.
    pub library: &'static str,
    /// The component: a script that sets `HeadwaterGraph`.
    pub script: &'static str,
    /// The style sheet.
    pub style: &'static str,
}

/// Returns the files of the interactive component.
///
/// ```
/// assert!(headwater_picture::component().script.contains("HeadwaterGraph"));
/// ```
#[must_use]
pub const fn component() -> Component {
    Component { library: LIBRARY, script: COMPONENT, style: STYLE }
}

/// Returns the files of the marks alone, for pages that draw other pictures: the script sets `HeadwaterMarks`.
///
/// ```
/// assert!(headwater_picture::marks().script.contains("HeadwaterMarks"));
/// ```
#[must_use]
pub const fn marks() -> Component {
    Component { library: LIBRARY, script: MARKS, style: MARKS_STYLE }
}

/// Writes a page around the data of a picture. Its policy allows its own scripts and style by their hashes alone.
pub(crate) fn html(title: &str, data: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let scripts = [LIBRARY, COMPONENT, START].map(hash).join(" ");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; style-src {}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body class=\"hw-page\">\n<main id=\"picture\"></main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{LIBRARY}</script>\n<script>{COMPONENT}</script>\n<script>{START}</script>\n</body>\n</html>\n",
        hash(STYLE),
        xml(title)
    )
}

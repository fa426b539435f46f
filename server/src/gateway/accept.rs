//! Whether the client takes JSON.

use axum::http::{HeaderMap, header};

/// Whether `Accept` lets JSON through: the most specific range that fits decides (RFC 9110, 12.5.1).
pub(super) fn takes_json(headers: &HeaderMap) -> bool {
    let mut best: Option<(u8, bool)> = None;
    let mut any = false;
    for value in headers.get_all(header::ACCEPT) {
        // What is not text names no range that fits.
        for range in value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|range| !range.is_empty()) {
            any = true;
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let specific = match kind.as_str() {
                "application/json" => 3,
                "application/*" => 2,
                "*/*" | "*" => 1,
                _ => continue,
            };
            let refused = parts.any(|part| {
                let (name, quality) = part.split_once('=').unwrap_or((part, ""));
                name.trim().eq_ignore_ascii_case("q")
                    && quality.trim().parse::<f32>().is_ok_and(|quality| quality <= 0.0)
            });
            if best.is_none_or(|(before, _)| specific > before) {
                best = Some((specific, !refused));
            }
        }
    }
    best.map_or(!any, |(_, taken)| taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_client_that_leaves_json_out_is_refused() {
        let takes = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, text.parse().unwrap());
            takes_json(&headers)
        };
        assert!(takes_json(&HeaderMap::new()));
        for text in [
            "*/*",
            "",
            "application/json",
            "text/html, */*;q=0.8",
            "APPLICATION/JSON; charset=utf-8",
            "application/*",
            "*",
        ] {
            assert!(takes(text), "{text}");
        }
        for text in ["text/csv", "application/json;q=0", "application/json;q=0, */*", "text/html, image/*", "*/*;q=0.0"]
        {
            assert!(!takes(text), "{text}");
        }
    }
}

//! The fonts of pictures, and the width of text in them.

use std::sync::OnceLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The names of fonts in order of preference; the first is that of the embedded ones.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";
/// The embedded font.
pub(crate) const REGULAR: &[u8] = include_bytes!("../assets/DejaVuSans.ttf");
/// The embedded font for names.
pub(crate) const BOLD: &[u8] = include_bytes!("../assets/DejaVuSans-Bold.ttf");

/// The weight of a font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// Returns the width of text in pixels. A character without a glyph is as wide as the font is high.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    static FONTS: OnceLock<[FontRef<'static>; 2]> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        [REGULAR, BOLD].map(|data| FontRef::new(data).expect("the embedded fonts are valid: a test reads them"))
    });
    let font = &fonts[usize::from(weight == Weight::Bold)];
    let (characters, metrics) = (font.charmap(), font.glyph_metrics(Size::new(1.0), LocationRef::default()));
    let of = |letter| characters.map(letter).and_then(|glyph| metrics.advance_width(glyph)).map_or(1.0, f64::from);
    size * text.chars().map(of).sum::<f64>()
}

/// Shortens text to a width, with a mark at its end.
pub(crate) fn fitted(text: &str, size: f64, weight: Weight, room: f64) -> String {
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if width(&kept, size, weight) + width("…", size, weight) > room {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

/// Breaks text between words into lines of a width; what does not fit on the last line is cut.
pub(crate) fn wrapped(text: &str, (size, weight): (f64, Weight), room: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_last = lines.len() == max_lines;
        match lines.last_mut() {
            Some(line) if is_last || width(&format!("{line} {word}"), size, weight) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fitted(line, size, weight, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_grows_with_text_size_and_weight() {
        let plain = width("0x1234…abcd", 10.0, Weight::Regular);
        assert!((60.0..80.0).contains(&plain), "{plain}");
        assert!((width("0x1234…abcd", 20.0, Weight::Regular) - 2.0 * plain).abs() < 1e-6);
        assert!(width("0x1234…abcd", 10.0, Weight::Bold) > plain);
        assert!((width("漢", 10.0, Weight::Regular) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn fitted_text_is_within_its_room() {
        let text = fitted(&"W".repeat(500), 11.0, Weight::Bold, 180.0);
        assert!(text.ends_with('…') && width(&text, 11.0, Weight::Bold) <= 180.0, "{text}");
        assert_eq!(fitted("short", 11.0, Weight::Regular, 180.0), "short");
    }

    #[test]
    fn wrapped_text_has_a_limit_of_lines() {
        let lines = wrapped(
            "a service: what leaves it is other people's money, and more of the same",
            (10.0, Weight::Regular),
            150.0,
            2,
        );
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line, 10.0, Weight::Regular) <= 150.0), "{lines:?}");
    }
}

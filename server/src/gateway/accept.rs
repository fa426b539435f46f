//! Which form of an answer the client takes (RFC 9110, 12.5.1).

use axum::http::{HeaderMap, header};
use headwater_engine::Column;
use headwater_table::Format;

use super::Problem;
use super::problem::Status;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The envelope.
    Json,
    /// Rows and columns, without an envelope.
    Table(Format),
}

impl Form {
    /// What is offered, what stands first being given where the client does not mind.
    const OFFERED: [Self; 5] = [
        Self::Json,
        Self::Table(Format::Csv),
        Self::Table(Format::Ndjson),
        Self::Table(Format::Parquet),
        Self::Table(Format::Arrow),
    ];

    const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Table(format) => format.media_type(),
        }
    }
}

/// A range of media types that the client takes.
struct Range {
    kind: String,
    /// Thousandths.
    quality: u16,
}

/// The form that the client likes best of all that lists are given in; `None` where it takes none of them. Of forms that
/// it likes alike the one that it names first is taken; one that only a range with a star fits comes after those that are
/// named.
pub(super) fn chosen(headers: &HeaderMap) -> Option<Form> {
    chosen_of(&Form::OFFERED, headers)
}

/// The columns and form of a table; `None` for JSON. What is no list has no columns.
///
/// # Errors
/// A 406 where the client takes nothing that is given.
pub(super) fn form_of(
    headers: &HeaderMap,
    columns: impl FnOnce() -> Option<Vec<Column>>,
) -> Result<Option<(Vec<Column>, Format)>, Problem> {
    match chosen(headers) {
        Some(Form::Json) => Ok(None),
        Some(Form::Table(format)) => match columns() {
            Some(columns) => Ok(Some((columns, format))),
            None if takes_json(headers) => Ok(None),
            None => {
                let message = "this answer is no list, so only application/json is given here: leave `Accept` out, or let it include that";
                Err(Problem::new(Status::NotAcceptable, message))
            }
        },
        None => {
            let forms = Format::ALL.map(Format::media_type).join(", ");
            let message = format!("`Accept` leaves out all that is given here: application/json, and of lists {forms}");
            Err(Problem::new(Status::NotAcceptable, message))
        }
    }
}

/// Whether the client takes JSON, where nothing else is given.
pub(super) fn takes_json(headers: &HeaderMap) -> bool {
    chosen_of(&[Form::Json], headers).is_some()
}

fn chosen_of(offered: &[Form], headers: &HeaderMap) -> Option<Form> {
    if !headers.contains_key(header::ACCEPT) {
        return Some(Form::Json);
    }
    let ranges: Vec<Range> = headers
        .get_all(header::ACCEPT)
        .iter()
        // What is not text names no range that fits.
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .filter_map(range)
        .collect();
    if ranges.is_empty() {
        return Some(Form::Json);
    }
    let fitting = |form: &Form| {
        let media_type = form.media_type();
        let group = media_type.split_once('/').map_or(String::new(), |(group, _)| format!("{group}/*"));
        let place = |kind: &str| ranges.iter().position(|range| range.kind == kind);
        // The most specific range that fits decides.
        let (place, named) = match place(media_type) {
            Some(place) => (place, true),
            None => (place(&group).or_else(|| place("*/*")).or_else(|| place("*"))?, false),
        };
        let quality = ranges[place].quality;
        (quality > 0).then_some((quality, named, std::cmp::Reverse(place)))
    };
    let liked = offered.iter().filter_map(|form| Some((fitting(form)?, *form)));
    // Of those that are liked alike the first one offered.
    liked.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, form)| form)
}

fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().filter(|kind| !kind.is_empty())?.to_ascii_lowercase();
    let quality = parts
        .find_map(|part| {
            let (name, quality) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| quality.trim().parse::<f32>().ok())?
        })
        .unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 1000")]
    let quality = (quality.clamp(0.0, 1.0) * 1000.0).round() as u16;
    Some(Range { kind, quality })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(text: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, text.parse().unwrap());
        chosen(&headers)
    }

    #[test]
    fn json_is_given_unless_the_client_says_otherwise() {
        assert_eq!(chosen(&HeaderMap::new()), Some(Form::Json));
        for text in [
            "*/*",
            "",
            "application/json",
            "text/html, */*;q=0.8",
            "APPLICATION/JSON; charset=utf-8",
            "application/*",
            "*",
            "application/json, text/csv;q=0.5",
        ] {
            assert_eq!(choose(text), Some(Form::Json), "{text}");
        }
    }

    #[test]
    fn the_form_that_is_liked_best_is_taken() {
        for (text, format) in [
            ("text/csv", Format::Csv),
            ("text/*", Format::Csv),
            ("application/x-ndjson, application/json;q=0.1", Format::Ndjson),
            ("application/vnd.apache.parquet, */*", Format::Parquet),
            ("text/csv;q=0.5, application/vnd.apache.arrow.stream;q=0.6", Format::Arrow),
            ("application/json;q=0, */*", Format::Csv),
        ] {
            assert_eq!(choose(text), Some(Form::Table(format)), "{text}");
        }
    }

    #[test]
    fn json_is_taken_by_who_likes_something_else_better() {
        for (text, taken) in [
            ("text/csv, application/json;q=0.5", true),
            ("text/csv, */*;q=0.1", true),
            ("application/*, text/csv", true),
            ("text/csv", false),
            ("text/csv, application/json;q=0", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, text.parse().unwrap())]);
            assert_eq!(takes_json(&headers), taken, "{text}");
        }
    }

    #[test]
    fn a_client_that_takes_nothing_offered_gets_nothing() {
        for text in ["text/html", "application/json;q=0", "text/html, image/*", "*/*;q=0.0"] {
            assert_eq!(choose(text), None, "{text}");
        }
    }
}

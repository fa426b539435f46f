//! Tests of decoding.

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Arguments;
use crate::ErrorKind;

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    symbol: String,
    at_least: Option<i64>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Outer {
    blockchain: String,
    limit: Option<i64>,
    include_all: Option<bool>,
    contracts: Option<Vec<Option<String>>>,
    criteria: Option<Vec<Inner>>,
    ratio: Option<f64>,
    start_time: Option<i64>,
}

fn refused(method: Method, request: &Value) -> (Reason, String, Option<String>, Option<u64>) {
    let error = decode::<Outer>(request, method, &mut Warnings::default()).unwrap_err();
    let ErrorKind::InvalidInput(reason) = error.kind else { panic!("{error:?}") };
    (reason, error.field.unwrap(), error.value, error.index)
}

#[test]
fn an_error_names_reason_place_and_value() {
    let post = |request| refused(Method::Post, &request);
    assert_eq!(post(json!({})), (Reason::MissingField, "blockchain".into(), None, None));
    assert_eq!(post(json!({"blockchain": null})).0, Reason::MissingField);
    assert_eq!(
        post(json!({"blockchain": "x", "limit": "5"})),
        (Reason::InvalidType, "limit".into(), Some("5".into()), None)
    );
    assert_eq!(post(json!({"blockchain": "x", "limit": 1.5})).0, Reason::InvalidType);
    assert_eq!(
        post(json!({"blockchain": "x", "criteria": [{"symbol": "a"}, {"at_least": 3}]})),
        (Reason::MissingField, "criteria[1].symbol".into(), None, Some(1))
    );
    assert_eq!(
        post(json!({"blockchain": "x", "contracts": ["a", 7]})),
        (Reason::InvalidType, "contracts[1]".into(), Some("7".into()), Some(1))
    );
    assert_eq!(post(json!([1])).0, Reason::InvalidType);
}

#[test]
fn a_message_says_what_a_client_wrote_in_words_of_its_own() {
    let message = |method, more: &str| {
        let request = serde_json::from_str(&format!("{{\"blockchain\": \"x\", {more}}}")).unwrap();
        let error = decode::<Outer>(&request, method, &mut Warnings::default()).unwrap_err();
        (error.message, error.kind)
    };
    let (kind, range) = (ErrorKind::InvalidInput, "from -9223372036854775808 to 9223372036854775807");
    for (more, expected, reason) in [
        ("\"limit\": \"5\"", "limit: expected an integer, got \"5\"".to_owned(), Reason::InvalidType),
        ("\"limit\": 1.5", "limit: expected an integer, got 1.5".to_owned(), Reason::InvalidType),
        ("\"limit\": true", "limit: expected an integer, got true".to_owned(), Reason::InvalidType),
        (
            "\"include_all\": \"true\"",
            "include_all: expected true or false, got \"true\"".to_owned(),
            Reason::InvalidType,
        ),
        ("\"ratio\": \"a\"", "ratio: expected a number, got \"a\"".to_owned(), Reason::InvalidType),
        (
            "\"limit\": 1180591620717411303424",
            format!("limit: expected an integer {range}, got 1.1805916207174113e+21"),
            Reason::LimitOutOfRange,
        ),
        (
            "\"limit\": 18446744073709551615",
            format!("limit: expected an integer {range}, got 18446744073709551615"),
            Reason::LimitOutOfRange,
        ),
        (
            "\"criteria\": [{\"symbol\": \"a\", \"at_least\": 9223372036854775808}]",
            format!("criteria[0].at_least: expected an integer {range}, got 9223372036854775808"),
            Reason::InvalidValue,
        ),
    ] {
        let (message, of) = message(Method::Post, more);
        assert_eq!((message, of), (expected, kind(reason)), "{more}");
    }
    let (message, of) = message(Method::Get, "\"limit\": \"99999999999999999999\"");
    assert_eq!(message, format!("limit: expected an integer {range}, got \"99999999999999999999\""));
    assert_eq!(of, kind(Reason::LimitOutOfRange));
}

#[test]
fn time_as_a_date_is_refused_with_its_epoch_seconds() {
    for (method, value, advice) in [
        (Method::Post, json!("2025-01-01"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
        (Method::Get, json!("2025-01-01"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
        (Method::Post, json!("2025-01-01T02:00:00+02:00"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
        (Method::Post, json!("1735689600"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
        (Method::Post, json!("yesterday"), ""),
        (Method::Get, json!("01/02/2025"), ""),
    ] {
        let request = json!({"blockchain": "x", "start_time": value});
        let error = decode::<Outer>(&request, method, &mut Warnings::default()).unwrap_err();
        assert_eq!(error.message, format!("start_time: expected epoch seconds, got {value}{advice}"));
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::InvalidType));
    }
}

#[test]
fn text_stands_for_other_types_only_as_a_get_parameter() {
    let request = json!({"blockchain": "x", "limit": "5", "include_all": "true", "contracts": "a, b"});
    let got: Outer = decode(&request, Method::Get, &mut Warnings::default()).unwrap();
    assert_eq!((got.limit, got.include_all), (Some(5), Some(true)));
    assert_eq!(got.contracts, Some(vec![Some("a".into()), Some("b".into())]));
    assert_eq!(refused(Method::Get, &json!({"blockchain": "x", "limit": "five"})).0, Reason::InvalidType);
}

#[test]
fn get_parameter_without_a_value_is_refused() {
    for request in [json!({"blockchain": ""}), json!({"blockchain": "x", "limit": ""})] {
        assert_eq!(refused(Method::Get, &request).0, Reason::InvalidValue);
    }
    let got: Outer = decode(&json!({"blockchain": ""}), Method::Post, &mut Warnings::default()).unwrap();
    assert_eq!(got.blockchain, "", "in a body the field itself says whether it may be empty");
}

#[test]
fn a_number_without_a_fraction_is_an_integer_however_it_is_written() {
    for (written, integer) in [("1.0", 1), ("2e1", 20), ("-0", 0), ("-0.0", 0), ("9007199254740992.0", 1 << 53)] {
        let request = serde_json::from_str(&format!(r#"{{"blockchain": "x", "limit": {written}}}"#)).unwrap();
        let got: Outer = decode(&request, Method::Post, &mut Warnings::default()).unwrap();
        assert_eq!(got.limit, Some(integer), "{written}");
    }
    let (reason, ..) = refused(Method::Post, &json!({"blockchain": "x", "limit": 9_007_199_254_740_994.0}));
    assert_eq!(reason, Reason::InvalidType);
}

#[test]
fn repeated_parameter_is_a_list_or_refused() {
    let request = json!({"blockchain": "x", "contracts": ["a", "b"]});
    let got: Outer = decode(&request, Method::Get, &mut Warnings::default()).unwrap();
    assert_eq!(got.contracts, Some(vec![Some("a".into()), Some("b".into())]));
    for field in ["blockchain", "limit", "include_all", "ratio"] {
        let mut request = json!({"blockchain": "x"});
        request[field] = json!(["1", "2"]);
        let error = decode::<Outer>(&request, Method::Get, &mut Warnings::default()).unwrap_err();
        assert_eq!(error.message, format!("{field}: expected one value, got [\"1\",\"2\"]"));
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::InvalidType));
    }
}

#[test]
fn null_item_stays_and_null_unknown_field_is_ignored() {
    let criteria = json!([{"symbol": "a", "min": null}]);
    let request = json!({"blockchain": "x", "contracts": [null], "symbol": null, "criteria": criteria});
    let mut warnings = Warnings::default();
    let got: Outer = decode(&request, Method::Post, &mut warnings).unwrap();
    assert_eq!((got.contracts, warnings.into_list()), (Some(vec![None]), Vec::new()));
}

#[test]
fn unknown_field_is_refused_before_other_faults() {
    for request in [json!({"blockchian": "x"}), json!({"limit": "5", "blockchian": "x"})] {
        let error = decode::<Outer>(&request, Method::Post, &mut Warnings::default()).unwrap_err();
        assert_eq!(error.message, "unknown field \"blockchian\"; did you mean \"blockchain\"?");
    }
    let request = json!({"blockchain": "x", "criteria": [{"symbol": "a"}, {"symbol": "a", "at_most": 1}]});
    let error = decode::<Outer>(&request, Method::Post, &mut Warnings::default()).unwrap_err();
    assert_eq!((error.field.as_deref(), error.index), (Some("criteria[1].at_most"), Some(1)));
    assert_eq!(error.candidates, ["at_least"]);
}

#[derive(Debug, Deserialize)]
struct Reserving {
    stop_track_condition: Option<Inner>,
}

#[test]
fn unknown_key_of_the_reserved_object_is_a_warning() {
    let mut warnings = Warnings::default();
    let request = json!({"stop_track_condition": {"symbol": "a", "later": 1, "more": 2}});
    let got: Reserving = decode(&request, Method::Post, &mut warnings).unwrap();
    assert_eq!(got.stop_track_condition.map(|inner| inner.symbol).as_deref(), Some("a"));
    let warned = &warnings.into_list()[0];
    assert_eq!((warned.field.as_deref(), warned.count), (Some("stop_track_condition.later"), Some(2)));
    let places = r#""stop_track_condition.later", "stop_track_condition.more""#;
    assert_eq!(warned.message, format!("unknown fields without effect: {places}"));
}

#[test]
fn texts_of_a_post_are_read_as_the_field_wants() {
    let texts = [
        ("blockchain", "12"),
        ("limit", "5"),
        ("include_all", "true"),
        ("contracts", "a, b"),
        ("criteria", r#"[{"symbol": "x", "at_least": 3}]"#),
        ("ratio", "0.5"),
        ("start_time", "null"),
    ];
    let arguments = texts.iter().fold(Arguments::default(), |all, (name, text)| all.with_text(name, *text));
    let is_text = |field: &str| arguments.is_text(field);
    let source = (arguments.value(), &is_text as &dyn Fn(&str) -> bool);
    let got: Outer = decode_with(source, Method::Post, &mut Warnings::default(), &Vec::new).unwrap();
    let criteria = Some(vec![Inner { symbol: "x".into(), at_least: Some(3) }]);
    let contracts = Some(vec![Some("a".into()), Some("b".into())]);
    let blockchain = "12".to_owned();
    let (limit, include_all, ratio) = (Some(5), Some(true), Some(0.5));
    assert_eq!(got, Outer { blockchain, limit, include_all, contracts, criteria, ratio, start_time: None });

    let wrong = Arguments::from(json!({"blockchain": "x"})).with_text("limit", "five");
    let is_text = |field: &str| wrong.is_text(field);
    let error = decode_with::<Outer>((wrong.value(), &is_text), Method::Post, &mut Warnings::default(), &Vec::new);
    assert_eq!(error.unwrap_err().message, "limit: expected an integer, got \"five\"");
    // The same text in a body is refused: JSON has numbers.
    assert!(
        decode::<Outer>(&json!({"blockchain": "x", "limit": "5"}), Method::Post, &mut Warnings::default()).is_err()
    );
}

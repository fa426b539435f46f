//! Pictures of reports that are written by hand: their facts, not their bytes.

use headwater_engine::endpoints::path::PathReport;
use headwater_engine::endpoints::trace::TraceReport;
use headwater_picture::{Picture, PictureFormat};
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Texts that would break out of a page, a document, or their line.
const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "]]><x onload=alert(1)>",
    "\u{202e}evil\u{2066}\u{200b}",
    "'\"><img src=x onerror=alert(1)>",
    "<!--",
    "{{constructor}}&lt;\u{0}\u{b}",
];

fn address(number: usize) -> String {
    format!("0x{number:040x}")
}

fn node(number: usize, depth: i64, changes: &Value) -> Value {
    let mut node = json!({
        "blockchain": "ethereum", "address": address(number), "depth": depth, "labels": [], "entity_name": null,
        "disputed": null, "in_amount_usd": 5.0, "out_amount_usd": null, "counterparties": 3, "stop_reason": null,
        "taint_amount": null, "taint_ratio": 0.5, "stayed_share": null, "assets": []
    });
    for (name, value) in changes.as_object().unwrap() {
        node[name] = value.clone();
    }
    node
}

fn edge(from: usize, to: usize, depth: i64, changes: &Value) -> Value {
    let mut edge = json!({
        "from_blockchain": "ethereum", "from_address": address(from), "to_blockchain": "ethereum", "to_address": address(to),
        "depth": depth, "direction": if depth < 0 { "in" } else { "out" }, "symbol": "eth", "contract": null,
        "amount": "12.5", "amount_raw": "12500000000000000000", "amount_usd": 25000.0, "tx_count": 2,
        "first_activity": 1_767_398_400, "last_activity": 1_767_398_400, "tx_hashes": [format!("0x{from:032x}{to:032x}")],
        "taint_amount": null, "is_change": false, "cross_chain": null
    });
    for (name, value) in changes.as_object().unwrap() {
        edge[name] = value.clone();
    }
    edge
}

fn report(nodes: &[Value], edges: &[Value], ends: &Value) -> TraceReport {
    let report = json!({
        "blockchain": "ethereum", "address": address(0),
        "settings": {
            "start_time": null, "end_time": null, "outward_depth": 2, "inward_depth": 1, "limit": 10,
            "accumulate_amount": true, "max_nodes": 500, "method": "haircut", "time_ordered": true, "bridge_chains": null,
            "labels": [], "max_counterparties": 10_000, "stop_at_contract": false
        },
        "nodes": nodes, "edges": edges, "ends": ends,
        "summary": {
            "node_count": nodes.len(), "edge_count": edges.len(), "outward_amount_usd": 25000.0, "inward_amount_usd": null,
            "unpriced_count": 0, "divisions": [{
                "direction": "out", "unit": "usd", "ends": 0.75, "returned": 0.0, "stayed": 0.25, "pruned": 0.0,
                "filtered": 0.0, "fees": 0.0
            }]
        },
        "circles": [], "truncated": true, "truncation_reasons": ["fanout_limit"], "as_of_block": 1,
        "meta": {"query_duration_ms": 1, "cost_class": "heavy", "cached": false, "source": "postings"}
    });
    serde_json::from_value(report).unwrap()
}

/// Alice pays a mixer and Bob, who pays over a bridge and gets change; a thief paid Alice.
fn town() -> TraceReport {
    let nodes = [
        node(0, 0, &json!({"entity_name": "Alice"})),
        node(1, 1, &json!({"entity_name": "Whirl", "labels": ["mixer"], "stop_reason": "label"})),
        node(2, 1, &json!({})),
        node(3, 2, &json!({"blockchain": "bsc", "stop_reason": "depth_limit"})),
        node(4, -1, &json!({"labels": ["theft"], "stop_reason": "depth_limit"})),
        node(
            5,
            -1,
            &json!({
                "labels": ["scam"], "stop_reason": "depth_limit", "disputed": {"by": "cli:eve", "at": 1_767_398_400, "reason": "mine"}
            }),
        ),
    ];
    let crossing = json!({
        "source_chain": "ethereum", "source_tx_hash": "0x1", "sender_address": address(2), "destination_chain": "bsc",
        "destination_tx_hash": "0x2", "receiver_address": address(3), "status": "completed", "bridge": "Span"
    });
    let edges = [
        edge(0, 1, 1, &json!({})),
        edge(
            0,
            1,
            1,
            &json!({"symbol": "usdt", "contract": address(99), "amount": "7", "amount_raw": "7000000", "amount_usd": 7.0}),
        ),
        edge(0, 2, 1, &json!({"amount_usd": null})),
        edge(2, 3, 2, &json!({"to_blockchain": "bsc", "cross_chain": crossing})),
        edge(2, 0, 1, &json!({"is_change": true})),
        edge(4, 0, -1, &json!({"amount": null, "symbol": "odd"})),
        edge(5, 0, -1, &json!({})),
    ];
    let ends = json!([{
        "blockchain": "ethereum", "address": address(1), "label": "Whirl", "disputed": null, "direction": "out", "hops": 1,
        "amount_usd": 25007.0, "assets": [], "share": 0.75, "stop_reason": "label"
    }]);
    report(&nodes, &edges, &ends)
}

/// A trace of so many addresses, each paid by an earlier one.
fn crowd(count: usize) -> (Vec<Value>, Vec<Value>) {
    let depth = |number: usize| if number == 0 { 0 } else { 1 + i64::try_from(number % 4).unwrap() };
    let nodes = (0..count).map(|number| {
        node(number, depth(number), &json!({"labels": if number % 7 == 3 { json!(["exchange"]) } else { json!([]) }}))
    });
    let edges = (1..count).flat_map(|number| {
        let payer = (number * 7919) % number;
        [
            edge(payer, number, depth(number), &json!({"amount_usd": number})),
            edge(number / 2, number, depth(number), &json!({"amount_usd": 3.0})),
        ]
    });
    (nodes.collect(), edges.collect())
}

/// The texts of an SVG, unescaped; panics where it is not well formed.
fn texts(svg: &str) -> (Vec<String>, Vec<String>) {
    let mut reader = Reader::from_str(svg);
    let (mut names, mut texts, mut text) = (Vec::new(), Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return (names, texts),
            Event::Start(start) | Event::Empty(start) => {
                for attribute in start.attributes() {
                    let attribute = attribute.unwrap();
                    assert!(!attribute.key.as_ref().starts_with(b"on"), "{attribute:?}");
                }
                names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                text.clear();
            }
            Event::Text(part) => text.push_str(&part.decode().unwrap()),
            Event::GeneralRef(name) => {
                let name = name.decode().unwrap();
                let all = [("lt", "<"), ("gt", ">"), ("amp", "&"), ("quot", "\""), ("#39", "'")];
                text.push_str(all.iter().find(|(known, _)| *known == name).unwrap().1);
            }
            Event::End(_) => texts.push(std::mem::take(&mut text)),
            Event::CData(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {
                panic!("only elements and texts")
            }
        }
    }
}

#[test]
fn svg_names_start_ends_amounts_and_limits() {
    let svg = Picture::of_trace(&town()).svg();
    let (_, texts) = texts(&svg);
    for expected in [
        "Trace of Alice · 0x0000…0000 on ethereum",
        "START",
        "Whirl",
        "mixer",
        "75.0 % ends here: a service: what",
        "theft",
        "this label is disputed",
        "bsc: 0x0000…0003",
        "$25,007 in 2 assets",
        "12.5 eth",
        "12.5 eth ($25,000)",
        "2026-01-03",
        "Span · 2026-01-03",
        "change · 2026-01-03",
        "Money from the start: $25,000; 75.0 % at ends, 25.0 % stayed between",
        "Not in this picture: counterparties beyond the 10 largest of an address.",
        "A trace is a hypothesis: coins in one account cannot be told apart.",
    ] {
        assert!(texts.iter().any(|text| text == expected), "{expected:?} is missing: {texts:#?}");
    }
    // Only the thief is red: the disputed scam and the neighbours are not.
    assert_eq!(svg.matches("stroke=\"#c02020\" stroke-width=\"2.8\"").count(), 1);
}

#[test]
fn json_has_whole_addresses_payments_and_hashes() {
    let data: Value = serde_json::from_str(&Picture::of_trace(&town()).json()).unwrap();
    let nodes = data["nodes"].as_array().unwrap();
    let alice = nodes.iter().position(|node| node["role"] == "start").unwrap();
    assert_eq!((&nodes[alice]["address"], &nodes[alice]["title"]), (&json!(address(0)), &json!("Alice · 0x0000…0000")));
    let edge = data["edges"].as_array().unwrap().iter().find(|edge| edge["payments"].as_array().unwrap().len() == 2);
    let payments = &edge.unwrap()["payments"];
    assert_eq!(payments[0]["amount"], "12.5 eth");
    assert_eq!(payments[0]["hashes"][0], format!("0x{:032x}{:032x}", 0, 1));
    assert_eq!(payments[0]["first"], "2026-01-03T00:00:00Z");
    assert!(nodes.iter().any(|node| node["id"] == format!("bsc:{}", address(3))));
}

#[test]
fn picture_is_the_same_whatever_the_order_of_input() {
    let (mut nodes, mut edges) = crowd(120);
    let picture = Picture::of_trace(&report(&nodes, &edges, &json!([])));
    nodes.reverse();
    edges.rotate_left(77);
    let other = Picture::of_trace(&report(&nodes, &edges, &json!([])));
    assert_eq!(picture.svg(), other.svg());
    assert_eq!(picture.json(), other.json());
}

#[test]
fn boxes_of_a_crowd_do_not_overlap() {
    let (nodes, edges) = crowd(1_000);
    let data: Value = serde_json::from_str(&Picture::of_trace(&report(&nodes, &edges, &json!([]))).json()).unwrap();
    let number = |node: &Value, name: &str| node[name].as_f64().unwrap();
    let mut boxes: Vec<[f64; 4]> = data["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let (x, y, width, height) =
                (number(node, "x"), number(node, "y"), number(node, "width"), number(node, "height"));
            [x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0]
        })
        .collect();
    assert_eq!(boxes.len(), 1_000);
    boxes.sort_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
    for pair in boxes.windows(2) {
        let ([_, _, right, bottom], [left, top, ..]) = (pair[0], pair[1]);
        assert!(left > right || top > bottom, "{pair:?}");
    }
}

#[test]
fn hostile_texts_stay_text() {
    let long = "W".repeat(10_000);
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        let nodes = [node(0, 0, &json!({"entity_name": text})), node(1, 1, &json!({"entity_name": text}))];
        let edges = [edge(0, 1, 1, &json!({"symbol": text}))];
        let picture = Picture::of_trace(&report(&nodes, &edges, &json!([])));
        let svg = picture.svg();
        let (names, shown) = texts(&svg);
        let known = ["svg", "title", "desc", "rect", "text", "g", "path"];
        assert!(names.iter().all(|name| known.contains(&name.as_str())), "{text:?}: {names:?}");
        assert!(shown.iter().all(|text| text.chars().count() < 700), "{text:?}");
        let html = picture.html();
        assert_eq!(html.matches("</script>").count(), 4, "{text:?}");
        let before_scripts = html.split("<script>").next().unwrap().to_owned();
        for file in [svg, before_scripts, picture.json()] {
            assert!(!file.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{0}', '\u{b}']), "{text:?}");
            assert!(!file.contains("<img") && !file.contains("<x "), "{text:?}");
        }
        assert_eq!(&picture.png().unwrap()[1..4], b"PNG");
    }
}

#[test]
fn html_allows_its_own_scripts_alone() {
    let html = Picture::of_trace(&town()).html();
    let policy = "default-src 'none'; script-src 'sha256-";
    assert!(html.contains(policy) && !html.contains("unsafe-inline"));
    let head = html.split("<style>").next().unwrap();
    assert!(!head.contains("http://") && !head.contains("https://"), "{head}");
    assert!(!html.contains(" src=") && !html.contains("<link"));
}

#[test]
fn file_endings_name_formats() {
    assert_eq!(PictureFormat::of_file("a/b.HTML".as_ref()).unwrap(), PictureFormat::Html);
    let error = PictureFormat::of_file("trace.pdf".as_ref()).unwrap_err().to_string();
    assert!(error.contains("trace.pdf") && error.contains(".html, .svg or .png"), "{error}");
}

#[test]
fn paths_show_source_and_targets() {
    let path = json!({"target": address(2), "hops": 2, "bottleneck_usd": 25000.0, "edges": [
        edge(0, 1, 1, &json!({})), edge(1, 2, 2, &json!({}))
    ]});
    let report: PathReport = serde_json::from_value(json!({
        "blockchain": "ethereum", "source": address(0), "targets": [address(2), address(3)], "paths": [path],
        "explored_nodes": 3, "truncated": true, "truncation_reasons": ["time_budget"], "as_of_block": null,
        "meta": {"query_duration_ms": 1, "cost_class": "heavy", "cached": false, "source": "postings"}
    }))
    .unwrap();
    let (_, texts) = texts(&Picture::of_path(&report).svg());
    for expected in ["START", "TARGET", "no path to 1 of 2 targets", "12.5 eth ($25,000)"] {
        assert!(texts.iter().any(|text| text == expected), "{expected:?}: {texts:?}");
    }
}

#[test]
fn vendored_files_have_the_listed_checksums() {
    let readme = include_str!("../assets/README.md");
    let files: [(&str, &[u8]); 3] = [
        ("cytoscape.min.js", include_bytes!("../assets/cytoscape.min.js")),
        ("DejaVuSans.ttf", include_bytes!("../assets/DejaVuSans.ttf")),
        ("DejaVuSans-Bold.ttf", include_bytes!("../assets/DejaVuSans-Bold.ttf")),
    ];
    for (file, bytes) in files {
        let checksum = hex::encode(Sha256::digest(bytes));
        assert!(readme.contains(&format!("| `{file}` | `{checksum}` |")), "{file}: {checksum}");
    }
}

//! Reports as the contents of pictures.

use std::collections::BTreeMap;

use headwater_engine::endpoints::path::PathReport;
use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::fields::ChainName;
use headwater_engine::trace::{EdgeDirection, TraceCrossing, TraceDivision, TraceEdge, TraceEnd, TraceNode};
use headwater_ledger::labels::Code;

use crate::graph::{Edge, EdgeKind, Graph, Kind, Node, Payment, Role};
use crate::words::{self, DIVISION_PARTS, Limits, clean};

/// Collects the contents of the picture of a trace.
pub(crate) fn of_trace(report: &TraceReport) -> Graph {
    let is_start = |node: &TraceNode| node.address == report.address && node.blockchain == report.blockchain;
    let nodes = report.nodes.iter().map(|node| trace_node(report, node, is_start(node))).collect();
    let settings = &report.settings;
    let limits = Limits { per_address: Some(settings.limit), addresses: Some(settings.max_nodes) };
    let mut left_out: Vec<String> =
        report.truncation_reasons.iter().map(|reason| words::left_out(*reason, limits)).collect();
    if report.summary.unpriced_count > 0 {
        let count = report.summary.unpriced_count;
        let movements = if count == 1 { "movement" } else { "movements" };
        left_out.push(format!("{count} {movements} without a price, in sums of US dollars"));
    }
    let mut graph = graph(nodes, report.edges.iter(), report.blockchain);
    let start = graph.nodes.iter().find(|node| node.role == Role::Start).map_or_else(String::new, Node::title);
    graph.title = format!("Trace of {start} on {}", &*report.blockchain);
    graph.summary = summary(report);
    if graph.edges.is_empty() {
        graph.summary.push("no payments were followed".to_owned());
    }
    graph.left_out = left_out;
    graph
}

/// Collects the contents of the picture of paths.
pub(crate) fn of_path(report: &PathReport) -> Graph {
    let chain = report.blockchain;
    let edges = || report.paths.iter().flat_map(|path| &path.edges);
    let mut columns: BTreeMap<(String, String), (ChainName, i64)> = BTreeMap::new();
    columns.insert((chain.to_string(), report.source.to_string()), (chain, 0));
    for edge in edges() {
        let of = (edge.to_blockchain.to_string(), edge.to_address.to_string());
        let hop = i64::from(edge.depth);
        let (_, column) = columns.entry(of).or_insert((edge.to_blockchain, hop));
        *column = (*column).min(hop);
    }
    let node = |((_, address), (of_chain, column)): (&(String, String), &(ChainName, i64))| {
        let is_home = *of_chain == chain;
        let is_target = is_home && report.targets.iter().any(|target| **target == **address);
        Node {
            id: id(chain, *of_chain, address),
            address: clean(address),
            chain: *of_chain,
            is_home,
            column: *column,
            kind: Kind::Unnamed,
            role: match *column {
                0 => Role::Start,
                _ if is_target => Role::Target,
                _ => Role::Between,
            },
            entity: None,
            labels: Vec::new(),
            dispute: None,
            ends: Vec::new(),
            facts: Vec::new(),
        }
    };
    let mut graph = graph(columns.iter().map(node).collect(), edges(), chain);
    graph.title = format!("Paths from {} on {}", words::short(&report.source), &*chain);
    let missing = report.targets.len() - report.targets.iter().filter(|target| is_reached(report, target)).count();
    graph.summary = vec![
        format!("from {}", clean(&report.source)),
        format!("{} paths; {} addresses were looked through", report.paths.len(), report.explored_nodes),
    ];
    if missing > 0 {
        graph.summary.push(format!("no path to {missing} of {} targets", report.targets.len()));
    }
    graph.left_out =
        report.truncation_reasons.iter().map(|reason| words::left_out(*reason, Limits::default())).collect();
    graph.is_nameless = true;
    graph
}

fn is_reached(report: &PathReport, target: &str) -> bool {
    report.paths.iter().any(|path| *path.target == *target)
}

/// Returns the identity of an address: with its chain in front if that is another one than the first.
fn id(home: ChainName, chain: ChainName, address: &str) -> String {
    let address = clean(address);
    if chain == home { address } else { format!("{}:{address}", &*chain) }
}

fn trace_node(report: &TraceReport, node: &TraceNode, is_start: bool) -> Node {
    let codes: Vec<Code> = node.labels.iter().filter_map(|code| Code::from_name(code)).collect();
    let entity = node.entity_name.as_deref().map(clean).filter(|name| !name.is_empty());
    let is_named = entity.is_some() || !codes.is_empty();
    let ends = report.ends.iter().filter(|end| end.address == node.address && end.blockchain == node.blockchain);
    let mut ends: Vec<String> = ends.map(end_text).collect();
    if let (true, Some(reason)) = (ends.is_empty(), node.stop_reason.as_deref()) {
        ends.push(format!("not followed: {}", words::stop_reason(reason)));
    }
    Node {
        id: id(report.blockchain, node.blockchain, &node.address),
        address: clean(&node.address),
        chain: node.blockchain,
        is_home: node.blockchain == report.blockchain,
        column: i64::from(node.depth),
        kind: Kind::of(&codes, is_named, node.disputed.is_some()),
        role: if is_start { Role::Start } else { Role::Between },
        entity,
        labels: codes.iter().map(|code| words::code(*code).to_owned()).collect(),
        dispute: node.disputed.clone(),
        ends,
        facts: facts(node),
    }
}

/// Describes an end: the part of the money that came to it, and the reason.
fn end_text(end: &TraceEnd) -> String {
    let reason = words::stop_reason(&end.stop_reason);
    let verb = match end.direction {
        EdgeDirection::Out => "ends here",
        EdgeDirection::In => "begins here",
    };
    // Without a price the share is 0 although money came.
    end.share
        .filter(|share| *share > 0.0)
        .map_or_else(|| format!("{verb}: {reason}"), |share| format!("{} {verb}: {reason}", words::percent(share)))
}

/// Lists what a page says about an address besides its name and labels.
fn facts(node: &TraceNode) -> Vec<(&'static str, String)> {
    let money = |usd: Option<f64>| usd.map(words::usd);
    let all = [
        ("came in", money(node.in_amount_usd)),
        ("went out", money(node.out_amount_usd)),
        ("traced part", node.taint_ratio.map(words::percent)),
        ("stayed here", node.stayed_share.map(|share| format!("{} of the money", words::percent(share)))),
        ("counterparties", node.counterparties.map(|count| count.to_string())),
    ];
    all.into_iter().filter_map(|(title, text)| Some((title, text?))).collect()
}

fn summary(report: &TraceReport) -> Vec<String> {
    let (settings, sums) = (&report.settings, &report.summary);
    let mut lines = vec![
        clean(&report.address),
        format!(
            "{} addresses; {} hops outward, {} inward; the {} largest counterparties of each address; method {}",
            sums.node_count,
            settings.outward_depth,
            settings.inward_depth,
            settings.limit,
            settings.method.name()
        ),
    ];
    for (title, usd, direction) in [
        ("Money from the start", sums.outward_amount_usd, EdgeDirection::Out),
        ("Money to the start", sums.inward_amount_usd, EdgeDirection::In),
    ] {
        let division = sums.divisions.iter().find(|of| of.direction == direction).map(division_text);
        let parts: Vec<String> = [usd.map(words::usd), division].into_iter().flatten().collect();
        if !parts.is_empty() {
            lines.push(format!("{title}: {}", parts.join("; ")));
        }
    }
    lines
}

fn division_text(division: &TraceDivision) -> String {
    let parts = DIVISION_PARTS.iter().map(|(title, part)| (title, part(division))).filter(|(_, part)| *part > 0.0);
    parts.map(|(title, part)| format!("{} {title}", words::percent(part))).collect::<Vec<_>>().join(", ")
}

/// The ends and kind of an edge of a picture.
type EdgeKey = (usize, usize, EdgeKind);

/// Puts addresses into their order, and joins the edges between the same two.
fn graph<'a>(mut nodes: Vec<Node>, edges: impl Iterator<Item = &'a TraceEdge>, home: ChainName) -> Graph {
    nodes.sort_by(|one, other| (one.column, &one.id).cmp(&(other.column, &other.id)));
    let numbers: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(number, node)| (node.id.clone(), number)).collect();
    let mut joined: BTreeMap<EdgeKey, Vec<&TraceEdge>> = BTreeMap::new();
    for edge in edges {
        let from = numbers.get(&id(home, edge.from_blockchain, &edge.from_address));
        let to = numbers.get(&id(home, edge.to_blockchain, &edge.to_address));
        if let (Some(from), Some(to)) = (from, to) {
            joined.entry((*from, *to, kind(edge))).or_default().push(edge);
        }
    }
    let mut edges: Vec<Edge> = joined.into_iter().map(|(key, of)| joined_edge(key, of)).collect();
    weigh(&mut edges);
    Graph { nodes, edges, ..Graph::default() }
}

fn kind(edge: &TraceEdge) -> EdgeKind {
    match edge.direction {
        _ if edge.is_change => EdgeKind::Change,
        _ if edge.from_blockchain != edge.to_blockchain => EdgeKind::Bridge,
        EdgeDirection::Out => EdgeKind::Out,
        EdgeDirection::In => EdgeKind::In,
    }
}

fn joined_edge((from, to, kind): EdgeKey, mut edges: Vec<&TraceEdge>) -> Edge {
    edges.sort_by(|one, other| {
        let worth = |edge: &TraceEdge| edge.amount_usd.unwrap_or(-1.0);
        let rest =
            |edge: &TraceEdge| (edge.symbol.clone(), edge.contract.as_deref().map(str::to_owned), *edge.first_activity);
        let order = worth(other).total_cmp(&worth(one)).then_with(|| rest(one).cmp(&rest(other)));
        order.then_with(|| one.amount_raw.cmp(&other.amount_raw)).then_with(|| one.tx_hashes.cmp(&other.tx_hashes))
    });
    // A path of another target may contain the same payments.
    edges.dedup_by(|one, other| {
        one.amount_raw == other.amount_raw && one.tx_hashes == other.tx_hashes && one.symbol == other.symbol
    });
    let priced: Vec<f64> = edges.iter().filter_map(|edge| edge.amount_usd).collect();
    Edge {
        from,
        to,
        kind,
        payments: edges.iter().map(|edge| payment(edge)).collect(),
        usd: (!priced.is_empty()).then(|| priced.iter().sum()),
        weight: edges.iter().map(|edge| edge.amount_raw.parse().unwrap_or(0.0)).sum(),
        bridge: edges.iter().find_map(|edge| crossing_name(edge.cross_chain.as_ref()?)),
    }
}

fn crossing_name(crossing: &TraceCrossing) -> Option<String> {
    crossing.bridge.as_deref().map(clean).filter(|name| !name.is_empty())
}

fn payment(edge: &TraceEdge) -> Payment {
    Payment {
        short: words::amount(edge.amount.as_ref(), &edge.amount_raw, &edge.symbol),
        amount: words::exact_amount(edge.amount.as_ref(), &edge.amount_raw, &edge.symbol),
        usd: edge.amount_usd,
        count: edge.tx_count,
        first: *edge.first_activity,
        last: *edge.last_activity,
        hashes: edge.tx_hashes.iter().map(|hash| clean(hash)).collect(),
        remark: edge.cross_chain.as_ref().map(crossing_text),
    }
}

fn crossing_text(crossing: &TraceCrossing) -> String {
    let chain = |name: &str| if name.is_empty() { "an unknown chain".to_owned() } else { clean(name) };
    let over = crossing_name(crossing).map(|bridge| format!(" over {bridge}")).unwrap_or_default();
    format!("crossed{over} from {} to {}", chain(&crossing.source_chain), chain(&crossing.destination_chain))
}

/// Computes the worth of edges relative to the largest: in US dollars; if nothing has a price by amounts of their asset.
fn weigh(edges: &mut [Edge]) {
    if edges.iter().any(|edge| edge.usd.is_some_and(|usd| usd > 0.0)) {
        let max = edges.iter().filter_map(|edge| edge.usd).fold(0.0, f64::max);
        for edge in edges {
            edge.weight = edge.usd.unwrap_or(0.0) / max;
        }
        return;
    }
    let asset = |edge: &Edge| {
        let text = edge.payments.first().map_or("", |payment| payment.amount.as_str());
        text.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    let mut largest: BTreeMap<String, f64> = BTreeMap::new();
    for edge in edges.iter() {
        let max = largest.entry(asset(edge)).or_default();
        *max = max.max(edge.weight);
    }
    for edge in edges {
        let max = largest[&asset(edge)];
        edge.weight = if max > 0.0 { edge.weight / max } else { 0.0 };
    }
}

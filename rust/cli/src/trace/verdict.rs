//! The verdict of a trace: where most of the money is.

use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::trace::{EdgeDirection, TraceEnd};
use headwater_picture::stop_reason;

use crate::words::{counted, doubt, usd, whole_percent};

/// Named ends that the verdict has room for.
const NAMED: usize = 3;

/// The least share of an end that the verdict names.
const MIN_SHARE: f64 = 0.005;

/// The code that says what an address no longer is.
const PAST: &str = "sanction_delisted";

/// Describes where the money went, and where it came from.
pub(super) fn lines(report: &TraceReport) -> Vec<String> {
    let sides = [EdgeDirection::Out, EdgeDirection::In];
    let lines: Vec<_> = sides.into_iter().filter_map(|direction| side(report, direction)).collect();
    if lines.is_empty() { vec!["no payment of this address is traced".to_owned()] } else { lines }
}

/// A named owner of ends, with its part of the money.
struct NamedEnd<'r> {
    name: &'r str,
    /// True if the name is the code of a label, because no list names an owner.
    is_code: bool,
    kind: Option<&'r str>,
    doubt: &'static str,
    share: Option<f64>,
    hops: u32,
}

fn side(report: &TraceReport, direction: EdgeDirection) -> Option<String> {
    let ends = at_ends(report, direction)?;
    Some(stayed(report, direction).into_iter().chain([ends]).collect::<Vec<_>>().join("; "))
}

/// Describes the money that stayed on the way, where it is more than came to any end.
fn stayed(report: &TraceReport, direction: EdgeDirection) -> Option<String> {
    let whole = report.summary.divisions.iter().find(|of| of.direction == direction)?.stayed;
    let ends = report.ends.iter().filter(|end| end.direction == direction);
    if ends.filter_map(|end| end.share).any(|share| share >= whole) {
        return None;
    }
    let on_side = report.nodes.iter().filter(|node| match direction {
        EdgeDirection::Out => node.depth > 0,
        EdgeDirection::In => node.depth < 0,
    });
    let parts = on_side.filter_map(|node| Some((node, node.stayed_share?)));
    let (largest, part) = parts.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let who = largest.entity_name.as_deref().unwrap_or(&largest.address);
    Some(format!("{} stayed at addresses between, most of it at {who} ({})", whole_percent(whole), whole_percent(part)))
}

/// Describes the ends of one direction.
fn at_ends(report: &TraceReport, direction: EdgeDirection) -> Option<String> {
    let settings = &report.settings;
    let (depth, verb) = match direction {
        EdgeDirection::Out => (settings.outward_depth, "reached"),
        EdgeDirection::In => (settings.inward_depth, "came from"),
    };
    if depth == 0 {
        return None;
    }
    let ends: Vec<&TraceEnd> = report.ends.iter().filter(|end| end.direction == direction).collect();
    let Some(largest) = ends.first() else {
        let nothing = match direction {
            EdgeDirection::Out => "no payment by this address is held",
            EdgeDirection::In => "no payment to this address is held",
        };
        let is_held = report.edges.iter().any(|edge| edge.direction == direction);
        return (!is_held).then(|| nothing.to_owned());
    };
    let named = named(report, &ends);
    let shown: Vec<&NamedEnd> =
        named.iter().filter(|end| end.share.is_none_or(|share| share >= MIN_SHARE)).take(NAMED).collect();
    let hops = |hops: u32| format!("within {}", counted(hops.into(), "hop", "hops"));
    let Some(first) = shown.first() else {
        let part = largest.share.map_or_else(|| "share unknown".to_owned(), whole_percent);
        let reason = stop_reason(&largest.stop_reason);
        let within = hops(u32::try_from(depth).unwrap_or_default());
        return Some(format!(
            "{} named address {within}; the largest end is {} ({part}): {reason}",
            if direction == EdgeDirection::Out { "reached no" } else { "came from no" },
            &*largest.address
        ));
    };
    let who = |end: &NamedEnd| {
        let kind = end.kind.map(|kind| format!(", {}", with_article(kind))).unwrap_or_default();
        let name = if end.is_code { format!("an address labelled {}", end.name) } else { end.name.to_owned() };
        format!("{name}{kind}{}", end.doubt)
    };
    let Some(share) = first.share else {
        let worth =
            report.ends.iter().find(|end| end.label.as_deref() == Some(first.name)).and_then(|end| end.amount_usd);
        let worth = worth.map(|worth| format!(" ({} US dollars)", usd(Some(worth)))).unwrap_or_default();
        return Some(format!("{verb} {}{worth}, {}; share unknown", who(first), hops(first.hops)));
    };
    let head = format!("{} {verb} {}, {}", whole_percent(share), who(first), hops(first.hops));
    let others = shown[1..].iter().map(|end| format!("{} {}", whole_percent(end.share.unwrap_or_default()), who(end)));
    Some(std::iter::once(head).chain(others).collect::<Vec<_>>().join("; "))
}

/// Returns the named ends, those of one owner together, the largest first.
fn named<'r>(report: &'r TraceReport, ends: &[&'r TraceEnd]) -> Vec<NamedEnd<'r>> {
    let mut named: Vec<NamedEnd<'r>> = Vec::new();
    for end in ends {
        let Some(name) = end.label.as_deref() else { continue };
        if let Some(known) = named.iter_mut().find(|known| known.name == name) {
            known.share = known.share.zip(end.share).map(|(one, other)| one + other);
            known.hops = known.hops.max(end.hops);
            continue;
        }
        let node = report.nodes.iter().find(|node| node.address == end.address && node.blockchain == end.blockchain);
        let labels = node.map(|node| &*node.labels).unwrap_or_default();
        let is_code = labels.iter().any(|code| **code == *name);
        let kind = labels.iter().map(|code| &**code).find(|code| *code != PAST).filter(|_| !is_code);
        named.push(NamedEnd {
            name,
            is_code,
            kind,
            doubt: doubt(end.disputed.as_ref()),
            share: end.share,
            hops: end.hops,
        });
    }
    named.sort_by(|one, other| other.share.unwrap_or(-1.0).total_cmp(&one.share.unwrap_or(-1.0)));
    named
}

/// Returns a code of labels in words with its article.
fn with_article(code: &str) -> String {
    // Deposit addresses and wallets of an exchange are the exchange.
    let words = match code {
        "deposit" => "deposit address of a service".to_owned(),
        code if code.starts_with("exchange_") => "exchange".to_owned(),
        code => code.replace('_', " "),
    };
    match words.chars().next() {
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!("an {words}"),
        _ => format!("a {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words_with_their_article() {
        assert_eq!(["exchange_hot_wallet", "mining_pool"].map(with_article), ["an exchange", "a mining pool"]);
    }
}

//! The contents of a picture: addresses, payments between them, and the texts around them.

use headwater_engine::ClaimDispute;
use headwater_engine::fields::ChainName;
use headwater_ledger::labels::{Category, Code};
use headwater_types::Chain;
use serde::Serialize;

use crate::words;

/// The contents of a picture, in an order that depends on them alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    /// The title, with the name of the first address.
    pub title: String,
    /// Lines below the title.
    pub summary: Vec<String>,
    /// The addresses, by their columns, then by their ids.
    pub nodes: Vec<Node>,
    /// The payments, by both ends.
    pub edges: Vec<Edge>,
    /// The parts that the picture leaves out, one sentence each.
    pub left_out: Vec<String>,
    /// True if the answer names no address, as that of a path.
    pub is_nameless: bool,
}

impl Graph {
    /// Returns whether labels may come from clusters.
    pub fn has_clusters(&self) -> bool {
        self.nodes.iter().any(|node| node.chain == ChainName::from(Chain::BITCOIN))
    }
}

/// The kind of an address, by its own labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Without a name.
    Unnamed,
    /// With a name or label of no other kind.
    Named,
    /// An exchange.
    Exchange,
    /// A bridge between chains.
    Bridge,
    /// A decentralised exchange or another protocol.
    Protocol,
    /// A mixer.
    Mixer,
    /// A label of sanctions, theft, fraud and the like.
    Illicit,
}

impl Kind {
    /// All kinds, in the order of the legend.
    pub const ALL: [Self; 7] =
        [Self::Unnamed, Self::Named, Self::Exchange, Self::Bridge, Self::Protocol, Self::Mixer, Self::Illicit];

    /// The text of the legend of a picture. On bitcoin addresses have the labels of their cluster too.
    pub fn text_in(self, graph: &Graph) -> &'static str {
        match self {
            Self::Unnamed if graph.is_nameless => "address (paths have no names: trace it, or ask for its labels)",
            Self::Illicit if graph.has_clusters() => {
                "label of its own or of its cluster: sanctions, theft, scam or the like"
            }
            _ => self.text(),
        }
    }

    /// The text of the legend.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unnamed => "address without a name",
            Self::Named => "named address",
            Self::Exchange => "exchange",
            Self::Bridge => "bridge",
            Self::Protocol => "decentralised exchange, DeFi",
            Self::Mixer => "mixer",
            Self::Illicit => "label of its own: sanctions, theft, scam or the like",
        }
    }

    /// Returns the kind of an address: that of its most confident label that has one. An exchange that one list calls a
    /// scam thus stays an exchange, and claims that somebody disputes make nobody [`Kind::Illicit`].
    pub fn of(codes: &[Code], is_named: bool, is_disputed: bool) -> Self {
        let named = if is_named { Self::Named } else { Self::Unnamed };
        let kind = codes.iter().find_map(|code| Self::of_code(*code)).unwrap_or(named);
        if kind == Self::Illicit && is_disputed { Self::Named } else { kind }
    }

    /// Returns the kind that a label stands for; `None` for labels that leave it open.
    pub fn of_code(code: Code) -> Option<Self> {
        match code {
            Code::Mixer | Code::CoinjoinCoordinator | Code::Coinjoin | Code::PrivacyProtocol => {
                return Some(Self::Mixer);
            }
            Code::Bridge => return Some(Self::Bridge),
            Code::Dex | Code::Defi => return Some(Self::Protocol),
            Code::Exchange | Code::ExchangeHotWallet | Code::Deposit | Code::NoKycExchange | Code::HighRiskExchange => {
                return Some(Self::Exchange);
            }
            _ => {}
        }
        match code.category() {
            Category::Sanctions
            | Category::Terrorism
            | Category::Theft
            | Category::Ransomware
            | Category::Darknet
            | Category::Scam
            | Category::Frozen => Some(Self::Illicit),
            Category::Identity | Category::Gambling => Some(Self::Named),
            Category::Mixing
            | Category::UnlicensedTransfer
            | Category::HighRiskService
            | Category::Historical
            | Category::Activity => None,
        }
    }
}

/// The place of an address in the picture, besides its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// The picture begins there.
    Start,
    /// A path leads there.
    Target,
    /// Any other.
    Between,
}

/// An address.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The address; with its chain in front if that is another one than the first.
    pub id: String,
    /// The address.
    pub address: String,
    /// Its chain.
    pub chain: ChainName,
    /// True if its chain is that of the picture.
    pub is_home: bool,
    /// The signed number of hops from the start.
    pub column: i64,
    /// The kind.
    pub kind: Kind,
    /// The place in the picture.
    pub role: Role,
    /// The name of the entity.
    pub entity: Option<String>,
    /// The labels in words, most confident first.
    pub labels: Vec<String>,
    /// The dispute of the claim that names it.
    pub dispute: Option<ClaimDispute>,
    /// The ends there: a share with its direction, and the reason.
    pub ends: Vec<String>,
    /// Titles and texts that a page shows besides.
    pub facts: Vec<(&'static str, String)>,
}

impl Node {
    /// Returns the name: of the entity, else the labels; `None` if there is none.
    pub fn name(&self) -> Option<String> {
        self.entity.clone().or_else(|| (!self.labels.is_empty()).then(|| self.labels.join(", ")))
    }

    /// Returns the short address, after its chain if that is another one than the first.
    pub fn short_address(&self) -> String {
        let short = words::short(&self.address);
        if self.is_home { short } else { format!("{}: {short}", &*self.chain) }
    }

    /// Returns name and short address on one line.
    pub fn title(&self) -> String {
        self.name().map_or_else(|| self.short_address(), |name| format!("{name} · {}", self.short_address()))
    }
}

/// The kind of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EdgeKind {
    /// In the direction of payments.
    Out,
    /// Against it.
    In,
    /// Back to whoever paid.
    Change,
    /// Over a bridge to another chain.
    Bridge,
}

impl EdgeKind {
    /// All kinds, in the order of the legend.
    pub const ALL: [Self; 4] = [Self::Out, Self::In, Self::Bridge, Self::Change];

    /// The text of the legend.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Out => "money from the start",
            Self::In => "money to the start",
            Self::Change => "change, back to the payer",
            Self::Bridge => "over a bridge to another chain",
        }
    }
}

/// The payments from one address to another, of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    /// The number of the payer.
    pub from: usize,
    /// The number of the payee.
    pub to: usize,
    /// The kind.
    pub kind: EdgeKind,
    /// The payments by asset, those of the highest worth first.
    pub payments: Vec<Payment>,
    /// US dollars; `None` if none of it has a price.
    pub usd: Option<f64>,
    /// The worth relative to the largest edge, 0 to 1.
    pub weight: f64,
    /// The name of the bridge, or of the chain on the other side.
    pub bridge: Option<String>,
}

/// Payments in one asset.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Payment {
    /// The amount with five significant digits.
    #[serde(skip)]
    pub short: String,
    /// The exact amount.
    pub amount: String,
    /// US dollars.
    pub usd: Option<f64>,
    /// The number of transactions.
    pub count: u64,
    /// The time of the first.
    #[serde(serialize_with = "moment")]
    pub first: i64,
    /// The time of the last.
    #[serde(serialize_with = "moment")]
    pub last: i64,
    /// The largest transactions, at most ten.
    pub hashes: Vec<String>,
    /// Remarks, such as the chain on which it continued.
    pub remark: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn moment<S: serde::Serializer>(secs: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&words::moment(*secs))
}

impl Edge {
    /// Returns the amount in words, for the line above an edge.
    pub fn amount_text(&self) -> String {
        match (self.payments.as_slice(), self.usd) {
            ([], _) => String::new(),
            ([only], Some(usd)) => format!("{} ({})", only.short, words::usd(usd)),
            ([only], None) => only.short.clone(),
            ([_, ..], Some(usd)) => format!("{} in {} assets", words::usd(usd), self.payments.len()),
            ([first, others @ ..], None) => format!("{} + {} more", first.short, others.len()),
        }
    }

    /// Returns dates and kind in words, for the line below an edge.
    pub fn date_text(&self) -> String {
        let first = self.payments.iter().map(|payment| payment.first).min().unwrap_or_default();
        let last = self.payments.iter().map(|payment| payment.last).max().unwrap_or_default();
        let days = words::days(first, last);
        match (self.kind, &self.bridge) {
            (EdgeKind::Change, _) => format!("change · {days}"),
            (EdgeKind::Bridge, Some(bridge)) => format!("{bridge} · {days}"),
            (EdgeKind::Bridge, None) => format!("bridge · {days}"),
            (EdgeKind::Out | EdgeKind::In, _) => days,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_that_of_the_most_confident_label() {
        let of = |codes: &[Code]| Kind::of(codes, true, false);
        assert_eq!(of(&[Code::ExchangeHotWallet, Code::Phishing]), Kind::Exchange);
        assert_eq!(of(&[Code::Sanction, Code::Mixer]), Kind::Illicit);
        assert_eq!(of(&[Code::SanctionDelisted, Code::Mixer]), Kind::Mixer);
        assert_eq!(of(&[Code::ReportedOnce]), Kind::Named);
        assert_eq!(Kind::of(&[], false, false), Kind::Unnamed);
    }

    #[test]
    fn disputed_claims_make_nobody_illicit() {
        assert_eq!(Kind::of(&[Code::Theft], true, true), Kind::Named);
    }
}

//! The chains that a call reads, and the kind of data that it reads of them.

use headwater_types::{Chain, Family};
use serde_json::Value;

/// The chains that a call reads. Every endpoint states its scope, so the chains of a plan hold for new endpoints too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainScope {
    /// Nothing that belongs to a chain of a plan: prices, the list of chains.
    Unscoped,
    /// The chain that a required field names.
    Named(&'static str),
    /// The chain that a required field names; with `evm`, every EVM chain.
    NamedOrEvm(&'static str),
    /// The same of each item of a list: the list, and the field of its items.
    EachNamedOrEvm(&'static str, &'static str),
    /// The chain that a field names; without it, any chain.
    NamedOrAny(&'static str),
    /// The chain that a field names; without it, this one.
    NamedOr(&'static str, Chain),
    /// The chain that a field names, one of these; without it, the first of them.
    OneOf(&'static str, &'static [Chain]),
    /// This one: the request names none.
    Always(Chain),
    /// The chain that a required field names, and those of a list inside an object; without the list, any chain.
    NamedAndListed(&'static str, ListedChains),
}

/// A list of chains inside an object of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedChains {
    /// The object.
    pub object: &'static str,
    /// Its field.
    pub field: &'static str,
    /// Both as errors name them.
    pub name: &'static str,
}

/// The chains of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainsRead {
    /// None that a plan could leave out.
    None,
    /// This one.
    One(Chain),
    /// These.
    Several(Vec<Chain>),
    /// Any; a caller whose plan leaves out chains has to name one in this field.
    Any(&'static str),
    /// The request names no valid chain: the analysis refuses it.
    Invalid,
}

impl ChainScope {
    /// The chains that a call with this request reads.
    ///
    /// ```
    /// use headwater_engine::{ChainScope, ChainsRead};
    /// use headwater_types::Chain;
    /// use serde_json::json;
    ///
    /// let scope = ChainScope::NamedOrAny("chain");
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::One(Chain::ETHEREUM));
    /// assert_eq!(scope.of(&json!({"chain": null})), ChainsRead::Any("chain"));
    /// assert_eq!(scope.of(&json!({"chain": "solana"})), ChainsRead::Invalid);
    ///
    /// let scope = ChainScope::NamedOrEvm("chain");
    /// assert_eq!(scope.of(&json!({"chain": "evm"})), ChainsRead::Several(vec![Chain::BSC, Chain::ETHEREUM]));
    ///
    /// let scope = ChainScope::EachNamedOrEvm("queries", "chain");
    /// let request = json!({"queries": [{"chain": "trx"}, {"chain": "solana"}, {"chain": "eth"}, {}]});
    /// assert_eq!(scope.of(&request), ChainsRead::Several(vec![Chain::TRON, Chain::ETHEREUM]));
    ///
    /// let scope = ChainScope::OneOf("chain", &[Chain::TRON, Chain::BITCOIN]);
    /// assert_eq!(scope.of(&json!({})), ChainsRead::One(Chain::TRON));
    /// assert_eq!(scope.of(&json!({"chain": "btc"})), ChainsRead::One(Chain::BITCOIN));
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::Invalid);
    ///
    /// let list = headwater_engine::ListedChains { object: "more", field: "chains", name: "more.chains" };
    /// let scope = ChainScope::NamedAndListed("chain", list);
    /// assert_eq!(scope.of(&json!({"chain": "eth"})), ChainsRead::Any("more.chains"));
    /// let request = json!({"chain": "eth", "more": {"chains": ["tron"]}});
    /// assert_eq!(scope.of(&request), ChainsRead::Several(vec![Chain::ETHEREUM, Chain::TRON]));
    ///
    /// assert_eq!(ChainScope::Always(Chain::BITCOIN).of(&json!({})), ChainsRead::One(Chain::BITCOIN));
    /// ```
    #[must_use]
    pub fn of(self, request: &Value) -> ChainsRead {
        let (field, otherwise) = match self {
            Self::Unscoped => return ChainsRead::None,
            Self::NamedOrEvm(field) => return named_or_evm(request, field).unwrap_or(ChainsRead::Invalid),
            Self::EachNamedOrEvm(list, field) => return each_named_or_evm(request, list, field),
            Self::Always(chain) => return ChainsRead::One(chain),
            Self::NamedAndListed(field, list) => return named_and_listed(request, field, list),
            Self::Named(field) => (field, ChainsRead::Invalid),
            Self::NamedOrAny(field) => (field, ChainsRead::Any(field)),
            Self::NamedOr(field, chain) => (field, ChainsRead::One(chain)),
            Self::OneOf(field, chains) => {
                (field, chains.first().map_or(ChainsRead::Invalid, |one| ChainsRead::One(*one)))
            }
        };
        match request.get(field) {
            None | Some(Value::Null) => otherwise,
            Some(value) => {
                let named = value.as_str().and_then(|name| name.parse().ok());
                named.filter(|chain| self.contains(*chain)).map_or(ChainsRead::Invalid, ChainsRead::One)
            }
        }
    }

    /// The chains of which one has to be held, where a whole call is about them; items of a list are checked one by one.
    pub(crate) fn subject(self, request: &Value) -> ChainsRead {
        match self {
            Self::EachNamedOrEvm(..) => ChainsRead::None,
            Self::NamedAndListed(field, _) => Self::Named(field).of(request),
            Self::Unscoped
            | Self::Named(_)
            | Self::NamedOrEvm(_)
            | Self::NamedOrAny(_)
            | Self::NamedOr(..)
            | Self::OneOf(..)
            | Self::Always(_) => self.of(request),
        }
    }

    /// The field that names the chain; `None` where no field of the request does.
    pub(crate) const fn field(self) -> Option<&'static str> {
        match self {
            Self::Unscoped | Self::Always(_) | Self::EachNamedOrEvm(..) => None,
            Self::Named(field)
            | Self::NamedOrEvm(field)
            | Self::NamedOrAny(field)
            | Self::NamedOr(field, _)
            | Self::OneOf(field, _)
            | Self::NamedAndListed(field, _) => Some(field),
        }
    }

    /// Returns whether a call can be about a chain.
    #[must_use]
    pub fn contains(self, chain: Chain) -> bool {
        match self {
            Self::OneOf(_, chains) => chains.contains(&chain),
            Self::Always(only) => only == chain,
            Self::Unscoped
            | Self::Named(_)
            | Self::NamedOrEvm(_)
            | Self::EachNamedOrEvm(..)
            | Self::NamedOrAny(_)
            | Self::NamedOr(..)
            | Self::NamedAndListed(..) => true,
        }
    }
}

/// The chains that a field of an object names; `None` where it names none.
fn named_or_evm(object: &Value, field: &str) -> Option<ChainsRead> {
    let name = object.get(field)?.as_str()?;
    if is_every_evm_chain(name) {
        let chains = Chain::all().filter(|chain| chain.family() == Family::Evm);
        return Some(ChainsRead::Several(chains.collect()));
    }
    name.parse().ok().map(ChainsRead::One)
}

/// The same of all items of a list. One that names none is refused by the analysis.
fn each_named_or_evm(request: &Value, list: &str, field: &str) -> ChainsRead {
    let Some(items) = request.get(list).and_then(Value::as_array) else { return ChainsRead::Invalid };
    let mut chains = Vec::new();
    for read in items.iter().filter_map(|item| named_or_evm(item, field)) {
        match read {
            ChainsRead::One(chain) => chains.push(chain),
            ChainsRead::Several(several) => chains.extend(several),
            ChainsRead::None | ChainsRead::Any(_) | ChainsRead::Invalid => {}
        }
    }
    ChainsRead::Several(chains)
}

fn named_and_listed(request: &Value, field: &str, list: ListedChains) -> ChainsRead {
    let chain = |name: &Value| name.as_str().and_then(|name| name.parse().ok());
    let Some(named) = request.get(field).and_then(chain) else { return ChainsRead::Invalid };
    match request.get(list.object).and_then(|object| object.get(list.field)) {
        None | Some(Value::Null) => ChainsRead::Any(list.name),
        Some(listed) => {
            let listed = listed.as_array().into_iter().flatten().filter_map(chain);
            ChainsRead::Several(std::iter::once(named).chain(listed).collect())
        }
    }
}

/// Returns whether a text means the account of an address on every EVM chain.
pub(crate) fn is_every_evm_chain(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("evm")
}

/// The data that an answer depends on: for the support of each chain in `GET /v1/chains`, and for the refusal of chains that
/// are not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Movements: complete as far as the chain's data is. The report calls `coverage::warn`, so that an answer from
    /// partial data carries its warning.
    Movements,
    /// Labels: complete in themselves.
    Labels,
    /// Registries, prices and addresses: complete in themselves, for chains without data too.
    Market,
}

//! Addresses for tests of layouts.

use headwater_engine::fields::ChainName;
use headwater_types::Chain;

use crate::graph::{Kind, Node, Role};

/// Returns an address of a column.
pub(crate) fn node(id: &str, column: i64) -> Node {
    Node {
        id: id.to_owned(),
        address: id.to_owned(),
        chain: ChainName::from(Chain::ETHEREUM),
        is_home: true,
        column,
        kind: Kind::Unnamed,
        role: Role::Between,
        entity: None,
        labels: Vec::new(),
        dispute: None,
        ends: Vec::new(),
        facts: Vec::new(),
    }
}

//! The addresses of the nodes of a chain.

use std::fmt;

use headwater_node::Provider;
use headwater_types::Chain;
use zeroize::Zeroizing;

/// The accepted values.
pub(crate) const EXPECTED: &str =
    "addresses of nodes with commas between them, such as \"http://127.0.0.1:8545\", each with http, https, ws or wss";

/// The addresses of the nodes of one chain. Logins and paths hold keys, and are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeList(Zeroizing<Vec<String>>);

impl NodeList {
    /// Reads addresses; `None` unless there are some and each is one of a node.
    #[must_use]
    pub fn new(addresses: impl IntoIterator<Item = String>) -> Option<Self> {
        let addresses: Zeroizing<Vec<String>> = Zeroizing::new(addresses.into_iter().collect());
        let is_node = |address: &String| Provider::new(&web_address(address), None).is_ok();
        (!addresses.is_empty() && addresses.iter().all(is_node)).then_some(Self(addresses))
    }

    /// Returns the addresses.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.0
    }

    /// Adds the addresses of another list.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }
}

/// Host and port of each node.
impl fmt::Display for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, address) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
            let provider = Provider::new(&web_address(address), None);
            write!(f, "{scheme}://{}", provider.as_ref().map_or("...", Provider::name))?;
        }
        Ok(())
    }
}

impl fmt::Debug for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Returns the address of a `WebSocket` as that of the web server that it begins at.
fn web_address(address: &str) -> Zeroizing<String> {
    Zeroizing::new(match address.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ws") => format!("http://{rest}"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("wss") => format!("https://{rest}"),
        _ => address.to_owned(),
    })
}

/// Reads `CHAIN=URL[,URL]`.
///
/// # Errors
/// The fault, without the addresses.
pub fn parse_follow(text: &str) -> Result<(Chain, NodeList), String> {
    let (chain, addresses) = text
        .split_once('=')
        .ok_or("--follow: expected a chain and the addresses of its nodes, such as ethereum=http://127.0.0.1:8545")?;
    let chain: Chain = chain.trim().parse().map_err(|error| format!("--follow: {error}"))?;
    let addresses = addresses.split(',').map(|address| address.trim().to_owned());
    let nodes = NodeList::new(addresses).ok_or_else(|| format!("--follow {chain}: expected {EXPECTED}"))?;
    Ok((chain, nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follow_argument_is_read_and_shown_without_secrets() {
        let text = "eth=https://user:canary@eth.example:8545/v2/canary?key=canary, wss://ws.example/canary";
        let (chain, mut nodes) = parse_follow(text).unwrap();
        assert_eq!(chain, Chain::ETHEREUM);
        assert_eq!(nodes.addresses().len(), 2);
        assert!(nodes.addresses()[0].ends_with("/v2/canary?key=canary"));
        assert_eq!(format!("{nodes} {nodes:?}").matches("https://eth.example:8545, wss://ws.example").count(), 2);
        nodes.extend(&parse_follow("ethereum=http://127.0.0.1:8545").unwrap().1);
        assert_eq!(nodes.addresses()[2], "http://127.0.0.1:8545");
    }

    #[test]
    fn follow_argument_that_is_wrong_is_refused_without_its_text() {
        for (text, named) in [
            ("http://canary@127.0.0.1:8545", "such as ethereum=http://127.0.0.1:8545"),
            ("dogecoin=http://canary@x", "dogecoin"),
            ("ethereum=", "expected addresses of nodes"),
            ("ethereum=ftp://canary@x", "expected addresses of nodes"),
            ("ethereum=http://a,canary", "expected addresses of nodes"),
        ] {
            let error = parse_follow(text).unwrap_err();
            assert!(error.contains(named) && !error.contains("canary"), "{error}");
        }
    }
}

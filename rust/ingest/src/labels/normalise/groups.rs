//! The provenance groups of statements: claims of one group copy one another and count once.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Groups by host, reviewed one by one: `host,group,note`. A group that ends with `/*` belongs to a hosting site, which
/// counts by the first part of the path. A host stands for its subdomains too.
const TABLE: &str = include_str!("groups.csv");

/// The group of Etherscan, which copies lists of sanctions.
pub(super) const ETHERSCAN: &str = "etherscan";
/// The group of the lists of OFAC.
pub(super) const OFAC: &str = "ofac";

static GROUPS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let rows = TABLE.lines().skip(1).filter_map(|line| line.split_once(','));
    rows.map(|(host, rest)| (host, rest.split_once(',').map_or(rest, |(group, _)| group))).collect()
});

/// The group of the site that an address of the web leads to; `None` where the text is none.
pub(super) fn group_of_site(text: &str) -> Option<String> {
    let (host, path) = site(text)?;
    let known = ancestors(&host).find_map(|host| GROUPS.get(host));
    let Some(group) = known else { return Some(host) };
    let Some(hosting) = group.strip_suffix("/*") else { return Some((*group).to_owned()) };
    let Some(part) = path.split(['/', '?', '#']).find(|part| !part.is_empty()) else {
        return Some(hosting.to_owned());
    };
    let place = format!("{hosting}/{}", part.to_lowercase());
    Some(GROUPS.get(place.as_str()).map_or(place, |group| (*group).to_owned()))
}

/// The host, and the domains it lies in.
fn ancestors(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |host| host.split_once('.').map(|(_, rest)| rest))
}

/// Archives keep the address of the page in their own.
const ARCHIVES: [&str; 1] = ["web.archive.org"];

/// Host, in lower case and without `www.`, and path of a web address. Without a scheme a text is one only where it begins
/// with a host name.
fn site(text: &str) -> Option<(String, &str)> {
    let text = text.split_whitespace().next()?;
    let (is_link, rest) = match text.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, text),
    };
    let (host, path) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host).trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    if ARCHIVES.contains(&host)
        && let Some((_, page)) = path.split_once("/http")
    {
        return site(page.trim_start_matches('s').trim_start_matches([':', '/']));
    }
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.');
    let (_, domain) = host.rsplit_once('.')?;
    let is_host = host.chars().all(is_letter) && !host.starts_with('.');
    let is_domain = domain.chars().count() >= 2 && domain.chars().all(char::is_alphabetic);
    (is_host && (is_link || is_domain)).then(|| (host.to_owned(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_of_a_site_is_its_host_or_that_of_the_table() {
        for (text, group) in [
            ("https://forum.example/thread/1", Some("forum.example")),
            ("https://www.Other.example:8080/a?b=c", Some("other.example")),
            ("http://lab.example", Some("lab.example")),
            ("forum.example", Some("forum.example")),
            ("https://etherscan.io/accounts/label/phish-hack", Some("etherscan")),
            ("https://etherscan.io#tab", Some("etherscan")),
            ("https://cn.bscscan.com/address/0x1", Some("etherscan")),
            ("https://home.treasury.gov/news/press-releases/jy0731", Some("ofac")),
            ("https://sanctionssearch.ofac.treas.gov/Details.aspx?id=1", Some("ofac")),
            ("https://nottreasury.gov/x", Some("nottreasury.gov")),
            ("https://github.com/Somebody/list/blob/main/a.csv", Some("github.com/somebody")),
            ("https://raw.githubusercontent.com/somebody/list/main/a.csv", Some("github.com/somebody")),
            ("https://github.com/forta-network/labelled-datasets", Some("etherscan")),
            ("https://github.com/0xB10C/ofac-sanctioned-digital-currency-addresses", Some("ofac")),
            ("https://github.com", Some("github.com")),
            ("https://twitter.com/Someone/status/1", Some("x.com/someone")),
            ("https://mobile.twitter.com/someone", Some("x.com/someone")),
            ("https://medium.com/@someone/a-title-1", Some("medium.com/@someone")),
            ("https://t.me/channel/5", Some("t.me/channel")),
            ("https://docs.google.com/document/d/1", Some("docs.google.com/document")),
            ("https://web.archive.org/web/2020/https://forum.example/a", Some("forum.example")),
            ("Example Lab", None),
            ("forensic", None),
            ("2024.05", None),
            ("", None),
        ] {
            assert_eq!(group_of_site(text).as_deref(), group, "{text}");
        }
    }

    #[test]
    fn group_table_is_sorted_and_in_lower_case() {
        let hosts: Vec<&str> = TABLE.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
        assert!(hosts.is_sorted(), "{hosts:?}");
        assert_eq!(hosts.len(), GROUPS.len());
        assert!(
            TABLE.lines().all(|line| line.split_once(',').unwrap().0 == line.split(',').next().unwrap().to_lowercase())
        );
        assert!(GROUPS.values().any(|group| *group == ETHERSCAN) && GROUPS.values().any(|group| *group == OFAC));
    }
}

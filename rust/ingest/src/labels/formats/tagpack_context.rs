//! The fields that an export of Headwater writes into the free field `context` of a tag, so that an import makes the same claim: the
//! fields of a `TagPack` alone leave levels, groups and half of the codes open.

use super::reading::{date, filled};
use crate::labels::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels, RawLevel, Vocabulary};
use crate::source::{Bounds, Yaml, json};

/// The member of the context that an export writes.
const OWN: &str = "headwater";

/// Returns the claim of a tag that an export wrote; `None` for any other tag. Nothing is concluded from its label.
pub(super) fn own_claim(tag: &Yaml, labels: &mut RawLabels) -> Option<RawClaim> {
    let place = tag.place();
    let of_tag = |key: &str| filled(tag.get(key).and_then(Yaml::text)).map(str::to_owned);
    let context = of_tag("context")?;
    let context = json::parse(&context, &Bounds::default()).ok()?;
    let own = context.get(OWN)?;
    let text = |name: &str| filled(own.get(name).and_then(json::Value::text)).map(str::to_owned);
    let source = text("source");
    let chain = match text("chain")?.as_str() {
        "evm" => ChainHint::AnyEvm,
        chain => ChainHint::Chain(chain.to_owned()),
    };
    let asserted_at = date(labels, place, of_tag("lastmod").as_deref());
    let last_seen = date(labels, place, text("last_seen").as_deref());
    Some(RawClaim {
        place: Some(place),
        address: of_tag("address").unwrap_or_default(),
        chain,
        concepts: text("code").map(|code| Vocabulary::own_word(&code)).into_iter().collect(),
        name: of_tag("label").filter(|_| own.get("unnamed") != Some(&json::Value::Bool(true))),
        entity: of_tag("actor"),
        source_url: of_tag("source").filter(|url| Some(url) != source.as_ref()),
        source,
        group: text("group"),
        level: text("level").map(RawLevel::Stated),
        confidence: text("confidence"),
        asserted_at,
        date_basis: match text("date_basis").as_deref() {
            Some("address") => RawDateBasis::Address,
            Some("entity") => RawDateBasis::Entity,
            Some(_) | None => RawDateBasis::Unknown,
        },
        last_seen,
        is_address_only: of_tag("is_cluster_definer").is_some_and(|text| text.eq_ignore_ascii_case("false")),
        ..RawClaim::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::super::tagpack::FORMAT;

    #[test]
    fn tags_of_an_export_say_what_they_say_and_no_more() {
        let pack = r#"title: x
creator: headwater
tags:
- address: "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b"
  label: "Example: Hot Wallet"
  source: "https://etherscan.io/accounts/label/x"
  currency: ETH
  network: ETH
  confidence: authority_data
  concepts: [exchange]
  lastmod: 2024-03-01
  context: "{\"headwater\":{\"chain\":\"evm\",\"code\":\"exchange\",\"level\":\"sanctions_list\",\"group\":\"g\",\"source\":\"s\"}}"
- address: "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b"
  label: "drainer"
  source: "s"
  currency: ETH
  network: ETH
  confidence: forensic
  context: "{\"headwater\":{\"chain\":\"bsc\",\"code\":\"drainer\",\"level\":\"forensic\",\"group\":\"g\",\"source\":\"s\",\"unnamed\":true}}"
"#;
        let labels = read(&FORMAT, &[("pack.yaml", pack)]);
        assert_eq!(
            all_shown(&labels),
            [
                "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b | on evm | headwater:exchange | named Example: Hot Wallet | source s | at https://etherscan.io/accounts/label/x | group g | level sanctions_list | since 2024-03-01T00:00:00Z",
                "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b | on bsc | headwater:drainer | source s | group g | level forensic",
            ]
        );
        // Other programs may write a context of their own.
        let other = pack.replace("headwater", "other");
        assert!(read(&FORMAT, &[("pack.yaml", &other)]).claims[0].concepts[0].starts_with("hot_wallet"));
    }
}

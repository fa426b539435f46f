//! The publishers of the lists that the data sets of `OpenSanctions` copy.

use headwater_ledger::labels::{Code, Level};

use super::super::raw::{RawClaim, RawLabels, RawLevel, Vocabulary};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::source::Probe;

/// One of the exports.
pub(super) const fn format(
    name: &'static str,
    reads: fn(&Probe) -> bool,
    read: fn(&[Probe], &Given) -> Result<RawLabels, IngestError>,
) -> Format {
    Format {
        name,
        source: "opensanctions",
        group: "opensanctions",
        level: Level::SanctionsList,
        vocabulary: Vocabulary::OWN,
        chain: None,
        refuses_empty: true,
        files: Files::Apart,
        reads,
        read,
    }
}

/// The topic of a party on a list of sanctions.
const SANCTION: &str = "sanction";
const TERROR: &str = "crime.terror";

/// Data sets of one publisher.
struct Publisher {
    /// The beginning of their ids.
    id: &'static str,
    /// A part of their titles.
    title: &'static str,
    group: &'static str,
    /// Topics of their wallets; none where the data set itself says what they are.
    topics: &'static [&'static str],
    code: Code,
    level: Level,
}

const PUBLISHERS: &[Publisher] = &[
    Publisher {
        id: "us_ofac_",
        title: "OFAC",
        group: "ofac",
        topics: &[SANCTION],
        code: Code::Sanction,
        level: Level::SanctionsList,
    },
    Publisher {
        id: "eu_",
        title: "EU ",
        group: "eu",
        topics: &[SANCTION],
        code: Code::Sanction,
        level: Level::SanctionsList,
    },
    Publisher {
        id: "gb_",
        title: "UK ",
        group: "uk",
        topics: &[SANCTION],
        code: Code::Sanction,
        level: Level::SanctionsList,
    },
    Publisher {
        id: "il_mod_crypto",
        title: "Israel Sanctioned Crypto Wallets",
        group: "il_mod_crypto",
        topics: &[TERROR, SANCTION],
        code: Code::TerroristFinancing,
        level: Level::AuthorityData,
    },
    Publisher {
        id: "ransomwhere",
        title: "ransomwhe.re",
        group: "ransomwhe.re",
        topics: &[],
        code: Code::Ransomware,
        level: Level::Forensic,
    },
    Publisher {
        id: "us_fbi_lazarus_crypto",
        title: "FBI Lazarus",
        group: "fbi",
        topics: &[],
        code: Code::Theft,
        level: Level::AuthorityData,
    },
];

/// The name of a data set for the caller.
#[derive(Clone, Copy)]
pub(super) enum DataSet<'a> {
    Id(&'a str),
    Title(&'a str),
}

/// The order behind a wallet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The data set has an order against the wallet.
    Stated,
    /// Only topics say what it is.
    None,
}

impl DataSet<'_> {
    fn publisher(self) -> Option<&'static Publisher> {
        let is_theirs = |publisher: &&Publisher| match self {
            Self::Id(id) => id.starts_with(publisher.id),
            Self::Title(title) => title.contains(publisher.title),
        };
        PUBLISHERS.iter().find(is_theirs)
    }

    /// The claim of a wallet, with its code, level and group by the data set.
    pub(super) fn attribute(self, topics: &[&str], order: Order, claim: RawClaim) -> RawClaim {
        let (code, level, group) = match self.publisher() {
            Some(publisher) => {
                let is_meant =
                    publisher.topics.is_empty() || publisher.topics.iter().any(|topic| topics.contains(topic));
                let code = (is_meant || order == Order::Stated).then_some(publisher.code);
                (code, publisher.level, publisher.group.to_owned())
            }
            None if topics.contains(&SANCTION) || order == Order::Stated => {
                (Some(Code::Sanction), Level::SanctionsList, self.own_group())
            }
            None if topics.contains(&TERROR) => {
                (Some(Code::TerroristFinancing), Level::AuthorityData, self.own_group())
            }
            None => (None, Level::TrustedProvider, self.own_group()),
        };
        RawClaim {
            concepts: code.map(|code| code.name().to_owned()).into_iter().collect(),
            level: Some(RawLevel::Known(level)),
            group: Some(group),
            ..claim
        }
    }

    /// The group of a list that is known only by the name of its data set.
    fn own_group(self) -> String {
        match self {
            Self::Id(id) => id.to_owned(),
            Self::Title(title) => title
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(str::to_lowercase)
                .collect::<Vec<_>>()
                .join("_"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributed(set: DataSet<'_>, topics: &[&str], order: Order) -> (String, String, Option<RawLevel>) {
        let claim = set.attribute(topics, order, RawClaim::default());
        (claim.concepts.join(","), claim.group.unwrap(), claim.level)
    }

    #[test]
    fn data_sets_belong_to_the_group_of_the_list_they_copy() {
        let sanctions = Some(RawLevel::Known(Level::SanctionsList));
        let authority = Some(RawLevel::Known(Level::AuthorityData));
        let row =
            |code: &str, group: &str, level: &Option<RawLevel>| (code.to_owned(), group.to_owned(), level.clone());
        let by_id = |id, topics: &[&str], order| attributed(DataSet::Id(id), topics, order);
        assert_eq!(by_id("us_ofac_sdn", &["sanction"], Order::None), row("sanction", "ofac", &sanctions));
        assert_eq!(by_id("us_ofac_cons", &[], Order::Stated), row("sanction", "ofac", &sanctions));
        // What is no longer sanctioned has lost its topic.
        assert_eq!(by_id("us_ofac_sdn", &["sanction.linked"], Order::None), row("", "ofac", &sanctions));
        let terror = row("terrorist_financing", "il_mod_crypto", &authority);
        assert_eq!(by_id("il_mod_crypto", &["crime.terror"], Order::None), terror);
        assert_eq!(by_id("il_mod_crypto", &[], Order::Stated), terror);
        let ransom = row("ransomware", "ransomwhe.re", &Some(RawLevel::Known(Level::Forensic)));
        assert_eq!(by_id("ransomwhere", &["crime.theft"], Order::None), ransom);
        assert_eq!(
            by_id("jp_mof_sanctions", &["sanction"], Order::None),
            row("sanction", "jp_mof_sanctions", &sanctions)
        );
        let other = Some(RawLevel::Known(Level::TrustedProvider));
        assert_eq!(by_id("xx_list", &["crime.fraud"], Order::None), row("", "xx_list", &other));
        let by_title = |title| attributed(DataSet::Title(title), &["sanction"], Order::None);
        assert_eq!(by_title("US OFAC SDN List"), row("sanction", "ofac", &sanctions));
        assert_eq!(by_title("Japan Economic Sanctions"), row("sanction", "japan_economic_sanctions", &sanctions));
    }
}

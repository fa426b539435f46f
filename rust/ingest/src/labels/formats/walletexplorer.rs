//! Addresses of one wallet from `WalletExplorer`.

use headwater_ledger::labels::Level;

use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::{IngestError, Place};

/// Source: the page of addresses of a wallet as CSV. What the wallet is, the caller says.
pub(super) const FORMAT: Format = Format {
    name: "walletexplorer",
    source: "walletexplorer.com",
    group: "walletexplorer.com",
    level: Level::WebCrawl,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The beginning of the first line.
const TITLE: &str = "#Wallet ";

/// Columns of the other page of a wallet.
const TRANSACTIONS: [&str; 3] = ["date", "received from", "transaction"];

/// The part of a name that distinguishes wallets of one owner.
const PARTS: [&str; 5] = ["-old", "-cold", "-incoming", "-hot", "-output"];

fn title(line: &str) -> Option<&str> {
    line.trim_start_matches('\u{feff}').trim().trim_matches('"').strip_prefix(TITLE)
}

fn reads(probe: &Probe) -> bool {
    String::from_utf8_lossy(probe.head()).lines().next().is_some_and(|line| title(line).is_some())
}

/// The owner of a wallet; `None` where the site knows none and gives a number in brackets.
fn owner(title: &str) -> Option<&str> {
    let name = title.split_once(" (").or_else(|| title.split_once(". Page")).map_or(title, |(name, _)| name).trim();
    let mut owner = name;
    loop {
        let unnumbered = owner.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let Some(shorter) = PARTS.iter().find_map(|part| unnumbered.strip_suffix(part)) else { break };
        owner = shorter;
    }
    Some(owner).filter(|owner| !owner.is_empty() && !owner.starts_with('['))
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    if given.code.is_none() {
        labels.warnings.push("the file does not say what the wallet is: give it with --code".to_owned());
    }
    for probe in probes {
        let text = probe.input().document_text()?;
        let mut lines = (1..).zip(text.lines());
        let entity = lines.next().and_then(|(_, line)| title(line)).and_then(owner);
        let mut header: Option<usize> = None;
        for (number, line) in lines {
            let mut fields = line.split(',').map(|field| field.trim().trim_matches('"'));
            let Some(column) = header else {
                let names: Vec<&str> = fields.collect();
                header = names.iter().position(|field| field.eq_ignore_ascii_case("address"));
                if TRANSACTIONS.iter().all(|column| names.contains(column)) {
                    let what = "is a page of transactions of WalletExplorer, which names wallets and no addresses: \
                                save the page of addresses of the wallet";
                    return Err(IngestError::NoAddresses { path: probe.path().to_owned(), what: what.to_owned() });
                }
                continue;
            };
            if line.trim().is_empty() {
                continue;
            }
            labels.claims.push(RawClaim {
                place: Some(Place::Line(number)),
                address: fields.nth(column).unwrap_or_default().to_owned(),
                chain: ChainHint::Chain("bitcoin".to_owned()),
                entity: entity.map(str::to_owned),
                ..RawClaim::default()
            });
        }
        if header.is_none() {
            return Err(probe.input().damaged(Some(Place::Line(2)), "it has no column \"address\""));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read, read_given};
    use super::*;

    #[test]
    fn title_names_the_owner() {
        for (title, expected) in [
            ("Example.com-old2 (00000abc). Page 1 from 9", Some("Example.com")),
            ("Example.com-cold-old (00000abc). Page 1 from 9", Some("Example.com")),
            ("Bet365. Page 1 from 1", Some("Bet365")),
            ("[00000abc]. Page 1 from 1", None),
        ] {
            assert_eq!(owner(title), expected, "{title}");
        }
    }

    #[test]
    fn addresses_have_no_concept_of_their_own() {
        let page = "\"#Wallet Example.com-old2 (00000abc). Page 1 from 9\"\naddress,balance,incoming txes,last used in block\n\
            15XfF3if5W3CdJeNQqHQwudSpmK2Dpj69q,0.5,3,400000\n\n";
        let labels = read(&FORMAT, &[("wallet.csv", page)]);
        assert_eq!(all_shown(&labels), ["15XfF3if5W3CdJeNQqHQwudSpmK2Dpj69q | on bitcoin | of Example.com"]);
        assert_eq!((labels.claims[0].place, labels.warnings.len()), (Some(Place::Line(3)), 1));
    }

    #[test]
    fn transactions_are_refused_as_what_they_are() {
        let page = "\"#Wallet Example.com (00000abc). Page 1 from 2\"\n\
            date,\"received from\",\"received amount\",\"sent amount\",\"sent to\",balance,transaction\n\
            \"2016-01-02 03:04:05\",000011ac,0.5,,,1.5,55cb805a2297d9598297c04cf852a052e08473019e0a70d902495e806f3a32ad\n";
        let error = read_given(&FORMAT, &[("tx.csv", page)], &Given::default()).unwrap_err().to_string();
        assert!(error.ends_with("save the page of addresses of the wallet"), "{error}");
    }
}

//! Labels as a `TagPack` of `GraphSense`.
//!
//! Source: `tagpack_schema.yaml` of `graphsense/graphsense-tagpack-tool`. The fields of a tag say what its schema has a
//! place for. Its free field `context` holds a JSON object with the rest, under `headwater`, from which an import
//! makes the same claim.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use headwater_ledger::labels::{Claim, Code, DateBasis, Level, Link, Scope};
use headwater_types::{Chain, Timestamp};
use serde::Serialize;

use super::draft::Draft;
use super::{LabelExport, LabelWriter, encoded, in_thousandths, unsaid};
use crate::ExportError;

/// The concepts of codes in the taxonomy of `GraphSense`; other codes have none there.
const CONCEPTS: &[(Code, &str)] = &[
    (Code::Bridge, "defi_bridge"),
    (Code::ColdWallet, "cold_wallet"),
    (Code::Csam, "child_sexual_abuse"),
    (Code::Defi, "defi"),
    (Code::Deposit, "deposit_wallet"),
    (Code::Dex, "defi_dex"),
    (Code::Exchange, "exchange"),
    (Code::ExchangeHotWallet, "hot_wallet"),
    (Code::Extortion, "extortion"),
    (Code::Gambling, "gambling"),
    (Code::Hack, "service_hack"),
    (Code::IssuerFrozen, "black_list"),
    (Code::Merchant, "shop"),
    (Code::MiningPool, "miner"),
    (Code::Mixer, "mixing_service"),
    (Code::Payment, "payment_processor"),
    (Code::Phishing, "phishing"),
    (Code::Ponzi, "ponzi_scheme"),
    (Code::Ransomware, "ransomware"),
    (Code::Sanction, "sanction"),
    (Code::Scam, "scam"),
    (Code::TerroristFinancing, "terrorism"),
    (Code::Theft, "account_hack"),
];

/// The level of the taxonomy of `GraphSense` that comes closest to one of ours from below.
const fn confidence(level: Level) -> Level {
    match level {
        Level::SanctionsList => Level::AuthorityData,
        Level::IssuerFreeze => Level::LedgerImmanent,
        Level::ModelClassifier | Level::BehaviourDetector => Level::Heuristic,
        level => level,
    }
}

/// The head of a pack; the tags follow.
const HEAD: &str = "\
title: Labels of Headwater
creator: headwater
description: The claims in force of a store, written by `headwater labels export`.
tags:";

/// The parts of a claim for which a tag has no field.
#[derive(Serialize)]
struct Context<'c> {
    headwater: Rest<'c>,
}

#[derive(Serialize)]
struct Rest<'c> {
    chain: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'c str>,
    level: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<String>,
    group: &'c str,
    source: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    date_basis: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen: Option<String>,
    /// True if the claim has no name, so that the label repeats the entity or the code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unnamed: bool,
}

/// A pack in the making.
pub(super) struct TagPackWriter {
    draft: Draft,
    file: BufWriter<File>,
}

impl TagPackWriter {
    pub(super) fn create(path: &Path) -> Result<Self, ExportError> {
        let (draft, file) = Draft::create(path)?;
        let mut writer = Self { draft, file: BufWriter::new(file) };
        writer.write(HEAD)?;
        Ok(writer)
    }

    fn write(&mut self, text: &str) -> Result<(), ExportError> {
        self.file.write_all(text.as_bytes()).map_err(ExportError::io(self.draft.temporary()))
    }
}

impl LabelWriter for TagPackWriter {
    fn push(&mut self, claim: &Claim<&str>, report: &mut LabelExport) -> Result<(), ExportError> {
        if let Some(reason) = unsaid(claim) {
            report.leave_out(reason);
            return Ok(());
        }
        report.claims += 1;
        self.write(&tag(claim))
    }

    fn finish(mut self: Box<Self>, report: &mut LabelExport) -> Result<(), ExportError> {
        self.write(if report.claims == 0 { " []\n" } else { "\n" })?;
        self.file.flush().map_err(ExportError::io(self.draft.temporary()))?;
        self.draft.finish(self.file.get_ref())
    }
}

/// A tag, behind the line before it.
fn tag(claim: &Claim<&str>) -> String {
    let chain = match claim.scope {
        Scope::Chain(chain) => chain,
        Scope::Evm => Chain::ETHEREUM,
    };
    let currency = chain.native_symbol().to_uppercase();
    let network = if chain == Chain::BSC { "BSC" } else { currency.as_str() };
    let label = claim.name.or(claim.entity).or(claim.code.map(Code::name)).unwrap_or_default();
    let concept = CONCEPTS.iter().find(|(code, _)| Some(*code) == claim.code).map(|(_, concept)| *concept);
    let mut lines = vec![
        format!("- address: {}", quoted(&claim.address.to_string())),
        format!("label: {}", quoted(&encoded(label))),
        format!("source: {}", quoted(claim.source_url.unwrap_or(claim.source))),
        format!("currency: {currency}"),
        format!("network: {network}"),
        format!("confidence: {}", confidence(claim.level).name()),
    ];
    lines.extend(concept.map(|concept| format!("concepts: [{concept}]")));
    lines.extend(claim.entity.map(|entity| format!("actor: {}", quoted(&encoded(entity)))));
    lines.extend(claim.asserted_at.map(|time| format!("lastmod: {}", date(time))));
    if claim.link == Link::ExactOnly {
        lines.push("is_cluster_definer: false".to_owned());
    }
    let context = Context {
        headwater: Rest {
            chain: claim.scope.name(),
            code: claim.code.map(Code::name),
            level: claim.level.name(),
            confidence: (claim.reliability != claim.level.thousandths()).then(|| in_thousandths(claim.reliability)),
            group: claim.group,
            source: claim.source,
            date_basis: claim.date_basis.map(DateBasis::name),
            last_seen: claim.last_seen.map(|time| time.to_string()),
            unnamed: claim.name.is_none(),
        },
    };
    let context = serde_json::to_string(&context).expect("texts and switches are JSON");
    lines.push(format!("context: {}", quoted(&context)));
    format!("\n{}", lines.join("\n  "))
}

/// A time as YAML writes it: the date alone where it is the first second of a day.
fn date(time: Timestamp) -> String {
    let text = time.to_string();
    text.strip_suffix("T00:00:00Z").map(str::to_owned).unwrap_or(text)
}

/// Characters beside controls that YAML does not take as they are, or takes for the end of a line.
const UNPRINTABLE: [char; 5] = ['\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];

/// A text in double quotes, with what YAML cannot print escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if letter.is_control() || UNPRINTABLE.contains(&letter) => {
                quoted.push_str("\\u");
                quoted.extend(
                    (0..4).rev().filter_map(|digit| char::from_digit(u32::from(letter) >> (4 * digit) & 15, 16)),
                );
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_for_yaml() {
        for (text, expected) in [
            ("Example: a #b", r#""Example: a #b""#),
            ("a \"b\" \\ c", r#""a \"b\" \\ c""#),
            ("a\nb\tc\r", r#""a\nb\tc\r""#),
            ("🐟 Fish", "\"🐟 Fish\""),
            ("\0\u{7f}\u{85}\u{2028}\u{feff}", r#""\u0000\u007f\u0085\u2028\ufeff""#),
        ] {
            assert_eq!(quoted(text), expected);
        }
        assert_eq!(date(Timestamp::new(1_709_251_200)), "2024-03-01");
        assert_eq!(date(Timestamp::new(1_709_251_201)), "2024-03-01T00:00:01Z");
    }
}

//! The history of disputes on disk: a file of JSON lines, written whole with each change.
//!
//! It is kept beside the imports of labels and not within them, so that neither a new edition of a list nor a rollback
//! touches it. Thousands of entries are some hundred kilobytes.

use std::fmt::Write as _;
use std::sync::Arc;

use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};

use super::parts::{FileRef, Storage};
use crate::labels::{Code, Dispute, DisputeAction, DisputeEntry, Disputes, Key, Scope};
use crate::read::Result;

/// The folder of the history of disputes.
pub(super) const DISPUTES: &str = "disputes";

/// The scope of claims about every EVM chain.
const EVM: &str = "evm";

/// The history of a generation and the file that it is in; without a file there is none.
#[derive(Clone, Default)]
pub(super) struct DisputeHistory {
    pub(super) disputes: Arc<Disputes>,
    pub(super) file: Option<FileRef>,
}

impl DisputeHistory {
    /// With further entries, in a file of their own.
    pub(super) fn with(&self, new: &[DisputeEntry], storage: &mut dyn Storage) -> Result<Self> {
        let entries: Vec<DisputeEntry> = self.disputes.entries().iter().chain(new).cloned().collect();
        let lines = to_lines(&entries);
        let disputes = Arc::new(Disputes::new(entries, digest(&lines)));
        Ok(Self { disputes, file: Some(storage.keep_file(DISPUTES, "jsonl", lines)?) })
    }
}

/// An entry as its line states it. The address is the key of label files, which includes family and network.
#[derive(Serialize, Deserialize)]
struct Line {
    action: String,
    key: String,
    chain: String,
    code: Option<String>,
    group: String,
    source: String,
    by: String,
    at: Timestamp,
    reason: String,
    generation: u64,
}

fn digest(lines: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(lines)
}

fn to_lines(entries: &[DisputeEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        let line = Line {
            action: entry.action.name().to_owned(),
            key: hex(Key::of(&entry.address).as_slice()),
            chain: entry.scope.name().to_owned(),
            code: entry.code.map(|code| code.name().to_owned()),
            group: entry.group.to_string(),
            source: entry.source.to_string(),
            by: entry.dispute.by.to_string(),
            at: entry.dispute.at,
            reason: entry.dispute.reason.to_string(),
            generation: entry.generation,
        };
        serde_json::to_writer(&mut out, &line).expect("plain records always have a JSON form");
        out.push(b'\n');
    }
    out
}

/// Reads what [`to_lines`] wrote; an error is the text of what is wrong.
pub(super) fn from_lines(bytes: &[u8]) -> std::result::Result<Disputes, String> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let entries = lines.map(read_entry).collect::<std::result::Result<_, _>>()?;
    Ok(Disputes::new(entries, digest(bytes)))
}

fn read_entry(line: &[u8]) -> std::result::Result<DisputeEntry, String> {
    let Line { action, key, chain, code, group, source, by, at, reason, generation } =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let unknown = |what: &str, value: &str| format!("{value:?} is not a known {what}");
    Ok(DisputeEntry {
        action: DisputeAction::from_name(&action).ok_or_else(|| unknown("action", &action))?,
        address: bytes_of(&key).and_then(|key| Key::address(&key)).ok_or_else(|| unknown("key", &key))?,
        scope: match chain.as_str() {
            EVM => Scope::Evm,
            name => Scope::Chain(Chain::from_name(name).ok_or_else(|| unknown("chain", name))?),
        },
        code: code.map(|code| Code::from_name(&code).ok_or_else(|| unknown("code", &code))).transpose()?,
        group: group.into(),
        source: source.into(),
        dispute: Dispute { by: by.into(), at, reason: reason.into() },
        generation,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

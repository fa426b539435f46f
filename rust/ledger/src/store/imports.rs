//! Versions of token listings, prices, exchange rates and labels, each a file: JSON lines, or a container of labels.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Chain, Timestamp};
use serde::{Deserialize, Serialize};

use super::disputes::DisputeHistory;
use super::parts::{FileRef, LABELS, Storage};
use super::{ImportKind, ImportVersion, LabelList, MissingClaims};
use crate::LedgerError;
use crate::labels::{
    self, Claim, Disputes, ImportRow, LabelDiff, LabelFile, LabelTable, ListOrigin, ListTerms, SanctionsEdition,
};
use crate::market::{FxPoint, FxTable, MarketStamp, PricePoint, PriceTable, Registry, TokenListing};
use crate::read::Result;

/// One version and where its entries are.
#[derive(Clone)]
pub(super) struct Import {
    pub(super) version: ImportVersion,
    pub(super) file: FileRef,
    pub(super) brought: ImportPayload,
}

/// The contents of a version.
#[derive(Clone)]
pub(super) enum ImportPayload {
    Market(Arc<Entries>),
    Labels(Arc<LabelFile>),
}

/// Entries that are read whole.
pub(super) enum Entries {
    Tokens(Vec<TokenListing>),
    Prices(Vec<PricePoint>),
    Fx(Vec<FxPoint>),
}

/// One import of a list of labels.
#[derive(Debug, Clone)]
pub struct LabelImport {
    /// The source.
    pub source: String,
    /// The list of the source: the import replaces the one before of the same list.
    pub list: String,
    /// When the import is made.
    pub imported_at: Timestamp,
    /// When claims ended that the list no longer makes: the date of the list, else the time of the import.
    pub ended_at: Timestamp,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The policy for claims that the list no longer makes.
    pub vanished: MissingClaims,
    /// The policy for an edition that most likely is cut off or old.
    pub shrinking: ShrinkPolicy,
    /// The licence of the list; `None` where it is not known.
    pub licence: Option<String>,
    /// The provenance groups whose sanctions the list contains and whose age matters, such as `ofac`: answers warn when
    /// the newest edition of a group is old.
    pub sanctions_of: Vec<String>,
}

/// The policy for an edition that says again too little of the one before it, or is older: as a rule the file is cut off,
/// or a copy from the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShrinkPolicy {
    /// It is refused.
    #[default]
    Refused,
    /// It is taken.
    Accepted,
}

/// All versions, and what those in force come to.
#[derive(Clone)]
pub(super) struct Imports {
    pub(super) versions: Vec<Import>,
    pub(super) registry: Arc<Registry>,
    pub(super) prices: Arc<PriceTable>,
    pub(super) exchange_rates: Arc<FxTable>,
    pub(super) labels: Arc<LabelTable>,
    pub(super) disputes: DisputeHistory,
    /// By chain, made when first asked for.
    stamps: Arc<[OnceLock<MarketStamp>]>,
}

impl Default for Imports {
    fn default() -> Self {
        Self::new(Vec::new(), DisputeHistory::default())
    }
}

impl Imports {
    pub(super) fn new(versions: Vec<Import>, disputes: DisputeHistory) -> Self {
        let in_force = || {
            versions.iter().filter(|import| import.version.in_force).filter_map(|import| match &import.brought {
                ImportPayload::Market(entries) => Some((import.version.source.as_str(), &**entries)),
                ImportPayload::Labels(_) => None,
            })
        };
        let listings = in_force().filter_map(|(_, entries)| match entries {
            Entries::Tokens(listings) => Some(listings),
            Entries::Prices(_) | Entries::Fx(_) => None,
        });
        let registry = Registry::new(listings.flatten().cloned());
        let imported = in_force().filter_map(|(source, entries)| match entries {
            Entries::Prices(points) => Some((source, points.as_slice())),
            Entries::Tokens(_) | Entries::Fx(_) => None,
        });
        let prices = PriceTable::of_imports(imported).over_core();
        let rates = in_force().filter_map(|(_, entries)| match entries {
            Entries::Fx(points) => Some(points),
            Entries::Tokens(_) | Entries::Prices(_) => None,
        });
        let exchange_rates = Arc::new(FxTable::new(rates.flatten()));
        let labels = Arc::new(label_table(&versions, &disputes.disputes));
        let stamps = Chain::all().map(|_| OnceLock::new()).collect();
        let (registry, prices) = (Arc::new(registry), Arc::new(prices));
        Self { versions, registry, prices, exchange_rates, labels, disputes, stamps }
    }

    /// With another history of disputes.
    pub(super) fn with_disputes(&self, disputes: DisputeHistory) -> Self {
        let labels = Arc::new(label_table(&self.versions, &disputes.disputes));
        Self { labels, disputes, ..self.clone() }
    }

    /// Returns the stamp of what the values of a chain depend on.
    pub(super) fn stamp(&self, chain: Chain) -> MarketStamp {
        let place = Chain::all().position(|known| known == chain).unwrap_or_default();
        *self.stamps[place].get_or_init(|| MarketStamp::of(&self.registry, &self.prices, chain))
    }

    /// With one more version of listings, prices or rates, and its number.
    pub(super) fn with(&self, source: &str, entries: Entries, storage: &mut dyn Storage) -> Result<(Self, u64)> {
        let (kind, count, folder) = match &entries {
            Entries::Tokens(listings) => (ImportKind::Tokens, listings.len(), "tokens"),
            Entries::Prices(points) => {
                points.iter().try_for_each(PricePoint::check)?;
                (ImportKind::Prices, points.len(), "prices")
            }
            Entries::Fx(points) => {
                points.iter().try_for_each(FxPoint::check)?;
                (ImportKind::Fx, points.len(), "fx")
            }
        };
        let file = storage.keep_file(folder, "jsonl", entries.to_lines())?;
        let version = ImportVersion {
            version: self.next_number(),
            kind,
            source: source.to_owned(),
            entries: count as u64,
            in_force: true,
            list: None,
        };
        Ok(self.with_version(Import { version, file, brought: ImportPayload::Market(Arc::new(entries)) }))
    }

    /// With one more version of labels, and its number.
    pub(super) fn with_labels(
        &self,
        import: LabelImport,
        generation: u64,
        storage: &mut dyn Storage,
    ) -> Result<(Self, u64)> {
        let LabelImport { source, list, imported_at, ended_at, claims, vanished, shrinking, licence, sanctions_of } =
            import;
        // A list that dates itself into the future ends nothing before its time.
        let ended_at = ended_at.min(imported_at);
        let before = last_of(&self.versions, &source, &list);
        if shrinking == ShrinkPolicy::Refused {
            check_date(&self.versions, ended_at, (&source, &list))?;
        }
        let written = succeed(before.as_deref(), claims, (vanished, ended_at))?;
        if let (Some(before), ShrinkPolicy::Refused) = (&before, shrinking) {
            check_size(before, &written, (&source, &list))?;
        }
        let (file, opened) = keep_labels(written, storage)?;
        let name = list;
        let list =
            LabelList { name, imported_at, ended_at, vanished, licence, sanctions_of, generation, rolled_back: None };
        let version = ImportVersion {
            version: self.next_number(),
            kind: ImportKind::Labels,
            source,
            entries: opened.own(),
            in_force: true,
            list: Some(list),
        };
        Ok(self.with_version(Import { version, file, brought: ImportPayload::Labels(Arc::new(opened)) }))
    }

    fn next_number(&self) -> u64 {
        self.versions.last().map_or(0, |import| import.version.version) + 1
    }

    fn with_version(&self, import: Import) -> (Self, u64) {
        let number = import.version.version;
        let mut versions = self.versions.clone();
        versions.push(import);
        (Self::new(versions, self.disputes.clone()), number)
    }

    /// Without a version that is in force. Later imports of the same list of labels are written anew, as if this one had
    /// never been.
    pub(super) fn without(&self, version: u64, generation: u64, storage: &mut dyn Storage) -> Result<Self> {
        let mut versions = self.versions.clone();
        let place = versions
            .iter()
            .position(|import| import.version.version == version && import.version.in_force)
            .ok_or(LedgerError::UnknownVersion(version))?;
        versions[place].version.in_force = false;
        if let Some(list) = &mut versions[place].version.list {
            list.rolled_back = Some(generation);
        }
        let disputes = self.disputes.clone();
        let Some(list) = versions[place].version.list.clone() else { return Ok(Self::new(versions, disputes)) };
        let source = versions[place].version.source.clone();
        for later in place + 1..versions.len() {
            let (earlier, rest) = versions.split_at_mut(later);
            let import = &mut rest[0];
            let (ImportPayload::Labels(opened), Some(of)) = (&import.brought, &import.version.list) else { continue };
            if !import.version.in_force || import.version.source != source || of.name != list.name {
                continue;
            }
            let before = last_of(earlier, &source, &list.name);
            let written = succeed(before.as_deref(), opened.own_claims()?, (of.vanished, of.ended_at))?;
            let (file, opened) = keep_labels(written, storage)?;
            import.file = file;
            import.brought = ImportPayload::Labels(Arc::new(opened));
        }
        Ok(Self::new(versions, disputes))
    }

    /// Returns what an import of labels says that another one does not, by default the one before it of its list.
    pub(super) fn diff_labels(&self, version: u64, against: Option<u64>) -> Result<LabelDiff> {
        let find = |number: u64| {
            let place = self.versions.iter().position(|import| import.version.version == number);
            place.ok_or(LedgerError::UnknownVersion(number))
        };
        let file = |place: usize| match &self.versions[place].brought {
            ImportPayload::Labels(file) => Ok(Arc::clone(file)),
            ImportPayload::Market(_) => Err(LedgerError::UnknownVersion(self.versions[place].version.version)),
        };
        let place = find(version)?;
        let after = file(place)?;
        let before = match against {
            Some(number) => Some(file(find(number)?)?),
            None => {
                let ImportVersion { source, list, .. } = &self.versions[place].version;
                list.as_ref().and_then(|list| last_of(&self.versions[..place], source, &list.name))
            }
        };
        labels::diff(before.as_deref(), &after)
    }

    pub(super) fn list(&self) -> Vec<ImportVersion> {
        self.versions.iter().map(|import| import.version.clone()).collect()
    }
}

/// The claims of an import behind the one before it of its list.
fn succeed(
    before: Option<&LabelFile>,
    own: Vec<Claim>,
    (vanished, ended_at): (MissingClaims, Timestamp),
) -> Result<Vec<labels::ClaimDraft>> {
    let before = match vanished {
        MissingClaims::End => before,
        MissingClaims::Forgotten => None,
    };
    labels::succeed(before, own, ended_at)
}

/// Writes and opens a file of labels.
fn keep_labels(mut written: Vec<labels::ClaimDraft>, storage: &mut dyn Storage) -> Result<(FileRef, LabelFile)> {
    let (file, container) = storage.keep_container(LABELS, LABELS, &mut |out| labels::build(&mut written, out))?;
    Ok((file, LabelFile::read(container)?))
}

/// Refuses an edition that most likely is cut off: one that says again less than half of what the one before it said, of a
/// list of sanctions less than nine tenths.
fn check_size(before: &LabelFile, written: &[labels::ClaimDraft], (source, list): (&str, &str)) -> Result<()> {
    let labels::Overlap { before, kept, has_sanctions } = labels::overlap(before, written)?;
    let (of, least) = if has_sanctions { (10, 9) } else { (2, 1) };
    if kept.saturating_mul(of) >= before.saturating_mul(least) {
        return Ok(());
    }
    let (source, list) = (source.to_owned(), list.to_owned());
    Err(LedgerError::ListShrank { source_name: source, list, kept, before })
}

/// Refuses an edition that is older than the one before it.
fn check_date(versions: &[Import], ended_at: Timestamp, (source, list): (&str, &str)) -> Result<()> {
    let of_list = versions.iter().rev().filter(|import| import.version.in_force && import.version.source == source);
    let newest = of_list.filter_map(|import| import.version.list.as_ref()).find(|of| of.name == list);
    match newest {
        Some(newest) if newest.ended_at > ended_at => {
            let (source, list) = (source.to_owned(), list.to_owned());
            Err(LedgerError::OlderEdition { source_name: source, list, date: ended_at, held: newest.ended_at })
        }
        Some(_) | None => Ok(()),
    }
}

/// The last import of a list that is in force.
fn last_of(versions: &[Import], source: &str, list: &str) -> Option<Arc<LabelFile>> {
    versions.iter().rev().find_map(|import| match (&import.brought, &import.version.list) {
        (ImportPayload::Labels(file), Some(of))
            if import.version.in_force && import.version.source == source && of.name == list =>
        {
            Some(Arc::clone(file))
        }
        (ImportPayload::Labels(_) | ImportPayload::Market(_), _) => None,
    })
}

/// All imports of labels.
fn label_table(versions: &[Import], disputes: &Arc<Disputes>) -> LabelTable {
    let mut lists: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut imports = Vec::new();
    let mut imported_at = None;
    for import in versions {
        let (ImportPayload::Labels(file), Some(of)) = (&import.brought, &import.version.list) else { continue };
        let next = lists.len();
        let list = *lists.entry((&import.version.source, &of.name)).or_insert(next);
        let (version, is_in_force) = (import.version.version, import.version.in_force);
        let ended_at = (of.vanished == MissingClaims::End).then_some(of.ended_at);
        let terms = ListTerms { generation: of.generation, rolled_back: of.rolled_back, ended_at };
        let (source, licence) = (import.version.source.clone(), of.licence.clone());
        let edition = |group: &String| SanctionsEdition {
            group: group.clone(),
            source: source.clone(),
            list: of.name.clone(),
            dated: of.ended_at,
        };
        let sanctions = of.sanctions_of.iter().map(edition).collect();
        let origin = Arc::new(ListOrigin { source, list: of.name.clone(), licence });
        imports.push(ImportRow { version, list, is_in_force, terms, origin, sanctions, file: Arc::clone(file) });
        if is_in_force {
            imported_at = imported_at.max(Some(of.imported_at));
        }
    }
    LabelTable::new(imports, imported_at, Arc::clone(disputes))
}

#[derive(Serialize, Deserialize)]
struct ListingLine {
    chain: Chain,
    contract: String,
    symbol: String,
    name: String,
    decimals: u8,
    verified: bool,
    coingecko_id: Option<String>,
}

/// The price is text, so that it comes back to the last bit.
#[derive(Serialize, Deserialize)]
struct PriceLine {
    symbol: String,
    time: Timestamp,
    usd: String,
}

/// As with a price.
#[derive(Serialize, Deserialize)]
struct FxLine {
    currency: String,
    time: Timestamp,
    per_usd: String,
}

impl Entries {
    fn to_lines(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Tokens(listings) => listings.iter().for_each(|listing| {
                let TokenListing { chain, contract, symbol, name, decimals, verified, coingecko_id } = listing.clone();
                let contract = contract.to_string();
                push_line(&mut out, &ListingLine { chain, contract, symbol, name, decimals, verified, coingecko_id });
            }),
            Self::Prices(points) => points.iter().for_each(|point| {
                let PricePoint { symbol, time, usd } = point.clone();
                push_line(&mut out, &PriceLine { symbol, time, usd: usd.to_string() });
            }),
            Self::Fx(points) => points.iter().for_each(|point| {
                let FxPoint { currency, time, per_usd } = point.clone();
                push_line(&mut out, &FxLine { currency, time, per_usd: per_usd.to_string() });
            }),
        }
        out
    }

    /// Reads what [`Entries::to_lines`] wrote; an error is the text of what is wrong.
    pub(super) fn from_lines(kind: ImportKind, bytes: &[u8]) -> std::result::Result<Self, String> {
        let lines = || bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        match kind {
            ImportKind::Tokens => lines().map(read_listing).collect::<std::result::Result<_, _>>().map(Self::Tokens),
            ImportKind::Prices => lines().map(read_price).collect::<std::result::Result<_, _>>().map(Self::Prices),
            ImportKind::Fx => lines().map(read_rate).collect::<std::result::Result<_, _>>().map(Self::Fx),
            ImportKind::Labels => Err("labels are not written as lines".to_owned()),
        }
    }
}

fn push_line(out: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *out, line).expect("plain records always have a JSON form");
    out.push(b'\n');
}

fn read_listing(line: &[u8]) -> std::result::Result<TokenListing, String> {
    let ListingLine { chain, contract, symbol, name, decimals, verified, coingecko_id } =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let contract = Address::parse(chain, &contract).map_err(|error| error.to_string())?;
    Ok(TokenListing { chain, contract, symbol, name, decimals, verified, coingecko_id })
}

fn read_price(line: &[u8]) -> std::result::Result<PricePoint, String> {
    let PriceLine { symbol, time, usd } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let usd = usd.parse().map_err(|_| format!("{usd:?} is not a price"))?;
    Ok(PricePoint { symbol, time, usd })
}

fn read_rate(line: &[u8]) -> std::result::Result<FxPoint, String> {
    let FxLine { currency, time, per_usd } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let per_usd = per_usd.parse().map_err(|_| format!("{per_usd:?} is not an exchange rate"))?;
    Ok(FxPoint { currency, time, per_usd })
}

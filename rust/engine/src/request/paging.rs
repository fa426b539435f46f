//! Pages and cursors of POST lists.
//!
//! A page is a number, and reaches only so far; a cursor is the content of the last row with the generation it was
//! read from, and reaches everything. Both give the same rows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headwater_ledger::clusters::FirstSeen;
use headwater_ledger::read::{MovementKind, Ordinal, PostingKey};
use headwater_types::TxHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checks::{Checks, ListBounds, refused};
use crate::fields::NextCursor;
use crate::limits::{DEFAULT_LIMIT, MAX_CURSOR, PAGE_WINDOW};
use crate::{Error, Pagination, Reason};

/// Which rows of a list are wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paging {
    /// Rows per page; `u32::MAX` for all.
    pub limit: u32,
    /// The page, from 1; with a cursor only what the answer echoes.
    pub page: u32,
    /// Go on behind this row instead of counting pages.
    pub after: Option<CursorKey>,
    /// Rows before the page, where they are given as such; the page is 1 then. With a cursor only what the answer echoes.
    offset: u32,
    filter_hash: u64,
}

impl Paging {
    /// Checks what a request says; `filter_hash` is that of its filters.
    ///
    /// # Errors
    /// `limit_out_of_range`, `page_window`, `invalid_value` for a text that is no cursor, `cursor_expired` for one
    /// that was made under other filters.
    pub fn new(
        limit: Option<i64>,
        page: Option<i64>,
        cursor: Option<&str>,
        checks: &Checks<'_>,
    ) -> Result<Self, Error> {
        let bounds = checks.list_bounds(DEFAULT_LIMIT, checks.max_rows);
        Self::within((checks.filter_hash, bounds), limit, page, cursor)
    }

    fn within(
        (filter_hash, bounds): (u64, ListBounds),
        limit: Option<i64>,
        page: Option<i64>,
        cursor: Option<&str>,
    ) -> Result<Self, Error> {
        let limit = checked_limit(limit, bounds)?;
        if let Some(text) = cursor.filter(|text| !text.is_empty()) {
            let cursor = Cursor::parse(text)?;
            if cursor.filter_hash != filter_hash {
                let why = "the filters or the order are not those that the cursor was made for: start again from the first page";
                return Err(refused(Reason::CursorExpired, "cursor", text, &why));
            }
            return Ok(Self { limit, page: cursor.page, after: Some(cursor.key), offset: cursor.offset, filter_hash });
        }
        let page = match page.unwrap_or(0) {
            0 => 1,
            page => u64::try_from(page).map_err(|_| {
                refused(
                    Reason::InvalidValue,
                    "page",
                    &page.to_string(),
                    &"expected 0 or more (0 and 1 are the first page)",
                )
            })?,
        };
        match u32::try_from(page) {
            Ok(page) if u64::from(page) * u64::from(limit) <= bounds.window => {
                Ok(Self { limit, page, after: None, offset: 0, filter_hash })
            }
            _ => {
                let why =
                    format!("page times limit may reach {}: go on with `cursor` from `next_cursor`", bounds.window);
                let error = refused(Reason::PageWindow, "page", &page.to_string(), &why);
                Err(Error { limit: Some(bounds.window), ..error })
            }
        }
    }

    /// The same for a GET list, which counts rows instead of pages.
    ///
    /// # Errors
    /// As [`Paging::new`].
    pub fn of_offset(
        limit: Option<i64>,
        offset: Option<i64>,
        cursor: Option<&str>,
        checks: &Checks<'_>,
    ) -> Result<Self, Error> {
        let bounds = checks.list_bounds(DEFAULT_LIMIT, checks.max_rows);
        let Offsets { offset, .. } = Offsets::within(limit, offset, bounds)?;
        let paging = Self::new(limit, None, cursor, checks)?;
        if u64::from(offset) + u64::from(paging.limit) > bounds.window {
            let why = format!("offset and limit may reach {}: go on with `cursor` from `next_cursor`", bounds.window);
            let error = refused(Reason::PageWindow, "offset", &offset.to_string(), &why);
            return Err(Error { limit: Some(bounds.window), ..error });
        }
        Ok(if paging.after.is_some() { paging } else { Self { offset, ..paging } })
    }

    /// What `meta.pagination` says of it.
    pub fn pagination(&self, total: usize) -> Pagination {
        Pagination { limit: self.shown_limit(total), offset: self.offset, total: u64::try_from(total).ok() }
    }

    /// Number of rows before the page, where pages or rows are counted.
    pub fn skipped(&self) -> usize {
        match self.after {
            Some(_) => 0,
            None => {
                let pages = usize::try_from(self.page - 1).expect("a page fits");
                pages * self.size() + usize::try_from(self.offset).expect("an offset fits")
            }
        }
    }

    /// Rows per page.
    pub fn size(&self) -> usize {
        usize::try_from(self.limit).expect("a limit fits")
    }

    /// The limit that an answer shows: that of the request, and of a whole list its `rows`.
    fn shown_limit(&self, rows: usize) -> u32 {
        if self.limit < u32::MAX { self.limit } else { u32::try_from(rows.max(1)).unwrap_or(u32::MAX) }
    }

    /// Number of pages that hold `rows` rows.
    fn pages(&self, rows: usize) -> i64 {
        i64::try_from(rows.div_ceil(self.size())).expect("pages fit")
    }

    /// The paging record of a page of `rows`, of `total` rows where these were counted. `next` is the key of the last row when
    /// more rows follow.
    pub fn info(
        &self,
        rows: usize,
        next: Option<CursorKey>,
        total: Option<usize>,
        generation: u64,
        as_of_block: Option<u64>,
    ) -> PageInfo {
        let next_cursor = next.map(|key| {
            let (page, offset) = (self.page.saturating_add(1), self.offset.saturating_add(self.limit));
            Cursor { generation, as_of_block, filter_hash: self.filter_hash, page, offset, key }.to_text()
        });
        PageInfo {
            has_more: next_cursor.is_some(),
            limit: self.shown_limit(rows),
            page: self.page,
            total_pages: total.map_or(-1, |rows| self.pages(rows)),
            total: total.and_then(|rows| u64::try_from(rows).ok()),
            next_cursor: next_cursor.map(NextCursor),
        }
    }
}

/// Which rows of a GET list are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    /// Rows per page.
    pub limit: u32,
    /// Rows before the page.
    pub offset: u32,
}

impl Offsets {
    /// Checks what a request says; a `limit` of 0 is the default.
    ///
    /// # Errors
    /// `limit_out_of_range`, or `invalid_value` for an offset below zero or past 2147483647.
    pub fn new(limit: Option<i64>, offset: Option<i64>, default: u32, max: u32) -> Result<Self, Error> {
        Self::within(limit, offset, ListBounds { default, max, window: PAGE_WINDOW })
    }

    /// The same for a list with bounds.
    pub(crate) fn within(limit: Option<i64>, offset: Option<i64>, bounds: ListBounds) -> Result<Self, Error> {
        let limit = checked_limit(limit, bounds)?;
        let offset = offset.unwrap_or(0);
        let offset = whole("offset", offset)?;
        Ok(Self { limit, offset })
    }

    /// Number of the first row from 0, and of the one behind the last.
    #[must_use]
    pub fn range(self) -> (u64, u64) {
        (u64::from(self.offset), u64::from(self.offset) + u64::from(self.limit))
    }
}

/// A number from 0 to what the 32-bit integers of the interface hold.
pub(crate) fn whole(field: &str, number: i64) -> Result<u32, Error> {
    i32::try_from(number).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let why = format!("expected 0 to {}, got {number}", i32::MAX);
        refused(Reason::InvalidValue, field, &number.to_string(), &why)
    })
}

/// Checks `min_interactions`.
pub(crate) fn least_interactions(number: Option<i64>) -> Result<u64, Error> {
    whole("min_interactions", number.unwrap_or(0)).map(u64::from)
}

/// A number of rows: 0 stands for the default, and more than the maximum is refused.
fn checked_limit(limit: Option<i64>, ListBounds { default, max, .. }: ListBounds) -> Result<u32, Error> {
    match limit.unwrap_or(0) {
        0 => Ok(default),
        limit => u32::try_from(limit).ok().filter(|limit| *limit <= max).ok_or_else(|| {
            let why = match default {
                u32::MAX => format!("expected 0 or more (0 is all rows), got {limit}"),
                default => format!("expected 0 to {max} (0 is the default of {default}), got {limit}"),
            };
            let error = refused(Reason::LimitOutOfRange, "limit", &limit.to_string(), &why);
            Error { limit: Some(u64::from(max)), ..error }
        }),
    }
}

/// The paging record of POST lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PageInfo {
    /// Whether more rows follow.
    pub has_more: bool,
    /// Page size used.
    #[schema(minimum = 1)]
    pub limit: u32,
    /// Page given, from 1.
    #[schema(minimum = 1)]
    pub page: u32,
    /// Number of pages; -1 when counting would be expensive.
    #[schema(minimum = -1)]
    pub total_pages: i64,
    /// Number of rows on all pages; null when counting would be expensive.
    pub total: Option<u64>,
    /// Give this as `cursor` to go on behind the last row; null on the last page.
    pub next_cursor: Option<NextCursor>,
}

/// A place in a list that a client carries to the next call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cursor {
    /// The generation that all pages are read from.
    pub generation: u64,
    /// The last block of that generation.
    pub as_of_block: Option<u64>,
    /// Hash of endpoint and filters.
    pub filter_hash: u64,
    /// The page that follows.
    pub page: u32,
    /// Rows before it, of a list that counts rows.
    pub offset: u32,
    /// The last row given.
    pub key: CursorKey,
}

/// What names a row by content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CursorKey {
    /// A movement of a list of transfers.
    Posting(PostingKey),
    /// A row of a ranking: the counterparty, and the asset where rows are split by asset.
    Counterparty {
        /// Canonical address.
        address: String,
        /// Contract, empty for the native coin; `None` where rows are not split.
        asset: Option<String>,
    },
    /// An address of a cluster, by where it appears first.
    Member(FirstSeen),
}

#[derive(Serialize, Deserialize)]
struct Wire {
    g: u64,
    b: Option<u64>,
    f: u64,
    p: u32,
    #[serde(default)]
    o: u32,
    k: WireKey,
}

#[derive(Serialize, Deserialize)]
enum WireKey {
    P(u64, Option<u32>, String, MovementKind, bool, u64),
    C(String, Option<String>),
    M(u64, u32, u64, u32),
}

impl Cursor {
    /// The generation that the cursor of a request pins.
    ///
    /// # Errors
    /// `invalid_value` when the field holds no cursor.
    pub fn pinned(request: &Value) -> Result<Option<u64>, Error> {
        match request.get("cursor").and_then(Value::as_str) {
            None | Some("") => Ok(None),
            Some(text) => Self::parse(text).map(|cursor| Some(cursor.generation)),
        }
    }

    fn to_text(&self) -> String {
        let k = match &self.key {
            CursorKey::Posting(key) => {
                let (indexed, number) = match key.ordinal {
                    Ordinal::Indexed(number) => (true, number),
                    Ordinal::Unindexed(number) => (false, number),
                };
                let hash = URL_SAFE_NO_PAD.encode(key.hash.as_bytes());
                WireKey::P(key.block, key.index, hash, key.kind, indexed, number)
            }
            CursorKey::Counterparty { address, asset } => WireKey::C(address.clone(), asset.clone()),
            CursorKey::Member(FirstSeen { block, index, hash, position }) => {
                WireKey::M(*block, *index, *hash, *position)
            }
        };
        let wire =
            Wire { g: self.generation, b: self.as_of_block, f: self.filter_hash, p: self.page, o: self.offset, k };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("a cursor is plain data"))
    }

    fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            refused(
                Reason::InvalidValue,
                "cursor",
                text,
                &"this is no cursor: give `next_cursor` of an answer unchanged",
            )
        })
    }

    fn read(text: &str) -> Option<Self> {
        let text = Some(text).filter(|text| text.len() <= MAX_CURSOR)?;
        let wire: Wire = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let key = match wire.k {
            WireKey::P(block, index, hash, kind, indexed, number) => {
                let hash = TxHash::new(URL_SAFE_NO_PAD.decode(hash).ok()?.try_into().ok()?);
                let ordinal = if indexed { Ordinal::Indexed(number) } else { Ordinal::Unindexed(number) };
                CursorKey::Posting(PostingKey { block, index, hash, kind, ordinal })
            }
            WireKey::C(address, asset) => CursorKey::Counterparty { address, asset },
            WireKey::M(block, index, hash, position) => CursorKey::Member(FirstSeen { block, index, hash, position }),
        };
        let Wire { g: generation, b: as_of_block, f: filter_hash, p: page, o: offset, .. } = wire;
        (page > 0).then_some(Self { generation, as_of_block, filter_hash, page, offset, key })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;
    use crate::limits::MAX_LIMIT;

    fn reason(result: Result<Paging, Error>) -> Reason {
        match result.unwrap_err().kind {
            ErrorKind::InvalidInput(reason) => reason,
            kind => panic!("{kind:?}"),
        }
    }

    fn paging(limit: Option<i64>, page: Option<i64>, cursor: Option<&str>, filter_hash: u64) -> Result<Paging, Error> {
        let bounds = ListBounds { default: DEFAULT_LIMIT, max: MAX_LIMIT, window: PAGE_WINDOW };
        Paging::within((filter_hash, bounds), limit, page, cursor)
    }

    fn key() -> CursorKey {
        CursorKey::Posting(PostingKey {
            block: 7,
            index: None,
            hash: TxHash::new([9; 32]),
            kind: MovementKind::Token,
            ordinal: Ordinal::Unindexed(u64::MAX),
        })
    }

    #[test]
    fn zero_means_not_given_and_the_maximum_is_refused_not_clamped() {
        let first = paging(Some(0), Some(0), None, 1).unwrap();
        assert_eq!((first.limit, first.page, first.skipped()), (20, 1, 0));
        assert_eq!(paging(Some(1000), Some(100), None, 1).unwrap().skipped(), 99_000);
        assert_eq!(reason(paging(Some(1001), None, None, 1)), Reason::LimitOutOfRange);
        assert_eq!(reason(paging(Some(-1), None, None, 1)), Reason::LimitOutOfRange);
        assert_eq!(reason(paging(Some(1000), Some(101), None, 1)), Reason::PageWindow);
        assert_eq!(reason(paging(None, Some(i64::MAX), None, 1)), Reason::PageWindow);
        assert_eq!(reason(paging(None, Some(-1), None, 1)), Reason::InvalidValue);
    }

    #[test]
    fn a_cursor_comes_back_as_it_went_and_only_with_its_filters() {
        let first = paging(Some(5), None, None, 1).unwrap();
        let text = first.info(1, Some(key()), None, 3, Some(7)).next_cursor.unwrap();
        let next = paging(Some(5), None, Some(&text), 1).unwrap();
        assert_eq!((next.page, next.skipped(), next.after), (2, 0, Some(key())));
        assert_eq!(Cursor::pinned(&json!({"cursor": text})).unwrap(), Some(3));
        assert_eq!(reason(paging(None, None, Some(&text), 2)), Reason::CursorExpired);
        assert_eq!(reason(paging(None, None, Some("x"), 1)), Reason::InvalidValue);
        assert_eq!(reason(paging(None, None, Some(&text[1..]), 1)), Reason::InvalidValue);
    }

    #[test]
    fn a_cursor_knows_how_many_rows_lie_before_its_page() {
        let text = paging(Some(3), None, None, 1).unwrap().info(1, Some(key()), None, 3, None).next_cursor.unwrap();
        let second = paging(Some(5), None, Some(&text), 1).unwrap();
        assert_eq!((second.pagination(20).offset, second.skipped()), (3, 0));
        let text = second.info(1, Some(key()), None, 3, None).next_cursor.unwrap();
        assert_eq!(paging(Some(5), None, Some(&text), 1).unwrap().pagination(20).offset, 8);
    }
}

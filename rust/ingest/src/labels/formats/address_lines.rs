//! Lines of lists without columns: an address and a remark, items of Markdown lists, rows of Markdown tables.

use super::table::{denies_crime, may_deny};
use crate::networks::names_network;
use crate::source::{ListedItems, Probe, has_address_form, is_exception, truth};

/// The kind of a line of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Addresses, one with the remark beside it.
    Addresses(Vec<(String, Option<String>)>),
    /// A row of a Markdown table.
    Row(Box<TableRow>),
    /// A row of so many fields that a header would have to name.
    Fields(usize),
    /// A row of a Markdown table with a column that may deny rows, which is not read here.
    Denying(String),
    /// A text that does not begin with an address.
    Prose,
    /// A blank line, a comment, a heading or a rule.
    Other,
}

/// A row of a Markdown table, by its header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TableRow {
    pub(super) address: String,
    pub(super) name: Option<String>,
    pub(super) entity: Option<String>,
    pub(super) code: Option<String>,
    pub(super) chain: Option<String>,
    pub(super) coin: Option<String>,
}

/// Headers of Markdown tables.
const NAMES: &str = "name label tag nametag title description note notes remark comment details";
const ENTITIES: &str = "entity owner project organisation organization actor";
const CODES: &str = "code category type";
const CHAINS: &str = "chain network blockchain";
const COINS: &str = "coin asset currency cryptocurrency ticker";
/// Words above a list that are its header.
const HEADERS: &str = "address addresses wallet wallets account accounts";

/// Words behind a denial that add nothing to it: `innocent user`, `safe addresses`.
const DENIED: &str =
    "address addresses wallet wallets account accounts user users contract contracts exchange exchanges";
/// Words for an end, of a list or of a case, with which a remark or a heading begins.
const ENDED: &str = "removed delisted unlisted cleared revoked retracted withdrawn refunded";
/// Words behind a word for an end.
const AFTER_END: &str = "from on in by since after";

/// Lines of a head that are looked at to recognise a list.
const LOOKED_AT: usize = 5_000;
/// Files that describe a folder, and files of source text: addresses in them are examples and constants.
const DOCUMENTS: [&str; 4] = ["readme", "license", "changelog", "contributing"];
const CODE: [&str; 11] = [".py", ".js", ".ts", ".sol", ".rs", ".go", ".sh", ".java", ".ipynb", ".toml", ".lock"];
/// The level of headings without a mark of Markdown.
const LOWEST_LEVEL: usize = 7;
/// A line longer than this is not part of a list.
const LONGEST: usize = 4_096;

/// Returns whether a file of text lists addresses.
pub(super) fn lists(probe: &Probe) -> bool {
    let name = probe.input().name().to_ascii_lowercase();
    if DOCUMENTS.iter().any(|start| name.starts_with(start)) || CODE.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let Ok(head) = std::str::from_utf8(probe.head()).or_else(|error| {
        let valid = probe.head().get(..error.valid_up_to()).unwrap_or_default();
        std::str::from_utf8(valid)
    }) else {
        return false;
    };
    let text = head.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') || text.contains('\0') {
        return false;
    }
    let mut lines = LineReader::default();
    let mut items = ListedItems::default();
    for line in text.lines().take(LOOKED_AT) {
        match lines.read(line) {
            Line::Addresses(_) | Line::Row(_) | Line::Fields(_) | Line::Denying(_) => items.add(true),
            Line::Prose => items.add(false),
            Line::Other => {}
        }
    }
    items.is_list()
}

/// Returns whether a file is a table: a header, and rows of as many fields.
pub(super) fn is_table(probe: &Probe) -> bool {
    let columns = probe.columns();
    let has_header = !columns.iter().any(|name| has_address_form(name.trim()));
    let fields = columns.iter().filter(|name| probe.first(name).is_some()).count();
    has_header && columns.len() > 1 && (fields > 1 || fields == columns.len())
}

/// Reads the lines of a list, one after the other.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// The heading above the line.
    pub(super) heading: String,
    /// The headings around the line that name a network, with their levels.
    networks: Vec<(usize, String)>,
    /// Names of columns that nothing was read from.
    pub(super) unread: Vec<String>,
    /// The header of the table around the line.
    header: Vec<String>,
    is_comment: bool,
}

impl LineReader {
    /// Reads the next line.
    pub(super) fn read(&mut self, line: &str) -> Line {
        let line = line.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
        if self.is_comment {
            self.is_comment = !line.contains("-->");
            return Line::Other;
        }
        if line.starts_with('|') {
            return self.read_cells(line);
        }
        self.header.clear();
        if line.starts_with("<!--") {
            self.is_comment = !line.contains("-->");
            return Line::Other;
        }
        if let Some(heading) = heading(line) {
            heading.clone_into(&mut self.heading);
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            let level = if level == 0 { LOWEST_LEVEL } else { level };
            self.networks.retain(|(above, _)| *above < level);
            self.networks.extend(network(heading).map(|name| (level, name.to_owned())));
            return Line::Other;
        }
        let is_comment = ["#", "//", ";", "--", "%", "/*", "*/"].iter().any(|mark| line.starts_with(mark));
        let is_blank = !line.contains(char::is_alphanumeric);
        if is_comment || is_blank || is_in(HEADERS, line) {
            return Line::Other;
        }
        item(line)
    }

    /// Returns the network that the nearest heading with one names.
    pub(super) fn network(&self) -> Option<&str> {
        self.networks.last().map(|(_, name)| name.as_str())
    }

    fn read_cells(&mut self, line: &str) -> Line {
        let inner = line.strip_prefix('|').unwrap_or(line);
        let cells: Vec<&str> = inner.strip_suffix('|').unwrap_or(inner).split('|').map(bare).collect();
        if !cells.iter().any(|cell| cell.contains(char::is_alphanumeric)) {
            return Line::Other;
        }
        let Some(address) = cells.iter().position(|cell| has_address_form(cell)) else {
            if !self.header.is_empty() {
                return Line::Prose;
            }
            self.header = cells.iter().map(|cell| (*cell).to_owned()).collect();
            return Line::Other;
        };
        // Which of several addresses the row is about is open.
        if cells.iter().any(|cell| has_address_form(cell) && !is_same(cell, cells[address])) {
            return Line::Prose;
        }
        let is_read = |header: &str| [NAMES, ENTITIES, CODES, CHAINS, COINS].iter().any(|words| is_in(words, header));
        let mut others = self.header.iter().enumerate().filter(|(place, _)| *place != address);
        if let Some((_, header)) = others.find(|(_, header)| !is_read(header) && may_deny(header)) {
            return Line::Denying(header.clone());
        }
        let mut found = TableRow { address: cells[address].to_owned(), ..TableRow::default() };
        let others = cells
            .iter()
            .enumerate()
            .filter(|(place, cell)| *place != address && !cell.is_empty() && !has_address_form(cell));
        let is_only = cells.len() == 2;
        for (place, cell) in others {
            let header = self.header.get(place).map(String::as_str).unwrap_or_default();
            let part = match header {
                header if is_in(NAMES, header) => &mut found.name,
                header if is_in(ENTITIES, header) => &mut found.entity,
                header if is_in(CODES, header) => &mut found.code,
                header if is_in(CHAINS, header) => &mut found.chain,
                header if is_in(COINS, header) => &mut found.coin,
                _ if is_only => &mut found.name,
                header => {
                    let header = if header.is_empty() { format!("column {}", place + 1) } else { header.to_owned() };
                    if !self.unread.contains(&header) {
                        self.unread.push(header);
                    }
                    continue;
                }
            };
            match part {
                Some(text) => *text = format!("{text}, {cell}"),
                None => *part = Some((*cell).to_owned()),
            }
        }
        Line::Row(Box::new(found))
    }
}

fn is_in(words: &str, text: &str) -> bool {
    let plain: String = text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    words.split_whitespace().any(|word| word == plain)
}

/// Returns the network that a text names and nothing else: `Litecoin`, `(BCH)`.
pub(super) fn network(text: &str) -> Option<&str> {
    let text = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    names_network(text).then_some(text)
}

/// Returns whether a line is the header of a table of several columns, one of them of addresses.
pub(super) fn is_header(line: &str) -> bool {
    let cells = || line.split([',', ';', '\t']);
    let is_address = |cell: &str| is_in(HEADERS, cell) || is_in("walletaddress cryptoaddress", cell);
    cells().count() > 1 && cells().any(is_address)
}

/// Returns the link to an address in a line.
pub(super) fn link_to<'l>(line: &'l str, address: &str) -> Option<&'l str> {
    let mut words = line.split(|letter: char| letter.is_whitespace() || "()[]<>|,;\"'`".contains(letter));
    words.find(|word| word.contains("://") && is_same(word.trim_end_matches('.'), address))
}

/// Returns whether a remark, a heading or the name of a member says that an address is not on the list: in full, or in a part
/// between commas and brackets.
pub(super) fn denies(text: &str) -> bool {
    is_exception(text)
        || is_no(text.trim()) == Some(true)
        || denies_part(text)
        || text.split([',', ';', '|', '(', ')', '[', ']', ':', '=', '?']).any(denies_part)
        || [" - ", " – ", " — ", " / "].iter().any(|mark| text.split(mark).any(denies_part))
}

/// Returns whether a text is a word for no, or one for yes.
pub(super) fn is_no(text: &str) -> Option<bool> {
    let is_one = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_true = truth(text).or_else(|| is_one(&["yes", "y", "t"]).then_some(true));
    is_true.or_else(|| is_one(&["no", "n", "f"]).then_some(false)).map(|is_true| !is_true)
}

fn denies_part(part: &str) -> bool {
    let words: Vec<&str> =
        part.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    // `No. 5` counts.
    if first.eq_ignore_ascii_case("no") && rest.first().is_some_and(is_number) {
        return false;
    }
    let is_false = rest.is_empty() && ["no", "false"].iter().any(|word| first.eq_ignore_ascii_case(word));
    let is_ended = is_in(ENDED, first)
        && rest.first().is_none_or(|next| is_in(AFTER_END, next) || is_in(DENIED, next) || is_number(next));
    // `No KYC exchange` is whole as it stands.
    let is_negated = is_in("no not non", first);
    let rest = words.iter().rposition(|word| !is_in(DENIED, word)).map_or(0, |last| last + 1);
    let rest = words.get(..rest).unwrap_or_default().join(" ");
    is_false || is_ended || denies_crime(part) || (!is_negated && !rest.is_empty() && denies_crime(&rest))
}

/// Returns the text of a heading: `## Addresses`, `Addresses:`, `**Addresses**`.
fn heading(line: &str) -> Option<&str> {
    let of_markdown =
        line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')).filter(|rest| rest.starts_with(' '));
    let of_bold = || line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let of_colon = || line.strip_suffix(':').filter(|rest| !rest.contains(':'));
    let text = of_markdown.or_else(of_bold).or_else(of_colon)?.trim();
    (!text.split(char::is_whitespace).any(|word| has_address_form(bare(word)))).then_some(text)
}

/// Returns a text without the marks of Markdown and code around it; of a link in Markdown, its text or target.
fn bare(text: &str) -> &str {
    let is_mark = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '`' | '*' | '"' | '\'' | ',' | ';' | '[' | ']' | '(' | ')' | '<' | '>' | '{' | '}')
    };
    let text = text.trim().trim_matches(is_mark).trim_end_matches(['.', ':', '!']);
    match text.split_once("](") {
        Some((label, target)) if !has_address_form(label) && has_address_form(target) => target,
        Some((label, _)) => label.trim_matches(is_mark),
        None => text,
    }
}

/// Returns an item without its bullet or number: `- x`, `* x`, `1. x`, `[ ] x`.
fn without_bullet(line: &str) -> &str {
    let mut line = line;
    for bullet in ["- ", "* ", "+ ", "• ", "– ", "[ ] ", "[x] ", "> "] {
        line = line.strip_prefix(bullet).map_or(line, str::trim_start);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=6).contains(&digits).then(|| line.get(digits..)).flatten();
    let rest = numbered.and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")));
    rest.map_or(line, str::trim_start)
}

/// Returns where the first word of an item ends.
fn word_end(text: &str) -> usize {
    let is_end =
        |letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '|' | '=' | '"' | '\'' | '`' | ')' | ']');
    let colon = text.find(": ").or_else(|| text.strip_suffix(':').map(str::len));
    let end = text.find(is_end).unwrap_or(text.len());
    colon.map_or(end, |colon| end.min(colon))
}

/// Reads an item of a list.
fn item(line: &str) -> Line {
    if line.len() > LONGEST {
        return Line::Prose;
    }
    let is_open = |letter: char| matches!(letter, '`' | '*' | '"' | '\'' | '[' | '(' | '<' | '{');
    let text = without_bullet(line).trim_start_matches(is_open);
    let (word, rest) = text.split_at(word_end(text));
    if !has_address_form(bare(word)) {
        return Line::Prose;
    }
    let address = bare(word).to_owned();
    // The target of a Markdown link says nothing more.
    let rest = rest.strip_prefix("](").map_or(rest, |link| link.split_once(')').map_or("", |(_, rest)| rest));
    let rest = rest.trim_start_matches(['"', '\'', '`', '*', ']', ')']);
    if let Some(delimiter) = rest.chars().next().filter(|letter| matches!(letter, ',' | ';' | '\t' | '|')) {
        let fields: Vec<&str> = rest.split(delimiter).skip(1).map(str::trim).collect();
        let is_address = |field: &&&str| has_address_form(bare(field));
        let filled = fields.iter().filter(|field| !bare(field).is_empty()).count();
        let addresses = fields.iter().filter(is_address).count();
        if addresses == filled {
            return Line::Addresses(several(address, fields.iter().map(|field| bare(field))));
        }
        if filled > 1 && !rest.contains(", ") {
            return Line::Fields(filled + 1);
        }
    }
    // A link to the address itself says nothing more.
    let is_other = |word: &&str| !has_address_form(plain(word)) || !is_same(plain(word), &address);
    let rest = &rest.split_whitespace().filter(is_other).collect::<Vec<_>>().join(" ");
    let words = || rest.split_whitespace().map(plain);
    if words().any(has_address_form) {
        // Several addresses in a line are a list; in a sentence or beside an arrow they are not.
        let is_separator = |letter: char| letter.is_whitespace() || ",;|&+\"'`*()[]{}.".contains(letter);
        let is_listed = |word: &str| {
            let word = word.trim_matches(is_separator);
            word.is_empty() || has_address_form(if word.contains("](") { bare(word) } else { word })
        };
        if !rest.split_whitespace().all(is_listed) {
            return Line::Prose;
        }
        return Line::Addresses(several(address, words()));
    }
    Line::Addresses(vec![(address, remark(rest))])
}

/// Returns a word without the marks around it, arrows included.
fn plain(word: &str) -> &str {
    bare(word.trim_matches(|letter: char| !letter.is_alphanumeric()))
}

/// Returns the addresses of a line that lists several; a link to the first one is not another.
fn several<'t>(address: String, words: impl Iterator<Item = &'t str>) -> Vec<(String, Option<String>)> {
    let others =
        words.filter(|word| has_address_form(word) && !is_same(word, &address)).map(|word| (word.to_owned(), None));
    let others: Vec<_> = others.collect();
    std::iter::once((address, None)).chain(others).collect()
}

/// Returns whether two texts have one address, alone or in a link.
fn is_same(one: &str, other: &str) -> bool {
    let key = |text: &str| text.rsplit(['/', ':']).next().unwrap_or_default().to_lowercase();
    key(one) == key(other)
}

/// Returns the text behind an address, without the marks between the two.
fn remark(rest: &str) -> Option<String> {
    let is_between = |letter: char| {
        letter.is_whitespace()
            || matches!(
                letter,
                '-' | '–' | '—' | ':' | ',' | ';' | '|' | '=' | '>' | '→' | '#' | '/' | '"' | '\'' | '`' | '*'
            )
    };
    let text = rest.trim_matches(is_between);
    let inner =
        text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).filter(|inner| !inner.contains(['(', ')']));
    let text = inner.unwrap_or(text).trim_end_matches(['}', ']']).trim_matches(is_between);
    text.contains(char::is_alphanumeric).then(|| text.to_owned())
}

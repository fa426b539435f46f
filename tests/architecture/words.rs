//! The language of the house is plain: banned words and forms are counted per crate, and their budgets only fall.
//!
//! `words.csv` contains the budgets. `HEADWATER_WRITE=1` lowers them to the counts of today and never raises one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;

const BUDGETS: &str = "tests/architecture/words.csv";

/// The file that lists the banned words and is therefore not counted.
const EXEMPT: &str = "tests/architecture/words.rs";

const LONGEST_TEST_NAME: usize = 60;

/// The number of places that a failure lists for each count.
const PLACES: usize = 8;

/// The kinds that are counted, in the order of the columns of the budget file, with the advice of a failure.
const KINDS: [(&str, &str); 10] = [
    ("type_name", "name a type by its role: `DeliveryError`, not `Told`"),
    ("coined", "use the standard word: worker pool, priority class, interface, query engine"),
    ("tell", "software returns, reports or contains; it does not tell"),
    ("most_least", "use `max_` and `min_`"),
    ("doc_opening", "open a doc with a verb in the third person or with a noun"),
    ("is_no", "say what is: `is not a valid address`, `not found`, `unknown`"),
    ("go_on", "use continue, or resume"),
    ("stand", "use is, are, appear or remain"),
    ("know", "software does not know; it has, reads or recognises"),
    ("test_name", "name a test by unit, condition and result in at most 60 characters"),
];

/// Types that are named by a participle, pronoun, preposition, adjective or exclamation. Names in `-ed` need no line.
#[rustfmt::skip]
const TYPE_NAMES: &[&str] = &[
    "About", "Again", "Ahead", "Alone", "Asking", "At", "AtEnd", "Away", "Before", "Begin", "Beginning", "Begun",
    "Behind", "Beside", "Between", "Beyond", "Big", "Broken", "Brought", "Built", "Came", "Changing", "Chosen",
    "Closest", "Closing", "Cold", "Comer", "Crew", "Current", "Desk", "Done", "Due", "Elsewhere", "Enough", "Far",
    "Faulty", "Finds", "Found", "Four", "Frozen", "Given", "Growing", "HalfTable", "Hasty", "Held", "HeldBySink",
    "Hidden", "Hostile", "Inside", "Keep", "Keeps", "Kept", "Known", "Lane", "Large", "Largest", "Last", "Later",
    "Latest", "Leaving", "Left", "LeftOut", "Lent", "Listening", "Live", "Looks", "Made", "Making", "Merging", "Met",
    "Moody", "Nameless", "Needs", "Next", "Nothing", "Odd", "Of", "Office", "OnItsWay", "Others", "Out", "Over",
    "Own", "Paid", "PassesBy", "Place", "Plain", "Proven", "Read", "Recurring", "Reserving", "Resolving", "Running",
    "Said", "Says", "Seen", "Sent", "Shown", "ShrinkPolicy", "Silent", "Since", "Six", "Spent", "Strict", "Swept",
    "Taken", "Takes", "Telling", "ToItself", "Told", "Trouble", "Undone", "Unsent", "Waiting", "Who", "Whole",
    "Whom", "Why", "Wide", "Writing", "Written", "Wrong",
];

/// Nouns that end in `-ed`.
const NOUNS_IN_ED: &[&str] = &["Bed", "Feed", "Need", "Seed", "Shed", "Speed"];

const DOC_OPENINGS: &[&str] = &["How", "Of", "What", "Where", "Whether", "Which", "Who", "Whom", "Whose", "Why"];

/// Words and phrases by kind; a space also matches `_`, so that names are counted too.
const PHRASES: &[(&str, &[&str])] = &[
    ("coined", &["crew", "desk", "face", "faces", "lane", "lanes"]),
    ("tell", &["told", "tell", "tells"]),
    ("is_no", &["is no ", "are no ", "was no ", "were no "]),
    ("go_on", &["go on", "goes on", "went on"]),
    ("stand", &["stand", "stands", "stood"]),
    ("know", &["knows", "knew"]),
];

/// What may follow a phrase that is then standard English: "is no longer", "stands for".
const FOLLOWED_BY: &[(&str, &[&str])] =
    &[("is_no", &["longer", "more", "less"]), ("stand", &[" for ", " alone ", "-in"]), ("tell", &[" apart"])];

/// Kinds of a source with the byte offset of each place.
type Places = BTreeMap<&'static str, Vec<usize>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent")
}

/// The folders that are counted, by the name of their row.
fn crates() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("rust"))
        .expect("rust/ is a folder")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.is_dir())
        .map(|path| format!("rust/{}", path.file_name().expect("an entry has a name").to_string_lossy()))
        .collect();
    names.sort();
    names.extend(["server", "python/src", "python/headwater", "tests"].map(str::to_owned));
    names
}

fn sources(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            sources(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
            paths.push(path);
        }
    }
}

/// Returns whether a name of one word is a participle or listed.
fn is_banned_type(name: &str) -> bool {
    let one_word = name.bytes().filter(u8::is_ascii_uppercase).count() == 1;
    TYPE_NAMES.contains(&name) || (one_word && name.ends_with("ed") && !NOUNS_IN_ED.contains(&name))
}

/// Returns the name that `line` declares with one of `keywords`.
fn declared<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut rest = line;
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(after, |(_, rest)| rest);
        rest = rest.trim_start();
    }
    let (keyword, rest) = rest.split_once(' ')?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
    keywords.contains(&keyword).then_some(&rest[..end])
}

/// Adds the places of declarations, docs and test names, which are found line by line.
fn read_lines(text: &str, places: &mut Places) {
    let (mut offset, mut in_doc, mut is_test) = (0, false, false);
    for whole in text.split_inclusive('\n') {
        let (line, at) = (whole.trim(), offset);
        offset += whole.len();
        let mut add = |kind| places.entry(kind).or_default().push(at);
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).or_else(|| line.strip_prefix("\"\"\""));
        if let Some(doc) = doc {
            let first = doc.trim_start().split(|character: char| !character.is_alphabetic()).next();
            if !in_doc && first.is_some_and(|word| DOC_OPENINGS.contains(&word)) {
                add("doc_opening");
            }
            in_doc = !line.starts_with('"');
            continue;
        }
        in_doc = false;
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        }
        if let Some(name) = declared(line, &["struct", "enum", "trait", "type", "union", "class"]) {
            if is_banned_type(name) {
                add("type_name");
            }
        } else if let Some(name) = declared(line.strip_prefix("async ").unwrap_or(line), &["fn", "def"]) {
            if (is_test || name.starts_with("test_")) && name.len() > LONGEST_TEST_NAME {
                add("test_name");
            }
            is_test = false;
        }
    }
}

/// Returns whether nothing of a longer word touches the range; a capital letter begins a word of a type's name.
fn is_word(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let starts = range.start == 0
        || !bytes[range.start - 1].is_ascii_alphanumeric()
        || (bytes[range.start].is_ascii_uppercase() && bytes[range.start - 1].is_ascii_lowercase());
    let last = bytes[range.end - 1];
    starts && (!last.is_ascii_alphanumeric() || bytes.get(range.end).is_none_or(|next| !next.is_ascii_lowercase()))
}

/// Adds the places of words and phrases, in text and in names.
fn read_phrases(text: &str, places: &mut Places) {
    for (kind, phrases) in PHRASES {
        let exempt = FOLLOWED_BY.iter().find(|(name, _)| name == kind).map_or(&[][..], |(_, after)| after);
        for phrase in *phrases {
            let capital = format!("{}{}", phrase[..1].to_uppercase(), &phrase[1..]);
            let mut forms = vec![(*phrase).to_owned(), capital];
            forms.extend(phrase.contains(' ').then(|| phrase.replace(' ', "_")));
            for form in forms {
                let found = text.match_indices(&form).map(|(at, form)| at..at + form.len());
                let counted = found.filter(|range| {
                    let rest = &text[range.end..];
                    is_word(text, range) && !exempt.iter().any(|after| rest.starts_with(after))
                });
                places.entry(kind).or_default().extend(counted.map(|range| range.start));
            }
        }
    }
    for form in ["most_", "least_", "MOST_", "LEAST_"] {
        let starts = text.match_indices(form).map(|(at, _)| at).filter(|&at| {
            at == 0 || {
                let before = text.as_bytes()[at - 1];
                !before.is_ascii_alphanumeric() && before != b'_'
            }
        });
        places.entry("most_least").or_default().extend(starts);
    }
}

/// Returns the places of each kind in a crate, as `file:line`.
fn count(name: &str) -> BTreeMap<&'static str, Vec<String>> {
    let mut paths = Vec::new();
    sources(&root().join(name), &mut paths);
    paths.sort();
    let mut counted: BTreeMap<&'static str, Vec<String>> = KINDS.iter().map(|(kind, _)| (*kind, Vec::new())).collect();
    for path in paths {
        let shown = path.strip_prefix(root()).expect("sources lie under the root").to_string_lossy().replace('\\', "/");
        if shown == EXEMPT {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let mut places = Places::new();
        read_lines(&text, &mut places);
        read_phrases(&text, &mut places);
        for (kind, mut offsets) in places {
            offsets.sort_unstable();
            let lines =
                offsets.iter().map(|&at| text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1);
            counted.get_mut(kind).expect("the kind is listed").extend(lines.map(|line| format!("{shown}:{line}")));
        }
    }
    counted
}

fn parse_budgets(text: &str) -> BTreeMap<(String, String), usize> {
    let mut lines = text.lines();
    let kinds: Vec<&str> = lines.next().expect("the budgets have a header").split(',').skip(1).collect();
    let mut budgets = BTreeMap::new();
    for line in lines {
        let (name, counts) = line.split_once(',').expect("a row has a crate and counts");
        for (kind, count) in kinds.iter().zip(counts.split(',')) {
            budgets.insert((name.to_owned(), (*kind).to_owned()), count.parse().expect("a count is a number"));
        }
    }
    budgets
}

#[test]
fn banned_words_stay_within_their_budgets() {
    let names = crates();
    let counts: Vec<_> = thread::scope(|scope| {
        let jobs: Vec<_> = names.iter().map(|name| scope.spawn(move || count(name))).collect();
        jobs.into_iter().map(|job| job.join().expect("the sources are text")).collect()
    });
    let path = root().join(BUDGETS);
    let budgets = parse_budgets(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{BUDGETS}: {error}")));
    let mut table = format!("crate,{}\n", KINDS.map(|(kind, _)| kind).join(","));
    let (mut above, mut below) = (String::new(), String::new());
    for (name, counted) in names.iter().zip(&counts) {
        table.push_str(name);
        for (kind, advice) in KINDS {
            let places = &counted[kind];
            let budget = budgets.get(&(name.clone(), kind.to_owned())).copied().unwrap_or(0);
            write!(table, ",{}", places.len().min(budget)).expect("text can be written");
            if places.len() > budget {
                writeln!(above, "{name}: {kind}: {} of at most {budget}; {advice}", places.len())
                    .expect("text can be written");
                let shown = places.iter().take(PLACES).fold(String::new(), |shown, place| shown + "  " + place + "\n");
                above.push_str(&shown);
            } else if places.len() < budget {
                writeln!(below, "{name}: {kind}: {} of {budget}", places.len()).expect("text can be written");
            }
        }
        table.push('\n');
    }
    if std::env::var_os("HEADWATER_WRITE").is_some() {
        fs::write(&path, table).unwrap_or_else(|error| panic!("{BUDGETS}: {error}"));
        below.clear();
    }
    assert!(above.is_empty(), "banned words of language.md:\n{above}");
    assert!(below.is_empty(), "lower the budgets in {BUDGETS} with HEADWATER_WRITE=1:\n{below}");
}

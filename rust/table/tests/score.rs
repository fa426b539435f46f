//! A file of scores is the same however it came to be, and says what it was made of.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float64Type, UInt32Type};
use headwater_engine::score::{
    Addresses, PartSize, ScoreColumns, ScoreError, ScoreJob, ScoreProgress, ScoreReport, Scorer,
};
use headwater_engine::{Intelligence, QueryEngine};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::store::in_memory;
use headwater_table::score::{AddressSource, ParquetScores, score_table};
use headwater_testkit::{Chainlet, address, claim, label_import, model};
use headwater_types::{Chain, Timestamp};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

pub(crate) const ACCOUNTS: u64 = 60;
pub(crate) const PER_PART: usize = 16;
pub(crate) const ALL: &str = "risk,class,features";

/// Accounts that pay one another, some of whom lists name; `more` is a later generation of it.
pub(crate) fn engine(more: bool) -> QueryEngine {
    let mut chain = Chainlet::ethereum();
    for number in 0..600_u64 {
        let (from, to) = (1 + number * 7 % ACCOUNTS, 1 + (number * number) % ACCOUNTS);
        chain = chain.transfer(from, to, 1 + number * 1_000_000_000_007);
    }
    if more {
        chain = chain.transfer(1, 2, 5);
    }
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(0), usd: 2000.0 };
    let mut store = in_memory(vec![chain.batch()], Vec::new(), vec![price]).unwrap();
    let named = |number, code| claim(Chain::ETHEREUM, address(Chain::ETHEREUM, number), code, Level::Forensic, "list");
    let claims = vec![named(1, Code::Mixer), named(2, Code::Exchange), named(3, Code::Sanction)];
    Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", claims, 0)).unwrap();
    let files = [("by hand".to_owned(), io::Result::Ok(model(Chain::ETHEREUM).into_bytes()))];
    QueryEngine::new(store).with_intelligence(Intelligence::default().with_models(files).unwrap())
}

pub(crate) fn scorer(columns: &str) -> Scorer {
    engine(false).scorer(Chain::ETHEREUM, columns.parse::<ScoreColumns>().unwrap()).unwrap()
}

pub(crate) fn text(number: u64) -> String {
    address(Chain::ETHEREUM, number).to_string()
}

/// Addresses with duplicates, unseen ones and an invalid one.
pub(crate) fn asked() -> Vec<String> {
    let mut asked: Vec<String> = (0..100).map(|number| text(1 + number * 31 % (ACCOUNTS + 10))).collect();
    "0x12".clone_into(&mut asked[17]);
    asked[18] = text(1).to_uppercase().replace("0X", "0x");
    asked
}

pub(crate) fn job<'a>(scorer: &'a Scorer, addresses: Addresses<'a>, output: &'a Path) -> ScoreJob<'a> {
    let part_size = PartSize { addresses: PER_PART, ..PartSize::default() };
    ScoreJob { scorer, addresses, output, part_size }
}

pub(crate) fn run(scorer: &Scorer, list: &AddressSource, output: &Path) -> Result<ScoreReport, ScoreError> {
    run_all(scorer, Addresses::List(list), output)
}

fn run_all(scorer: &Scorer, addresses: Addresses<'_>, output: &Path) -> Result<ScoreReport, ScoreError> {
    job(scorer, addresses, output).run::<ParquetScores>(&|_| {}, &Cancel::new())
}

/// Addresses, those with an error, and those of an earlier run.
const fn counts(report: &ScoreReport) -> (u64, u64, u64) {
    (report.rows, report.failed, report.resumed)
}

/// Runs a job that is cancelled after so many parts of its own; returns its error.
fn run_until(scorer: &Scorer, addresses: Addresses<'_>, output: &Path, parts: u64) -> Option<ScoreError> {
    let (cancel, written) = (Cancel::new(), AtomicU64::new(0));
    let progress = |progress: ScoreProgress| {
        let own = progress.done - progress.resumed;
        if own > 0 && written.fetch_add(1, Ordering::Relaxed) + 1 == parts {
            cancel.cancel();
        }
    };
    job(scorer, addresses, output).run::<ParquetScores>(&progress, &cancel).err()
}

pub(crate) fn threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(work)
}

pub(crate) fn parts(output: &Path) -> PathBuf {
    PathBuf::from(format!("{}.parts", output.display()))
}

/// The files of parts, in their order.
pub(crate) fn part_files(output: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(parts(output)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("part-")).collect();
    files.sort();
    files
}

pub(crate) fn read(file: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let schema = Arc::clone(builder.schema());
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

pub(crate) fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    batch[column].as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

/// A folder with a list of addresses in it.
pub(crate) struct Place {
    pub folder: tempfile::TempDir,
    pub list: AddressSource,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("addresses.txt");
        fs::write(&file, asked().join("\n")).unwrap();
        Self { folder, list: AddressSource::File(file) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> AddressSource {
        fs::write(self.path(name), content).unwrap();
        AddressSource::File(self.path(name))
    }
}

#[test]
fn score_bytes_equal_for_all_threads_and_interruptions() {
    let place = Place::new();
    for (name, list) in [("list", Addresses::List(&place.list)), ("all", Addresses::All)] {
        let straight = place.path("straight.parquet");
        threads(1, || run_all(&scorer(ALL), list, &straight)).unwrap();
        let bytes = fs::read(&straight).unwrap();

        let parallel = place.path("parallel.parquet");
        threads(3, || run_all(&scorer(ALL), list, &parallel)).unwrap();
        assert!(fs::read(&parallel).unwrap() == bytes);

        for after in 1..=2 {
            let output = place.path(&format!("{name}-{after}.parquet"));
            let ended = threads(3, || run_until(&scorer(ALL), list, &output, after));
            assert!(
                matches!(ended, Some(ScoreError::Engine(error)) if error.kind == headwater_engine::ErrorKind::Cancelled)
            );
            assert!(!output.exists());
            assert_eq!(part_files(&output).len() as u64, after);
            // Interrupted once more, in another number of threads.
            threads(1, || run_until(&scorer(ALL), list, &output, 1)).unwrap();
            let updates = Mutex::new(Vec::new());
            let note = |progress| updates.lock().unwrap().push(progress);
            let scored = job(&scorer(ALL), list, &output).run::<ParquetScores>(&note, &Cancel::new()).unwrap();
            assert_eq!(scored.resumed, (after + 1) * PER_PART as u64);
            assert!(fs::read(&output).unwrap() == bytes, "after {after} parts");
            assert!(!parts(&output).exists());
            let updates = updates.into_inner().unwrap();
            assert_eq!(updates.last().map(|last| (last.done, last.total)), Some((scored.rows, scored.rows)));
            assert!(updates.windows(2).all(|pair| pair[0].done < pair[1].done && pair[0].total == pair[1].total));
        }
    }
}

#[test]
fn score_rows_keep_order_duplicates_and_failures() {
    let place = Place::new();
    let output = place.path("scores.parquet");
    let scored = run(&scorer(ALL), &place.list, &output).unwrap();
    let rows = read(&output);
    assert_eq!((scored.rows, scored.resumed), (100, 0));
    assert_eq!((scored.file, scored.warnings), (output.display().to_string(), scorer(ALL).warnings()));

    let mut wanted = asked();
    wanted[18] = text(1);
    assert_eq!(texts(&rows, "address").into_iter().flatten().collect::<Vec<_>>(), wanted);
    let errors = texts(&rows, "error");
    assert_eq!(errors.iter().flatten().count() as u64, scored.failed);
    assert!(errors[17].as_deref().unwrap().contains("0x12"));
    let unseen = wanted.iter().position(|asked| *asked == text(ACCOUNTS + 5)).unwrap();
    assert_eq!(errors[unseen].as_deref(), Some("no activity: no transfers of the address are held on ethereum"));

    let first = wanted.iter().position(|asked| *asked == text(1)).unwrap();
    for column in rows.columns() {
        assert_eq!(column.slice(first, 1).to_data(), column.slice(18, 1).to_data());
    }
    // In memory they are the same, whatever their parts.
    let (schema, batches) = score_table(&scorer(ALL), Addresses::List(&place.list), &|_| {}, &Cancel::new()).unwrap();
    let table = concat_batches(&schema, &batches).unwrap();
    assert_eq!(table.columns(), rows.columns());
}

#[test]
fn score_file_says_what_it_was_made_with() {
    let place = Place::new();
    let output = place.path("scores.parquet");
    run(&scorer(ALL), &place.list, &output).unwrap();
    let reader = SerializedFileReader::new(File::open(&output).unwrap()).unwrap();
    let metadata = reader.metadata();
    let groups: Vec<_> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(groups, [16, 16, 16, 16, 16, 16, 4]);
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let pairs: BTreeMap<_, _> = pairs.iter().map(|pair| (pair.key.as_str(), pair.value.clone().unwrap())).collect();
    for (name, version) in scorer(ALL).versions() {
        assert_eq!(pairs[&*format!("headwater.{name}")], version);
    }
    let batches = read(&output);
    assert!(batches.schema().metadata().iter().all(|(key, value)| pairs[&**key] == *value));
    assert!(pairs["headwater.model"].starts_with("by hand ("));
    for name in ["program", "chain", "columns", "generation", "risk_parameters", "labels", "features"] {
        assert!(pairs.contains_key(&*format!("headwater.{name}")), "{name}");
    }
    let risk = run(&scorer("risk"), &place.list, &place.path("risk.parquet"));
    risk.unwrap();
    let rows = read(&place.path("risk.parquet"));
    let schema = rows.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let wanted = "address assessment assessment_reasons risk_score risk_level gate_reason context intel_score \
                  behavior_score graph_score behaviors disputed_labels error";
    assert_eq!(names.join(" "), wanted);
    assert!(rows["risk_score"].as_primitive::<Float64Type>().iter().flatten().any(|score| score > 0.0));
}

#[test]
fn score_input_forms_give_the_same_rows() {
    let place = Place::new();
    let addresses = [text(1), text(2), text(1), "nobody".to_owned()];
    let lines = place.write("lines.txt", format!("{}\n\n  \n{}\r\n{}\nnobody", text(1), text(2), text(1)));
    let marked = place.write("marked", format!("\u{feff}{}\r\n", addresses.join("\r\n")));
    let csv = place.write(
        "table.csv",
        format!(
            "\u{feff}\"Address\",note\r\n{}\r\n",
            addresses.clone().map(|one| format!("{one},\"a, b\nc\"")).join("\r\n")
        ),
    );
    let alone = place.write("alone.CSV", format!("address\n{}\n", asked_of(&["1", "2", "1"]) + "nobody"));
    let texts: [(&str, ArrayRef); 4] = [
        ("text", Arc::new(StringArray::from_iter_values(&addresses))),
        ("large", Arc::new(LargeStringArray::from_iter_values(&addresses))),
        ("view", Arc::new(StringViewArray::from_iter_values(&addresses))),
        (
            "dictionary",
            Arc::new(
                addresses.iter().map(|one| Some(one.as_str())).collect::<arrow::array::DictionaryArray<UInt32Type>>(),
            ),
        ),
    ];
    let mut lists = vec![lines, marked, csv, alone];
    for (name, column) in texts {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
        let table = RecordBatch::try_from_iter([("number", numbers), ("address", column)]).unwrap();
        let path = place.path(&format!("{name}.parquet"));
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), table.schema(), None).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        lists.push(AddressSource::File(path));
        lists.push(AddressSource::of_tables(&[table.slice(0, 3), table.slice(3, 1)]).unwrap());
    }
    let mut before = None;
    for (number, list) in lists.iter().enumerate() {
        let output = place.path(&format!("out-{number}.parquet"));
        assert_eq!(run(&scorer("risk,class"), list, &output).unwrap().rows, 4, "{list:?}");
        let rows = read(&output);
        let before = before.get_or_insert_with(|| rows.clone());
        assert_eq!(rows.columns(), before.columns(), "{list:?}");
    }
}

/// Lines of accounts by their numbers.
fn asked_of(numbers: &[&str]) -> String {
    numbers.iter().map(|number| text(number.parse().unwrap()) + "\n").collect()
}

#[test]
fn score_missing_address_has_a_row() {
    let place = Place::new();
    let csv = place.write("gap.csv", format!("note,address\na,{}\nb,\nc,{}\n", text(1), text(2)));
    let column: ArrayRef = Arc::new(StringArray::from(vec![Some(text(1)), None, Some(text(2))]));
    let table = AddressSource::of_tables(&[RecordBatch::try_from_iter([("address", column)]).unwrap()]).unwrap();
    for (number, list) in [csv, table].iter().enumerate() {
        let output = place.path(&format!("out-{number}.parquet"));
        assert_eq!(counts(&run(&scorer("risk"), list, &output).unwrap()), (3, 1, 0));
        let rows = read(&output);
        assert_eq!(texts(&rows, "address"), [Some(text(1)), None, Some(text(2))]);
        assert_eq!(texts(&rows, "error"), [None, Some("the address is missing".to_owned()), None]);
        assert!(rows["risk_score"].is_null(1));
    }
}

#[test]
fn score_empty_input_gives_a_file_of_columns() {
    let place = Place::new();
    for (name, content) in [("empty.txt", ""), ("blank.txt", "\n \n"), ("empty.csv", "address,note\n")] {
        let list = place.write(name, content);
        let output = place.path(&format!("{name}.parquet"));
        assert_eq!(counts(&run(&scorer(ALL), &list, &output).unwrap()), (0, 0, 0));
        let rows = read(&output);
        assert!(rows.num_rows() == 0 && rows.num_columns() > 100);
    }
}

#[test]
fn score_unusable_input_is_refused_by_name() {
    let place = Place::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let table = RecordBatch::try_from_iter([("address", numbers)]).unwrap();
    let path = place.path("numbers.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), table.schema(), None).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    let cases = [
        (place.write("other.csv", "wallet,note\n0x1,a\n"), "no column `address`; the columns are wallet, note"),
        // A file without a head: its first address would be lost.
        (place.write("headless.csv", text(1)), "no column `address`"),
        (place.write("ragged.csv", format!("address,note\n{},a\n{}\n", text(1), text(2))), "line 3"),
        (place.write("binary.gz", [0x1f, 0x8b, 0xff, 0xfe, b'\n']), "line 1 is not UTF-8"),
        (place.write("torn.parquet", "PAR1"), "torn.parquet"),
        (AddressSource::File(path), "is Int64; expected text"),
        (AddressSource::File(place.path("none.txt")), "none.txt"),
    ];
    for (list, wanted) in cases {
        let output = place.path("out.parquet");
        let message = run(&scorer("risk"), &list, &output).unwrap_err().to_string();
        let AddressSource::File(file) = &list else { unreachable!() };
        assert!(message.contains(wanted) && message.contains(file.to_str().unwrap()), "{message}");
        assert!(!output.exists());
    }
    // A refused job does not block the next one.
    assert_eq!(run(&scorer(ALL), &place.list, &place.path("out.parquet")).unwrap().resumed, 0);
    let message = AddressSource::of_tables(&[table]).unwrap_err();
    assert!(message.contains("expected text"), "{message}");
}

#[test]
fn score_other_job_is_refused_with_the_difference() {
    let place = Place::new();
    let output = place.path("scores.parquet");
    run_until(&scorer(ALL), Addresses::List(&place.list), &output, 2).unwrap();
    let later = engine(true).scorer(Chain::ETHEREUM, ALL.parse().unwrap()).unwrap();
    let few = scorer("risk,class");
    let other = place.write("other.txt", text(1));
    for (scorer, list, wanted) in [
        (&later, &place.list, "data was 600 transactions"),
        (&few, &place.list, "columns was risk,class,features, is risk,class"),
        (&scorer(ALL), &other, "addresses was "),
    ] {
        let refused = run(scorer, list, &output).unwrap_err();
        assert!(matches!(refused, ScoreError::OtherJob { .. }));
        let message = refused.to_string();
        assert!(
            message.contains(wanted) && message.contains("scores.parquet.parts") && message.contains("remove"),
            "{message}"
        );
    }
    // What was in the way is as it was.
    assert_eq!(part_files(&output).len(), 2);
    assert_eq!(run(&scorer(ALL), &place.list, &output).unwrap().resumed, 32);
}

#[test]
fn score_damaged_part_is_made_anew() {
    let place = Place::new();
    let straight = place.path("straight.parquet");
    run(&scorer(ALL), &place.list, &straight).unwrap();
    let output = place.path("scores.parquet");
    run_until(&scorer(ALL), Addresses::List(&place.list), &output, 4).unwrap();
    let files = part_files(&output);
    let cut = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &cut[..cut.len() / 2]).unwrap();
    let mut flipped = fs::read(&files[1]).unwrap();
    flipped[40] ^= 1;
    fs::write(&files[1], flipped).unwrap();
    fs::write(&files[2], "").unwrap();
    // Of a job that left no description.
    fs::remove_file(parts(&output).join("job.json")).unwrap();
    assert_eq!(run(&scorer(ALL), &place.list, &output).unwrap().resumed, PER_PART as u64);
    assert!(fs::read(&output).unwrap() == fs::read(&straight).unwrap());

    // Parts of another job without its note.
    run_until(&scorer(ALL), Addresses::List(&place.list), &output, 2).unwrap();
    fs::remove_file(parts(&output).join("job.json")).unwrap();
    let other = place.write("other.txt", [asked_of(&["1", "2"]), asked().join("\n")].concat());
    let scored = run(&scorer(ALL), &other, &output).unwrap();
    assert_eq!((scored.rows, scored.resumed), (102, 0));
    // They stay, since they are not parts of this job.
    assert_eq!(part_files(&output).len(), 2);
}

#[test]
fn score_second_process_is_refused_and_harmless() {
    let place = Place::new();
    let output = place.path("scores.parquet");
    let refused = Mutex::new(Vec::new());
    let progress = |_| {
        let message = run(&scorer(ALL), &place.list, &output).unwrap_err();
        refused.lock().unwrap().push(message.to_string());
    };
    let scored = job(&scorer(ALL), Addresses::List(&place.list), &output)
        .run::<ParquetScores>(&progress, &Cancel::new())
        .unwrap();
    let refused = refused.into_inner().unwrap();
    assert_eq!((scored.rows, refused.len()), (100, 7));
    assert!(refused.iter().all(|message| message.contains("scores.parquet.parts is in use by another process")));
    let straight = place.path("straight.parquet");
    run(&scorer(ALL), &place.list, &straight).unwrap();
    assert!(fs::read(&output).unwrap() == fs::read(&straight).unwrap());
}

#[test]
fn score_output_that_would_be_lost_is_refused() {
    let place = Place::new();
    let file = place.path("addresses.parquet");
    fs::write(&file, asked().join("\n")).unwrap();
    let message = run(&scorer("risk"), &AddressSource::File(file.clone()), &file).unwrap_err().to_string();
    assert!(message.contains("this is the input"), "{message}");
    let message = run(&scorer("risk"), &place.list, place.folder.path()).unwrap_err().to_string();
    assert!(message.contains("this is a folder"), "{message}");
    let message = run(&scorer("risk"), &place.list, &place.path("none/scores.parquet")).unwrap_err().to_string();
    assert!(message.contains("none/scores.parquet.parts") && message.contains("No such file"), "{message}");
}

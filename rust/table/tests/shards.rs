//! Shards of a job make the parts of the whole job, and joined parts are its file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use headwater_engine::score::{
    Addresses, FolderLock, PartFolder, PartSize, ScoreError, ScoreFormat, ScoreJob, ScorePlan, Scorer, ShardReport,
    join_parts,
};
use headwater_ledger::Cancel;
use headwater_table::score::{AddressSource, ParquetScores, plan_table, rows_batch, score_schema};

use crate::score::{ALL, PER_PART, Place, engine, part_files, parts, scorer, threads};

/// Some of the accounts have more movements than this.
const HUB_MOVEMENTS: u64 = 25;

const SIZE: PartSize = PartSize { addresses: PER_PART, hub_movements: HUB_MOVEMENTS };

fn job<'a>(scorer: &'a Scorer, addresses: Addresses<'a>, output: &'a Path) -> ScoreJob<'a> {
    ScoreJob { scorer, addresses, output, part_size: SIZE }
}

fn run_shard(scorer: &Scorer, addresses: Addresses<'_>, output: &Path, shard: &str) -> Result<ShardReport, ScoreError> {
    job(scorer, addresses, output).run_shard::<ParquetScores>(shard.parse().unwrap(), &|_| {}, &Cancel::new())
}

fn run_all(scorer: &Scorer, addresses: Addresses<'_>, output: &Path) {
    job(scorer, addresses, output).run::<ParquetScores>(&|_| {}, &Cancel::new()).unwrap();
}

fn join(folder: &Path, output: &Path) -> Result<headwater_engine::score::JoinReport, ScoreError> {
    join_parts::<ParquetScores>(&FolderLock::existing(folder)?, output, &|_| {}, &Cancel::new())
}

fn plan(scorer: &Scorer, addresses: Addresses<'_>, size: PartSize) -> ScorePlan {
    ScorePlan::new::<ParquetScores>(scorer, addresses, size, &Cancel::new()).unwrap()
}

#[test]
fn plan_hubs_are_parts_of_their_own() {
    let (place, scorer) = (Place::new(), scorer(ALL));
    for addresses in [Addresses::All, Addresses::List(&place.list)] {
        let with_hubs = plan(&scorer, addresses, SIZE);
        let plain = plan(&scorer, addresses, PartSize { addresses: PER_PART, ..PartSize::default() });
        assert!(with_hubs.parts.iter().any(|part| part.movements >= HUB_MOVEMENTS && part.addresses == 1));
        assert!(with_hubs.parts.iter().all(|part| part.movements < HUB_MOVEMENTS * 16 || part.addresses == 1));
        for plan in [&with_hubs, &plain] {
            assert_eq!(plan.parts.iter().map(|part| part.addresses).sum::<u64>(), plan.job.rows);
            assert!(plan.parts.iter().enumerate().all(|(place, part)| place == part.number));
        }
        // Whatever the cut, the addresses are the same in the same order.
        let read = |plan: &ScorePlan| -> Vec<String> {
            let rows = plan.read(&scorer, addresses, |_| true).unwrap().flat_map(|part| {
                let (part, addresses) = part.unwrap();
                assert_eq!(addresses.len() as u64, part.addresses);
                addresses.score(&scorer, &Cancel::new()).unwrap()
            });
            rows.map(|row| row.address.unwrap()).collect()
        };
        assert_eq!(read(&with_hubs), read(&plain));
    }
}

#[test]
fn shards_of_any_count_give_the_bytes_of_one_process() {
    let (place, scorer) = (Place::new(), scorer(ALL));
    for (name, addresses) in [("all", Addresses::All), ("list", Addresses::List(&place.list))] {
        let straight = place.path(&format!("{name}.parquet"));
        run_all(&scorer, addresses, &straight);
        for count in [1, 2, 5, 40] {
            let output = place.path(&format!("{name}-{count}.parquet"));
            // The last ones first, and at the same time.
            let reports: Vec<_> = std::thread::scope(|scope| {
                let run = |number| run_shard(&scorer, addresses, &output, &format!("{number}/{count}")).unwrap();
                let shards: Vec<_> = (1..=count).rev().map(|number| scope.spawn(move || run(number))).collect();
                shards.into_iter().map(|shard| shard.join().unwrap()).collect()
            });
            let total = reports[0].parts_total;
            assert_eq!(reports.iter().map(|report| report.parts).sum::<u64>(), total);
            assert_eq!(part_files(&output).len() as u64, total);
            // Once more: nothing is computed again, and no file changes.
            let before = part_files(&output);
            let again = run_shard(&scorer, addresses, &output, &format!("1/{count}")).unwrap();
            assert_eq!(again.resumed, again.rows);
            assert_eq!(part_files(&output), before);
            let joined = join(&parts(&output), &output).unwrap();
            assert_eq!(joined.parts, total);
            assert_eq!(joined.rows, reports.iter().map(|report| report.rows).sum::<u64>());
            assert!(fs::read(&output).unwrap() == fs::read(&straight).unwrap(), "{name} in {count} shards");
            assert!(!parts(&output).exists());
        }
    }
}

#[test]
fn shard_parts_equal_those_of_the_whole_job_by_name() {
    let (place, scorer) = (Place::new(), scorer(ALL));
    let names = |output: &Path| -> BTreeSet<_> {
        part_files(output)
            .into_iter()
            .map(|file| (file.file_name().unwrap().to_owned(), fs::read(file).unwrap()))
            .collect()
    };
    let (one, two) = (place.path("one.parquet"), place.path("two.parquet"));
    threads(1, || run_shard(&scorer, Addresses::All, &one, "1/1")).unwrap();
    run_shard(&scorer, Addresses::All, &two, "2/2").unwrap();
    threads(3, || run_shard(&scorer, Addresses::All, &two, "1/2")).unwrap();
    assert_eq!(names(&one), names(&two));
    // The whole job finds them, and computes nothing.
    let report = job(&scorer, Addresses::All, &one).run::<ParquetScores>(&|_| {}, &Cancel::new()).unwrap();
    assert_eq!((report.resumed, parts(&one).exists()), (report.rows, false));
}

#[test]
fn join_missing_or_damaged_parts_are_refused_by_number() {
    let (place, scorer) = (Place::new(), scorer("risk"));
    let output = place.path("scores.parquet");
    let folder = parts(&output);
    run_shard(&scorer, Addresses::All, &output, "1/2").unwrap();
    let message = join(&folder, &output).unwrap_err().to_string();
    assert!(message.contains("parts: missing") && message.contains("run their shards again"), "{message}");
    run_shard(&scorer, Addresses::All, &output, "2/2").unwrap();
    let damaged: Vec<PathBuf> = part_files(&output).into_iter().take(2).collect();
    // The parts of another program, and a note of somebody, which stay.
    let foreign =
        ["part-00001-3c5ab1a2-c000.snappy.parquet", "part-1-notes.txt", "note.txt"].map(|name| folder.join(name));
    for file in &foreign {
        fs::write(file, "theirs").unwrap();
    }
    let mut bytes = fs::read(&damaged[1]).unwrap();
    bytes[60] ^= 1;
    fs::write(&damaged[1], bytes).unwrap();
    let message = join(&folder, &output).unwrap_err().to_string();
    assert!(message.contains("missing 1, and 1 files of parts that are damaged or of another job;"), "{message}");
    assert!(damaged.iter().all(|file| file.exists()) && !output.exists());
    run_shard(&scorer, Addresses::All, &output, "1/1").unwrap();
    join(&folder, &output).unwrap();
    let straight = place.path("straight.parquet");
    run_all(&scorer, Addresses::All, &straight);
    assert!(fs::read(&output).unwrap() == fs::read(&straight).unwrap());
    assert!(foreign.iter().all(|file| fs::read_to_string(file).unwrap() == "theirs"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), foreign.len());

    let message = join(place.folder.path(), &output).unwrap_err().to_string();
    assert!(message.contains("not a folder of parts"), "{message}");
}

#[test]
fn part_of_another_job_is_refused_with_the_difference() {
    let (place, here) = (Place::new(), scorer("risk"));
    let plan = plan(&here, Addresses::All, SIZE);
    plan.job.check::<ParquetScores>(&here, &Cancel::new()).unwrap();
    let later = engine(true).scorer(here.chain(), here.columns()).unwrap();
    let mut other_version = plan.job.clone();
    other_version.versions.insert("program".to_owned(), "0.0.1".to_owned());
    let mut other_processor = plan.job.clone();
    other_processor.probe = "60 addresses, 0123456789abcdef".to_owned();
    for (job, scorer, wanted) in [
        (&plan.job, &later, "data was 600 transactions"),
        (&plan.job, &scorer("risk,features"), "columns was risk, is risk,features"),
        (&other_version, &here, "program was 0.0.1, is "),
        (&other_processor, &here, "probe was 60 addresses, 0123456789abcdef, is "),
    ] {
        let refused = job.check::<ParquetScores>(scorer, &Cancel::new()).unwrap_err();
        assert!(matches!(refused, ScoreError::OtherRows { .. }));
        assert!(refused.to_string().contains(wanted), "{refused}");
    }
    // Parts under another description do not pass, whatever their bytes, and are not lost.
    let output = place.path("scores.parquet");
    run_shard(&here, Addresses::All, &output, "1/1").unwrap();
    let refused = PartFolder::open(&parts(&output), &other_version, ParquetScores::ENDING).unwrap_err();
    assert!(matches!(refused, ScoreError::OtherJob { .. }));
    let count = part_files(&output).len();
    fs::write(parts(&output).join("job.json"), other_version.to_json()).unwrap();
    let message = join(&parts(&output), &output).unwrap_err().to_string();
    assert!(message.contains("has 0 of") && message.contains(&format!("{count} files of parts that are")), "{message}");
    assert_eq!(part_files(&output).len(), count);
    // A description that cannot be read is not taken for none.
    fs::write(parts(&output).join("job.json"), "{\"versions\": {").unwrap();
    let message = run_shard(&here, Addresses::All, &output, "1/1").unwrap_err().to_string();
    assert!(message.contains("job.json: not the description of a job") && message.contains("remove"), "{message}");
    assert_eq!(part_files(&output).len(), count);
}

#[test]
fn shards_of_two_jobs_share_no_folder_from_the_start() {
    let (place, here) = (Place::new(), scorer("risk"));
    let later = engine(true).scorer(here.chain(), here.columns()).unwrap();
    let output = place.path("scores.parquet");
    // Neither has a part yet.
    let first = plan(&here, Addresses::All, SIZE);
    PartFolder::open(&parts(&output), &first.job, ParquetScores::ENDING).unwrap();
    let refused = run_shard(&later, Addresses::All, &output, "2/2").unwrap_err();
    assert!(
        matches!(refused, ScoreError::OtherJob { .. }) && refused.to_string().contains("data was 600"),
        "{refused}"
    );
    run_shard(&here, Addresses::All, &output, "1/1").unwrap();
    join(&parts(&output), &output).unwrap();
}

#[test]
fn shard_list_that_changes_while_it_is_read_is_refused() {
    let place = Place::new();
    let here = scorer("risk");
    let text = |list: &AddressSource| {
        let AddressSource::File(file) = list else { unreachable!() };
        (file.clone(), fs::read_to_string(file).unwrap())
    };
    let (file, before) = text(&place.list);
    let last = before.lines().last().unwrap().to_owned();
    for after in
        [before.replace(&last, "0xnobody"), format!("{before}\n{last}"), before.replace(&format!("\n{last}"), "")]
    {
        fs::write(&file, &before).unwrap();
        let plan = plan(&here, Addresses::List(&place.list), SIZE);
        fs::write(&file, after).unwrap();
        let read: Result<Vec<_>, _> = plan.read(&here, Addresses::List(&place.list), |_| true).unwrap().collect();
        let message = read.err().unwrap().to_string();
        assert!(message.contains("the list changed") && message.contains("addresses.txt"), "{message}");
    }
}

#[test]
fn shard_that_outlives_the_join_says_so() {
    let (place, here) = (Place::new(), scorer("risk"));
    let output = place.path("scores.parquet");
    let plan = plan(&here, Addresses::All, SIZE);
    let late = PartFolder::open(&parts(&output), &plan.job, ParquetScores::ENDING).unwrap();
    run_shard(&here, Addresses::All, &output, "1/1").unwrap();
    join(&parts(&output), &output).unwrap();
    let message = late.write(0, b"late").unwrap_err().to_string();
    assert!(message.contains("scores.parquet.parts is no longer there"), "{message}");
    assert!(!parts(&output).exists());
}

#[test]
fn plan_table_has_what_parts_need() {
    let (place, scorer) = (Place::new(), scorer("risk"));
    for addresses in [Addresses::All, Addresses::List(&place.list)] {
        let plan = plan(&scorer, addresses, SIZE);
        let table = plan_table(&scorer, addresses, &plan).unwrap();
        let is_list = matches!(addresses, Addresses::List(_));
        assert_eq!(table.num_rows(), plan.parts.len());
        assert_eq!(table["texts"].null_count() == 0, is_list);
        assert_eq!(table["first"].null_count() == 0, !is_list);
    }
    let rows = scorer.score(&scorer.addresses(None, 3).unwrap(), &Cancel::new()).unwrap();
    assert_eq!(rows_batch(&scorer, &rows).unwrap().schema(), score_schema(&scorer));
}

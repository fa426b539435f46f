//! `headwater score`: resumed after a kill, settings of classifiers, and what it says.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use headwater_testkit::model;
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::support::{headwater, run, run_json};

/// Few, so that a small economy has many parts.
const PER_PART: &str = "16";

struct TestStore {
    folder: tempfile::TempDir,
    store: String,
}

impl TestStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store").to_str().unwrap().to_owned();
        run_json(&["simulate", "--json", "--preset", "demo", "--store", &store]);
        Self { folder, store }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// The arguments of a job on Ethereum.
    fn job<'a>(&'a self, output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let job = ["score", "--store", &self.store, "--chain", "ethereum", "--output", output];
        [&job, ["--json", "--addresses-per-part", PER_PART].as_slice(), more].concat()
    }

    /// Returns the error of a command that must fail, and its code.
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = run(&[["--store", &self.store].as_slice(), arguments].concat());
        assert!(!output.status.success(), "{arguments:?}");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

fn parts(output: &str) -> usize {
    let Ok(folder) = std::fs::read_dir(format!("{output}.parts")) else { return 0 };
    folder.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "parquet")).count()
}

/// Kills a job once it has written so many parts; says whether it was still at work.
fn kill_at(mut job: Child, output: &str, count: usize) -> bool {
    let started = Instant::now();
    while parts(output) < count && job.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_mins(1), "no {count} parts of {output}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let is_at_work = job.try_wait().unwrap().is_none();
    // `kill` is SIGKILL: nothing of the process runs after it.
    job.kill().unwrap();
    job.wait().unwrap();
    is_at_work
}

#[test]
fn score_killed_at_any_part_gives_the_same_bytes() {
    let place = TestStore::new();
    let model = place.file("model.json", model(Chain::ETHEREUM));
    let more = ["--columns", "risk,class,features", "--model", &model];
    let straight = place.path("straight.parquet");
    let whole = run_json(&place.job(&straight, &more));
    assert_eq!(whole["resumed"], 0);
    let bytes = std::fs::read(&straight).unwrap();

    let killed = place.path("killed.parquet");
    let mut kills = 0;
    for count in [1, 3, 8, 12, 20] {
        let job = headwater(&place.job(&killed, &more)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        kills += usize::from(kill_at(job, &killed, count));
    }
    assert!(kills >= 3 && !Path::new(&killed).exists(), "{kills}");
    let resumed = run_json(&place.job(&killed, &more));
    assert!(resumed["resumed"].as_u64().unwrap() >= 8 * 16, "{resumed}");
    assert_eq!((&resumed["rows"], &resumed["failed"]), (&whole["rows"], &whole["failed"]));
    assert!(std::fs::read(&killed).unwrap() == bytes, "the bytes differ after {kills} kills");
    assert!(!Path::new(&format!("{killed}.parts")).exists());

    // A signal ends it with what to do.
    let mut job = headwater(&place.job(&killed, &more)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while parts(&killed) < 2 && job.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = rustix::process::Pid::from_child(&job);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let ended = job.wait_with_output().unwrap();
    let reported = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(1) && reported.contains("the same command resumes"), "{reported}");

    // A job over other columns does not take its place.
    let job = headwater(&place.job(&killed, &more)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(kill_at(job, &killed, 2));
    let (code, reported) = place.refused(&place.job(&killed, &["--columns", "risk"]));
    assert!(code == 2 && reported.contains("columns was risk,class,features, is risk"), "{reported}");
}

#[test]
fn score_shards_killed_and_joined_give_the_same_bytes() {
    let place = TestStore::new();
    let hubs = ["--columns", "risk,features", "--hub-movements", "200"];
    let straight = place.path("straight.parquet");
    run_json(&place.job(&straight, &hubs));
    let sharded = place.path("sharded.parquet");
    let folder = format!("{sharded}.parts");
    let spawn = |shard: &str| {
        let job = place.job(&sharded, &[hubs.as_slice(), &["--shard", shard]].concat());
        headwater(&job).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // The third shard runs twice, the second one is killed.
    let mut running = [spawn("1/3"), spawn("3/3"), spawn("3/3")];
    kill_at(spawn("2/3"), &sharded, 3);
    assert!(running.iter_mut().all(|shard| shard.wait().unwrap().success()));
    let (code, reported) = place.refused(&["score", "--join", &folder]);
    assert!(code == 1 && reported.contains("run their shards again"), "{reported}");
    // While somebody joins, nobody else does.
    let lock = std::fs::File::create(format!("{folder}/lock")).unwrap();
    lock.lock().unwrap();
    let (code, reported) = place.refused(&["score", "--join", &folder]);
    assert!(code == 1 && reported.contains("sharded.parquet.parts is in use"), "{reported}");
    drop(lock);

    let shard = run_json(&place.job(&sharded, &[hubs.as_slice(), &["--shard", "2/3"]].concat()));
    assert_eq!(shard["folder"], folder);
    // Without the store.
    let joined = run_json(&["score", "--join", &folder, "--json"]);
    assert_eq!((&joined["file"], &joined["parts"]), (&json!(sharded), &shard["parts_total"]));
    assert!(std::fs::read(&sharded).unwrap() == std::fs::read(&straight).unwrap());
    assert!(!Path::new(&folder).exists());

    for (more, wanted) in [(&["--shard", "4/3"][..], "not a shard"), (&["--join", &folder], "cannot be used with")] {
        let (code, reported) = place.refused(&place.job(&sharded, more));
        assert!(code == 2 && reported.contains(wanted), "{reported}");
    }
    let (code, reported) = place.refused(&["score", "--join", &place.path("nothing")]);
    assert!(code == 2 && reported.contains("does not end in .parquet.parts"), "{reported}");
}

#[test]
fn score_says_what_its_rows_lack() {
    let place = TestStore::new();
    let list = place.file("list.txt", "0x00000000000000000000000000000000000000aa\nnobody\n");
    let output = place.path("scores.parquet");
    let reported = run_json(&place.job(&output, &["--input", &list, "--columns", "risk"]));
    assert_eq!((&reported["rows"], &reported["failed"], &reported["file"]), (&json!(2), &json!(1), &json!(output)));
    let by_labels = ["score", "--store", &place.store, "--chain", "bitcoin", "--output", &output, "--columns", "risk"];
    let done = run(&by_labels);
    assert!(done.status.success());
    let warned = String::from_utf8(done.stderr).unwrap();
    assert!(warned.contains("the risk of bitcoin rests on labels alone"), "{warned}");
    assert!(String::from_utf8(done.stdout).unwrap().contains("addresses in "));
}

#[test]
fn classifiers_of_the_settings_are_used_everywhere() {
    let place = TestStore::new();
    let ethereum = place.file("ethereum.json", model(Chain::ETHEREUM));
    let tron = place.file("tron.json", model(Chain::TRON));
    let config = place.file("headwater.toml", format!("[intel]\nclassifiers = [{ethereum:?}, {tron:?}]\n"));
    let output = place.path("scores.parquet");
    for chain in ["ethereum", "tron"] {
        let reported = run_json(&[
            "score",
            "--config",
            &config,
            "--store",
            &place.store,
            "--chain",
            chain,
            "--output",
            &output,
            "--columns",
            "class",
            "--json",
        ]);
        assert!(reported["rows"].as_u64().unwrap() > 100, "{reported}");
        assert_eq!(model_of(&output), "by hand");
    }

    // A context that only the class gives.
    let asked = place.asked_of_risk(&["--config", &config]);
    assert_ne!(asked["data"]["decision"]["context"], Value::Null);

    for (name, content, wanted) in [
        ("none.json", None, "cannot be read"),
        ("torn.json", Some("{".to_owned()), "not a JSON object"),
        (
            "old.json",
            Some(model(Chain::TRON).replace("\"features_version\": 1", "\"features_version\": 99999")),
            "features_version is 99999",
        ),
        ("again.json", Some(model(Chain::ETHEREUM)), "both models of ethereum"),
    ] {
        let file = content.map_or_else(|| place.path(name), |content| place.file(name, content));
        let config = place.file("refused.toml", format!("[intel]\nclassifiers = [{ethereum:?}, {file:?}]\n"));
        let body =
            json!({"blockchain": "ethereum", "address": "0x00000000000000000000000000000000000000aa"}).to_string();
        for command in [
            vec!["serve", "--listen", "127.0.0.1:0"],
            vec!["query", "address-risk", "--body", &body],
            vec!["risk", "--chain", "ethereum", "0x00000000000000000000000000000000000000aa"],
            vec!["score", "--chain", "ethereum", "--output", &output],
        ] {
            let (code, reported) = place.refused(&[["--config", &config].as_slice(), &command].concat());
            let is_named =
                reported.contains("intel.classifiers: ") && reported.contains(name) && reported.contains(wanted);
            assert!(code == 2 && is_named, "{command:?}: {reported}");
        }
        if name == "again.json" {
            continue;
        }
        let (code, reported) = place.refused(&["score", "--chain", "tron", "--output", &output, "--model", &file]);
        assert!(code == 2 && reported.contains("--model: ") && reported.contains(wanted), "{reported}");
    }
    let (code, reported) = place.refused(&["score", "--chain", "tron", "--output", &output, "--model", &ethereum]);
    assert!(code == 2 && reported.contains("is a model of another chain than tron"), "{reported}");
}

impl TestStore {
    /// The risk of an address that no list names and that received much.
    fn asked_of_risk(&self, more: &[&str]) -> Value {
        let holders = json!({"blockchain": "ethereum", "contract": "native", "limit": 50}).to_string();
        let store = ["--store", &self.store];
        let found = run_json(&[&store, ["query", "token/holders", "--body", &holders].as_slice()].concat());
        let rows = found["data"].as_object().unwrap().values().find_map(Value::as_array).unwrap().clone();
        let risk =
            |address: &str| run_json(&[&store, more, &["risk", "--json", "--chain", "ethereum", address]].concat());
        let unnamed = rows.iter().map(|row| row["address"].as_str().unwrap()).find_map(|address| {
            let without = run_json(&[&store, ["risk", "--json", "--chain", "ethereum", address].as_slice()].concat());
            let answer = risk(address);
            let differs = without["data"]["decision"]["context"] != answer["data"]["decision"]["context"];
            differs.then_some(answer)
        });
        unnamed.expect("an address whose context is that of its class")
    }
}

/// The name of the model in the metadata of a file.
fn model_of(file: &str) -> String {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(PathBuf::from(file)).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let model = pairs.into_iter().find(|pair| pair.key == "headwater.model").unwrap().value.unwrap();
    model.split(" (").next().unwrap().to_owned()
}

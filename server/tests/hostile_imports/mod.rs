//! Files made to do harm, each through a `headwater ingest` of its own that has little memory and time: it ends by
//! itself, names the file that it refuses, and leaves the store as it was.

mod files;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater_ledger::{Cancel, Store};

use crate::support::{headwater, is_full, quantile, random, small_store};
use files::{HostileFile, crafted};

/// Address space of the child in KiB: 3 GiB, most of which is never touched.
const ADDRESS_SPACE_KIB: u32 = 3 << 20;
/// Seconds of processor time, after which the system ends the child: what it takes whatever else the machine does.
const PROCESSOR_SECS: u32 = 30;
/// The time that a file may take, on a machine that has much else to do.
const LONGEST: Duration = Duration::from_secs(150);
/// The most that a child may hold: the batch of 256 MiB that an ingest gathers, twice while it is written, and the
/// longest line of 64 MiB.
const RESIDENT: u64 = 640 << 20;

/// The outcome of a file in a child.
struct ImportOutcome {
    accepted: bool,
    took: Duration,
    resident: u64,
}

/// The largest resident memory of a process so far, in bytes; nothing once it has ended.
fn peak(process: u32) -> u64 {
    // Right after its start a child may still show the memory of this process.
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    if program(&process.to_string()) == program("self") {
        return 0;
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Reads one file into a store, in a process with limits.
fn ingest(store: &Path, file: &Path, name: &str) -> ImportOutcome {
    let command = headwater(&["ingest", "--json", "--store", store.to_str().unwrap(), file.to_str().unwrap()]);
    let limits =
        format!("ulimit -v {ADDRESS_SPACE_KIB} && ulimit -t {PROCESSOR_SECS} && ulimit -c 0 && exec \"$0\" \"$@\"");
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(limits).arg(command.get_program()).args(command.get_args());
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(variable, value),
            None => limited.env_remove(variable),
        };
    }
    let started = Instant::now();
    let mut child = limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || std::io::read_to_string(said).unwrap());
    let mut resident = 0;
    let status = loop {
        resident = resident.max(peak(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name}: no end within {LONGEST:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let (took, said) = (started.elapsed(), said.join().unwrap());
    assert!(!said.contains("panicked"), "{name}: {said}");
    match status.code() {
        Some(0) => {}
        Some(1) => {
            let file = file.file_name().unwrap().to_str().unwrap();
            assert!(said.contains(file) && said.len() < 8_000, "{name}: the error does not name it: {said}");
        }
        _ => panic!("{name}: {status}: {said}"),
    }
    assert!(resident <= RESIDENT, "{name}: {} MiB", resident >> 20);
    ImportOutcome { accepted: status.success(), took, resident }
}

/// Returns what a store holds, as a digest of it.
fn held(store: &Path, name: &str) -> String {
    let opened = Store::open(store).unwrap_or_else(|error| panic!("{name}: {error}"));
    let report = opened.verify(&|_, _| {}, &Cancel::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.problems.is_empty(), "{name}: {:?}", report.problems);
    format!("{:?}", opened.digest(&Cancel::new()).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn hostile_file_neither_stops_an_ingest_nor_is_half_loaded() {
    // The same files on every change, others in each long run.
    let seed = if is_full() || std::env::var_os("HEADWATER_SEED").is_some() { random() } else { 1 };
    let many = if is_full() { 500 } else { 40 };
    println!("hostile imports: HEADWATER_SEED={seed}");
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let before = held(&store, "the store that all begin with");
    let (mut met, mut heaviest) = (Vec::new(), (0, String::new()));
    for HostileFile { name, file, write } in crafted(seed, many) {
        let own = place.path().join("own");
        copy(&store, &own);
        let path = place.path().join(file);
        write(&path);
        let one = ingest(&own, &path, &name);
        let after = held(&own, &name);
        assert!(one.accepted || after == before, "{name}: refused, and the store holds something else");
        if one.resident > heaviest.0 {
            heaviest = (one.resident, name.clone());
        }
        met.push(one);
        std::fs::remove_file(path).unwrap();
        std::fs::remove_dir_all(own).unwrap();
    }
    let accepted = met.iter().filter(|one| one.accepted).count();
    let mut times: Vec<Duration> = met.iter().map(|one| one.took).collect();
    println!(
        "hostile imports: {} files, {} refused, {accepted} accepted; slowest {:.1?}, median {:.1?}; largest {} MiB ({})",
        met.len(),
        met.len() - accepted,
        quantile(&mut times, 1.0),
        quantile(&mut times, 0.5),
        heaviest.0 >> 20,
        heaviest.1
    );
    assert_eq!(met.len(), many);
    assert!(accepted < many / 2, "most of them are not hostile");
}

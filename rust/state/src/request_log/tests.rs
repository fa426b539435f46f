use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::{KeyId, RequestId};

fn request(id: &str, status: u16) -> LoggedRequest {
    let row = AuditRow {
        request_id: RequestId::from(id).unwrap(),
        correlation_id: None,
        key_id: None,
        account: None,
        method: Method::GET,
        endpoint: Some("/v1/chains"),
        status,
        cost: 0,
        duration_ms: 7,
        bytes: 12,
        parameter_hash: None,
        parameters: None,
        ts_ms: 1_700_000_000_000,
    };
    LoggedRequest { row, address: None, code: None, reason: None }
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn line_has_what_is_known_and_nothing_else() {
    let mut whole = request("r1", 401);
    whole.row.correlation_id = Some("a\"b".to_owned());
    whole.row.key_id = KeyId::from("k").ok();
    whole.row.parameter_hash = Some([0xab; 32]);
    (whole.address, whole.code, whole.reason) =
        (Some([203, 0, 113, 9].into()), Some("unauthorized"), Some("x".to_owned()));
    let line: Value = serde_json::from_slice(&whole.line()).unwrap();
    assert_eq!(
        line,
        json!({
            "ts_ms": 1_700_000_000_000_i64, "request_id": "r1", "correlation_id": "a\"b", "address": "203.0.113.9",
            "key_id": "k", "method": "GET", "endpoint": "/v1/chains", "status": 401, "code": "unauthorized",
            "reason": "x", "duration_ms": 7, "bytes": 12, "parameter_hash": "ab".repeat(32)
        })
    );
    let bare = r#"{"ts_ms":1700000000000,"request_id":"r2","method":"GET","endpoint":"/v1/chains","status":200,"duration_ms":7,"bytes":12}"#;
    assert_eq!(String::from_utf8(request("r2", 200).line()).unwrap(), format!("{bare}\n"));
}

/// Ten lines of 10 bytes into files of 25: two in each, the last three files stay.
#[test]
fn files_are_bounded_in_size_and_number() {
    let place = tempfile::tempdir().unwrap();
    let settings = LogSettings { folder: None, file_bytes: 25, files: 3 };
    let mut files = LogFiles::open(place.path(), &settings).unwrap();
    let numbered: Vec<Vec<u8>> = (0..10).map(|number| format!("line {number:04}\n").into_bytes()).collect();
    let (first, rest) = numbered.split_at(3);
    for part in [first, rest] {
        assert!(matches!(files.append(part), (count, None) if count == part.len()));
    }
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!(read("requests.log"), "line 0008\nline 0009\n");
    assert_eq!(read("requests.log.1"), "line 0006\nline 0007\n");
    assert_eq!(read("requests.log.2"), "line 0004\nline 0005\n");
    let used = LogUse::of(place.path());
    assert_eq!((used.files, used.bytes), (3, 60));
    // A line that is larger than the limit fills a file alone.
    let (large, small) = (vec![b'x'; 40], b"y\n".to_vec());
    assert!(matches!(files.append(&[large.clone(), small]), (2, None)));
    assert_eq!((read("requests.log"), read("requests.log.1").len()), ("y\n".to_owned(), large.len()));
    drop(files);
    // Fewer files than before: the others are removed at the start.
    drop(LogFiles::open(place.path(), &LogSettings { files: 1, ..settings }).unwrap());
    assert_eq!(LogUse::of(place.path()).files, 1);
}

#[test]
fn half_line_of_a_killed_server_is_ended() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("requests.log"), "{\"half").unwrap();
    let mut files = LogFiles::open(place.path(), &LogSettings::default()).unwrap();
    assert!(matches!(files.append(&[b"next\n".to_vec()]), (1, None)));
    assert_eq!(fs::read_to_string(place.path().join("requests.log")).unwrap(), "{\"half\nnext\n");
}

#[test]
fn second_server_on_a_folder_has_files_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let first = LogFiles::open(place.path(), &LogSettings::default()).unwrap();
    let second = LogFiles::open(place.path(), &LogSettings::default()).unwrap();
    assert!(place.path().join("requests-2.log").exists());
    drop((first, second));
}

/// A full disk loses lines, which are counted, and holds nobody back.
#[test]
fn line_that_cannot_be_written_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let folder = place.path().join(FOLDER);
    fs::create_dir(&folder).unwrap();
    // A device that is always full takes the place of the file.
    std::os::unix::fs::symlink("/dev/full", folder.join("requests.log")).unwrap();
    let (log, thread) = RequestLog::start(&home, &LogSettings::default()).unwrap().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let hand_over = |id: &str| {
        runtime.block_on(async {
            log.add(request(id, 401)).await;
            log.flush().await;
        });
        (log.written(), log.lost(), log.usage().lost_lines)
    };
    assert_eq!(hand_over("r1"), (0, 1, Some(1)));
    fs::remove_file(folder.join("requests.log")).unwrap();
    assert_eq!(hand_over("r2"), (1, 1, Some(1)));
    assert_eq!(lines(&folder.join("requests.log"))[0]["request_id"], "r2");
    drop(log);
    thread.join().unwrap();
}

/// Requests that come faster than they are written wait for a moment only.
#[test]
fn overfull_queue_loses_lines_and_holds_nobody_back() {
    let (lines, _queue) = mpsc::channel(1);
    let log = RequestLog { folder: PathBuf::new(), lines, counts: Arc::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let started = std::time::Instant::now();
    for id in ["r1", "r2", "r3"] {
        runtime.block_on(log.add(request(id, 401)));
    }
    log.add_now(request("r4", 401));
    assert_eq!(log.lost(), 3);
    let took = started.elapsed();
    assert!(took >= 2 * PATIENCE && took < 20 * PATIENCE, "{took:?}");
}

#[test]
fn log_that_was_moved_or_removed_begins_a_new_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("audit");
    let mut files = LogFiles::open(&folder, &LogSettings::default()).unwrap();
    let mut append = |line: &str| assert!(matches!(files.append(&[line.as_bytes().to_vec()]), (1, None)));
    let current = folder.join("requests.log");
    append("1\n");
    fs::rename(&current, folder.join("kept")).unwrap();
    append("2\n");
    assert_eq!(fs::read_to_string(&current).unwrap(), "2\n");
    fs::remove_file(&current).unwrap();
    append("3\n");
    assert_eq!(fs::read_to_string(&current).unwrap(), "3\n");
    fs::remove_dir_all(&folder).unwrap();
    append("4\n");
    assert_eq!(fs::read_to_string(&current).unwrap(), "4\n");
    let mode = fs::metadata(&current).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only the owner may read it");
}

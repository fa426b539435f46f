//! Ctrl-C and termination as something that long work notices.

use headwater_ledger::Cancel;

/// Sets `cancel` at the first Ctrl-C or SIGTERM; the second one ends the process. What was committed stays.
pub(super) fn on_interrupt(cancel: &Cancel) {
    let cancel = cancel.clone();
    // Without the thread, signals end the process as they always do, which loses nothing that was committed.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            stop_signal().await;
            cancel.cancel();
            super::output::say("stopping: what was committed stays, the same command goes on from there");
            stop_signal().await;
            std::process::exit(130);
        });
    });
}

/// Takes from SIGHUP what it does to a process that does not listen for it, which is to end it: a server without a
/// certificate to read anew has nothing to do.
pub(super) fn outlive_hangups() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // Once listened for it stays so until the process ends.
    signal(SignalKind::hangup()).map(drop)
}

/// Resolves at Ctrl-C or SIGTERM.
pub(super) async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind| async move {
        match signal(kind) {
            Ok(mut signals) => {
                signals.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
    }
}

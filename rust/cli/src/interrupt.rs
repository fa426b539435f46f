//! Cancellation of long work by Ctrl-C and termination.

use headwater_ledger::Cancel;
use tokio::signal::unix::{SignalKind, signal};

/// Sets `cancel` at the first Ctrl-C or SIGTERM; the second one ends the process. Commits are kept.
pub(super) fn on_interrupt(cancel: &Cancel) {
    let cancel = cancel.clone();
    // Without the thread, signals end the process as they always do, which loses nothing that was committed.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            let Ok(first) = stop_signal() else { return };
            first.await;
            cancel.cancel();
            super::output::say("stopping: what was committed stays, the same command goes on from there");
            let Ok(second) = stop_signal() else { return };
            second.await;
            std::process::exit(130);
        });
    });
}

/// Ignores SIGHUP, which otherwise ends the process: a server without a certificate has nothing to reload.
///
/// # Errors
/// When the system does not let the process listen for signals.
pub fn outlive_hangups() -> std::io::Result<()> {
    // A registered listener lasts until the process ends.
    signal(SignalKind::hangup()).map(drop)
}

/// Resolves at Ctrl-C or SIGTERM, also at one that arrives before the first poll.
///
/// # Errors
/// When the system does not let the process listen for signals.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

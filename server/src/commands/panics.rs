//! The log line of a panic.

use std::panic::PanicHookInfo;

/// From now on panics are logged with their place, and with their text where that is in the code as it is: a text
/// that was made while running may hold what a client sent, and is left out.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let backtrace = std::backtrace::Backtrace::capture().to_string();
        let thread = thread.name().unwrap_or("unnamed");
        tracing::error!(place, thread, backtrace, "panic: {}", said(info));
    }));
}

fn said(info: &PanicHookInfo<'_>) -> &'static str {
    info.payload().downcast_ref::<&'static str>().copied().unwrap_or("(its text is left out)")
}

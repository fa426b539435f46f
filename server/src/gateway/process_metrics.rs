//! Figures of the process under the names that every exporter of Prometheus gives them, read when somebody looks.

use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Registers the figures of the process, which have no prefix.
pub(super) fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process));
    registry
}

/// Registers the version that runs, as `headwater_build_info`.
pub(super) fn register_build(registry: &mut Registry) {
    let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("build", "Version that runs", build);
}

/// Figures of this process; each that the system does not give is left out.
#[derive(Debug)]
struct Process;

/// Figures as the system has them.
#[derive(Debug, Default)]
struct Usage {
    cpu_secs: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    start_secs: Option<f64>,
    threads: Option<i64>,
    open_files: Option<u64>,
    max_files: Option<u64>,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let usage = Usage::read();
        let mut write = |name: &str, help: &str, metric: &dyn EncodedMetric| metric.write(&mut encoder, name, help);
        if let Some(secs) = usage.cpu_secs {
            // `_total` is added to the name of a counter.
            write("process_cpu_seconds", "Time of all processors that the process has used", &ConstCounter::new(secs))?;
        }
        let bytes = |bytes: u64| ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
        if let Some(resident) = usage.resident_bytes {
            write("process_resident_memory_bytes", "Memory of the process that is resident", &bytes(resident))?;
        }
        if let Some(size) = usage.virtual_bytes {
            write("process_virtual_memory_bytes", "Size of the address space of the process", &bytes(size))?;
        }
        if let Some(secs) = usage.start_secs {
            let help = "Start of the process in seconds since 1970-01-01";
            write("process_start_time_seconds", help, &ConstGauge::new(secs))?;
        }
        if let Some(threads) = usage.threads {
            write("process_threads", "Threads of the process", &ConstGauge::new(threads))?;
        }
        if let Some(files) = usage.open_files {
            write("process_open_fds", "Open files and connections of the process", &bytes(files))?;
        }
        if let Some(files) = usage.max_files {
            write("process_max_fds", "Limit of open files and connections of the process", &bytes(files))?;
        }
        Ok(())
    }
}

/// A figure that can be written under a name.
trait EncodedMetric {
    fn write(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> std::fmt::Result;
}

impl<M: EncodeMetric> EncodedMetric for M {
    fn write(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> std::fmt::Result {
        self.encode(encoder.encode_descriptor(name, help, None, self.metric_type())?)
    }
}

impl Usage {
    fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kibibytes = |name| number_of(&status, name).and_then(|number| number.checked_mul(1024));
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let files = std::fs::read_dir("/proc/self/fd").map(|files| files.count() as u64);
        Self {
            cpu_secs: Duration::try_from(cpu).ok().map(|time| time.as_secs_f64()),
            resident_bytes: kibibytes("VmRSS:"),
            virtual_bytes: kibibytes("VmSize:"),
            start_secs: started().map(|time| time.as_secs_f64()),
            threads: number_of(&status, "Threads:").and_then(|number| i64::try_from(number).ok()),
            // One of them is the list itself.
            open_files: files.ok().map(|count| count.saturating_sub(1)),
            max_files: Some(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)),
        }
    }
}

/// The number behind a name in `/proc/self/status`.
fn number_of(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// The start of the process since 1970-01-01.
fn started() -> Option<Duration> {
    let booted = std::fs::read_to_string("/proc/stat").ok()?;
    let since_boot = since_boot(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(Duration::from_secs(number_of(&booted, "btime")?) + since_boot)
}

/// The time from the start of the system to that of a process, by its `/proc/PID/stat`: the 22nd field, in hundredths of a
/// second on every machine that we run on. See the manual page `proc_pid_stat(5)`.
fn since_boot(stat: &str) -> Option<Duration> {
    // The second field is a name in parentheses, which may contain anything; the third one follows it.
    let (_, fields) = stat.rsplit_once(')')?;
    let hundredths: u64 = fields.split_whitespace().nth(22 - 3)?.parse().ok()?;
    Some(Duration::from_millis(hundredths.checked_mul(10)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_the_22nd_field_whatever_the_name_is() {
        let fields = (4..=30).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        // Field 22 is the number 22 here: 0.22 seconds.
        for name in ["headwater", "a b", "x) R 1 (", ""] {
            assert_eq!(since_boot(&format!("17 ({name}) S {fields}\n")), Some(Duration::from_millis(220)), "{name}");
        }
        assert_eq!(since_boot("17 (headwater) S 1 2"), None);
    }

    #[test]
    fn numbers_of_status_are_found_by_their_names() {
        let status = "Name:\tThreads: 9\nVmPeak:\t  300 kB\nVmSize:\t  200 kB\nVmRSS:\t  100 kB\nThreads:\t7\n";
        assert_eq!(
            ["VmSize:", "VmRSS:", "Threads:"].map(|name| number_of(status, name)),
            [Some(200), Some(100), Some(7)]
        );
        assert_eq!(number_of(status, "VmSwap:"), None);
    }
}

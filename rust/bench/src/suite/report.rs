//! `BENCHMARKS.md` from the lines of one or more runs.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::record::{About, Record};
use super::targets::{TARGETS, Verdict};

/// The lines of one run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Where and on what.
    pub about: About,
    /// All other lines.
    pub records: Vec<Record>,
}

impl Run {
    /// Splits lines into runs: of each preset the lines that came last stand for it.
    #[must_use]
    pub fn split(records: Vec<Record>) -> Vec<Self> {
        let mut runs: BTreeMap<u64, Self> = BTreeMap::new();
        let mut current = 0;
        for record in records {
            match record {
                Record::About(about) => {
                    current = about.transfers;
                    let run = runs.entry(current).or_insert_with(|| Self { about: about.clone(), records: Vec::new() });
                    if about.active > 0 {
                        run.about = about;
                    }
                }
                Record::Of { transfers } => current = transfers,
                Record::Load(_)
                | Record::Timing(_)
                | Record::Cold { .. }
                | Record::Memory(_)
                | Record::Peer { .. }
                | Record::Face { .. } => {
                    if let Some(run) = runs.get_mut(&current) {
                        run.records.retain(|held| subject(held) != subject(&record));
                        run.records.push(record);
                    }
                }
            }
        }
        runs.into_values().collect()
    }

    /// The figures of an engine.
    #[must_use]
    pub fn timing(&self, query: &str, set: &str, engine: &str) -> Option<super::samples::Figures> {
        self.records.iter().find_map(|record| match record {
            Record::Timing(timing)
                if (timing.query.as_str(), timing.set.as_str(), timing.engine.as_str()) == (query, set, engine) =>
            {
                Some(timing.figures)
            }
            _ => None,
        })
    }

    /// What building took.
    #[must_use]
    pub fn load(&self) -> Option<&super::load::Load> {
        self.records.iter().find_map(|record| if let Record::Load(load) = record { Some(load) } else { None })
    }
}

/// What a record is about: a later one of the same takes its place.
fn subject(record: &Record) -> (u8, String, String, String) {
    let text = str::to_owned;
    match record {
        Record::About(_) | Record::Of { .. } => (0, String::new(), String::new(), String::new()),
        Record::Load(_) => (1, String::new(), String::new(), String::new()),
        Record::Timing(timing) => (2, timing.query.clone(), timing.set.clone(), timing.engine.clone()),
        Record::Cold { set, engine, .. } => (3, set.clone(), engine.clone(), String::new()),
        Record::Memory(_) => (4, String::new(), String::new(), String::new()),
        Record::Peer { name, .. } => (5, name.clone(), String::new(), String::new()),
        Record::Face { face, set, .. } => (6, text(face), set.clone(), String::new()),
    }
}

/// Writes the report. `reasons` says of targets that are not met why, by their label.
#[must_use]
pub fn write(runs: &[Run], reasons: &BTreeMap<String, String>, command: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut text, runs, reasons, command);
    text
}

fn write_all(out: &mut String, runs: &[Run], reasons: &BTreeMap<String, String>, command: &str) -> std::fmt::Result {
    let Some(main) = runs.iter().find(|run| run.about.preset == "m").or(runs.last()) else { return Ok(()) };
    let about = &main.about;
    writeln!(out, "# Benchmarks\n")?;
    writeln!(
        out,
        "Written by `{command}`. Commit {}, {}, {} ({} threads), {:.0} GB of memory, {}; load of the machine before \
         the run: {}.\n",
        about.commit,
        about.compiler,
        about.processor,
        about.threads,
        about.memory_bytes as f64 / 1e9,
        about.system,
        about.load
    )?;
    writeln!(out, "{}\n", include_str!("method.md").trim())?;
    write_targets(out, main, reasons)?;
    writeln!(out, "{}\n", include_str!("http.md").trim())?;
    write_growth(out, runs)?;
    for run in runs {
        write_run(out, run)?;
    }
    Ok(())
}

fn write_targets(out: &mut String, run: &Run, reasons: &BTreeMap<String, String>) -> std::fmt::Result {
    writeln!(out, "## Targets, on {} transfers\n", grouped(run.about.transfers))?;
    writeln!(out, "| what | target | seen | met | |\n|---|---|---|---|---|")?;
    for target in TARGETS {
        let (seen, met) = match target.verdict(run) {
            Verdict::Met(seen) => (seen, "yes"),
            Verdict::Missed(seen) => (seen, "**no**"),
            Verdict::Unknown => ("not measured".to_owned(), "–"),
        };
        let reason = if met == "yes" { "" } else { reasons.get(target.label).map_or("", String::as_str) };
        writeln!(out, "| {} | {} | {seen} | {met} | {reason} |", target.label, target.wanted())?;
    }
    writeln!(out)
}

fn write_growth(out: &mut String, runs: &[Run]) -> std::fmt::Result {
    writeln!(out, "## Growth\n")?;
    writeln!(
        out,
        "| transfers | page light / medium / heavy (median) | build, cpu per M | build, most anonymous memory | with pages of \
         mapped files | queries, anonymous | bytes per transfer | commit |\n|---|---|---|---|---|---|---|---|"
    )?;
    for run in runs {
        let page =
            |set| run.timing("page", set, "headwater").map_or("–".to_owned(), |figures| nanos(figures.median_ns));
        let memory = run.records.iter().find_map(|record| match record {
            Record::Memory(memory) => Some(megabytes(memory.most_bytes)),
            _ => None,
        });
        let load = run.load();
        let cell = |text: Option<String>| text.unwrap_or("–".to_owned());
        writeln!(
            out,
            "| {} | {} / {} / {} | {} | {} | {} | {} | {} | {} |",
            grouped(run.about.transfers),
            page("light"),
            page("medium"),
            page("heavy"),
            cell(load.map(|load| format!("{:.2} s", load.cpu_secs_per_million()))),
            cell(load.map(|load| megabytes(load.anonymous_bytes))),
            cell(load.map(|load| megabytes(load.resident_bytes))),
            cell(memory),
            cell(load.map(|load| format!("{:.1}", load.per_transfer(load.bytes)))),
            run.about.commit,
        )?;
    }
    writeln!(out)
}

fn write_run(out: &mut String, run: &Run) -> std::fmt::Result {
    let about = &run.about;
    writeln!(out, "## {} transfers\n", grouped(about.transfers))?;
    let tops: Vec<String> = about.top_degrees.iter().map(|&degree| grouped(u64::from(degree))).collect();
    writeln!(out, "{} accounts occur; the ten largest have {} postings.", grouped(about.active), tops.join(", "))?;
    for (set, count, least, most) in &about.sets {
        writeln!(
            out,
            "{set}: {count} accounts of {} to {} postings, a transfer to oneself counted twice.",
            grouped(u64::from(*least)),
            grouped(u64::from(*most))
        )?;
    }
    writeln!(out)?;
    writeln!(out, "| question | of | engine | median | p95 | cpu | runs |\n|---|---|---|---|---|---|---|")?;
    for record in &run.records {
        if let Record::Timing(timing) = record {
            let figures = timing.figures;
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                timing.query,
                timing.set,
                timing.engine,
                nanos(figures.median_ns),
                nanos(figures.p95_ns),
                nanos(figures.cpu_ns),
                figures.operations
            )?;
        }
    }
    writeln!(out)?;
    if run.records.iter().any(|record| matches!(record, Record::Cold { .. } | Record::Face { .. })) {
        writeln!(
            out,
            "| page of 100 | of | median | p95 | read, median | read, most | major faults |\n|---|---|---|---|---|---|---|"
        )?;
    }
    for record in &run.records {
        if let Record::Cold { set, engine, cold } = record {
            writeln!(
                out,
                "| cold, {engine} | {set} | {} | {} | {:.0} KB | {:.0} KB | {} |",
                nanos(cold.figures.median_ns),
                nanos(cold.figures.p95_ns),
                cold.median_bytes as f64 / 1024.0,
                cold.most_bytes as f64 / 1024.0,
                cold.median_faults
            )?;
        }
        if let Record::Face { face, set, median_ns, p95_ns, .. } = record {
            writeln!(out, "| {face} | {set} | {} | {} | | | |", nanos(*median_ns), nanos(*p95_ns))?;
        }
    }
    writeln!(out)?;
    if let Some(load) = run.load() {
        writeln!(
            out,
            "Store: {} commits in {:.1} s by the clock and {:.1} s of processor, with compaction, edges and holders {:.1} s and \
             {:.1} s; {} in {} files.\n",
            load.commits,
            load.commits_cost.wall_ns as f64 / 1e9,
            load.commits_cost.cpu_ns as f64 / 1e9,
            load.cost.wall_ns as f64 / 1e9,
            load.cost.cpu_ns as f64 / 1e9,
            megabytes(load.bytes),
            load.files
        )?;
        writeln!(out, "| section | bytes per transfer |\n|---|---|")?;
        let mut sections: Vec<_> =
            load.sections.iter().filter(|(_, bytes)| load.per_transfer(**bytes) >= 0.01).collect();
        sections.sort_by_key(|(name, bytes)| (std::cmp::Reverse(**bytes), (*name).clone()));
        for (name, bytes) in sections {
            writeln!(out, "| {name} | {:.2} |", load.per_transfer(*bytes))?;
        }
        writeln!(out)?;
    }
    let peers: Vec<_> = run.records.iter().filter(|record| matches!(record, Record::Peer { .. })).collect();
    if !peers.is_empty() {
        writeln!(
            out,
            "| peer | version | transfers | loading, cpu per M | bytes per transfer |\n|---|---|---|---|---|"
        )?;
    }
    for record in peers {
        if let Record::Peer { name, version, transfers, build, bytes } = record {
            let millions = *transfers as f64 / 1e6;
            writeln!(
                out,
                "| {name} | {version} | {} | {} | {} |",
                grouped(*transfers),
                build.map_or("–".to_owned(), |cost| format!("{:.2} s", cost.cpu_ns as f64 / 1e9 / millions)),
                bytes.map_or("–".to_owned(), |bytes| format!("{:.1}", bytes as f64 / *transfers as f64)),
            )?;
        }
    }
    writeln!(out)
}

/// Nanoseconds in the unit that reads best.
#[must_use]
pub fn nanos(nanos: u64) -> String {
    let value = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} µs", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// 1234567 as 1,234,567.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((grouped(7), grouped(1000), grouped(1_234_567)), ("7".into(), "1,000".into(), "1,234,567".into()));
        assert_eq!((nanos(999), nanos(1500), nanos(2_500_000)), ("999 ns".into(), "1.5 µs".into(), "2.50 ms".into()));
    }
}

//! `BENCHMARKS.md` from the lines of one or more runs.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::record::{Record, Run};
use super::targets::{TARGETS, Verdict};
use super::units::{grouped, megabytes, nanos};

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

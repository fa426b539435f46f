//! The story of the demo in ten lines, and everything else that is worth trying.

use std::path::{Path, PathBuf};

use super::{Demo, DemoAddress};
use crate::output::table;

/// The kinds of addresses that the list compares.
const KINDS: [&str; 4] = ["sanctioned", "risky", "clean", "exchange"];

/// Chains in the order in which the story prefers them.
const CHAINS: [&str; 4] = ["ethereum", "tron", "bitcoin", "bsc"];

/// The program as people call it.
#[derive(Debug, Clone)]
pub struct CommandLine {
    /// Its name or path.
    pub program: String,
}

/// The server that the demo runs.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its address; `None` where it does not run.
    pub url: Option<String>,
    /// The key for it.
    pub key: String,
}

impl CommandLine {
    fn of(&self, arguments: &str) -> String {
        format!("{} {arguments}", quoted(&self.program))
    }
}

/// The addresses of a theft.
struct Theft<'d> {
    chain: &'d str,
    victim: &'d str,
    thief: &'d str,
    exchange: &'d str,
}

/// Returns whether addresses contain a theft.
pub(super) fn has_theft(addresses: &[DemoAddress]) -> bool {
    theft(addresses).is_some()
}

fn theft(addresses: &[DemoAddress]) -> Option<Theft<'_>> {
    CHAINS.into_iter().find_map(|chain| {
        let of = |title: &str| {
            let found = addresses.iter().find(|one| one.blockchain == chain && one.title == title);
            found.map(|one| one.address.as_str())
        };
        Some(Theft { chain, victim: of("victim")?, thief: of("thief")?, exchange: of("cash-out")? })
    })
}

/// Formats the theft as four commands.
pub(super) fn lines(demo: &Demo, command: &CommandLine, service: &Service) -> Vec<String> {
    let Some(Theft { chain, victim, thief, exchange }) = theft(&demo.addresses) else { return list(demo, command) };
    let store = quoted(&demo.store.display().to_string());
    let page = format!("/explore#chain={chain}&address={thief}&outward=3&inward=0");
    let (page, docs) = match &service.url {
        Some(url) => (format!("{url}{page}"), format!("{url}/docs; serving until Ctrl-C")),
        None => {
            let serve = command.of(&format!("serve --store {store}"));
            (format!("http://127.0.0.1:8080{page}"), format!("http://127.0.0.1:8080/docs, after {serve}"))
        }
    };
    vec![
        format!(
            "A theft on {chain}, in the demo economy: who lost money to whom, and where it went. In another shell:"
        ),
        format!("  export HEADWATER_STORE={store}"),
        format!("  {}", command.of(&format!("transactions {victim} --with {thief} --chain {chain}"))),
        format!("  {}", command.of(&format!("trace {thief} --chain {chain} --outward 3 --inward 0"))),
        format!("  {}", command.of(&format!("risk {thief} --chain {chain}"))),
        format!("  {}", command.of(&format!("labels show {exchange} --chain {chain}"))),
        format!("look  {page}"),
        format!("more  {}", command.of("demo --list")),
        format!("key   {}", service.key),
        format!("docs  {docs}"),
    ]
}

/// Lists every address worth looking at, and how to ask about them in the shell, over HTTP and in Python.
pub(super) fn list(demo: &Demo, command: &CommandLine) -> Vec<String> {
    let store = quoted(&demo.store.display().to_string());
    let rows: Vec<Vec<String>> = std::iter::once(["chain", "what", "address", "why"].map(str::to_owned).to_vec())
        .chain(
            demo.addresses
                .iter()
                .map(|one| vec![one.blockchain.clone(), one.title.clone(), one.address.clone(), one.why.clone()]),
        )
        .collect();
    let mut lines = vec![format!("The demo economy is in {store}. Addresses worth a look:"), String::new()];
    lines.extend(table(&rows));
    let of = |chain: &str, title: &str| {
        demo.addresses.iter().find(|one| one.blockchain == chain && one.title == title).map(|one| &*one.address)
    };
    let chain = CHAINS.into_iter().find(|chain| KINDS.iter().all(|kind| of(chain, kind).is_some()));
    lines.extend([String::new(), "In the shell:".to_owned(), format!("  export HEADWATER_STORE={store}")]);
    if let Some(chain) = chain {
        let four: Vec<_> = KINDS.iter().filter_map(|kind| of(chain, kind)).collect();
        let (four, sanctioned) = (four.join(" "), of(chain, "sanctioned").unwrap_or_default());
        lines.extend(
            [
                format!("risk --chain {chain} {four}"),
                format!("classify --chain {chain} {four}"),
                format!("trace --chain {chain} {sanctioned} --out trace.svg"),
                format!("wallet --chain {chain} {}", of(chain, "clean").unwrap_or_default()),
                format!("score --chain {chain} --columns risk,class --output scores.parquet"),
            ]
            .map(|arguments| format!("  {}", command.of(&arguments))),
        );
    }
    if let Some(exchange) = of("bitcoin", "exchange") {
        lines.push(format!("  {}", command.of(&format!("cluster {exchange}"))));
    }
    if let Some(first) = demo.addresses.first() {
        let DemoAddress { blockchain, address, .. } = first;
        lines.extend([
            String::new(),
            "Over HTTP, while `headwater demo` serves and KEY is the key that it printed:".to_owned(),
            format!(
                "  curl -s http://127.0.0.1:8080/v1/counterparty -H \"X-API-Key: $KEY\" -H 'Content-Type: application/json' \
                 -d '{{\"blockchain\": \"{blockchain}\", \"address\": \"{address}\", \"limit\": 5}}'"
            ),
            String::new(),
            "In Python:".to_owned(),
            "  import headwater as hw".to_owned(),
            format!("  hw.open({store:?}).counterparties({address:?}, blockchain={blockchain:?}).frame"),
        ]);
    }
    lines
}

/// Quotes a word for the shell where it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Returns the folder of the demo store in a cache folder.
#[must_use]
pub fn place_in(cache: &Path) -> PathBuf {
    cache.join("headwater").join("demo")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> Demo {
        let one = |title: &str, address: &str| DemoAddress {
            blockchain: "ethereum".to_owned(),
            address: address.to_owned(),
            title: title.to_owned(),
            why: String::new(),
        };
        let addresses = vec![one("victim", "0x01"), one("thief", "0x02"), one("cash-out", "0x03")];
        Demo { store: PathBuf::from("/tmp/my demo"), addresses }
    }

    #[test]
    fn story_is_ten_lines_with_four_commands() {
        let command = CommandLine { program: "headwater".to_owned() };
        let service = Service { url: Some("http://127.0.0.1:1".to_owned()), key: "hw_live_x".to_owned() };
        let lines = demo().story(&command, &service);
        assert_eq!(lines.len(), 10, "{lines:#?}");
        assert_eq!(lines[1], "  export HEADWATER_STORE='/tmp/my demo'");
        assert!(lines[2..6].iter().all(|line| line.starts_with("  headwater ")), "{lines:#?}");
        assert_eq!(lines[6], "look  http://127.0.0.1:1/explore#chain=ethereum&address=0x02&outward=3&inward=0");
        assert!(lines[8].contains("hw_live_x") && lines[9].contains("http://127.0.0.1:1/docs"), "{lines:#?}");
        let unserved = demo().story(&command, &Service { url: None, ..service });
        assert_eq!(unserved.len(), 10, "{unserved:#?}");
    }
}

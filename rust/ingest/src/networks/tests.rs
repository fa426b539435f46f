use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn name(stated: &Stated) -> String {
    match stated {
        Stated::One(network) => network.name.to_owned(),
        Stated::OneOf(networks) => networks.iter().map(|network| network.name).collect::<Vec<_>>().join("|"),
        Stated::EvmId(id) => format!("#{id}"),
        Stated::AnyEvm => "evm".to_owned(),
        Stated::Nothing => "nothing".to_owned(),
        Stated::Unknown => "unknown".to_owned(),
    }
}

fn names(networks: &[&Network]) -> String {
    networks.iter().map(|network| network.name).collect::<Vec<_>>().join(" ")
}

#[test]
fn table_words_ids_and_hosts_are_of_one_network() {
    let networks = read(TABLE).unwrap();
    let mut known = BTreeMap::new();
    for network in &networks {
        let words: Vec<_> =
            [&network.names, &network.coins, &network.cells, &network.hosts].into_iter().flatten().collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "{}", network.name);
        for word in words.into_iter().copied().chain(network.ids.iter().map(String::as_str)) {
            let other = known.insert(word.to_owned(), network.name);
            assert!(other.is_none(), "{word} is of {} and of {other:?}", network.name);
        }
        for word in [&network.names, &network.coins, &network.cells].into_iter().flatten() {
            assert_eq!(squeezed(word), *word, "{}", network.name);
        }
        for form in &network.forms {
            assert!(["b58:", "hrp:", "uri:"].iter().any(|kind| form.starts_with(kind)), "{form}");
        }
    }
    let names: BTreeSet<_> = networks.iter().map(|network| network.name).collect();
    assert_eq!(names.len(), networks.len());
    assert_eq!(read("ethereum,evm"), Err("ethereum,evm"));
}

#[test]
fn every_held_chain_is_found_by_its_words_and_ids() {
    for chain in Chain::all() {
        let network = by_name(chain.name()).unwrap();
        assert_eq!((network.held, network.kind), (Some(chain), Kind::Like(chain.family())));
        assert_eq!(of_id(chain.caip2()), Some(network));
        let words = chain.aliases().iter().copied().chain([chain.name(), chain.display_name(), chain.native_symbol()]);
        for word in words.chain(network.names.iter().chain(&network.coins).chain(&network.cells).copied()) {
            // The alias `mainnet` is more than a word in a cell.
            let stated = read_cell(word);
            assert_eq!(name(&stated), chain.name(), "{word}");
        }
    }
}

#[test]
fn evm_networks_have_an_id_or_are_short_lived() {
    let without: Vec<_> = NETWORKS
        .iter()
        .filter(|network| network.kind == Kind::Like(Family::Evm) && network.ids.is_empty())
        .map(|network| network.name)
        .collect();
    assert_eq!(without, ["ephemery"]);
    assert_eq!(of_evm_id(42_161).unwrap().name, "arbitrum");
    assert_eq!(of_evm_id(97).unwrap().name, "bsc-testnet");
    assert_eq!(of_lone_evm_id("42161").unwrap().name, "arbitrum");
    for text in ["", "1", "056", "+56", "2020", "2022", "99999999999999999999"] {
        assert_eq!(of_lone_evm_id(text), None, "{text}");
    }
}

#[test]
fn cells_are_read_in_the_words_of_exchanges() {
    for (text, expected) in [
        ("Tron (TRC20)", "tron"),
        ("TRX(TRC20)", "tron"),
        ("TRC-20", "tron"),
        ("USDT-TRC20", "tron"),
        ("BTC (TRC20)", "tron"),
        ("Ethereum (ERC20)", "ethereum"),
        ("Ethereum Mainnet", "ethereum"),
        ("ethereummainnet", "ethereum"),
        ("ETH-ERC20", "ethereum"),
        ("ERC 20", "ethereum"),
        ("BNB (ERC20)", "ethereum"),
        ("PEPE (ERC20)", "ethereum"),
        ("BNB Smart Chain (BEP20)", "bsc"),
        ("BSC (BEP-20)", "bsc"),
        ("BSC_BNB", "bsc"),
        ("ETH (BEP20)", "bsc"),
        ("BEP2", "bnb-beacon"),
        ("Bitcoin (BTC)", "bitcoin"),
        ("BTC-SegWit", "bitcoin"),
        ("Bitcoin (Lightning)", "bitcoin"),
        ("Arbitrum One", "arbitrum"),
        ("ETH (Arbitrum One)", "arbitrum"),
        ("Polygon (ERC20)", "polygon"),
        ("AVAX C-Chain", "avalanche"),
        ("Optimism (OP Mainnet)", "optimism"),
        ("Ethereum Classic", "ethereum-classic"),
        ("Ethereum Sepolia", "sepolia"),
        ("BNB Smart Chain Testnet", "bsc-testnet"),
        ("Tron Testnet", "testnet"),
        ("NEAR Protocol", "near"),
        ("Bitcoin Cash (BCH)", "bitcoin-cash"),
        ("SPL", "solana"),
        ("USDT", "nothing"),
        ("USDT token", "nothing"),
        ("multi-chain", "nothing"),
        ("EVM", "evm"),
        ("eip155:any", "evm"),
    ] {
        assert_eq!(name(&read_cell(text)), expected, "{text}");
    }
}

#[test]
fn cells_are_read_by_identifier() {
    for (text, expected) in [
        ("1", "ethereum"),
        ("0x1", "ethereum"),
        ("0x38", "bsc"),
        ("56.0", "bsc"),
        ("728126428", "tron"),
        ("eip155:56", "bsc"),
        ("EIP155:10", "optimism"),
        ("eip155:4242", "#4242"),
        ("424242", "#424242"),
        ("eip155:56:0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b", "bsc"),
        ("bip122:000000000019d6689c085ae165831e93", "bitcoin"),
        ("bip122:12a765e31ffd4059bada1e25190f6e98", "litecoin"),
        ("bip122:ffffffffffffffffffffffffffffffff", "unknown"),
        ("tron:0x2b6653dc", "tron"),
        ("tron:728126428", "tron"),
        ("tron:0x94a9059e", "shasta"),
        ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana"),
    ] {
        assert_eq!(name(&read_cell(text)), expected, "{text}");
    }
}

#[test]
fn contradictory_and_unknown_cells_name_no_network() {
    for (text, expected) in [
        ("Ethereum (TRC20)", "ethereum|tron"),
        ("Bitcoin (ERC20)", "bitcoin|ethereum"),
        ("Ethereum / BSC", "ethereum|bsc"),
        ("BTC/ETH", "bitcoin|ethereum"),
        ("Bitcoin Candy", "unknown"),
        ("Foo", "unknown"),
        ("Foo Chain (ERC20)", "unknown"),
        ("Foo Bar (ERC20)", "unknown"),
        ("0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b", "unknown"),
        ("eip155:x", "unknown"),
    ] {
        assert_eq!(name(&read_cell(text)), expected, "{text}");
    }
}

#[test]
fn common_words_and_lone_numbers_name_no_network_by_themselves() {
    for text in
        ["eth", "BSC", "Tron (TRC20)", "BNB Smart Chain (BEP20)", "Optimism (OP Mainnet)", "ERC20", "Arbitrum Nova"]
    {
        assert!(names_network(text), "{text}");
    }
    for text in ["eip155:56", "eip155:424242", "0x38", "EVM"] {
        assert!(names_network(text), "{text}");
    }
    for text in
        ["core", "mode", "flow", "gas", "Core Wallet", "Flow Token", "1", "56", "56.0", "2022", "0x2022", "USDT"]
    {
        assert!(!names_network(text), "{text}");
    }
}

#[test]
fn file_names_say_networks_by_their_longest_words() {
    for (text, expected) in [
        ("basescan-export-0xc.csv", "base"),
        ("arbiscan", "arbitrum"),
        ("optimistic.etherscan", "optimism"),
        ("export-optimistic.etherscan.io.csv", "optimism"),
        ("snowtrace", "avalanche"),
        ("testnet.bscscan.com", "bsc-testnet"),
        ("blockchair_bitcoin-cash_outputs_20240101.tsv", "bitcoin-cash"),
        ("crypto_ethereum_classic", "ethereum-classic"),
        ("goog_blockchain_arbitrum_one_us", "arbitrum"),
        ("goog_blockchain_avalanche_contract_chain_us", "avalanche"),
        ("ethereum-holesky-blocks.json", "holesky"),
        ("bsc_and_eth.csv", "bsc ethereum"),
        ("op_bnb_logs.csv", "opbnb"),
        ("methods-2024-sep.csv", ""),
        ("near_miss.csv", ""),
        ("export-account.csv", ""),
    ] {
        assert_eq!(names(&in_name(text)), expected, "{text}");
    }
}

#[test]
fn folder_names_say_networks_by_names_but_not_by_tickers() {
    for (text, expected) in [
        ("ron", ""),
        ("rose", ""),
        ("pol", ""),
        ("zeta", ""),
        ("hype", ""),
        ("arb", ""),
        ("mode", ""),
        ("core", ""),
        ("bnb", "bsc"),
        ("crypto_eth", "ethereum"),
        ("ronin", "ronin"),
        ("polygon-mainnet", "polygon"),
        ("arbiscan", "arbitrum"),
        ("optimistic.etherscan", "optimism"),
    ] {
        assert_eq!(names(&in_folder(text)), expected, "{text}");
    }
    assert_eq!(names(&in_name("ron_logs.csv")), "ronin");
}

#[test]
fn common_words_are_networks_where_they_stand_alone() {
    for text in
        ["data-base", "knowledge-base", "scroll-down", "blast_results_2024.csv", "base_rates.csv", "mantle plume"]
    {
        assert_eq!((names(&in_name(text)), names(&in_folder(text))), (String::new(), String::new()), "{text}");
    }
    for text in
        ["base", "base-mainnet", "base-scan", "base_logs_2024-01-02.csv", "export-base-0xab.csv", "network_base"]
    {
        assert_eq!((names(&in_name(text)), names(&in_folder(text))), ("base".to_owned(), "base".to_owned()), "{text}");
    }
    assert_eq!(names(&in_name("scroll_token_transfers.json")), "scroll");
}

#[test]
fn sites_in_names_are_those_of_explorers() {
    for (text, expected) in [
        ("etherscan_combinedAccountLabels.json", "ethereum"),
        ("bscscanLabels", "bsc"),
        ("optimistic.etherscan", "optimism"),
        ("optimistic.etherscan.io-accounts", "optimism"),
        ("testnet.bscscan.com", "bsc-testnet"),
        ("arbiscan", "arbitrum"),
        ("snowtrace", "avalanche"),
        ("all_ofac.json", ""),
        ("allo.json", ""),
        ("rescan-2024", ""),
        ("database-scan", ""),
        ("cottonscan", ""),
        ("optimism", ""),
        ("ronin-bridge.csv", ""),
    ] {
        assert_eq!(of_site(text).map_or("", |network| network.name), expected, "{text}");
    }
}

#[test]
fn addresses_of_other_coins_are_told_by_their_form() {
    for (text, expected) in [
        ("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp", "litecoin"),
        ("D8XskHfyM9eN6g9aB5zJ16oCUT9DRPpfbf", "dogecoin digibyte"),
        ("bitcoincash:qzd7a9frd5ejvdfxcj3yhntmjfct5v9lkupptq8s33", "bitcoin-cash"),
        ("qzd7a9frd5ejvdfxcj3yhntmjfct5v9lkupptq8s33", "bitcoin-cash"),
        ("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "bitcoin-testnet"),
        ("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "bitcoin-testnet"),
        ("1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg", "bitcoin"),
        ("TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx", "tron"),
        ("bnb1gu7rykvpznczr29phjvmn0d537nx6cn0sp3449", "bnb-beacon"),
        ("0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b", ""),
        ("d-4d1b0a9b6f6f1c8f9d0a1b2c3d4e5f60", ""),
        ("nonstandard", ""),
    ] {
        assert_eq!(names(&of_address(text)), expected, "{text}");
    }
}

#[test]
fn hosts_and_coin_words_lead_to_their_network() {
    assert_eq!(of_host("www.bscscan.com").unwrap().held, Some(Chain::BSC));
    assert_eq!(of_host("optimistic.etherscan.io").unwrap().name, "optimism");
    assert_eq!(of_host("example.com"), None);
    for (text, expected) in [("Bitcoin Cash", "bitcoin-cash"), ("btc", "bitcoin"), ("Litecoin", "litecoin")] {
        assert_eq!(of_coin_word(text).unwrap().name, expected);
    }
    assert_eq!(of_coin_word("near"), None);
}

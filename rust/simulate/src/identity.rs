//! Names of things on chain: addresses, hashes, contracts. All follow from the seed and a name.

use headwater_ledger::read::ScriptType;
use headwater_types::address::{UtxoAddress, UtxoPayload, WitnessProgram, contract_address};
use headwater_types::{Address, Family, Network};
use sha2::{Digest, Sha256};
use sha3::Keccak256;

/// 32 bytes that follow from a seed, a purpose and a name.
pub(crate) fn digest(seed: u64, purpose: &str, name: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"headwater economy");
    hasher.update(seed.to_be_bytes());
    hasher.update((purpose.len() as u64).to_be_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update(name);
    hasher.finalize().into()
}

/// The account of a name on an account chain; the same on all EVM chains, as people's keys are.
pub(crate) fn account(seed: u64, family: Family, name: &str) -> Address {
    match family {
        Family::Evm | Family::Tron => account_of(family, first_20(&digest(seed, family.name(), name.as_bytes()))),
        Family::Utxo => script_address(seed, ScriptType::P2wpkh, name),
    }
}

/// The account of 20 bytes on an account chain.
pub(crate) const fn account_of(family: Family, bytes: [u8; 20]) -> Address {
    match family {
        Family::Tron => Address::Tron(bytes),
        Family::Evm | Family::Utxo => Address::Evm(bytes),
    }
}

/// The address of a script of this form. Forms without an address are filed as P2WPKH.
pub(crate) fn script_address(seed: u64, script: ScriptType, name: &str) -> Address {
    let bytes = digest(seed, script.name(), name.as_bytes());
    let witness = |version, program: &[u8]| {
        UtxoPayload::Witness(WitnessProgram::new(version, program).expect("20 and 32 bytes are witness programs"))
    };
    let payload = match script {
        ScriptType::P2pk | ScriptType::P2pkh => UtxoPayload::PublicKeyHash(first_20(&bytes)),
        ScriptType::P2sh => UtxoPayload::ScriptHash(first_20(&bytes)),
        ScriptType::P2wsh => witness(0, &bytes),
        ScriptType::P2tr => witness(1, &bytes),
        ScriptType::P2wpkh | ScriptType::Multisig | ScriptType::OpReturn | ScriptType::Nonstandard => {
            witness(0, &bytes[..20])
        }
    };
    Address::Utxo(UtxoAddress { network: Network::Mainnet, payload })
}

/// The form of script that an address stands for.
pub(crate) fn script_of(address: &Address) -> ScriptType {
    let Address::Utxo(UtxoAddress { payload, .. }) = address else { return ScriptType::Nonstandard };
    match payload {
        UtxoPayload::PublicKeyHash(_) => ScriptType::P2pkh,
        UtxoPayload::ScriptHash(_) => ScriptType::P2sh,
        UtxoPayload::Witness(program) => match (program.version(), program.program().len()) {
            (0, 20) => ScriptType::P2wpkh,
            (0, 32) => ScriptType::P2wsh,
            (1, 32) => ScriptType::P2tr,
            _ => ScriptType::Nonstandard,
        },
    }
}

/// The zero address of an account chain, which stands for minting and burning.
pub(crate) fn zero(family: Family) -> Address {
    account_of(family, [0; 20])
}

/// The 20 bytes of an account, as call data and topics carry them; zeros for any other address.
pub(crate) fn account_bytes(address: &Address) -> [u8; 20] {
    match address {
        Address::Evm(bytes) | Address::Tron(bytes) => *bytes,
        Address::Utxo(_) => [0; 20],
    }
}

/// The contract that a sender's transaction of this nonce creates: `keccak256(rlp([sender, nonce]))[12..]`.
pub(crate) fn created_contract(sender: &Address, nonce: u64) -> Address {
    account_of(sender.family(), contract_address(&account_bytes(sender), nonce))
}

/// keccak256.
pub(crate) fn keccak(data: &[u8]) -> [u8; 32] {
    Keccak256::digest(data).into()
}

fn first_20(bytes: &[u8; 32]) -> [u8; 20] {
    let mut first = [0; 20];
    first.copy_from_slice(&bytes[..20]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_types::Chain;

    #[test]
    fn a_created_contract_has_the_address_that_ethereum_gives_it() {
        // The first contracts of 0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0, as the Ethereum wiki lists them.
        let sender = Address::parse(Chain::ETHEREUM, "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0").unwrap();
        let expected = [
            "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d",
            "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8",
            "0xf778b86fa74e846c4f0a1fbd1335fe81c00a0c91",
        ];
        for (nonce, text) in (0..).zip(expected) {
            assert_eq!(created_contract(&sender, nonce).to_string(), text);
        }
    }

    #[test]
    fn every_script_form_gives_an_address_of_that_form() {
        for script in [ScriptType::P2pkh, ScriptType::P2sh, ScriptType::P2wpkh, ScriptType::P2wsh, ScriptType::P2tr] {
            let address = script_address(1, script, "wallet");
            assert_eq!(script_of(&address), script);
            assert_eq!(Address::parse(Chain::BITCOIN, &address.to_string()), Ok(address));
        }
    }
}

use bitcoin::absolute::LockTime;
use bitcoin::hashes::Hash as _;
use bitcoin::opcodes::OP_TRUE;
use bitcoin::opcodes::all::{OP_CHECKSIG, OP_DUP};
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::secp256k1::{All, Keypair, Message, PublicKey, Secp256k1};
use bitcoin::sighash::{Annex, EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use bitcoin::taproot::{LeafVersion, TaprootBuilder, TaprootSpendInfo};
use bitcoin::{Block, Script, Sequence, Transaction, Txid, Witness};
use headwater_types::Network;

use super::*;

const VALUE: u64 = 100;

fn secp() -> Secp256k1<All> {
    Secp256k1::new()
}

fn pair(number: u8) -> Keypair {
    Keypair::from_seckey_slice(&secp(), &[number; 32]).unwrap()
}

fn key(number: u8) -> [u8; 33] {
    PublicKey::from_keypair(&pair(number)).serialize()
}

fn script_of(values: &[&[u8]]) -> ScriptBuf {
    let push = |builder: Builder, value: &&[u8]| builder.push_slice(PushBytesBuf::try_from(value.to_vec()).unwrap());
    values.iter().fold(Builder::new(), push).into_script()
}

fn to_key_hash(number: u8) -> ScriptBuf {
    ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&key(number)))
}

/// A script that two of three keys sign.
fn two_of(first: u8) -> ScriptBuf {
    let keys = (first..first + 3).fold(Builder::new().push_int(2), |builder, number| builder.push_slice(key(number)));
    keys.push_int(3).push_opcode(bitcoin::opcodes::all::OP_CHECKMULTISIG).into_script()
}

fn signature(message: Message, number: u8) -> Vec<u8> {
    [&secp().sign_ecdsa(&message, &pair(number).secret_key()).serialize_der()[..], &[1]].concat()
}

fn legacy(spender: &Transaction, code: &Script, number: u8) -> Vec<u8> {
    signature(SighashCache::new(spender).legacy_signature_hash(0, code, 1).unwrap().into(), number)
}

fn segwit(spender: &Transaction, code: &Script, number: u8) -> Vec<u8> {
    let value = Amount::from_sat(VALUE);
    let hash = SighashCache::new(spender).p2wsh_signature_hash(0, code, value, EcdsaSighashType::All).unwrap();
    signature(hash.into(), number)
}

/// A P2TR output whose key has the number, with a script that a further key signs.
fn taproot(number: u8) -> (TaprootSpendInfo, ScriptBuf) {
    let leaf = Builder::new().push_x_only_key(&pair(number + 1).x_only_public_key().0).push_opcode(OP_CHECKSIG);
    let leaf = leaf.into_script();
    let tree = TaprootBuilder::new().add_leaf(0, leaf.clone()).unwrap();
    (tree.finalize(&secp(), pair(number).x_only_public_key().0).unwrap(), leaf)
}

fn key_path(spender: &Transaction, number: u8, annex: Option<&[u8]>) -> Vec<u8> {
    use bitcoin::key::TapTweak as _;
    let (info, _) = taproot(number);
    let spent =
        [TxOut { value: Amount::from_sat(VALUE), script_pubkey: ScriptBuf::new_p2tr_tweaked(info.output_key()) }];
    let annex = annex.map(|bytes| Annex::new(bytes).unwrap());
    let hash = SighashCache::new(spender)
        .taproot_signature_hash(0, &Prevouts::All(&spent), annex, None, TapSighashType::Default)
        .unwrap();
    let tweaked = pair(number).tap_tweak(&secp(), info.merkle_root()).to_keypair();
    secp().sign_schnorr_no_aux_rand(&hash.into(), &tweaked).as_ref().to_vec()
}

/// The forms of outputs and their inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Key,
    KeyHash,
    Multisig,
    OfNobody,
    ScriptHash,
    ScriptHashOther,
    WitnessKeyHash,
    WitnessScriptHash,
    WitnessScriptHashOther,
    NestedKeyHash,
    NestedScriptHash,
    KeyPath,
    Annex,
    ScriptPath,
}

impl Form {
    const ALL: [Self; 14] = [
        Self::Key,
        Self::KeyHash,
        Self::Multisig,
        Self::OfNobody,
        Self::ScriptHash,
        Self::ScriptHashOther,
        Self::WitnessKeyHash,
        Self::WitnessScriptHash,
        Self::WitnessScriptHashOther,
        Self::NestedKeyHash,
        Self::NestedScriptHash,
        Self::KeyPath,
        Self::Annex,
        Self::ScriptPath,
    ];

    /// The script of an output whose first key has the number.
    fn script(self, number: u8) -> ScriptBuf {
        let other = Self::other(number);
        match self {
            Self::Key => Builder::new().push_slice(key(number)).push_opcode(OP_CHECKSIG).into_script(),
            Self::KeyHash => to_key_hash(number),
            Self::Multisig => two_of(number),
            Self::OfNobody => Builder::new().push_opcode(OP_TRUE).into_script(),
            Self::ScriptHash => two_of(number).to_p2sh(),
            Self::ScriptHashOther => other.to_p2sh(),
            Self::WitnessKeyHash => ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::hash(&key(number))),
            Self::WitnessScriptHash => two_of(number).to_p2wsh(),
            Self::WitnessScriptHashOther => other.to_p2wsh(),
            Self::NestedKeyHash => Self::WitnessKeyHash.script(number).to_p2sh(),
            Self::NestedScriptHash => Self::WitnessScriptHash.script(number).to_p2sh(),
            Self::KeyPath | Self::Annex | Self::ScriptPath => {
                ScriptBuf::new_p2tr_tweaked(taproot(number).0.output_key())
            }
        }
    }

    fn other(number: u8) -> ScriptBuf {
        Builder::new().push_slice([number; 4]).into_script()
    }

    fn unlock(self, spender: &Transaction, number: u8) -> (ScriptBuf, Witness) {
        let (many, single, other) = (two_of(number), to_key_hash(number), Self::other(number));
        let witness = |values: &[&[u8]]| (ScriptBuf::new(), Witness::from_slice(values));
        let of_script = |values: &[&[u8]]| (script_of(values), Witness::new());
        let nested = |form: Self| (script_of(&[form.script(number).as_bytes()]), form.unlock(spender, number).1);
        let pair_of = |sign: fn(&Transaction, &Script, u8) -> Vec<u8>| {
            (sign(spender, &many, number), sign(spender, &many, number + 2))
        };
        match self {
            Self::Key => of_script(&[&legacy(spender, &self.script(number), number)]),
            Self::KeyHash => of_script(&[&legacy(spender, &single, number), &key(number)]),
            Self::OfNobody => of_script(&[]),
            Self::Multisig | Self::ScriptHash => {
                let (first, second) = pair_of(legacy);
                let values = [&[][..], &first, &second, many.as_bytes()];
                of_script(if self == Self::Multisig { &values[..3] } else { &values })
            }
            Self::ScriptHashOther => of_script(&[other.as_bytes()]),
            Self::WitnessKeyHash => witness(&[&segwit(spender, &single, number), &key(number)]),
            Self::WitnessScriptHash => {
                let (first, second) = pair_of(segwit);
                witness(&[&[], &first, &second, many.as_bytes()])
            }
            Self::WitnessScriptHashOther => witness(&[other.as_bytes()]),
            Self::NestedKeyHash => nested(Self::WitnessKeyHash),
            Self::NestedScriptHash => nested(Self::WitnessScriptHash),
            Self::KeyPath => witness(&[&key_path(spender, number, None)]),
            Self::Annex => witness(&[&key_path(spender, number, Some(&[0x50, 1])), &[0x50, 1]]),
            Self::ScriptPath => {
                let (info, leaf) = taproot(number);
                let control = info.control_block(&(leaf.clone(), LeafVersion::TapScript)).unwrap();
                witness(&[&[1; 64], leaf.as_bytes(), &control.serialize()])
            }
        }
    }

    fn proof(self) -> Proof {
        match self {
            Self::WitnessKeyHash
            | Self::WitnessScriptHash
            | Self::NestedKeyHash
            | Self::NestedScriptHash
            | Self::KeyPath
            | Self::Annex => Proof::OwnerAndValue,
            _ => Proof::Owner,
        }
    }
}

/// Block 7 of regtest: a coinbase transaction of 50 BTC and 10 satoshis, a transaction that spends an output from before,
/// and one that spends the output of that.
fn block(unlock: &dyn Fn(&Transaction) -> (ScriptBuf, Witness)) -> VerifiedBlock {
    let mut block: Block = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
    block.header.time = 1_400_000_000;
    block.txdata[0].output[0].value = Amount::from_sat(5_000_000_010);
    let like = block.txdata[0].clone();
    let transaction = |previous_output: OutPoint, satoshis: u64| Transaction {
        input: vec![TxIn { previous_output, sequence: Sequence::MAX, ..TxIn::default() }],
        output: vec![TxOut { value: Amount::from_sat(satoshis), script_pubkey: to_key_hash(9) }],
        lock_time: LockTime::ZERO,
        ..like.clone()
    };
    let mut first = transaction(OutPoint { txid: Txid::from_byte_array([9; 32]), vout: 1 }, 94);
    (first.input[0].script_sig, first.input[0].witness) = unlock(&first);
    let inner = OutPoint { txid: first.compute_txid(), vout: 0 };
    block.txdata.extend([first, transaction(inner, 90)]);
    VerifiedBlock { number: 7, network: Network::Regtest, block }
}

fn stated(block: &VerifiedBlock, script: &Script) -> Vec<Vec<SpentOutput>> {
    let spent = |place: usize, satoshis, script: &Script| {
        let point = block.block.txdata[place].input[0].previous_output;
        let (txid, index) = (point.txid.to_string(), point.vout);
        vec![SpentOutput { txid, index, satoshis, script: script.to_bytes() }]
    };
    vec![spent(1, VALUE, script), spent(2, 94, &block.block.txdata[1].output[0].script_pubkey)]
}

fn verify(block: &VerifiedBlock, stated: &[Vec<SpentOutput>]) -> Result<Proof, String> {
    let mut created = CreatedOutputs::default();
    created.add(block);
    let proofs = created.verify_spent(block, stated).map_err(|error| error.to_string())?;
    assert_eq!(proofs[1], [Proof::OwnerAndValue], "the output itself is at hand");
    Ok(proofs[0][0])
}

#[test]
fn honest_inputs_of_all_forms_prove_their_owners() {
    for form in Form::ALL {
        let block = block(&|spender| form.unlock(spender, 11));
        let good = stated(&block, &form.script(11));
        assert_eq!(verify(&block, &good), Ok(form.proof()), "{form:?}");
        let mut more = good;
        more[0][0].satoshis += 1;
        assert_eq!(verify(&block, &more).is_err(), form.proof() == Proof::OwnerAndValue, "{form:?} of another value");
    }
}

#[test]
fn owners_that_the_input_does_not_prove_are_refused() {
    for form in Form::ALL {
        let block = block(&|spender| form.unlock(spender, 11));
        for lie in Form::ALL {
            for number in [11, 21] {
                let (script, honest) = (lie.script(number), form.script(11));
                // Nothing covers a script that anyone can spend, and that has no owner.
                let is_open = lie == Form::OfNobody && block.block.txdata[1].input[0].witness.is_empty();
                if script == honest || is_open {
                    continue;
                }
                let error = verify(&block, &stated(&block, &script)).expect_err(&format!("{form:?} as {lie:?}"));
                let place = "block 7: tx[1].vin[0].prevout.scriptPubKey is ";
                assert!(error.starts_with(place) && error.contains("expected a script"), "{error}");
            }
        }
    }
}

/// A spender of an output that anyone can spend can show the key of somebody else, but not sign with it.
#[test]
fn shown_keys_and_scripts_without_signatures_are_refused() {
    let wrong = |form: Form| {
        move |spender: &Transaction| {
            let (script, witness) = form.unlock(spender, 11);
            let mut other = spender.clone();
            other.output[0].value = Amount::from_sat(93);
            let of_other = form.unlock(&other, 11);
            if script.is_empty() || witness.len() > 1 { (script, of_other.1) } else { (of_other.0, witness) }
        }
    };
    let is_signed = |form: &Form| {
        let unsigned = [Form::OfNobody, Form::ScriptPath, Form::ScriptHashOther, Form::WitnessScriptHashOther];
        !unsigned.contains(form)
    };
    for form in Form::ALL.into_iter().filter(is_signed) {
        let block = block(&wrong(form));
        let error = verify(&block, &stated(&block, &form.script(11))).expect_err(&format!("{form:?}"));
        assert!(error.contains("the signature of the input covers"), "{form:?}: {error}");
    }
}

type Change<'a> = &'a dyn Fn(&mut Vec<Vec<SpentOutput>>);

#[test]
fn statements_that_contradict_the_block_are_refused() {
    let block = block(&|spender| Form::KeyHash.unlock(spender, 11));
    let other = to_key_hash(3).into_bytes();
    let good = stated(&block, &to_key_hash(11));
    let refused = |change: Change<'_>| {
        let mut stated = good.clone();
        change(&mut stated);
        verify(&block, &stated).unwrap_err()
    };
    let inner =
        "block 7: tx[2].vin[0].prevout.value is 95 satoshis; expected 94 satoshis, the value of the output itself";
    assert_eq!(refused(&|all| all[1][0].satoshis = 95), inner);
    let cases: [(Change<'_>, &str); 7] = [
        (&|all| all[0][0].txid = "00".to_owned(), "tx[1].vin[0].txid"),
        (&|all| all[0][0].index = 0, "tx[1].vin[0].vout"),
        (&|all| all[1][0].script.clone_from(&other), "the script of the output itself"),
        (&|all| all[0][0].satoshis = 93, "at least 94 satoshis, the value of its outputs"),
        (&|all| all[0][0].satoshis = 99, "the sum of fees is 9 satoshis; expected at least 10 satoshis"),
        (&|all| all[0].clear(), "tx[1].vin is 0"),
        (&|all| all.truncate(1), "tx is 1"),
    ];
    for (change, part) in cases {
        let error = refused(change);
        assert!(error.contains(part), "{error}");
    }
}

/// The scripts of inputs could compute what they show, until only pushes were standard.
#[test]
fn input_that_is_not_only_pushes_proves_nothing() {
    let computed = Builder::new().push_slice(key(11)).push_opcode(OP_DUP).into_script();
    let block = block(&|_| (computed.clone(), Witness::new()));
    assert_eq!(verify(&block, &stated(&block, &to_key_hash(11))), Ok(Proof::Nothing));
}

#[test]
fn witness_programs_prove_nothing_before_their_rules() {
    let mut block = block(&|_| (ScriptBuf::new(), Witness::new()));
    (block.network, block.number) = (Network::Mainnet, 481_823);
    block.block.txdata[0].output[0].value = Amount::ZERO;
    for form in [Form::WitnessKeyHash, Form::KeyPath] {
        assert_eq!(verify(&block, &stated(&block, &form.script(11))), Ok(Proof::Nothing), "{form:?}");
    }
    block.number = 709_631;
    assert_eq!(verify(&block, &stated(&block, &Form::KeyPath.script(11))), Ok(Proof::Nothing));
    assert!(verify(&block, &stated(&block, &Form::WitnessKeyHash.script(11))).is_err());
}

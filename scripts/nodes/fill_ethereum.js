// Fills a chain with transactions of all kinds: node fill_ethereum.js URL CONTRACTS OUT BLOCKS SEED [blobs].
//
// Transactions with blobs are made on request only: anvil counts the blobs into the root of the transactions, where nodes
// of the chain leave them out, so the loader refuses such blocks.
//
// OUT gets the accounts, the contracts, and how many transactions of each kind were mined, as JSON. The chain depends on the
// seed alone: nonces, keys, amounts and blocks are chosen by it.
"use strict";

const fs = require("fs");
const { Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, Mnemonic, Transaction, Wallet, ethers } =
  require("ethers");

const [url, contractsFile, out, blocksText, seedText, blobs] = process.argv.slice(2);
const BLOCKS = Number(blocksText);
const compiled = JSON.parse(fs.readFileSync(contractsFile, "utf8"));
const provider = new JsonRpcProvider(url, 1, { staticNetwork: true, batchMaxCount: 1, cacheTimeout: -1 });
// The accounts that anvil funds.
const PHRASE = "test test test test test test test test test test test junk";
const FUNDED = 10;
// Accounts that begin with nothing.
const OTHERS = 30;
const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
// A blob of zeros is the polynomial 0, whose commitment and proofs are the point at infinity.
const ZERO_BLOB = new Uint8Array(131072);
const INFINITY = `0xc0${"00".repeat(47)}`;

// A generator of numbers below 2^32 (xorshift), so that a seed gives the same chain with every version of Node.
let state = Number(seedText) * 2654435761 + 1;
function below(count) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % count;
}
const pick = (list) => list[below(list.length)];

const root = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(PHRASE), "m/44'/60'/0'/0");
const funded = Array.from({ length: FUNDED }, (_, place) => new Wallet(root.deriveChild(place).privateKey));
const others = Array.from({ length: OTHERS }, (_, place) => new Wallet(ethers.id(`account ${seedText} ${place}`)));
const nonces = new Map([...funded, ...others].map((wallet) => [wallet.address, 0]));
const kinds = {};
const pending = [];

const ask = (method, ...params) => provider.send(method, params);

// Signs a transaction and keeps it for the next block.
function put(kind, wallet, transaction) {
  const nonce = nonces.get(wallet.address);
  nonces.set(wallet.address, nonce + 1);
  const type = transaction.type ?? pick([0, 1, 2, 2]);
  const price = 100n * GWEI;
  const fees =
    type < 2 ? { gasPrice: price + BigInt(below(5)) * GWEI } : { maxFeePerGas: price, maxPriorityFeePerGas: BigInt(below(6)) * GWEI };
  const whole = { chainId: 1, gasLimit: 100_000n, value: 0n, ...transaction, type, nonce, ...fees };
  if (type === 1 && below(2) === 0) whole.accessList = [{ address: wallet.address, storageKeys: [ethers.ZeroHash] }];
  const signed = Transaction.from(whole);
  signed.signature = wallet.signingKey.sign(signed.unsignedHash);
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  pending.push(signed);
  return signed;
}

// Sends what was kept and mines it.
async function mine() {
  for (const signed of pending) await ask("eth_sendRawTransaction", signed.serialized);
  await ask("evm_mine");
  pending.length = 0;
}

function creation(name, ...parameters) {
  const { abi, bytecode } = compiled[name];
  return new ContractFactory(abi, bytecode).getDeployTransaction(...parameters);
}

async function main() {
  await ask("evm_setAutomine", false);
  await ask("anvil_setBlockTimestampInterval", 12);
  await ask("anvil_setCoinbase", "0x00000000000000000000000000000000c0ffee00");
  const owner = funded[0];
  const deployed = [];
  for (const [name, ...parameters] of [
    ["Coin", "First", "FST", 10n ** 15n],
    ["Coin", "Second", "SND", 10n ** 12n],
    ["Bridge"],
    ["Calls"],
  ]) {
    const { data } = await creation(name, ...parameters);
    const signed = put("creation", owner, { data, gasLimit: 3_000_000n });
    const address = ethers.getCreateAddress({ from: owner.address, nonce: signed.nonce });
    deployed.push(new Contract(address, compiled[name].abi));
  }
  await mine();
  const [first, second, bridge, calls] = deployed;
  const coins = [first, second];
  for (const wallet of [...funded.slice(1), ...others]) {
    for (const coin of coins) put("token", owner, call(coin, "transfer", wallet.address, 10n ** 8n));
  }
  for (const wallet of others) put("transfer", pick(funded), { to: wallet.address, value: 20n * ETHER, gasLimit: 30_000n });
  await mine();
  // The bridge may move tokens of its users.
  for (const wallet of others) {
    for (const coin of coins) put("token", wallet, call(coin, "approve", bridge.target, 10n ** 12n));
  }
  await mine();

  const everybody = [...funded, ...others];
  const someone = () => pick(everybody).address;
  const value = () => BigInt(1 + below(1_000_000)) * 10n ** BigInt(below(11));
  let released = 0;
  const makers = {
    transfer: () => ({ to: someone(), value: value(), gasLimit: 30_000n }),
    "transfer of nothing": () => ({ to: someone(), gasLimit: 30_000n }),
    "to itself": (from) => ({ to: from.address, value: value(), gasLimit: 30_000n }),
    token: () => call(pick(coins), "transfer", someone(), BigInt(below(1000))),
    "tokens to many": () => call(pick(coins), "transferMany", [someone(), someone(), someone()], BigInt(below(50)), 200_000n),
    "failed token": () => call(pick(coins), "transfer", someone(), 10n ** 16n),
    burn: () => call(pick(coins), "burn", BigInt(below(100))),
    mint: () => call(pick(coins), "mint", someone(), BigInt(below(10_000))),
    "lock coins": (from) => ({ ...call(bridge, "lockCoins", from.address), value: value() }),
    "lock tokens": (from) => call(bridge, "lockTokens", pick(coins).target, from.address, BigInt(below(500)), 200_000n),
    "release coins": () => call(bridge, "releaseCoins", someone(), BigInt(below(1000)), released++),
    "release tokens": () => call(bridge, "releaseTokens", pick(coins).target, someone(), 1n, released++, 200_000n),
    nested: () => ({ ...call(calls, "nested", 1 + below(6), someone(), 500_000n), value: value() }),
    "pay all": () => ({ ...call(calls, "payAll", [someone(), someone(), someone()], 300_000n), value: value() }),
    fails: () => ({ ...call(calls, "fails", someone()), value: value() }),
    "half fails": () => ({ ...call(calls, "halfFails", someone(), 500_000n), value: value() }),
    "refused creation": () => ({ ...call(calls, "createRefused", 500_000n), value: value() }),
    create: () => ({ ...call(calls, "create", 500_000n), value: value() }),
    "create at": () => ({ ...call(calls, "createAt", ethers.id(`salt ${below(4294967295)}`), 500_000n), value: value() }),
    "end last": () => call(calls, "endLast", someone(), 200_000n),
    "end last to itself": () => call(calls, "endLastToItself", 200_000n),
    "create and end": () => ({ ...call(calls, "createAndEnd", someone(), 500_000n), value: value() }),
    "create and end to itself": () => ({ ...call(calls, "createAndEndToItself", 500_000n), value: value() }),
    "create and end twice": () => ({ ...call(calls, "createAndEndTwice", someone(), 500_000n), value: value() }),
    delegated: () => ({ ...call(calls, "delegated", someone(), 200_000n), value: value() }),
    precompile: () => ({ ...call(calls, "payPrecompile", 200_000n), value: value() }),
    "out of gas": () => ({ ...call(calls, "outOfGas", 90_000n), value: value() }),
    creation: () => ({ data: compiled.Child.bytecode, value: value(), gasLimit: 300_000n }),
    "failed creation": () => ({ data: compiled.Refused.bytecode, value: value(), gasLimit: 300_000n }),
    blob: () => ({
      type: 3, to: someone(), value: value(), gasLimit: 30_000n, maxFeePerBlobGas: 10n * GWEI, blobWrapperVersion: 1,
      blobs: [{ data: ZERO_BLOB, commitment: INFINITY, proof: ethers.concat(Array(128).fill(INFINITY)) }],
    }),
    "set code": () => setCode(),
  };
  // A new account runs the code of a contract, and receives coins through it.
  const authorities = [];
  function setCode() {
    const signer = new Wallet(ethers.id(`authority ${seedText} ${authorities.length}`));
    authorities.push(signer.address);
    const authorization = signer.authorizeSync({ address: pick([calls.target, ethers.ZeroAddress]), chainId: 1, nonce: 0 });
    return { type: 4, to: signer.address, value: value(), gasLimit: 500_000n, authorizationList: [authorization] };
  }
  const names = Object.keys(makers).filter((name) => name !== "blob" || blobs === "blobs");
  let turn = 0;
  while ((await provider.getBlockNumber()) < BLOCKS) {
    const count = below(8) === 0 ? 0 : 1 + below(6);
    for (let transaction = 0; transaction < count; transaction++) {
      // Every kind comes in turn, and transfers in between.
      const kind = below(3) === 0 ? "transfer" : names[turn++ % names.length];
      const isOwners = ["mint", "release coins", "release tokens"].includes(kind);
      const from = isOwners ? owner : pick(everybody);
      put(kind, from, makers[kind](from));
    }
    await mine();
  }
  fs.writeFileSync(
    out,
    JSON.stringify({
      funded: funded.map((wallet) => wallet.address),
      accounts: [...everybody.map((wallet) => wallet.address), ...authorities, ...deployed.map((contract) => contract.target)],
      tokens: coins.map((coin) => coin.target),
      kinds,
    }),
  );
}

// A call of a contract; a last bigint beyond the parameters of the function is the limit of gas.
function call(contract, name, ...parameters) {
  const { inputs } = contract.interface.getFunction(name);
  const [gasLimit] = parameters.splice(inputs.length);
  const data = contract.interface.encodeFunctionData(name, parameters);
  return gasLimit === undefined ? { to: contract.target, data } : { to: contract.target, data, gasLimit };
}

main().then(
  () => provider.destroy(),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);

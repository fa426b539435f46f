// Runs a node of Bitcoin in memory, with a chain of its own: node bitcoin_node.js PORT BLOCKS SEED FOLDER.
//
// The chain has payments from and to all kinds of accounts of the wallet, with change, several inputs and short side
// branches. FOLDER gets blk00000.dat with the blocks as a node stores them, and unspent.json with the amounts of all
// addresses, by a walk over the blocks that is compared with the coins of the node. Prints "ready" and the height, then
// answers JSON-RPC until its standard input ends.
"use strict";

process.env.NODE_BACKEND = "js";

const fs = require("fs");
const path = require("path");
const bcoin = require("bcoin");
const plugin = require("bcoin/lib/wallet/plugin");

const [portText, blocksText, seedText, folder] = process.argv.slice(2);
const BLOCKS = Number(blocksText);
// The block from which on a regtest chain of bcoin has witnesses.
const WITNESSES = 432;
// Blocks without payments at the end, so that all others are final.
const REST = 6;
const PHRASE = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
const network = bcoin.Network.get("regtest");
// The prefixes of addresses on a regtest chain of Bitcoin Core; those of bcoin are its own.
Object.assign(network.addressPrefix, bcoin.Network.get("testnet").addressPrefix, { bech32: "bcrt" });
const { FullNode, KeyRing, Mnemonic, Script } = bcoin;

let state = Number(seedText) * 2654435761 + 1;
function below(count) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % count;
}
const pick = (list) => list[below(list.length)];

const node = new FullNode({
  network: "regtest", memory: true, workers: false, listen: false, httpPort: Number(portText), noAuth: true, walletHttpPort: 0,
  logLevel: "none",
});
node.use(plugin);
const { wdb } = node.require("walletdb");
const kinds = {};

const count = (kind) => (kinds[kind] = (kinds[kind] ?? 0) + 1);

async function mine(address) {
  const tip = node.chain.tip;
  const block = await node.miner.mineBlock(tip, address);
  if (!(await node.chain.add(block))) throw new Error("a block was refused");
  while (wdb.state.height < node.chain.height) await new Promise((done) => setImmediate(done));
  await walletIsIdle();
}

// The wallet reads blocks and transactions of the node beside this program.
async function walletIsIdle() {
  (await wdb.txLock.lock())();
}

// A block beside the newest one, which stays on its side.
async function mineBeside(address, sides) {
  const before = await node.chain.getEntryByHeight(node.chain.height - 1);
  const block = await node.miner.mineBlock(before, address);
  await node.chain.add(block);
  count("side branch");
  sides.push([node.chain.height, block]);
}

// Accounts of all kinds that the wallet has.
async function accounts() {
  const wallet = await wdb.create({ id: "one", mnemonic: Mnemonic.fromPhrase(PHRASE) });
  const kindsOf = [["legacy", false], ["segwit", true]];
  for (const [name, witness] of kindsOf) await wallet.createAccount({ name, type: "pubkeyhash", witness });
  const cosigner = await wdb.create({ id: "two", mnemonic: Mnemonic.fromPhrase(PHRASE.replace(/about$/, "actual")) });
  for (const [name, witness] of [["script", false], ["witness-script", true]]) {
    const options = { name, type: "multisig", m: 2, n: 2, witness };
    const ours = await wallet.createAccount(options);
    const theirs = await cosigner.createAccount(options);
    await wallet.addSharedKey(name, theirs.accountKey);
    await cosigner.addSharedKey(name, ours.accountKey);
  }
  return { wallet, cosigner, names: ["legacy", "segwit", "script", "witness-script"] };
}

// An address of an account, new in every second case; of witness accounts sometimes one inside P2SH.
const known = [];
async function receiver({ wallet, names }) {
  if (known.length > 0 && below(2) === 0) return pick(known);
  const name = pick(names);
  const isNested = name.endsWith("segwit") || name.startsWith("witness") ? below(3) === 0 : false;
  const key = isNested ? await wallet.createNested(name) : await wallet.createReceive(name);
  count(`${isNested ? "nested " : ""}${name} output`);
  known.push(key.getAddress());
  return key.getAddress();
}

// Outputs that no wallet makes by itself.
const ODD = {
  "public key": (ring) => Script.fromPubkey(ring.publicKey),
  "bare multisig": (ring, other) => Script.fromMultisig(1, 2, [ring.publicKey, other.publicKey]),
  data: () => Script.fromNulldata(Buffer.from("headwater")),
  taproot: (ring) => Script.fromProgram(1, ring.publicKey.slice(1)),
};

async function pay(all, from) {
  const { wallet, cosigner, names } = all;
  const outputs = [];
  for (let place = 0; place <= below(3); place++) {
    outputs.push({ address: await receiver(all), value: 10_000 + below(50_000_000) });
  }
  if (below(6) === 0) {
    const kind = pick(Object.keys(ODD));
    count(`${kind} output`);
    const [ring, other] = [KeyRing.generate(), KeyRing.generate()];
    outputs.push({ script: ODD[kind](ring, other), value: kind === "data" ? 0 : 10_000 + below(10_000) });
  }
  const selection = below(12) === 0 ? "all" : "value";
  const mtx = await wallet.createTX({ account: from, outputs, rate: 10_000 + below(20_000), selection });
  await wallet.sign(mtx);
  if (from === names[2] || from === names[3]) await cosigner.sign(mtx);
  const tx = mtx.toTX();
  await node.mempool.addTX(tx);
  await walletIsIdle();
  count(`payment from ${from}`);
}

// The amounts of addresses, and all unspent outputs, up to a height.
async function walk(height) {
  const unspent = new Map();
  for (let at = 0; at <= height; at++) {
    const block = await node.chain.getBlock(at);
    for (const tx of block.txs) {
      for (const { prevout } of tx.isCoinbase() ? [] : tx.inputs) {
        if (!unspent.delete(prevout.toRaw().toString("hex"))) throw new Error("an input without its output");
      }
      tx.outputs.forEach((output, index) => {
        const key = bcoin.Outpoint.fromTX(tx, index).toRaw().toString("hex");
        if (!output.script.isUnspendable()) unspent.set(key, output);
      });
    }
  }
  return unspent;
}

// The coins of the node are those of the walk, but for those of the first block, which cannot be spent.
async function compare(unspent) {
  let coins = 0;
  for (const [key] of unspent) {
    const { hash, index } = bcoin.Outpoint.fromRaw(Buffer.from(key, "hex"));
    if (await node.chain.getCoin(hash, index)) coins += 1;
  }
  if (coins !== unspent.size - 1 || node.chain.db.state.coin !== coins) {
    throw new Error(`the node has ${node.chain.db.state.coin} coins, the walk found ${unspent.size} and the node ${coins}`);
  }
  return coins;
}

// The name of the address of an output. Bare multisig has none; bcoin writes witnesses of all versions as version 0.
function nameOf(output) {
  const address = output.script.isMultisig() ? null : output.getAddress();
  if (address === null) return "";
  const text = address.toString(network);
  return address.isProgram() && address.version > 0 ? asBech32m(text) : text;
}

// Turns the checksum of bech32 into that of bech32m (BIP 350): the two differ by a constant.
function asBech32m(text) {
  const digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  const difference = 1 ^ 0x2bc830a3;
  const checksum = [...text.slice(-6)].map((digit, place) => digits.indexOf(digit) ^ ((difference >>> (5 * (5 - place))) & 31));
  return text.slice(0, -6) + checksum.map((value) => digits[value]).join("");
}

function amounts(unspent) {
  const sums = {};
  for (const output of unspent.values()) {
    const name = nameOf(output);
    sums[name] = (sums[name] ?? 0) + output.value;
  }
  return sums;
}

async function main() {
  await node.open();
  await node.connect();
  const all = await accounts();
  const sides = [];
  let rewarded;
  for (let block = 0; block < BLOCKS - REST; block++) {
    if (block % 12 === 0) rewarded = await receiver(all);
    await mine(rewarded);
    if (below(40) === 0) await mineBeside(await receiver(all), sides);
    // The last payments are mined in a final block.
    if (block < WITNESSES || block === BLOCKS - REST - 1) continue;
    for (const from of all.names) {
      const { confirmed } = await all.wallet.getBalance(from);
      // What is not mature yet counts into the balance as well: such a payment finds no coins.
      if (confirmed > 0 && below(2) > 0) await pay(all, from).catch(notFunded);
    }
  }
  for (let block = 0; block < REST; block++) await mine(await receiver(all));
  const height = node.chain.height;
  const coins = await compare(await walk(height));
  const final = height - REST;
  fs.writeFileSync(path.join(folder, "unspent.json"), JSON.stringify({ final, coins, kinds, amounts: amounts(await walk(final)) }));
  // Blocks of side branches come after those of their height, as they arrived.
  const parts = [];
  for (let at = 0; at <= final; at++) {
    const blocks = [await node.chain.getBlock(at), ...sides.filter(([of]) => of === at).map(([, block]) => block)];
    for (const raw of blocks.map((block) => block.toRaw())) {
      const head = Buffer.alloc(8);
      head.writeUInt32LE(network.magic, 0);
      head.writeUInt32LE(raw.length, 4);
      parts.push(head, raw);
    }
  }
  fs.writeFileSync(path.join(folder, "blk00000.dat"), Buffer.concat(parts));
  console.log(`ready ${height}`);
}

function notFunded(error) {
  if (error.type !== "FundingError") throw error;
  count("payment without coins");
}

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

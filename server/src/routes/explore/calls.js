// The calls of the public API that the page makes, and the same calls for curl and Python.
//
// A call is `{ title, method, path, python, args }`: `args` are the query or the fields of the body; `python` names the
// method of the Python package and its positional arguments.

import { FACTS } from "./facts.js";

/** The settings of a trace by default. */
export const TRACE = { outward: 3, inward: 0, limit: 10, addresses: 500 };

const get = (title, path, args, python) => ({ title, method: "GET", path, args: without(args), python });
const post = (title, path, args, python) => ({ title, method: "POST", path, args: without(args), python });

// Leaves out what is not given.
function without(args) {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null && value !== undefined));
}

// The filters of the page as the API takes them. A trace follows all assets; the picture shows those that were chosen.
function asked(filters) {
  const times = { start_time: filters.from, end_time: filters.to };
  return { times, symbols: filters.assets.length ? filters.assets : null };
}

/** What is held, and whether a key is needed. */
export const chains = () => get("Chains", "/v1/chains", { include: "none" }, ["chains", []]);

/** A text as an address. */
export const resolve = (q, chain) => get("Address", "/v1/addresses/resolve", { q, chain }, ["resolve_address", ["q"]]);

/** The addresses of a name. */
export const find = (q, limit, chain) =>
  get("Name", "/v1/labels/search", { q, limit, chain }, ["search_labels", ["q"]]);

/** The payments of an address in one direction, one hop. */
export function payments({ chain, address }, direction, limit, filters) {
  const { times } = asked(filters);
  const depths = { outward_depth: direction === "out" ? 1 : 0, inward_depth: direction === "in" ? 1 : 0 };
  const setting = without({ ...depths, limit, method: "none", ...times });
  const args = { blockchain: chain, address, track_setting: setting };
  return post(direction === "out" ? "Money out" : "Money in", "/v1/trace", args, ["trace", ["address", "blockchain"]]);
}

/** The money of an address over several hops. */
export function trace({ chain, address }, { outward, inward, limit, addresses }, filters) {
  const { times } = asked(filters);
  const setting = without({ outward_depth: outward, inward_depth: inward, limit, max_nodes: addresses, ...times });
  const args = { blockchain: chain, address, track_setting: setting };
  return post("Trace", "/v1/trace", args, ["trace", ["address", "blockchain"]]);
}

/** Balances, counts and times of an address. */
export const overview = ({ chain, address }) =>
  post("Overview", "/v1/wallet-overview", { blockchain: chain, address }, ["wallet", ["address"]]);

/** The risk of an address. */
export const risk = ({ chain, address }) =>
  post("Risk", "/v1/address-risk", { blockchain: chain, address }, ["risk", ["address"]]);

/** The risk of many addresses; each that is judged costs as much as one call. */
export const risks = (places) =>
  post(
    "Risk of many",
    "/v1/address-risk/batch",
    { queries: places.map(({ chain, address }) => ({ blockchain: chain, address })) },
    null,
  );

/** The counterparties of an address. */
export function counterparties({ chain, address }, filters, limit) {
  const { times, symbols } = asked(filters);
  return post("Counterparties", "/v1/counterparty", { blockchain: chain, address, limit, symbols, ...times }, [
    "counterparties",
    ["address"],
  ]);
}

/** The claims about an address. */
export const labels = ({ chain, address }) =>
  get("Labels", "/v1/labels", { address, blockchain: chain }, ["labels", ["address"]]);

/** The newest movements of an address. */
export function transactions({ chain, address }, filters, limit) {
  const { times, symbols } = asked(filters);
  const args = { blockchain: chain, address, limit, symbols, ...times };
  return post("Transactions", "/v1/transactions", args, ["transactions", ["address"]]);
}

/** The movements between two addresses. */
export function between(chain, target, counterparty, filters, limit) {
  const { times, symbols } = asked(filters);
  const args = { blockchain: chain, target, counterparty, limit, symbols, ...times };
  return post("Transfers between two", "/v1/counterparty/transfer-between", args, [
    "transfers_between",
    ["target", "counterparty"],
  ]);
}

/** One transaction. */
export const transaction = (hash, chain) =>
  get("Transaction", `/v1/transaction/${encodeURIComponent(hash)}`, { blockchain: chain, include: "labels" }, [
    "transaction",
    ["hash"],
  ]);

/** The other side of a bridge. */
export const crossing = (txhash, chain) =>
  get("Over the bridge", "/v1/cross-chain", { txhash, chain }, ["cross_chain", ["txhash"]]);

/** The cluster of a Bitcoin address. */
export const cluster = (address) => get("Cluster", "/v1/btc/cluster", { address, limit: 50 }, ["cluster", ["address"]]);

/** The output of a Bitcoin transaction that returned to the payer. */
export const change = (txid) => get("Change", "/v1/btc/change-address", { txid }, ["change_address", ["txid"]]);

/** Returns the credits of a call. */
export function cost(call) {
  const path = call.path.startsWith("/v1/transaction/") ? "/v1/transaction/{hash}" : call.path;
  return (FACTS.costs[path] ?? 0) * (call.args.queries?.length ?? 1);
}

/** Returns the path with the query of a GET. */
export function target(call) {
  if (call.method !== "GET") {
    return call.path;
  }
  const query = new URLSearchParams(Object.entries(call.args).map(([name, value]) => [name, String(value)])).toString();
  return query ? `${call.path}?${query}` : call.path;
}

/** Returns the body of a POST. */
export function body(call) {
  return call.method === "POST" ? JSON.stringify(call.args) : null;
}

// Quotes a text for a shell.
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes the call for curl; the key is a variable. */
export function curl(call, origin) {
  const lines = [`curl -s ${quoted(origin + target(call))}`, '-H "X-API-Key: $KEY"'];
  if (call.method === "POST") {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(body(call))}`);
  }
  return lines.join(" \\\n  ");
}

// Writes a value as Python does.
function literal(value) {
  if (value === null) {
    return "None";
  }
  if (typeof value === "boolean") {
    return value ? "True" : "False";
  }
  if (Array.isArray(value)) {
    return `[${value.map(literal).join(", ")}]`;
  }
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, part]) => `${JSON.stringify(name)}: ${literal(part)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Writes the call for the Python package; the key is a variable of the environment. */
export function python(call, origin) {
  const head = `import os\nimport headwater as hw\n\nledger = hw.connect(${JSON.stringify(origin)}, os.environ.get("KEY"))\n`;
  if (call.python === null) {
    return `${head}ledger.query(${literal(call.path.replace("/v1/", ""))}, queries=${literal(call.args.queries)})`;
  }
  const [method, first] = call.python;
  const args = { ...call.args, ...call.args.track_setting };
  delete args.track_setting;
  if (method === "transaction") {
    args.hash = decodeURIComponent(call.path.split("/").pop());
  }
  const texts = first.map((name) => literal(args[name]));
  for (const [name, value] of Object.entries(args)) {
    if (!first.includes(name)) {
      texts.push(`${name}=${literal(value)}`);
    }
  }
  return `${head}ledger.${method}(${texts.join(", ")})`;
}

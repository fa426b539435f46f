// Cases as files, to keep and to share. A file contains no key. A file that is opened is untrusted: every field is checked
// and copied, and nothing of it is asked or run.

import { MAX_ADDRESSES, keyOf } from "./case.js";
import { clean, cleanLines } from "./words.js";

const FORMAT = "headwater-case";
const VERSION = 1;
const MAX_BYTES = 20_000_000;
const MAX_PAYMENTS = 30_000;
const MAX_CALLS = 5_000;
const MAX_NOTE = 5_000;
const RISK_LEVELS = ["low", "medium", "high"];
const ASSESSMENTS = ["insufficient", "partial", "full"];

/** Writes a case; the same case gives the same text. */
export function write(state, calls) {
  const addresses = [...state.addresses.values()].map((one) => ({ ...one, key: undefined }));
  const payments = [...state.payments.values()];
  const asked = calls.map(({ call, credits, at, requestId }) => {
    return {
      method: call.method,
      path: call.path,
      args: JSON.stringify(call.args),
      credits,
      at,
      request_id: requestId,
    };
  });
  const file = { format: FORMAT, version: VERSION, addresses, payments, calls: asked };
  return JSON.stringify(file, null, 1);
}

/** Reads a file; an error names the place of what is wrong. */
export async function read(file) {
  if (file.size > MAX_BYTES) {
    throw new Error(`the file has ${file.size} bytes, a case has at most ${MAX_BYTES}`);
  }
  let value;
  try {
    value = JSON.parse(await file.text());
  } catch (error) {
    throw new Error(`the file is not JSON: ${clean(error.message)}`);
  }
  return parse(value);
}

/** Checks the value of a file, and returns `{ state, calls }`. */
export function parse(value) {
  const root = object(value, "the file");
  if (root.format !== FORMAT || root.version !== VERSION) {
    throw new Error(
      `the file is not a case of version ${VERSION}: expected "format": "${FORMAT}", "version": ${VERSION}`,
    );
  }
  const addresses = new Map();
  list(root.addresses, "addresses", MAX_ADDRESSES).forEach((each, at) => {
    const one = address(object(each, `addresses[${at}]`), `addresses[${at}]`);
    addresses.set(one.key, one);
  });
  const payments = new Map();
  list(root.payments, "payments", MAX_PAYMENTS).forEach((each, at) => {
    const one = payment(object(each, `payments[${at}]`), `payments[${at}]`, addresses);
    payments.set(one.key, one);
  });
  const calls = list(root.calls, "calls", MAX_CALLS).map((each, at) =>
    call(object(each, `calls[${at}]`), `calls[${at}]`),
  );
  return { state: { addresses, payments }, calls };
}

function address(of, place) {
  const [chain, name] = [word(of.chain, `${place}.chain`, 40), word(of.address, `${place}.address`, 110)];
  return {
    key: keyOf(chain, name),
    chain,
    address: name,
    name: optional(of.name, `${place}.name`, text),
    labels: list(of.labels, `${place}.labels`, 50).map((label, at) => text(label, `${place}.labels[${at}]`)),
    areLabelsKnown: truth(of.areLabelsKnown, `${place}.areLabelsKnown`),
    isDisputed: truth(of.isDisputed, `${place}.isDisputed`),
    isStart: truth(of.isStart, `${place}.isStart`),
    column: whole(of.column, `${place}.column`, -1000, 1000),
    x: number(of.x, `${place}.x`),
    y: number(of.y, `${place}.y`),
    isPinned: truth(of.isPinned, `${place}.isPinned`),
    note: lines(of.note, `${place}.note`),
    risk: optional(of.risk, `${place}.risk`, risk),
    cluster: optional(of.cluster, `${place}.cluster`, text),
    end: optional(of.end, `${place}.end`, text),
  };
}

function risk(value, place) {
  const of = object(value, place);
  return {
    score: number(of.score, `${place}.score`, 0, 100),
    level: member(of.level, `${place}.level`, RISK_LEVELS),
    assessment: member(of.assessment, `${place}.assessment`, ASSESSMENTS),
  };
}

function payment(of, place, addresses) {
  const end = (value, where) => {
    if (typeof value !== "string" || !addresses.has(value)) {
      throw new Error(`${where}: expected an address of the file as "chain:address"`);
    }
    return value;
  };
  return {
    key: text(of.key, `${place}.key`, 600),
    from: end(of.from, `${place}.from`),
    to: end(of.to, `${place}.to`),
    symbol: text(of.symbol, `${place}.symbol`),
    contract: optional(of.contract, `${place}.contract`, word),
    amount: optional(of.amount, `${place}.amount`, digits),
    raw: digits(of.raw, `${place}.raw`),
    usd: optional(of.usd, `${place}.usd`, number),
    count: whole(of.count, `${place}.count`, 1, 1e12),
    first: time(of.first, `${place}.first`),
    last: time(of.last, `${place}.last`),
    hashes: list(of.hashes, `${place}.hashes`, 10).map((hash, at) => word(hash, `${place}.hashes[${at}]`)),
    isChange: truth(of.isChange, `${place}.isChange`),
    isPart: truth(of.isPart, `${place}.isPart`),
    followed: optional(of.followed, `${place}.followed`, followed),
    crossing: optional(of.crossing, `${place}.crossing`, crossing),
  };
}

function followed(value, place) {
  const of = object(value, place);
  return {
    amount: digits(of.amount, `${place}.amount`),
    usd: optional(of.usd, `${place}.usd`, number),
    start: text(of.start, `${place}.start`),
  };
}

function crossing(value, place) {
  const of = object(value, place);
  const part = (name) => text(of[name] ?? "", `${place}.${name}`);
  return {
    bridge: part("bridge"),
    from: part("from"),
    to: part("to"),
    sourceHash: part("sourceHash"),
    hash: part("hash"),
    receiver: part("receiver"),
    status: part("status"),
  };
}

function call(of, place) {
  return {
    call: {
      title: "From the file",
      method: member(of.method, `${place}.method`, ["GET", "POST"]),
      path: path(of.path, `${place}.path`),
      args: args(of.args, `${place}.args`),
    },
    credits: number(of.credits, `${place}.credits`, 0, 1e9),
    at: time(of.at, `${place}.at`),
    requestId: text(of.request_id, `${place}.request_id`),
    isFromFile: true,
  };
}

// A path of the API: one that names another host would take the key there.
function path(value, place) {
  if (typeof value !== "string" || value.length > 300 || !/^\/v[12]\/[0-9A-Za-z_/-]+$/.test(value)) {
    throw new Error(`${place}: expected a path of the API, such as /v1/trace`);
  }
  return value;
}

function args(value, place) {
  try {
    return object(JSON.parse(text(value, place, 20_000)), place);
  } catch {
    throw new Error(`${place}: expected a JSON object as text`);
  }
}

function object(value, place) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error(`${place}: expected an object`);
  }
  return value;
}

function list(value, place, max) {
  if (!Array.isArray(value) || value.length > max) {
    throw new Error(`${place}: expected a list of at most ${max}`);
  }
  return value;
}

function text(value, place, max = 200) {
  if (typeof value !== "string") {
    throw new Error(`${place}: expected a text`);
  }
  return clean(value, max);
}

function lines(value, place) {
  if (typeof value !== "string") {
    throw new Error(`${place}: expected a text`);
  }
  return cleanLines(value, MAX_NOTE);
}

// Addresses, hashes, contracts and chains.
function word(value, place, max = 200) {
  if (typeof value !== "string" || value.length > max || !/^[0-9A-Za-z:._-]+$/.test(value)) {
    throw new Error(`${place}: expected at most ${max} letters, digits and : . _ -`);
  }
  return value;
}

function digits(value, place) {
  if (typeof value !== "string" || value.length > 100 || !/^-?\d+(\.\d+)?$/.test(value)) {
    throw new Error(`${place}: expected a decimal number as text`);
  }
  return value;
}

function number(value, place, min = -1e15, max = 1e15) {
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    throw new Error(`${place}: expected a number from ${min} to ${max}`);
  }
  return value;
}

function whole(value, place, min, max) {
  if (!Number.isInteger(number(value, place, min, max))) {
    throw new Error(`${place}: expected a whole number`);
  }
  return value;
}

// Epoch seconds of the years 1970 to 2286.
function time(value, place) {
  return whole(value, place, 0, 1e10);
}

function truth(value, place) {
  if (typeof value !== "boolean") {
    throw new Error(`${place}: expected true or false`);
  }
  return value;
}

function member(value, place, all) {
  if (!all.includes(value)) {
    throw new Error(`${place}: expected one of ${all.join(", ")}`);
  }
  return value;
}

function optional(value, place, read) {
  return value === null || value === undefined ? null : read(value, place);
}

/** Gives a file to the user. */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

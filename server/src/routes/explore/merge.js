// Answers of the API as parts of a case.

import { addAddress, addPayment, keyOf } from "./case.js";
import { arrange, place } from "./layout.js";
import { clean } from "./words.js";

// The reasons of ends that say something of the address, not of the question.
const LASTING_ENDS = new Set(["label", "hub", "contract", "not_held", "no_owner", "no_outflow"]);

/** Adds an address to a draft without its payments; returns whether it is new. */
export function mergeAddress(draft, chain, address, fields = {}) {
  const key = keyOf(chain, address);
  const isNew = addAddress(draft, { key, chain, address, ...fields });
  if (isNew) {
    place(draft, [key]);
  }
  return isNew;
}

/** Adds the answer of a trace to a draft; returns the keys of new addresses. `isPart`: it may leave payments out. */
export function mergeTrace(draft, data, isPart) {
  const start = keyOf(data.blockchain, data.address);
  const column = draft.addresses.get(start)?.column ?? 0;
  const wasEmpty = draft.addresses.size <= 1;
  const fresh = [];
  for (const node of data.nodes) {
    const key = keyOf(node.blockchain, node.address);
    const known = { key, chain: node.blockchain, address: node.address, ...names(node) };
    if (LASTING_ENDS.has(node.stop_reason)) {
      known.end = node.stop_reason;
    }
    if (!draft.addresses.has(key)) {
      known.column = column + node.depth;
      known.isStart = key === start;
      fresh.push(key);
    }
    addAddress(draft, known);
  }
  for (const edge of data.edges) {
    addPayment(draft, tracePayment(edge, isPart, start));
  }
  if (wasEmpty) {
    arrange(draft);
  } else {
    place(draft, fresh);
  }
  return fresh;
}

function names(node) {
  return {
    name: node.entity_name === null ? null : clean(node.entity_name),
    labels: node.labels.map((code) => clean(code)),
    areLabelsKnown: true,
    isDisputed: node.disputed !== null,
  };
}

/** Returns what the labels of an address say, from an answer that has its claims; null: it has none. */
export function namesOf(known) {
  return names({
    entity_name: known?.entity_name ?? null,
    labels: known?.labels ?? [],
    disputed: known?.sources?.some((claim) => claim.disputed) ? true : null,
  });
}

// Returns the part of a payment that a trace followed. Only a trace by shares has one.
function followedPart(edge, start) {
  if (edge.taint_amount === null || edge.amount === null) {
    return null;
  }
  const share = Number(edge.amount) > 0 ? Number(edge.taint_amount) / Number(edge.amount) : 0;
  return { amount: edge.taint_amount, usd: edge.amount_usd === null ? null : edge.amount_usd * share, start };
}

function tracePayment(edge, isPart, start) {
  const [from, to] = [keyOf(edge.from_blockchain, edge.from_address), keyOf(edge.to_blockchain, edge.to_address)];
  return {
    key: paymentKey(from, to, edge, edge.is_change),
    from,
    to,
    symbol: clean(edge.symbol),
    contract: edge.contract,
    amount: edge.amount,
    raw: edge.amount_raw,
    usd: edge.amount_usd,
    count: edge.tx_count,
    first: edge.first_activity,
    last: edge.last_activity,
    hashes: edge.tx_hashes,
    isChange: edge.is_change,
    isPart,
    followed: isPart ? followedPart(edge, start) : null,
    crossing: edge.cross_chain ? crossing(edge.cross_chain) : null,
  };
}

function paymentKey(from, to, { contract, symbol }, isChange) {
  return [from, to, contract ?? symbol, isChange ? "change" : ""].join(">");
}

function crossing(of) {
  return {
    bridge: clean(of.bridge),
    from: clean(of.source_chain),
    to: clean(of.destination_chain),
    sourceHash: of.source_tx_hash,
    hash: of.destination_tx_hash,
    receiver: of.receiver_address,
    status: clean(of.status),
  };
}

/** Returns the movements of a transaction that a picture can draw: those between two addresses that moved a known asset. */
export function drawable(data) {
  if (data.inputs === null) {
    const isDrawn = (row) =>
      row.from_address && row.to_address && row.verified && row.status === "success" && row.amount_raw !== "0";
    return data.transfers.filter(isDrawn);
  }
  // Of several payers nobody can say who paid whom.
  const payers = new Set(data.inputs.map((input) => input.address));
  const [payer] = payers;
  if (payers.size !== 1 || !payer) {
    return [];
  }
  const outputs = data.outputs.filter((output) => output.address && output.address !== payer);
  const { blockchain, symbol, timestamp, tx_hash } = data;
  return outputs.map(({ address, amount, amount_raw }) => {
    const ends = { from_address: payer, to_address: address };
    return { blockchain, symbol, timestamp, tx_hash, contract: null, amount, amount_raw, amount_usd: null, ...ends };
  });
}

/** Adds the movements of a transaction to a draft; returns the keys of new addresses. */
export function mergeTransaction(draft, data) {
  const fresh = [];
  for (const row of drawable(data)) {
    const [from, to] = [keyOf(row.blockchain, row.from_address), keyOf(row.blockchain, row.to_address)];
    for (const [key, address, other, step] of [
      [from, row.from_address, to, -1],
      [to, row.to_address, from, 1],
    ]) {
      if (!draft.addresses.has(key)) {
        const beside = draft.addresses.get(other)?.column;
        const column = beside === undefined ? 0 : beside + step;
        addAddress(draft, {
          key,
          chain: row.blockchain,
          address,
          column,
          ...(data.labels ? namesOf(data.labels[address]) : {}),
        });
        fresh.push(key);
      }
    }
    const money = {
      symbol: clean(row.symbol),
      contract: row.contract,
      amount: row.amount,
      raw: row.amount_raw,
      usd: row.amount_usd,
    };
    addPayment(draft, single(from, to, money, row.timestamp, row.tx_hash, null));
  }
  place(draft, fresh);
  return fresh;
}

// Makes the payment of one transaction; there may be more.
function single(from, to, money, time, hash, over) {
  const times = { count: 1, first: time, last: time, hashes: hash ? [hash] : [] };
  return {
    key: paymentKey(from, to, money, false),
    from,
    to,
    ...money,
    ...times,
    isChange: false,
    isPart: true,
    followed: null,
    crossing: over,
  };
}

/**
 * Adds transfers over bridges to a draft: a line from the bridge `via`, or else from the sender, to the receiver on the
 * other chain. Returns the key of the last receiver, or null where no other side is known.
 */
export function mergeCrossings(draft, results, via) {
  let last = null;
  for (const { result } of results) {
    if (!result.destination_chain || !result.receiver_address || !result.sender_address) {
      continue;
    }
    const from = via ?? keyOf(result.source_chain, result.sender_address);
    const to = keyOf(result.destination_chain, result.receiver_address);
    if (!draft.addresses.has(from)) {
      mergeAddress(draft, result.source_chain, result.sender_address);
    }
    const column = draft.addresses.get(from).column + 1;
    const isNew = addAddress(draft, { key: to, chain: result.destination_chain, address: result.receiver_address });
    const isArrived = result.destination_amount !== null;
    const money = {
      symbol: clean(isArrived ? result.destination_symbol : result.source_symbol),
      contract: isArrived ? result.destination_token : result.source_token,
      amount: isArrived ? result.destination_amount : result.source_amount,
      raw: isArrived ? result.destination_amount_raw : result.source_amount_raw,
      usd: result.amount_usd,
    };
    const time = result.destination_timestamp ?? result.source_timestamp;
    addPayment(draft, single(from, to, money, time, result.destination_tx_hash, crossing(result)));
    if (isNew) {
      addAddress(draft, { key: to, column });
      place(draft, [to]);
    }
    last = to;
  }
  return last;
}

// Answers of the API as people read them. Each function returns elements for the panel; `open` functions come from there.

import { element, facts, grid, link, many } from "./dom.js";
import { clean, day, decimal, labelText, moment, money, percent, short, stopText } from "./words.js";

// Why a risk is judged in part or not at all.
const MISSING = new Map([
  ["behavior_unavailable", "its behaviour could not be looked at"],
  ["graph_unavailable", "its counterparties could not be looked at"],
  ["few_transfers", "fewer than five transfers with a price are held"],
  ["rules_deferred", "rules of behaviour need data that is not held"],
  ["history_incomplete", "a part of its history is missing"],
]);
// Floors: they raise a score, and have no points of their own.
const FLOORS = new Map([
  ["ofac_sanctioned", "listed by OFAC"],
  ["confirmed_illicit", "known as illicit"],
  ["direct_sanctioned_edge", "deals with an address under sanctions"],
]);
const EFFECTS = new Map([
  ["as_is", ""],
  ["floor", "raises the score to a floor"],
]);

const list = (...items) => element("ul", {}, ...items.map((item) => element("li", {}, item)));
const title = (text) => element("h3", {}, text);
const paragraph = (...parts) => element("p", {}, ...parts);
const address = (text) => element("span", { class: "whole" }, text);

/** Lists warnings of an answer, which stand before everything else. */
export function warnings(meta) {
  const found = [...(meta.warnings ?? [])].map((one) =>
    clean(typeof one === "string" ? one : (one.message ?? JSON.stringify(one)), 400),
  );
  return found.length
    ? element("div", { class: "warning", role: "note" }, title("Before you rely on this"), list(...found))
    : "";
}

/** Balances, counts and times. */
export function overview(data, open) {
  const counts = [
    ["first activity", moment(data.first_activity)],
    ["last activity", moment(data.last_activity)],
    ["transactions", decimal(data.tx_count)],
    [
      "received",
      `${many(data.received_count, "transfer", "transfers")} from ${many(data.received_address_count, "address", "addresses")}, ${money(data.total_received_usd)}`,
    ],
    [
      "sent",
      `${many(data.sent_count, "transfer", "transfers")} to ${many(data.sent_address_count, "address", "addresses")}, ${money(data.total_sent_usd)}`,
    ],
    ["balance", money(data.total_balance_usd)],
    ["kind of account", data.address_type && clean(data.address_type)],
    ["without a price", data.unpriced_count ? many(data.unpriced_count, "transfer", "transfers") : null],
    ["as of", moment(data.as_of?.timestamp)],
  ];
  const parts = [facts(counts)];
  if (data.first_funder) {
    const { address: funder, amount, symbol, timestamp } = data.first_funder;
    parts.push(
      title("First funded by"),
      paragraph(
        link(short(funder), () => open(funder)),
        ` · ${decimal(amount)} ${clean(symbol)} · ${day(timestamp)}`,
      ),
    );
  }
  const held = data.balances.filter((one) => one.balance_raw !== "0");
  const spent = data.balances.length - held.length;
  const rows = held.map((one) => [
    `${clean(one.symbol, 20)}${one.verified ? "" : " (unverified)"}`,
    decimal(one.balance),
    one.price_usd === null ? "no price" : money(one.balance_usd),
  ]);
  parts.push(
    title("Balances"),
    rows.length ? grid("Balances", ["Asset", "Balance", "US dollars"], rows) : paragraph("None."),
  );
  if (spent) {
    parts.push(paragraph(`${many(spent, "asset", "assets")} with nothing left.`));
  }
  return parts;
}

/** The risk: first whether there is enough to judge, then the reasons of each point. */
export function risk(data, open) {
  const { assessment, assessment_reasons: reasons } = data.meta;
  const missing = reasons.map((reason) => MISSING.get(reason) ?? clean(reason).replaceAll("_", " "));
  const isJudged = assessment !== "insufficient";
  const score = `${data.composite_score.toFixed(2)} of 100`;
  const verdict = isJudged ? `${data.risk_level} risk, ${score}` : "Not enough data to judge";
  const level = element("p", { class: `verdict ${isJudged ? data.risk_level : "none"}` }, verdict);
  const limits = missing.length
    ? paragraph(isJudged ? "Judged in part: " : "What is missing: ", missing.join("; "), ".")
    : "";
  // How far the risk could be judged comes before its level.
  const parts = isJudged ? [limits, level] : [level, limits];
  parts.push(title("Why this score"));
  const rows = data.factors.map((factor) => [
    FLOORS.has(factor.code) ? "floor" : factor.points === null ? "" : factor.points.toFixed(1),
    element("div", {}, element("b", {}, factorName(factor)), ` · ${clean(factor.dimension)}`),
    element("div", {}, ...factorText(factor, open)),
  ]);
  if (rows.length) {
    parts.push(grid("Why this score", ["Points", "What", "Detail"], rows));
  } else {
    parts.push(
      paragraph(
        isJudged
          ? "Nothing was found that gives points."
          : "Nothing was found, and nothing can be concluded from that.",
      ),
    );
  }
  const { intel, behavior, graph } = data.dimensions;
  parts.push(
    title("The three parts"),
    facts([
      ["labels", intel.score.toFixed(1)],
      ["behaviour", behavior === null ? "not judged" : behavior.score.toFixed(1)],
      [
        "counterparties",
        data.meta.graph_available
          ? graph.score.toFixed(1)
          : `not looked at (${clean(graph.reason).replaceAll("_", " ")})`,
      ],
      [
        "floor",
        data.decision.gated
          ? (FLOORS.get(data.decision.gate_reason) ?? clean(data.decision.gate_reason).replaceAll("_", " "))
          : "none",
      ],
    ]),
  );
  for (const found of behavior?.behaviors ?? []) {
    const hashes = found.evidence.tx_hashes ?? [];
    if (!hashes.length) {
      continue;
    }
    parts.push(
      paragraph(`Evidence of ${clean(found.code).replaceAll("_", " ")}:`),
      list(...hashes.map((hash) => link(short(hash), () => open(null, hash)))),
    );
  }
  const risky = graph.edge?.risky_neighbors ?? [];
  if (risky.length) {
    const item = (one) => {
      const name = one.entity_name === null ? one.labels.map(labelText).join(", ") : clean(one.entity_name);
      return element(
        "span",
        {},
        link(short(one.address), () => open(one.address)),
        ` ${name} · ${clean(one.direction)} · ${one.amount_usd === null ? "no price" : money(one.amount_usd)}`,
      );
    };
    parts.push(title("Risky counterparties"), list(...risky.map(item)));
  }
  parts.push(paragraph("A score orders addresses by the evidence that is held. It is no probability and no proof."));
  return parts;
}

function factorName({ code, dimension }) {
  return FLOORS.get(code) ?? (dimension === "behavior" ? clean(code).replaceAll("_", " ") : labelText(code));
}

function factorText(factor, open) {
  const texts = [clean(factor.detail ?? "", 600)];
  const effect = EFFECTS.get(factor.effect) ?? clean(factor.effect).replaceAll("_", " ");
  if (effect) {
    texts.push(` (${effect})`);
  }
  if (factor.disputed) {
    texts.push(" This claim is disputed.");
  }
  if (factor.inherited_through.length) {
    texts.push(" Inherited through its cluster by ");
    factor.inherited_through.forEach((hash) =>
      texts.push(
        link(short(hash), () => open(null, hash)),
        " ",
      ),
    );
  }
  return texts;
}

/** The ranking of counterparties. */
export function counterparties(data, open, add) {
  const rows = data.datas.map((one) => {
    const name = one.entity_name === null ? one.labels.map(labelText).join(", ") : clean(one.entity_name);
    return [
      element(
        "div",
        {},
        link(short(one.address), () => open(one.address), { title: one.address }),
        name ? ` ${name}` : "",
      ),
      money(one.received_amount_usd),
      money(one.sent_amount_usd),
      decimal(one.total_count),
      link("Add", () => add(one), { "aria-label": `Add ${short(one.address)} to the picture` }),
    ];
  });
  const count = data.pagination.total ?? null;
  const below = data.below_cutoff;
  return [
    paragraph(`${rows.length}${count === null ? "" : ` of ${count}`} counterparties, by amount.`),
    grid("Counterparties", ["Who", "Received from", "Sent to", "Transactions", ""], rows),
    below?.count
      ? paragraph(
          `${many(below.count, "smaller counterparty", "smaller counterparties")} with ${money(below.total_amount_usd)} together.`,
        )
      : "",
  ];
}

/** The claims, with who makes them. */
export function labels(data) {
  if (!data.sources.length) {
    return [paragraph("No list names this address. That says nothing else about it.")];
  }
  const names = data.labels.map(labelText).join(", ");
  const parts = [
    facts([
      ["name", data.entity_name && clean(data.entity_name)],
      ["labels", names],
      ["confidence", data.confidence.toFixed(2)],
    ]),
  ];
  for (const claim of data.sources) {
    const disputed =
      claim.disputed &&
      `by ${clean(claim.disputed.by)} on ${day(claim.disputed.at)}: ${clean(claim.disputed.reason, 400)}`;
    parts.push(
      title(labelText(claim.label)),
      facts([
        ["disputed", disputed],
        ["name", claim.name && clean(claim.name)],
        [
          "source",
          `${clean(claim.source)}${claim.list && claim.list !== claim.source ? `, list ${clean(claim.list)}` : ""}`,
        ],
        ["level", clean(claim.level).replaceAll("_", " ")],
        ["confidence", claim.confidence.toFixed(2)],
        [
          "since",
          claim.first_seen === null
            ? null
            : `${day(claim.first_seen)}${claim.date_basis === "entity" ? " (date of the entity)" : ""}`,
        ],
        ["until", claim.valid_until === null ? null : day(claim.valid_until)],
        ["status", claim.status === "active" ? null : clean(claim.status).replaceAll("_", " ")],
        ["through its cluster", claim.inherited_from && address(clean(claim.inherited_from))],
        // An address of a page is shown, not followed: a list can name any.
        ["page", claim.source_url && address(clean(claim.source_url, 400))],
        ["licence", claim.licence && clean(claim.licence)],
      ]),
    );
  }
  return parts;
}

/** Movements, newest first. */
export function movements(data, open) {
  const rows = data.datas.map((row) => {
    const way = { To: "out ", From: "in " }[row.direction] ?? "";
    const amount = `${row.amount === null ? `${decimal(row.amount_raw)} units` : decimal(row.amount)} ${clean(row.symbol, 20)}`;
    const worth = row.amount_usd === null ? "no price" : money(row.amount_usd);
    const who = row.counterparty;
    return [
      moment(row.timestamp).slice(0, 16),
      `${way}${amount}${row.verified ? "" : " (unverified)"} · ${worth}`,
      who
        ? element(
            "div",
            {},
            link(short(who), () => open(who), { title: who }),
            row.counterparty_label ? ` ${clean(row.counterparty_label)}` : "",
          )
        : "",
      link(short(row.tx_hash), () => open(null, row.tx_hash), { title: row.tx_hash }),
    ];
  });
  const hidden = Object.entries(data.excluded ?? {}).filter(([, count]) => count > 0);
  const left = hidden.map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`).join(", ");
  const total = data.pagination.total ?? null;
  return [
    total !== null && total > rows.length ? paragraph(`The newest ${rows.length} of ${decimal(total)}.`) : "",
    rows.length ? grid("Transfers", ["Time (UTC)", "Amount", "Counterparty", "Transaction"], rows) : paragraph("None."),
    left ? paragraph(`Hidden: ${left}.`) : "",
  ];
}

/** Where traced money ended, or began. */
export function ends(data, open) {
  const parts = [];
  const labels = new Map(data.nodes.map((node) => [`${node.blockchain}:${node.address}`, node.labels.map(labelText)]));
  const nameOf = ({ blockchain, address: of, label }) => {
    const words = labels.get(`${blockchain}:${of}`) ?? [];
    return [label && !words.includes(labelText(label)) ? clean(label) : "", ...words].filter(Boolean).join(", ");
  };
  for (const { direction, ends: at, returned, stayed, pruned, filtered, fees } of data.summary.divisions ?? []) {
    const rest = [
      ["came back", returned],
      ["stayed between", stayed],
      ["no room to follow", pruned],
      ["left out by filters", filtered],
      ["fees", fees],
    ];
    const others = rest.filter(([, share]) => share > 0).map(([name, share]) => `${percent(share)} ${name}`);
    const way = direction === "out" ? "Where the money went" : "Where the money came from";
    parts.push(title(way), paragraph([`${percent(at)} at the ends below`, ...others].join("; "), "."));
    const rows = data.ends
      .filter((end) => end.direction === direction)
      .map((end) => [
        end.share === null ? "" : percent(end.share),
        element(
          "div",
          {},
          link(short(end.address), () => open(end.address, null, end.blockchain), { title: end.address }),
          ` ${nameOf(end)}`,
        ),
        end.amount_usd === null ? "no price" : money(end.amount_usd),
        many(end.hops, "hop", "hops"),
        stopText(end.stop_reason),
      ]);
    parts.push(grid(way, ["Share", "Address", "US dollars", "Hops", "Why it ends"], rows));
  }
  if (!parts.length) {
    parts.push(paragraph("No payments were followed."));
  }
  if (data.truncated) {
    parts.push(
      paragraph(
        `Not everything was followed: ${data.truncation_reasons.map((one) => clean(one).replaceAll("_", " ")).join(", ")}.`,
      ),
    );
  }
  return parts;
}

/** One transaction. */
export function transaction(data, open) {
  const parts = [
    facts([
      ["transaction", address(data.tx_hash)],
      ["chain", clean(data.blockchain)],
      ["time", moment(data.timestamp)],
      ["block", decimal(data.block_number)],
      ["status", data.status === "success" ? "success" : `${clean(data.status)} ${clean(data.failure_reason ?? "")}`],
      ["fee", data.fee === null ? null : `${decimal(data.fee)} ${clean(data.fee_symbol ?? "")}`],
    ]),
  ];
  const nameOf = (one) => {
    const known = data.labels?.[one];
    return known
      ? known.entity_name === null
        ? known.labels.map(labelText).join(", ")
        : clean(known.entity_name)
      : "";
  };
  const who = (one) =>
    one
      ? element(
          "div",
          {},
          link(short(one), () => open(one, null, data.blockchain), { title: one }),
          ` ${nameOf(one)}`,
        )
      : "unknown";
  if (data.inputs !== null) {
    for (const [name, side] of [
      ["Inputs", data.inputs],
      ["Outputs", data.outputs],
    ]) {
      const rows = side.map((one) => [
        String(one.index),
        who(one.address),
        one.amount === null ? "unknown" : decimal(one.amount),
      ]);
      parts.push(title(name), grid(name, ["Number", "Address", clean(data.symbol)], rows));
    }
    return parts;
  }
  const rows = data.transfers.map((row) => [
    who(row.from_address),
    who(row.to_address),
    `${row.amount === null ? `${decimal(row.amount_raw)} units` : decimal(row.amount)} ${clean(row.symbol, 20)}${row.verified ? "" : " (unverified)"}`,
    row.amount_usd === null ? "no price" : money(row.amount_usd),
  ]);
  if (data.from_address) {
    const owners = new Set(data.transfers.filter((row) => row.amount_raw !== "0").map((row) => row.from_address));
    parts.push(
      facts([
        ["sent by", who(data.from_address)],
        ["called", data.to_address && who(data.to_address)],
      ]),
    );
    if (owners.size && !owners.has(data.from_address)) {
      parts.push(paragraph("The sender of this transaction is another account than those that the money left."));
    }
  }
  parts.push(title("Transfers"), grid("Transfers", ["From", "To", "Amount", "US dollars"], rows));
  return parts;
}

/** Both sides of a bridge. */
export function crossings(data, open) {
  if (!data.results.length) {
    return [paragraph("This transaction is not a leg of a bridge that is known here.")];
  }
  return data.results.flatMap(({ label, result }) => [
    title(`${clean(label)}: ${clean(result.source_chain)} to ${clean(result.destination_chain) || "an unknown chain"}`),
    facts([
      ["status", clean(result.status)],
      [
        "sent",
        result.source_amount === null ? null : `${decimal(result.source_amount)} ${clean(result.source_symbol ?? "")}`,
      ],
      [
        "arrived",
        result.destination_amount === null
          ? null
          : `${decimal(result.destination_amount)} ${clean(result.destination_symbol ?? "")}`,
      ],
      [
        "sender",
        result.sender_address &&
          link(short(result.sender_address), () => open(result.sender_address, null, result.source_chain)),
      ],
      [
        "receiver",
        result.receiver_address &&
          link(short(result.receiver_address), () => open(result.receiver_address, null, result.destination_chain)),
      ],
      ["found by", clean(result.match).replaceAll("_", " ")],
      ["confidence", result.confidence.toFixed(2)],
    ]),
  ]);
}

/** The output that returned to the payer. */
export function change(data) {
  if (data.change === null) {
    return [
      paragraph(`No output can be named as change: ${clean(data.reason ?? "no rule decides").replaceAll("_", " ")}.`),
    ];
  }
  const { change: found, heuristics } = data;
  return [
    facts([
      ["change", `output ${found.index}, ${decimal(found.amount)}`],
      ["address", address(found.address)],
      ["probability", `${percent(found.confidence)} (${clean(found.level)})`],
      ["rules", heuristics.map((rule) => clean(rule.code).replaceAll("_", " ")).join(", ")],
    ]),
    paragraph("This is a probability and no proof."),
  ];
}

/** A cluster: what one person is taken to hold. */
export function cluster(data, open) {
  const weak = data.weakest_link;
  return [
    facts([
      ["cluster", address(data.cluster_id)],
      ["addresses", decimal(data.size)],
      ["method", clean(data.method).replaceAll("_", " ")],
      [
        "weakest link",
        weak &&
          element(
            "span",
            {},
            link(short(weak.txid), () => open(null, weak.txid)),
            ` holds ${many(weak.addresses, "address", "addresses")} to the rest`,
          ),
      ],
    ]),
    title(`Addresses${data.size > data.addresses.length ? `, the first ${data.addresses.length}` : ""}`),
    list(...data.addresses.map((one) => link(short(one), () => open(one), { title: one }))),
    paragraph("A cluster is an inference and no proof: one transaction that several people made links them wrongly."),
  ];
}

// The search: an address, a transaction or a name.

import { button, choice, element, grid, link, many } from "./dom.js";
import * as calls from "./calls.js";
import { clean, labelText, short } from "./words.js";

const MAX_NAMES = 50;
const HASH = /^(0x)?[0-9a-f]{64}$/i;
const ADDRESS = /^((0x|xdc)?[0-9a-f]{40}|41[0-9a-f]{40}|[13T][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{11,87})$/i;

/** Returns what a text looks like: `transaction`, `address` or `name`. */
export function kindOfText(text) {
  return HASH.test(text) ? "transaction" : ADDRESS.test(text) ? "address" : "name";
}

/** Fills the search form. `app` takes what is found. */
export function searchForm(host, app) {
  const input = element("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Address, transaction or name",
    "aria-label": "Address, transaction or name",
  });
  const chain = choice([["", "any chain"]], "", { "aria-label": "Chain" });
  const submit = button("Look up", () => {}, { type: "submit" });
  const form = element("form", { role: "search" }, input, chain, submit);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) {
      look(app, input.value.trim(), chain.value || null);
    }
  });
  input.addEventListener("input", () => {
    const text = input.value.trim();
    const call = { address: calls.resolve(text), name: calls.find(text, MAX_NAMES, chain.value || null) }[
      kindOfText(text)
    ];
    submit.textContent = text && call ? app.priced("Look up", call) : "Look up";
  });
  host.replaceChildren(form);
  return {
    focus: () => input.focus(),
    setChains(names) {
      chain.append(...names.map((name) => element("option", { value: name }, name)));
    },
  };
}

/** Looks a text up. */
export async function look(app, text, chain) {
  const kind = kindOfText(text);
  if (kind === "transaction") {
    await app.openTransaction(text, chain);
  } else if (kind === "address") {
    await lookAddress(app, text, chain);
  } else {
    await lookName(app, text, chain);
  }
}

async function lookAddress(app, text, chain) {
  const answer = await app.ask(calls.resolve(text));
  if (!answer) {
    return;
  }
  const { data } = answer;
  if (!data.valid) {
    const guesses = data.candidates.map((one) => clean(one.address)).join(", ");
    const why = data.reason ? ` (${clean(data.reason).replaceAll("_", " ")})` : "";
    app.warn(
      `${clean(text)} is not an address${why}.${guesses ? ` It is near ${guesses}: compare letter by letter.` : ""}`,
    );
    return;
  }
  const found = chain ?? data.chain;
  if (chain && !data.chains.includes(chain)) {
    app.warn(`${short(data.address)} is not an address of ${chain}, but of ${data.chains.join(", ")}.`);
    return;
  }
  if (data.corrected) {
    app.say(`Read as ${data.address}`);
  }
  if (data.active === false) {
    app.warn(`${short(data.address)} is a valid address that was never seen on the chains that are held.`);
  }
  app.startAt(found, data.address);
}

async function lookName(app, text, chain) {
  const answer = await app.ask(calls.find(text, MAX_NAMES, chain));
  if (!answer) {
    return;
  }
  const rows = answer.data.results;
  const total = answer.meta.pagination?.total ?? rows.length;
  app.openPage(`“${clean(text)}”`, calls.find(text, MAX_NAMES, chain), (page) => {
    page.append(
      element(
        "p",
        {},
        rows.length < total
          ? `The first ${rows.length} of ${total} addresses of that name.`
          : `${many(rows.length, "address", "addresses")} of that name.`,
      ),
    );
    if (rows.length) {
      const cells = rows.map((row) => [
        clean(row.name ?? row.entity_name ?? ""),
        row.labels.map(labelText).join(", ") + (row.disputed ? " (disputed)" : ""),
        clean(row.blockchain),
        link(short(row.address), () => app.startAt(row.blockchain, row.address), { title: row.address }),
      ]);
      page.append(grid("Addresses of that name", ["Name", "Labels", "Chain", "Address"], cells));
    } else {
      page.append(
        element("p", {}, "No list that was imported names it. Lists are imported with: headwater labels import"),
      );
    }
  });
}

// The search: an address, a transaction or a name.

import { button, choice, element, grid, link, many } from "./dom.js";
import * as calls from "./calls.js";
import { namesOf } from "./merge.js";
import { clean, labelText, short } from "./words.js";

const MAX_NAMES = 100;
const HASH = /^(0x)?[0-9a-f]{64}$/i;
// Also what is mistyped or cut off, so that the server can say what is wrong with it.
const ADDRESS = /^(0x[0-9a-z]*|41[0-9a-f]{30,}|[13T][0-9A-Za-z]{19,}|(bc1|tb1|bcrt1)[0-9a-z]{8,})$/i;
// Why a text is no address.
const REASONS = new Map([
  ["length", "it has the wrong length"],
  ["checksum", "its checksum is wrong: a letter is mistyped"],
  ["alphabet", "it contains a letter that such addresses do not have"],
  ["version", "its kind is not known"],
  ["network_mismatch", "it is of another network"],
]);

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
    // An address is looked up with its labels.
    const asked = {
      address: [calls.resolve(text, chain.value || null), calls.labels({ chain: "", address: text })],
      name: [calls.find(text, MAX_NAMES, chain.value || null)],
      transaction: [],
    }[kindOfText(text)];
    submit.textContent = text ? app.priced("Look up", ...asked) : "Look up";
  });
  host.replaceChildren(form);
  return {
    focus: () => input.focus(),
    setChains(names) {
      const options = names.map((name) => element("option", { value: name }, name));
      chain.replaceChildren(element("option", { value: "" }, "any chain"), ...options);
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
  const answer = await app.ask(calls.resolve(text, chain));
  if (!answer) {
    return;
  }
  const { data } = answer;
  if (!data.valid) {
    const guesses = data.candidates.map((one) => clean(one.address)).join(", ");
    const why = REASONS.get(data.reason);
    const near = guesses ? ` It is near ${guesses}: compare letter by letter.` : "";
    const of = chain ? ` of ${chain}` : "";
    app.warn(`${clean(text)} is not an address${of}${why ? `: ${why}` : ""}.${near}`);
    return;
  }
  const found = chain ?? data.chain;
  const known = await app.ask(calls.labels({ chain: found, address: data.address }));
  if (!known) {
    return;
  }
  app.startAt(found, data.address, namesOf(known.data));
  // The same form is valid on several chains, of which the server may hold some.
  const others = data.chains.filter((one) => one !== found && app.held.has(one));
  if (data.active === false) {
    app.warn(`${short(data.address)} is a valid address that was never seen on the chains that are held.`);
  } else if (!chain && others.length) {
    app.warn(`Shown on ${found}. It may also be used on ${others.join(", ")}: choose the chain beside the search.`);
  } else if (data.corrected) {
    app.warn(`Read as ${data.address}.`);
  }
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

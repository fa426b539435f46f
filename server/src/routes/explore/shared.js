// Parts of several pages of the panel.

import * as calls from "./calls.js";
import { button, copyButton, element } from "./dom.js";

// Rows of a list: at first, and where more are asked for.
const ROWS = [20, 100, 1000];

/** Shows how to ask the same elsewhere. */
export function sameElsewhere(call) {
  const block = (name, text) =>
    element(
      "div",
      { class: "code" },
      element("b", {}, name),
      copyButton(text, `for ${name}`),
      element("pre", { tabindex: "0", "aria-label": name }, text),
    );
  const parts = [block("curl", calls.curl(call, location.origin))];
  if (call.python !== undefined) {
    parts.push(block("Python", calls.python(call, location.origin)));
  }
  return element(
    "details",
    { class: "same" },
    element("summary", {}, `${call.title}: the same in curl and Python`),
    ...parts,
  );
}

/** Returns the rows that are asked for of a list. */
export function rowsOf(panel, list) {
  return panel.rows.get(list) ?? ROWS[0];
}

/** Offers more rows of a list that has them. */
export function more(panel, list, data) {
  const next = ROWS.find((rows) => rows > rowsOf(panel, list));
  const isMore = next !== undefined && data.datas !== undefined && data.pagination.has_more;
  const take = () => {
    panel.rows.set(list, next);
    panel.draw();
  };
  return isMore ? button(`Up to ${next} rows`, take, { "data-focus": "more" }) : "";
}

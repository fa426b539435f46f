// Elements of the page. Texts become text nodes and attributes alone, so that no text is ever read as markup.

export const { element, legend, dollars, many } = globalThis.HeadwaterMarks;

/** Makes a button. */
export function button(text, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

/** Makes a button that looks like a link in running text. */
export function link(text, act, attributes = {}) {
  return button(text, act, { class: "link", ...attributes });
}

/** Makes a button that copies a text. */
export function copyButton(text, what) {
  const made = button(
    "Copy",
    () => {
      navigator.clipboard.writeText(text).then(
        () => (made.textContent = "Copied"),
        () => (made.textContent = "Not allowed"),
      );
    },
    { class: "small", "aria-label": `Copy ${what}` },
  );
  return made;
}

/** Makes a list of titles and texts; pairs without a text are left out. */
export function facts(pairs) {
  const list = element("dl");
  for (const [title, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") {
      list.append(element("dt", {}, title), element("dd", {}, value));
    }
  }
  return list;
}

/** Makes a table with a caption for screen readers. */
export function grid(caption, titles, rows) {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element(
    "table",
    {},
    element("caption", { class: "hw-quiet" }, caption),
    element("thead", {}, head),
    element("tbody", {}, ...body),
  );
}

/** Makes a field with its label. */
export function field(text, input) {
  return element("label", {}, text, input);
}

/** Makes a choice between texts. */
export function choice(options, chosen, attributes = {}) {
  const made = element("select", attributes);
  for (const [value, text] of options) {
    made.append(element("option", { value }, text));
  }
  made.value = chosen;
  return made;
}

/** Puts the focus on an element without scrolling the page. */
export function focus(target) {
  target.focus({ preventScroll: true });
}

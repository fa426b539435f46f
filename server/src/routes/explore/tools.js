// The tools above the picture, the key, and pages about the session.

import * as calls from "./calls.js";
import { button, element, field, grid, many } from "./dom.js";
import { sameElsewhere } from "./shared.js";
import { clean, moment } from "./words.js";

// The largest number of addresses whose risk one call judges.
export const RISK_BATCH = 50;

/** Fills the toolbar; the result has `show(facts)`. */
export function toolbar(host, app) {
  const file = element("input", {
    type: "file",
    accept: "application/json,.json",
    hidden: "",
    "aria-label": "Case file",
  });
  file.addEventListener("change", () => {
    const [chosen] = file.files;
    file.value = "";
    if (chosen) {
      app.openFile(chosen);
    }
  });
  const undo = button("Undo", () => app.undo(), { title: "Undo (Ctrl+Z)" });
  const redo = button("Redo", () => app.redo(), { title: "Redo (Ctrl+Y)" });
  const filter = button("Filters", () => app.toggleFilters(), { "aria-expanded": "false", "aria-controls": "filters" });
  const table = button("Table", () => app.toggleTable(), { "aria-pressed": "false" });
  const risks = button("Risk of all", () => app.judgeAll());
  const stop = button("Stop", () => app.api.stop(), { title: "Stop the calls that wait" });
  const status = element("span", { class: "faint", role: "status" });
  host.replaceChildren(
    undo,
    redo,
    button("Lay out", () => app.arrange(), { title: "Lay everything out anew; pinned addresses stay" }),
    button("Fit", () => app.picture.fit(), { title: "Show everything" }),
    button("+", () => app.picture.zoom(1.3), { title: "Zoom in", "aria-label": "Zoom in" }),
    button("−", () => app.picture.zoom(1 / 1.3), { title: "Zoom out", "aria-label": "Zoom out" }),
    filter,
    table,
    risks,
    button("Save", () => app.save(), { title: "Save the case as a file; the key is not in it" }),
    button("Open", () => file.click(), { title: "Open a case file" }),
    file,
    button("Image", () => app.image(), { title: "Save the picture as PNG" }),
    button("Calls", () => callsPage(app), { title: "Every call of this case, with its price" }),
    button("Help", () => helpPage(app)),
    stop,
    status,
  );
  return {
    show({ isBusy, canUndo, canRedo, unjudged, isFiltered, isTable, areFilters, shown, origin }) {
      undo.disabled = !canUndo;
      redo.disabled = !canRedo;
      stop.hidden = !isBusy;
      const call = calls.risks(Array(unjudged).fill({}));
      risks.textContent = unjudged ? app.priced(`Risk of ${unjudged} of ${shown.addresses}`, call) : "Risk of all";
      risks.disabled = unjudged === 0;
      risks.title = unjudged
        ? `Judge ${many(unjudged, "address", "addresses")} that were not judged yet`
        : "Every address that is shown was judged";
      filter.classList.toggle("on", isFiltered);
      filter.setAttribute("aria-expanded", String(areFilters));
      table.setAttribute("aria-pressed", String(isTable));
      const counts = `${many(shown.addresses, "address", "addresses")}, ${many(shown.lines, "line", "lines")}`;
      const remarks = [isFiltered ? "filtered" : "", origin ? `opened from ${origin}` : ""].filter(Boolean).join(", ");
      status.textContent = isBusy ? "Asking …" : remarks ? `${counts} (${remarks})` : counts;
    },
  };
}

/** Fills the display of key and credits; the result has `show(api, spent)` and `ask()`. */
export function keyDisplay(host, app) {
  const text = element("span", { role: "status" });
  const open = button("Key", () => ask());
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", size: "40" });
  const keep = element("input", { type: "checkbox" });
  const cancel = button("Cancel", () => dialog.close());
  const forget = button("Forget the key", () => take("", false));
  const form = element(
    "form",
    {},
    element("h2", {}, "API key"),
    field("Key", input),
    field("Keep it until this tab is closed", keep),
    element(
      "p",
      {},
      "Without the tick it is in memory only. It is sent to this server alone, and is in no file that you save.",
    ),
    element(
      "div",
      { class: "actions" },
      button("Use", () => {}, { type: "submit" }),
      forget,
      cancel,
    ),
  );
  const dialog = element("dialog", { "aria-label": "API key" }, form);
  const take = (key, isKept) => {
    input.value = "";
    dialog.close();
    app.useKey(key, isKept);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take(input.value.trim(), keep.checked);
  });
  const ask = () => {
    if (!dialog.open) {
      dialog.showModal();
      input.focus();
    }
  };
  host.replaceChildren(text, open, dialog);
  return {
    ask,
    show(api, spent) {
      const left = api.left === null ? "" : ` · ${api.left.toLocaleString("en-US")} left`;
      text.textContent = api.isFree
        ? "This server needs no key"
        : `${many(spent, "credit", "credits")} used here${left}`;
      forget.hidden = !api.key;
      open.textContent = api.key ? "Key ✓" : "Key";
      open.setAttribute("aria-label", api.key ? "Change the API key" : "Enter an API key");
    },
  };
}

/** Lists every call of the case. */
function callsPage(app) {
  app.panel.openPage("Calls", null, (page) => {
    const spent = app.calls.reduce((sum, entry) => sum + entry.credits, 0);
    page.append(
      element(
        "p",
        {},
        `${many(app.calls.length, "call", "calls")}, ${many(spent, "credit", "credits")}. Answers at hand are shown again for nothing.`,
      ),
    );
    for (const { call, credits, at, requestId, isFromFile } of [...app.calls].reverse()) {
      const about = [
        moment(at),
        many(credits, "credit", "credits"),
        `request ${requestId}`,
        isFromFile ? "from the opened file" : "",
      ];
      page.append(
        element("h3", {}, `${call.title}: ${clean(call.path)}`),
        element("p", { class: "faint" }, about.filter(Boolean).join(" · ")),
        sameElsewhere(call),
      );
    }
  });
}

function helpPage(app) {
  const keys = [
    ["/", "to the search"],
    ["Arrow keys", "to the next address in that direction"],
    ["Home", "to the first address"],
    ["Enter", "open the details of the address"],
    ["O, I", "ask for payments out, or in"],
    ["P", "pin or unpin"],
    ["N", "write a note"],
    ["Delete", "remove from the picture"],
    ["+, −", "zoom"],
    ["Escape", "close the details"],
    ["Ctrl+Z, Ctrl+Y", "undo, redo"],
    ["Ctrl+S", "save the case"],
  ];
  app.panel.openPage("Help", null, (page) => {
    page.append(
      element(
        "p",
        {},
        "Look up an address, a transaction or a name. Then ask for payments out of an address or into it, or trace money over several hops. Each button says its price in credits; answers that are at hand cost nothing.",
      ),
      element(
        "p",
        {},
        "A line is the money that went from one address to another. Click it for its transactions. Drag addresses, and pin those that must stay in their place.",
      ),
      element("p", {}, app.hypothesis),
      element("h3", {}, "Keys"),
      grid("Keys", ["Key", "Does"], keys),
      element(
        "p",
        {},
        "The keys for addresses work while the picture has the focus. The button Table shows everything as tables.",
      ),
    );
  });
}

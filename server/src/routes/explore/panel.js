// The panel beside the picture: one page at a time, and the way back. The pages have files of their own.

import { fillAddress } from "./address_page.js";
import * as calls from "./calls.js";
import { keyOf } from "./case.js";
import { button, element, focus } from "./dom.js";
import { fillLine } from "./line_page.js";
import { titleOf } from "./picture.js";
import { sameElsewhere } from "./shared.js";
import { fillTransaction } from "./transaction_page.js";
import { short } from "./words.js";

// The number of counterparties at first: payments behind the largest ten are often the ones that matter.
const FIRST_LIMIT = 25;

export class Panel {
  constructor(host, app) {
    this.host = host;
    this.app = app;
    this.page = null;
    this.before = [];
    // The settings that the user chose last.
    this.limit = FIRST_LIMIT;
    this.trace = { ...calls.TRACE };
    this.isTraceOpen = false;
    this.rows = new Map();
    this.isHeld = false;
    this.tab = "here";
  }

  /** Shows a page anew after the case has changed. */
  refresh() {
    if (this.isHeld) {
      return;
    }
    if (this.page && !this.host.contains(document.activeElement?.closest?.("textarea, input, select") ?? null)) {
      this.draw();
    }
  }

  /** Changes the case without drawing the page anew, so that the focus moves on as the user wants. */
  hold(change) {
    this.isHeld = true;
    try {
      change();
    } finally {
      this.isHeld = false;
    }
  }

  /** Closes the panel. */
  close() {
    const hadFocus = this.host.contains(document.activeElement);
    this.page = null;
    this.before = [];
    this.host.hidden = true;
    this.host.replaceChildren();
    return hadFocus;
  }

  open(page, isFocused) {
    if (this.page && this.page.id !== page.id) {
      this.before.push({ ...this.page, tab: this.tab });
    }
    if (this.page?.id !== page.id) {
      this.tab = "here";
      this.rows.clear();
    }
    this.page = page;
    this.draw();
    this.host.scrollTop = 0;
    if (isFocused) {
      focus(this.host);
    }
  }

  back() {
    this.page = null;
    const last = this.before.pop();
    last.again();
    this.tab = last.tab;
    this.draw();
  }

  draw() {
    const { host, page } = this;
    const hadFocus = host.contains(document.activeElement);
    const focused = hadFocus ? document.activeElement.dataset.focus : null;
    const scrolled = host.scrollTop;
    const top = element("div", { class: "top" });
    if (this.before.length) {
      top.append(button("Back", () => this.back(), { "data-focus": "back" }));
    }
    top.append(button("Close", () => this.app.close(), { title: "Close (Escape)", "data-focus": "close" }));
    host.replaceChildren(top, element("h2", {}, page.title));
    host.hidden = false;
    page.fill(host);
    host.scrollTop = scrolled;
    if (hadFocus) {
      focus((focused && host.querySelector(`[data-focus="${CSS.escape(focused)}"]`)) || host);
    }
  }

  /** Opens any page. */
  openPage(title, call, fill, isFocused = true) {
    const page = {
      id: `page ${title}`,
      title,
      fill: (host) => {
        const body = element("div", { class: "answer" });
        fill(body);
        host.append(body);
        if (call) {
          host.append(sameElsewhere(call));
        }
      },
    };
    page.again = () => this.open(page, true);
    this.open(page, isFocused);
  }

  /** Opens an address, which may be in the picture or not. */
  openAddress(chain, address, isFocused) {
    const key = keyOf(chain, address);
    const state = () => this.app.case.state;
    const page = {
      id: key,
      key,
      fill: (host) => fillAddress(this, host, { chain, address, key }),
      get title() {
        const one = state().addresses.get(key);
        return one ? titleOf(one, 1) : short(address);
      },
      again: () => this.app.openAddress(chain, address, true),
    };
    this.open(page, isFocused);
  }

  /** Opens the payments from one address to another. */
  openLine(from, to, isFocused) {
    const { app } = this;
    const page = {
      id: `${from}>${to}`,
      line: [from, to],
      title: "Payments",
      fill: (host) => fillLine(this, host, from, to),
      again: () => app.openLine(from, to, true),
    };
    this.open(page, isFocused);
  }

  /** Opens a transaction of an answer. */
  openTransaction(answer, call) {
    const page = {
      id: `transaction ${answer.data.tx_hash}`,
      title: "Transaction",
      fill: (host) => fillTransaction(this, host, answer, call),
    };
    page.again = () => this.open(page, true);
    this.open(page, true);
  }
}

// A case: the addresses of the picture and the payments between them. Each change makes a new state, so that it can be
// taken back; states share what did not change.
//
// An address is `{ key, chain, address, name, labels, areLabelsKnown, isDisputed, isStart, column, x, y, isPinned, note, risk, cluster, end }`,
// a payment `{ key, from, to, symbol, contract, amount, raw, usd, count, first, last, hashes, isChange, isPart, followed, crossing }`.
// `origin` is the name of the file that was opened, or null. `isPart`: found with filters or along a trace, so that there may be more than these. `followed`: the part of it that a
// trace followed, as `{ amount, usd, start }`, or null.

/** The number of addresses that a picture takes. */
export const MAX_ADDRESSES = 3000;
const MAX_UNDO = 100;

/** Returns the identity of an address. */
export function keyOf(chain, address) {
  return `${chain}:${address}`;
}

export class Case {
  /** `onChange()` is called after each change. */
  constructor(onChange) {
    this.onChange = onChange;
    this.state = { origin: null, addresses: new Map(), payments: new Map() };
    this.past = [];
    this.future = [];
  }

  /** Changes the case by `edit(draft)`, whose maps may be written to. A draft that is refused by an error changes nothing. */
  change(title, edit) {
    const { state } = this;
    const draft = { ...state, addresses: new Map(state.addresses), payments: new Map(state.payments) };
    edit(draft);
    if (draft.addresses.size > MAX_ADDRESSES) {
      const count = draft.addresses.size.toLocaleString("en-US");
      throw new Error(
        `The picture would have ${count} addresses, at most ${MAX_ADDRESSES} are drawn: follow fewer counterparties.`,
      );
    }
    this.past.push({ title, state });
    if (this.past.length > MAX_UNDO) {
      this.past.shift();
    }
    this.future = [];
    this.state = draft;
    this.onChange();
  }

  /** Takes the last change back; returns its title, or null. */
  undo() {
    return this.step(this.past, this.future);
  }

  /** Makes the change again that was taken back last; returns its title, or null. */
  redo() {
    return this.step(this.future, this.past);
  }

  step(from, to) {
    const last = from.pop();
    if (!last) {
      return null;
    }
    to.push({ title: last.title, state: this.state });
    this.state = last.state;
    this.onChange();
    return last.title;
  }
}

/** Changes fields of an address of a draft. */
export function update(draft, key, fields) {
  draft.addresses.set(key, { ...draft.addresses.get(key), ...fields });
}

/** Removes an address with its payments from a draft. */
export function remove(draft, key) {
  draft.addresses.delete(key);
  for (const payment of draft.payments.values()) {
    if (payment.from === key || payment.to === key) {
      draft.payments.delete(payment.key);
    }
  }
}

/** Adds an address to a draft, or what is newly known of it. */
export function addAddress(draft, known) {
  const before = draft.addresses.get(known.key);
  const empty = {
    name: null,
    labels: [],
    areLabelsKnown: false,
    isDisputed: false,
    isStart: false,
    column: 0,
    x: null,
    y: null,
  };
  const blank = { ...empty, isPinned: false, note: "", risk: null, cluster: null, end: null };
  draft.addresses.set(known.key, { ...(before ?? blank), ...known });
  return before === undefined;
}

/** Adds a payment to a draft. Of two that are the same the whole stands before a part, and the larger before the smaller. */
export function addPayment(draft, payment) {
  const before = draft.payments.get(payment.key);
  const isBetter =
    before === undefined ||
    (before.isPart && !payment.isPart) ||
    (before.isPart === payment.isPart && payment.count >= before.count);
  const followed = payment.followed ?? before?.followed ?? null;
  draft.payments.set(payment.key, { ...(isBetter ? payment : before), followed });
}

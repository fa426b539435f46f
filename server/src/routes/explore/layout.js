// Places of addresses: a column for each hop, money from left to right.

/** The size of a box. */
export const BOX = { width: 176, height: 58 };
const COLUMN = 370;
const ROW = 92;
// A column of more addresses becomes several.
const MAX_ROWS = 40;
const SWEEPS = 6;

/** Gives new addresses of a draft the free place nearest to their neighbours. */
export function place(draft, fresh) {
  const taken = [...draft.addresses.values()].filter((one) => one.x !== null);
  const near = neighbours(draft);
  for (const key of fresh) {
    const one = draft.addresses.get(key);
    const around = near
      .get(key)
      .map((other) => draft.addresses.get(other))
      .filter((other) => other.x !== null);
    const anchor = around.length ? around.reduce((sum, other) => sum + other.y, 0) / around.length : 0;
    const beside = around.length
      ? around[0].x + COLUMN * Math.sign(one.column - around[0].column)
      : one.column * COLUMN;
    const placed = { ...one, x: beside, y: freeRow(taken, beside, anchor) };
    taken.push(placed);
    draft.addresses.set(key, placed);
  }
}

// Finds the row nearest to `wanted` on which no box is in the way.
function freeRow(taken, x, wanted) {
  const rows = taken.filter((other) => Math.abs(other.x - x) < BOX.width + 20).map((other) => other.y);
  const isFree = (y) => rows.every((other) => Math.abs(other - y) >= ROW - 4);
  for (let step = 0; ; step += 1) {
    for (const y of [wanted + step * (ROW / 2), wanted - step * (ROW / 2)]) {
      if (isFree(y)) {
        return y;
      }
    }
  }
}

/** Lays a draft out anew; pinned addresses keep their places. */
export function arrange(draft) {
  const near = neighbours(draft);
  const columns = new Map();
  for (const one of draft.addresses.values()) {
    columns.set(one.column, [...(columns.get(one.column) ?? []), one.key]);
  }
  const order = [...columns.keys()].sort((one, other) => one - other);
  const rows = new Map();
  const number = (keys) => keys.forEach((key, row) => rows.set(key, row - (keys.length - 1) / 2));
  columns.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of sweep % 2 ? [...order].reverse() : order) {
      const keys = columns.get(column);
      const middle = new Map(
        keys.map((key) => [
          key,
          mean(
            near.get(key).map((other) => rows.get(other)),
            rows.get(key),
          ),
        ]),
      );
      keys.sort((one, other) => middle.get(one) - middle.get(other) || rows.get(one) - rows.get(other));
      number(keys);
    }
  }
  let x = 0;
  for (const column of order) {
    const keys = columns.get(column);
    const parts = Math.ceil(keys.length / MAX_ROWS);
    const length = Math.ceil(keys.length / parts);
    keys.forEach((key, at) => {
      const one = draft.addresses.get(key);
      const [part, row] = [Math.floor(at / length), at % length];
      const count = Math.min(length, keys.length - part * length);
      const free = { x: x + part * COLUMN, y: (row - (count - 1) / 2) * ROW };
      draft.addresses.set(key, one.isPinned ? one : { ...one, ...free });
    });
    x += parts * COLUMN;
  }
}

function mean(values, otherwise) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : otherwise;
}

// Lists the neighbours of each address.
function neighbours(draft) {
  const near = new Map([...draft.addresses.keys()].map((key) => [key, []]));
  for (const { from, to } of draft.payments.values()) {
    near.get(from)?.push(to);
    near.get(to)?.push(from);
  }
  return near;
}

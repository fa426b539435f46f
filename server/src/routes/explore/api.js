// Calls of the API with the user's key. The key is kept in memory, or for this tab in its session storage, and is sent as
// a header to this host alone.

import { body, cost, target } from "./calls.js";
import { FACTS } from "./facts.js";
import { clean } from "./words.js";

const STORED = "headwater-key";
// Tries of a call that the server asks to make later, and the longest time it is waited for.
const MAX_TRIES = 4;
const MAX_WAIT_SECONDS = 10;

/** The reason for which a call has no answer. */
export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.requestId = error.request_id ?? null;
  }

  /** Says what the user can do. */
  get remedy() {
    return (
      {
        unauthorized: "Enter a key with the button Key.",
        insufficient_credit: "The credits of this key are used up: ask the operator for more.",
        too_many_requests: "The server has taken as many calls as the plan of this key allows: wait a moment.",
        chain_not_held: "The server has no data of this chain.",
        offline: "Is the server still running? Nothing was lost: try again.",
      }[this.code] ?? null
    );
  }
}

export class Api {
  /** `onCall(entry)` is called after each answer; an entry says what was asked, what it cost and what is left. */
  constructor(onCall) {
    this.onCall = onCall;
    this.answers = new Map();
    this.waiting = new Set();
    this.left = null;
    this.key = sessionStorage.getItem(STORED) ?? "";
  }

  /** Takes a key; an empty one is forgotten. */
  setKey(key, isKept) {
    this.key = key;
    this.left = null;
    if (key && isKept) {
      sessionStorage.setItem(STORED, key);
    } else {
      sessionStorage.removeItem(STORED);
    }
  }

  /** Whether the server needs no key and none was given, so that nothing is charged. */
  get isFree() {
    return !FACTS.needs_key && !this.key;
  }

  /** Returns an answer that is at hand, or null. */
  known(call) {
    return this.answers.get(identity(call)) ?? null;
  }

  /** Keeps an answer that came as a part of another one. */
  keep(call, answer) {
    this.answers.set(identity(call), answer);
  }

  /** Asks; an answer of this session is given again for nothing. */
  async ask(call) {
    const known = this.known(call);
    if (known) {
      return known;
    }
    const stop = new AbortController();
    this.waiting.add(stop);
    try {
      const { answer, credits } = await this.send(call, stop.signal);
      this.answers.set(identity(call), answer);
      this.onCall({
        call,
        credits,
        left: this.left,
        at: Math.floor(Date.now() / 1000),
        requestId: clean(answer.meta.request_id),
      });
      return answer;
    } finally {
      this.waiting.delete(stop);
    }
  }

  /** Ends every call that still waits. */
  stop() {
    for (const waiting of this.waiting) {
      waiting.abort();
    }
  }

  async send(call, signal) {
    for (let tries = 1; ; tries += 1) {
      const response = await this.once(call, signal);
      const after = Number(response.headers.get("Retry-After") ?? NaN);
      const isLater = response.status === 429 || response.status === 503;
      if (isLater && tries < MAX_TRIES && after <= MAX_WAIT_SECONDS) {
        await pause(after * 1000, signal);
        continue;
      }
      const left = response.headers.get("X-Credit-Remaining");
      this.left = left === null ? this.left : Number(left);
      const answer = await read(response);
      if (!response.ok) {
        throw new Refusal(response.status, answer.error);
      }
      return { answer, credits: Number(response.headers.get("X-Credit-Cost") ?? cost(call)) };
    }
  }

  async once(call, signal) {
    const headers = { Accept: "application/json" };
    if (this.key) {
      headers["X-API-Key"] = this.key;
    }
    if (call.method === "POST") {
      headers["Content-Type"] = "application/json";
    }
    const options = {
      method: call.method,
      headers,
      body: body(call),
      signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    };
    try {
      return await fetch(target(call), options);
    } catch (error) {
      if (signal.aborted) {
        throw new Refusal(0, { code: "stopped", message: "The call was stopped." });
      }
      throw new Refusal(0, { code: "offline", message: `The server cannot be reached: ${clean(error.message)}` });
    }
  }
}

async function read(response) {
  try {
    return await response.json();
  } catch {
    const message = `The server answered with status ${response.status} and no JSON: is a proxy between?`;
    throw new Refusal(response.status, { code: "no_json", message });
  }
}

function identity(call) {
  return `${call.method} ${target(call)} ${body(call) ?? ""}`;
}

function pause(millis, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, millis);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Refusal(0, { code: "stopped", message: "The call was stopped." }));
    });
  });
}

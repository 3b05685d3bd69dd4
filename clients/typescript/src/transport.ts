/** Requests that are safe to send again.
 *
 * A write is sent again only with the same idempotency key, so it happens once. A token is never
 * shown, and is sent only to the service it was given for.
 */

import { InvalidInput, LimitExceeded, RecollectError, Unavailable, refusal } from "./errors.js";
import { type Sent, events } from "./feed.js";
import { address, newKey, token } from "./wire.js";

const TRIES = 6;
const BACKOFF_S = 0.05;
const BACKOFF_MAX_S = 5;
const RETRY_AFTER_MAX_S = 30;
const SILENCE_MAX_S = 45; // the service says something every 15 s
const TIMER_MAX_S = 2_147_483;
const ANSWER_MAX_BYTES = 268_435_456;

/** How to reach a service. */
export interface Options {
  /** Its address, such as `https://memory.example`; `http` only on this machine. */
  readonly url: string;
  readonly token: string;
  /** How long one call may take, retries included; 60 by default. */
  readonly timeout_s?: number;
  /** Used instead of the global `fetch`, for example one that goes through a proxy. */
  readonly fetch?: typeof fetch;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. What was already sent may still happen. */
  readonly signal?: AbortSignal;
  /** How long this call may take, retries included. */
  readonly timeout_s?: number;
}

/** The values that a query may have. */
export type Query = { readonly [name: string]: string | number | readonly string[] | undefined };

/** One request. */
export interface Asked {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Query;
  readonly headers: { readonly [name: string]: string };
  readonly body?: unknown;
  readonly isWrite?: boolean;
  /** Not sent again, because it would happen twice. */
  readonly isOnce?: boolean;
  readonly call: CallOptions;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | null;
}

/** The way to one service. */
export class Transport {
  readonly url: string;
  readonly #token: string;
  readonly #timeoutS: number;
  readonly #fetch: typeof fetch;

  constructor(options: Options) {
    this.url = address(options.url);
    this.#token = token(options.token);
    this.#timeoutS = seconds(options.timeout_s ?? 60);
    this.#fetch = options.fetch ?? fetch;
  }

  /** Sends a request until it is answered, and throws what the service refuses. */
  async ask<T>(asked: Asked): Promise<T> {
    const { signal, timeout_s = this.#timeoutS } = asked.call;
    const deadline = performance.now() + seconds(timeout_s) * 1_000;
    const headers = this.#headers(asked, "application/json");
    const init: RequestInit = { method: asked.method, headers, redirect: "manual" };
    if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
    let fault: unknown;
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const limit = new Limit(signal, deadline - performance.now());
      let answer: Answer | null = null;
      try {
        answer = await this.#once(asked, { ...init, signal: limit.signal });
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RecollectError) throw error;
        fault = error;
      } finally {
        limit.end();
      }
      const waitS = pauseS(attempt, answer?.retryAfter);
      const tries = asked.isOnce ? 1 : TRIES;
      const isLast = attempt + 1 === tries || performance.now() + waitS * 1_000 >= deadline;
      if (answer !== null && (isLast || ![429, 503].includes(answer.status))) return read(answer);
      if (isLast) throw this.#silent(fault);
      await sleep(waitS, signal);
    }
  }

  /** The events of one stream, until either side ends it. */
  async *stream(asked: Asked): AsyncGenerator<Sent, void, undefined> {
    const limit = new Limit(asked.call.signal, SILENCE_MAX_S * 1_000);
    try {
      const headers = this.#headers(asked, "text/event-stream");
      const answer = await this.#fetch(this.#target(asked), {
        headers, redirect: "manual", signal: limit.signal,
      });
      if (answer.status !== 200) throw refusal(answer.status, await whole(answer));
      if (answer.body !== null) {
        yield* events(answer.body, () => limit.renew(SILENCE_MAX_S * 1_000));
      }
    } finally {
      limit.end(true);
    }
  }

  async #once(asked: Asked, init: RequestInit): Promise<Answer> {
    const answer = await this.#fetch(this.#target(asked), init);
    const retryAfter = answer.headers.get("retry-after");
    return { status: answer.status, body: await whole(answer), retryAfter };
  }

  #headers(asked: Asked, accept: string): { [name: string]: string } {
    const sent: { [name: string]: string } = {
      ...asked.headers, Accept: accept, Authorization: `Bearer ${this.#token}`,
    };
    if (asked.body !== undefined) sent["Content-Type"] = "application/json";
    if (asked.isWrite) sent["Idempotency-Key"] ??= newKey();
    return sent;
  }

  #target(asked: Asked): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked.query ?? {})) {
      for (const each of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
        query.append(name, String(each));
      }
    }
    return `${this.url}${asked.path}${query.size > 0 ? `?${query}` : ""}`;
  }

  #silent(cause: unknown): RecollectError {
    return new Unavailable(`the service at ${this.url} does not answer: ${said(cause)}`, {
      hint: "check that it runs, and try again", cause,
    });
  }
}

/** How long until the next try: chance spreads clients, and a service may ask for more. */
export function pauseS(attempt: number, retryAfter: string | null = null): number {
  const spread = Math.random() * Math.min(BACKOFF_MAX_S, BACKOFF_S * 2 ** attempt);
  const asked = /^\s*\d+\s*$/.test(retryAfter ?? "") ? Number(retryAfter) : 0;
  return Math.max(spread, Math.min(asked, RETRY_AFTER_MAX_S));
}

/** Waits, unless the signal ends it. */
export function sleep(waitS: number, signal?: AbortSignal): Promise<void> {
  const limit = new Limit(signal, waitS * 1_000);
  return new Promise<void>((resolve, reject) => {
    limit.signal.addEventListener("abort", () => {
      limit.end();
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    });
  });
}

/** A signal that ends with the caller's or after a time; it leaves no timer and no listener. */
class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined, afterMs: number) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#follow);
    this.renew(afterMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renew(afterMs: number): void {
    clearTimeout(this.#timer);
    const late = (): void => this.#controller.abort(new Error("it took too long"));
    this.#timer = setTimeout(late, Math.max(1, afterMs));
  }

  end(abort = false): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#follow);
    if (abort) this.#controller.abort(new Error("it ended"));
  }
}

/** The whole body. It may come packed, so what counts is how long it gets. */
async function whole(answer: Response): Promise<string> {
  if (answer.body === null) return "";
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  const found: string[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return found.join("") + decoder.decode();
    size += value.length;
    if (size > ANSWER_MAX_BYTES) {
      await reader.cancel();
      throw new LimitExceeded("the answer is too long", { hint: "ask for less" });
    }
    found.push(decoder.decode(value, { stream: true }));
  }
}

function read<T>(answer: Answer): T {
  if (answer.status < 200 || answer.status > 299) throw refusal(answer.status, answer.body);
  try {
    return (answer.body === "" ? undefined : JSON.parse(answer.body)) as T;
  } catch (cause) {
    throw new Unavailable("the service answered something else than this client expects", {
      hint: "use the same release of Recollect on both sides", status: answer.status, cause,
    });
  }
}

function seconds(value: number): number {
  if (value > 0 && value <= TIMER_MAX_S) return value;
  throw new InvalidInput("timeout_s must be a number of seconds above 0");
}

/** What a failed `fetch` tells; the reason is in its cause. */
function said(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  return fault.cause instanceof Error && fault.cause.message ? fault.cause.message : fault.message;
}

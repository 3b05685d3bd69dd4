/** Background work in one memory: asking for it, looking at it, following it, and schedules. */

import { Forbidden, RecollectError, Unavailable } from "./errors.js";
import { type Asked, type CallOptions, type Transport, pauseS, sleep } from "./transport.js";
import type * as v from "./values.js";
import { segment } from "./wire.js";

const FAULTS_MAX_COUNT = 12; // about half a minute
const GOES_ON = new Set(["draining", "renew", "unavailable", "ended"]);
const ENDED: ReadonlySet<v.Job["state"]> = new Set(["done", "failed", "cancelled"] as const);

/** The jobs of one memory; a worker beside the service does them. */
export class Jobs {
  readonly #transport: Transport;
  readonly #root: string;
  readonly #headers: Asked["headers"];

  constructor(transport: Transport, root: string, headers: Asked["headers"]) {
    this.#transport = transport;
    this.#root = root;
    this.#headers = headers;
  }

  /** Ask for a pass over this memory; while it waits, it is not added again. */
  ask(kind: v.JobKind, options: v.JobOptions = {}): Promise<v.Job> {
    const { signal: _, timeout_s: __, ...fields } = options;
    return this.#ask("POST", "/jobs", options, { kind, ...fields });
  }

  /** One job. */
  get(id: number, call: CallOptions = {}): Promise<v.Job> {
    return this.#ask("GET", job(id), call);
  }

  /** Jobs, newest first: all that wait or run, and the last ten of each kind that ended. */
  list(options: v.JobListOptions = {}): Promise<readonly v.Job[]> {
    const { state, limit } = options;
    return this.#transport.ask({ ...this.#asked("GET", "/jobs", options), query: { state, limit } });
  }

  /** End a job that waits; one that runs is stopped at the next step of its pass. */
  cancel(id: number, call: CallOptions = {}): Promise<v.Job> {
    return this.#ask("DELETE", job(id), call);
  }

  /** The job each time that something about it changed, until it has ended. */
  async *follow(id: number, call: CallOptions = {}): AsyncGenerator<v.Job, void, undefined> {
    let last: v.Job | null = null;
    for (let faults = 0; last === null || !ENDED.has(last.state); faults++) {
      if (faults > 0) await sleep(pauseS(faults), call.signal);
      try {
        for await (const found of this.#streamed(id, call)) {
          faults = 0;
          if (JSON.stringify(found) === JSON.stringify(last)) continue;
          last = found;
          yield found;
        }
      } catch (error) {
        call.signal?.throwIfAborted();
        if (error instanceof RecollectError && !(error instanceof Unavailable)) throw error;
        if (faults >= FAULTS_MAX_COUNT) {
          throw new Unavailable("the service ended the stream again and again", { cause: error });
        }
      }
    }
  }

  /** The schedules of this memory. */
  schedules(call: CallOptions = {}): Promise<readonly v.Schedule[]> {
    return this.#ask("GET", "/schedules", call);
  }

  /** Set when a pass is asked for again and again; needs a person's token. */
  setSchedule(kind: v.JobKind, options: v.ScheduleOptions): Promise<v.Schedule> {
    const { signal: _, timeout_s: __, ...fields } = options;
    return this.#ask("PUT", `/schedules/${segment(kind)}`, options, fields);
  }

  /** Remove a schedule; what it has asked for stays. */
  dropSchedule(kind: v.JobKind, call: CallOptions = {}): Promise<void> {
    return this.#ask("DELETE", `/schedules/${segment(kind)}`, call);
  }

  async *#streamed(id: number, call: CallOptions): AsyncGenerator<v.Job, void, undefined> {
    for await (const sent of this.#transport.stream(this.#asked("GET", job(id), call))) {
      if (sent.name !== "bye") {
        yield JSON.parse(sent.data) as v.Job;
        continue;
      }
      const { why }: { why: string } = JSON.parse(sent.data);
      if (!GOES_ON.has(why)) throw new Forbidden(`the service ended the stream: ${why}`);
      return;
    }
  }

  #ask<T>(method: Asked["method"], path: string, call: CallOptions, body?: object): Promise<T> {
    const asked = { ...this.#asked(method, path, call), isWrite: method !== "GET" };
    return this.#transport.ask(body === undefined ? asked : { ...asked, body });
  }

  #asked(method: Asked["method"], path: string, call: CallOptions): Asked {
    return { method, path: this.#root + path, headers: this.#headers, call };
  }
}

function job(id: number): string {
  return `/jobs/${segment(String(id))}`;
}

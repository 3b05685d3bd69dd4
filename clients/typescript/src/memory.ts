/** One memory of a service. Every write has an idempotency key, so it happens once. */

import { Forbidden, RecollectError, Unavailable, Unsupported } from "./errors.js";
import { Jobs } from "./jobs.js";
import { type Asked, type CallOptions, type Query, type Transport, pauseS, sleep } from "./transport.js";
import type * as v from "./values.js";
import { header, ifMatch, segment } from "./wire.js";

const FAULTS_MAX_COUNT = 12; // about half a minute
const LOOK_S = 0.05;
const STEADY_MS = 15_000;
const PAGE_MAX_COUNT = 1_000;
const GOES_ON = new Set(["draining", "renew", "unavailable"]);

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
  readonly position: number;
}
interface Narrowing {
  readonly headers: { readonly [name: string]: string };
  readonly at?: string;
}

/** A memory that a service keeps. */
export class Memory {
  readonly name: string;
  readonly #transport: Transport;
  readonly #root: string;
  readonly #narrowing: Narrowing;

  constructor(transport: Transport, name: string, narrowing: Narrowing = { headers: {} }) {
    this.name = name;
    this.#transport = transport;
    this.#root = `/v1/spaces/${segment(name)}`;
    this.#narrowing = narrowing;
  }

  /** A handle on the same memory for one user, session or agent, or with less trust. */
  scoped(to: v.Narrowed): Memory {
    const headers = { ...this.#narrowing.headers };
    for (const part of ["user", "session", "agent", "trust"] as const) {
      const name = `Recollect-${part[0]?.toUpperCase()}${part.slice(1)}`;
      if (to[part] !== undefined) headers[name] = header(name, to[part]);
    }
    return new Memory(this.#transport, this.name, { ...this.#narrowing, headers });
  }

  /** The memory as it was at a position or an instant; a handle that only reads. */
  at(position: number | string | Date): Memory {
    const at = position instanceof Date ? position.toISOString() : String(position);
    return new Memory(this.#transport, this.name, { ...this.#narrowing, at });
  }

  /** Store a statement as a record. */
  remember(text: string, options: v.RememberOptions = {}): Promise<v.Record> {
    return this.#write("POST", "/records", options, (fields) => ({ text, ...fields }));
  }

  /** Store what was seen or said, verbatim, as episodes. */
  observe(
    content: string | v.Message | readonly v.Message[],
    options: v.ObserveOptions = {},
  ): Promise<readonly v.Episode[]> {
    const said = typeof content === "string" ? { content } : content;
    const several: readonly v.Message[] = Array.isArray(said) ? said : [said];
    return this.#write("POST", "/episodes", options, (fields) => ({
      messages: several.map((each) => ({ ...fields, ...each })),
    }));
  }

  /** Correct a record or change its tags; the old text stays in its history only. */
  revise(id: string, options: v.ReviseOptions): Promise<v.Record>;
  revise(id: string, text: string, options?: v.ReviseOptions): Promise<v.Record>;
  revise(
    id: string,
    text: string | v.ReviseOptions,
    options: v.ReviseOptions = {},
  ): Promise<v.Record> {
    return typeof text === "string"
      ? this.#write("PATCH", record(id), options, (fields) => ({ text, ...fields }))
      : this.#write("PATCH", record(id), text);
  }

  /** Take a record or an episode out of default reads; `undo` brings it back.
   *
   * With `derived` everything that was derived from it goes as well.
   */
  forget(id: string, options: v.ForgetOptions = {}): Promise<v.Forgotten> {
    const { derived, dry_run, sources, reason, ...rest } = options;
    const asked = { derived: derived ? "true" : undefined, dry_run: dry_run ? "true" : undefined };
    const query = { ...asked, sources, reason };
    return this.#write("DELETE", record(id), rest, null, query);
  }

  /** Take back the last command, the one that wrote an event, or a change of one record.
   *
   * Of something forgotten, archived or replaced, it brings it back.
   */
  undo(what?: string | number, options: v.UndoOptions = {}): Promise<v.Undone> {
    if (typeof what === "string") return this.#write("POST", `${record(what)}/undo`, options);
    return this.#write("POST", "/undo", options, (fields) =>
      what === undefined ? fields : { position: what, ...fields },
    );
  }

  /** Relate two records by a typed, directed link. */
  link(source: string, target: string, options: v.LinkOptions = {}): Promise<v.Link> {
    const { kind, ...rest } = options;
    return this.#write("PUT", link(source, target, kind), rest);
  }

  /** End a relation. */
  unlink(source: string, target: string, options: v.UnlinkOptions = {}): Promise<void> {
    const { kind, ...rest } = options;
    return this.#write("DELETE", link(source, target, kind), rest, null);
  }

  /** Several writes that happen together or not at all. */
  batch(
    acts: readonly v.Act[],
    options: v.WriteOptions = {},
  ): Promise<readonly (v.Record | v.Episode)[]> {
    return this.#write("POST", "/batch", options, () => ({ acts }));
  }

  /** Report which records of a context were useful; this, not recall, reinforces them. */
  used(context: v.Context | string, options: v.UsedOptions = {}): Promise<readonly v.Record[]> {
    const receipt = typeof context === "string" ? context : (context.receipt ?? "");
    return this.#write("POST", `/receipts/${segment(receipt)}/used`, options);
  }

  /** What the memory holds about a question, best first. */
  recall(query: string, options: v.RecallOptions = {}): Promise<v.Recall> {
    return this.#question("/recall", query, options);
  }

  /** What the memory holds about a question, packed for a prompt under a token budget. */
  context(query: string, options: v.ContextOptions = {}): Promise<v.Context> {
    return this.#question("/context", query, options);
  }

  /** One record or episode, or the record that holds a key; only an episode has a `role`. */
  get(by: v.ByKey, options?: v.GetOptions): Promise<v.Record>;
  get(id: string, options?: v.GetOptions): Promise<v.Record | v.Episode>;
  get(by: string | v.ByKey, options: v.GetOptions = {}): Promise<v.Record | v.Episode> {
    const path = typeof by === "string" ? record(by) : `/keys/${segment(by.key)}`;
    return this.#read(path, options, { include: options.include });
  }

  /** Records by their last change, newest first, from one state of the memory. */
  list(options: v.ListOptions = {}): AsyncGenerator<v.Record, void, undefined> {
    return this.#listed("/records", options);
  }

  /** Episodes, newest first, from one state of the memory. */
  episodes(options: v.ListOptions = {}): AsyncGenerator<v.Episode, void, undefined> {
    return this.#listed("/episodes", options);
  }

  /** Every version of a record, oldest first. */
  history(id: string, options: CallOptions = {}): Promise<readonly v.Version[]> {
    return this.#read(`${record(id)}/history`, options);
  }

  /** Where a record comes from: who said it, its evidence, and what it replaced. */
  why(id: string, options: CallOptions = {}): Promise<v.Why> {
    return this.#read(`${record(id)}/why`, options);
  }

  /** One page of events, oldest first. */
  async events(options: v.EventsOptions = {}): Promise<readonly v.Change[]> {
    const { after, limit, kinds, id } = options;
    const query = { after, limit, kinds, id };
    return (await this.#read<Page<v.Change>>("/events", options, query)).items;
  }

  /** How many events this handle sees. */
  async position(options: CallOptions = {}): Promise<number> {
    return (await this.#read<Page<v.Change>>("/events", options, { limit: 1 })).position;
  }

  /** Background work in this memory. */
  get jobs(): Jobs {
    return new Jobs(this.#transport, this.#root, this.#narrowing.headers);
  }

  /** How many records, episodes and links there are, and where the ledger stands. */
  status(options: CallOptions = {}): Promise<v.SpaceStatus> {
    return this.#read("/status", options);
  }

  /** Each event as it is written, oldest first; it waits for the next one and never ends.
   *
   * A stream that broke is continued after the last event, so none is missed or given twice.
   */
  async *tail(options: v.TailOptions = {}): AsyncGenerator<v.Change, void, undefined> {
    const { signal, kinds } = options;
    const call = signal === undefined ? {} : { signal };
    let position = options.after ?? (await this.position(call));
    for (let faults = 0; ; faults++) {
      const began = performance.now();
      try {
        for await (const change of this.#streamed({ after: position, kinds }, call)) {
          if (change.seq <= position) continue;
          position = change.seq;
          faults = 0;
          yield change;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RecollectError && !(error instanceof Unavailable)) throw error;
        if (performance.now() - began > STEADY_MS) faults = 0;
        if (faults >= FAULTS_MAX_COUNT) {
          throw new Unavailable("the service ended the stream again and again", { cause: error });
        }
      }
      await sleep(LOOK_S + pauseS(faults), signal);
    }
  }

  /** The events of one stream, until it says bye or breaks. */
  async *#streamed(query: Query, call: CallOptions): AsyncGenerator<v.Change, void, undefined> {
    for await (const sent of this.#transport.stream(this.#asked("/events", call, query))) {
      if (sent.name === "bye") {
        const { why }: { why: string } = JSON.parse(sent.data);
        if (GOES_ON.has(why)) return;
        throw new Forbidden(`the service ended the stream: ${why}`);
      }
      yield JSON.parse(sent.data) as v.Change;
    }
  }

  async *#listed<T>(path: string, options: v.ListOptions): AsyncGenerator<T, void, undefined> {
    const { filter, include, limit = Infinity } = options;
    let cursor: string | undefined;
    let left = limit;
    while (left > 0) {
      const size = Math.min(PAGE_MAX_COUNT, limit); // a cursor belongs to one size
      const query = { filter, include, limit: size, cursor };
      const page = await this.#read<Page<T>>(path, options, query);
      const items = page?.items;
      if (!Array.isArray(items) || (items.length === 0 && page.next !== null)) {
        throw new Unavailable("the service answered something else than a page of a list");
      }
      yield* items.slice(0, left);
      left -= items.length;
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  async #write<T>(
    method: Asked["method"],
    path: string,
    options: v.WriteOptions,
    body: ((fields: object) => object) | null = (fields) => fields,
    query: Query = {},
  ): Promise<T> {
    if (this.#narrowing.at !== undefined) {
      throw new Unsupported("a handle on the past only reads", { hint: "write with the first one" });
    }
    const { idempotency_key: key, expect, signal: _, timeout_s: __, ...fields } = options;
    const headers = { ...this.#narrowing.headers };
    if (key !== undefined) headers["Idempotency-Key"] = header("Idempotency-Key", key);
    if (expect !== undefined) headers["If-Match"] = ifMatch(expect);
    const asked = { ...this.#asked(path, options, query), method, headers, isWrite: true };
    return this.#transport.ask(body === null ? asked : { ...asked, body: body(fields) });
  }

  /** A question that is too long for an address. */
  #question<T>(path: string, query: string, options: CallOptions): Promise<T> {
    const { signal: _, timeout_s: __, ...fields } = options;
    const body = { query, ...fields };
    return this.#transport.ask({ ...this.#asked(path, options), method: "POST", body });
  }

  #read<T>(path: string, options: CallOptions, query: Query = {}): Promise<T> {
    return this.#transport.ask(this.#asked(path, options, query));
  }

  #asked(path: string, call: CallOptions, query: Query = {}): Asked {
    const { headers, at } = this.#narrowing;
    return { method: "GET", path: this.#root + path, query: { ...query, at }, headers, call };
  }

  /** What is shown of a handle: never its token. */
  toJSON(): { readonly url: string; readonly space: string } {
    return { url: this.#transport.url, space: this.name };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Memory(${this.#transport.url}, ${this.name})`;
  }
}

function record(id: string): string {
  return `/records/${segment(id)}`;
}

function link(source: string, target: string, kind = "relates_to"): string {
  return `/links/${[source, kind, target].map(segment).join("/")}`;
}

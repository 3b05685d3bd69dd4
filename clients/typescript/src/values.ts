/** The names of what is sent and answered; the service's own description says what they contain. */

import type { components, operations } from "./schema.js";
import type { CallOptions } from "./transport.js";
import type { Expect } from "./wire.js";

type Schemas = components["schemas"];
type Moments = "due" | "expires" | "said_at" | "to" | "valid_at" | "valid_from" | "valid_to";
type Asked<Operation extends keyof operations> = NonNullable<
  operations[Operation]["parameters"]["query"]
>;

/** The same, with a `Date` wherever the service takes an instant. */
type Dated<T> = { readonly [K in keyof T]: K extends Moments ? T[K] | Date : T[K] };

export type Record = Schemas["Record"];
export type Episode = Schemas["Episode"];
export type Recall = Schemas["Recall"];
export type Hit = Schemas["Hit"];
export type Context = Schemas["Context"];
export type Forgotten = Schemas["Forgotten"];
export type Undone = Schemas["Undone"];
export type Version = Schemas["Version"];
export type Why = Schemas["Why"];
export type Change = Schemas["Change"];
export type Link = Schemas["Link"];
export type Scope = Schemas["Scope"];
export type Quote = Schemas["Quote"];
export type SpaceStatus = Schemas["SpaceStatus"];
export type Trust = Record["trust"];
export type Include = NonNullable<Schemas["RecallRequest"]["include"]>[number];
/** One thing that was said or seen. */
export type Message = Dated<Schemas["Message"]>;
/** One write of a batch. */
export type Act = {
  [K in Schemas["Batch"]["acts"][number] as K["act"]]: Dated<K>;
}[Schemas["Batch"]["acts"][number]["act"]];

export type Job = Schemas["Job"];
export type JobKind = Job["kind"];
export type Schedule = Schemas["Schedule"];
export type Token = Schemas["Token"];
/** A new token: the only time that the token itself is shown. */
export type MadeToken = Schemas["MadeToken"];

/** What every write takes. */
export interface WriteOptions extends CallOptions {
  /** The same key with the same call again gives the first answer; made by the client if absent. */
  readonly idempotency_key?: string;
  /** The write is refused with `Changed` if this has changed since. */
  readonly expect?: Expect;
}

export type RememberOptions = Omit<Dated<Schemas["Remember"]>, "text"> & WriteOptions;
export type ObserveOptions = Omit<Message, "content"> & WriteOptions;
export type ReviseOptions = Omit<Dated<Schemas["Revise"]>, "text"> & WriteOptions;
export type ForgetOptions = Asked<"forget"> & WriteOptions;
/** `to` is a version of the record, by its `seq` or an instant. */
export type UndoOptions = Dated<Schemas["UndoOne"]> & WriteOptions;
export type LinkOptions = Schemas["Relate"] & { readonly kind?: string } & WriteOptions;
export type UnlinkOptions = { readonly kind?: string } & WriteOptions;
export type UsedOptions = Schemas["Used"] & WriteOptions;
export type RecallOptions = Omit<Dated<Schemas["RecallRequest"]>, "query"> & CallOptions;
export type ContextOptions = Omit<Schemas["ContextRequest"], "query"> & CallOptions;
/** The record that holds exactly this key. */
export interface ByKey {
  readonly key: string;
}
export type GetOptions = { readonly include?: readonly Include[] } & CallOptions;
/** `limit` is how many there are at most; all by default. */
export type ListOptions = { readonly filter?: string; readonly limit?: number } & GetOptions;
export type EventsOptions = Omit<Asked<"events">, "at"> & CallOptions;
/** `after` is the position to begin after; by default what is written from now on. */
export interface TailOptions {
  readonly after?: number;
  readonly kinds?: readonly string[];
  readonly signal?: AbortSignal;
}
export type JobOptions = Omit<Dated<Schemas["Ask"]>, "kind"> & CallOptions;
export type JobListOptions = { readonly state?: Job["state"]; readonly limit?: number } & CallOptions;
export type ScheduleOptions = Schemas["Planned"] & CallOptions;
export type TokenOptions = Omit<Dated<Schemas["NewToken"]>, "label"> & CallOptions;
export type RotateOptions = Schemas["Rotate"] & CallOptions;
/** For whom a handle acts; it only ever allows less than the token. */
export type Narrowed = {
  readonly user?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly trust?: Trust;
};

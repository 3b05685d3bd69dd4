// What the compiler must accept and refuse; `npm run types` checks this file and runs nothing.

import {
  type Act, Changed, type Change, Conflict, type Context, type Episode, type Forgotten, type Hit,
  type Include, type Memory, type Message, NotFound, type Record, type Recall, Recollect,
  RecollectError, type Scope, type Trust, type Version, type Why,
} from "../dist/index.js";
import type { operations } from "../dist/schema.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
type Answer<Name extends keyof operations> = operations[Name]["responses"] extends infer All
  ? All extends { 200: { content: { "application/json": infer T } } } ? T
  : All extends { 201: { content: { "application/json": infer T } } } ? T : never
  : never;
type Gives<Name extends keyof Memory> = Memory[Name] extends (...args: never[]) => infer T
  ? T extends Promise<infer P> ? P : T extends AsyncGenerator<infer P> ? P : T
  : never;
function same<A, B>(..._: Equal<A, B> extends true ? [] : [error: "they differ"]): void {}

export async function checked(): Promise<void> {
  const service = new Recollect({ url: "http://127.0.0.1:7357", token: "rct_x" });
  const memory = service.space("alice");
  const signal = AbortSignal.timeout(1);

  // 1–13: a call gives what the service's description says.
  same<Gives<"remember">, Answer<"remember">>();
  same<Gives<"observe">, Answer<"observe">>();
  same<Gives<"recall">, Answer<"recall">>();
  same<Gives<"context">, Answer<"context">>();
  same<Gives<"revise">, Answer<"revise">>();
  same<Gives<"forget">, Answer<"forget">>();
  same<Gives<"undo">, Answer<"undo">>();
  same<Gives<"get">, Answer<"get">>();
  same<Gives<"list">, Answer<"list_records">["items"][number]>();
  same<Gives<"history">, Answer<"history">>();
  same<Gives<"why">, Answer<"why">>();
  same<Gives<"tail">, Answer<"events">["items"][number]>();
  same<Gives<"batch">, Answer<"batch">>();

  // 14–24: fields have their types without a cast.
  const recall = await memory.recall("Where does Alice sit?", { k: 3, signal });
  const text: string | undefined = recall.hits[0]?.record?.text;
  same<Recall["hits"], readonly Hit[]>();
  same<Record["key"], string | null>();
  same<Record["tags"], readonly string[]>();
  same<Trust, "agent" | "person" | "unverified">();
  same<Episode["role"], "assistant" | "system" | "tool" | "user">();
  same<Record["data"], { readonly [key: string]: unknown }>();
  same<Forgotten["hidden"], readonly string[]>(); // always there
  same<Scope, { readonly user?: string | null; readonly session?: string | null; readonly agent?: string | null }>();
  same<Context["receipt"], string | null>();
  same<Version["record"], Record>();
  same<Why["replaced_by"], Record | null>();

  // 25–28: what may be two things is told apart.
  const found = await memory.get("a");
  if ("role" in found) same<typeof found, Episode>();
  else same<typeof found, Record>();
  for await (const record of memory.list({ filter: "kind = 'fact'", limit: 5 })) same<typeof record, Record>();
  for await (const change of memory.tail({ after: 42, signal })) same<typeof change, Change>();

  // 29–33: what a call takes.
  await memory.remember("Alice sits in 12A.", { key: "alice.seat", data: { row: 12 }, expires: new Date() });
  await memory.observe([{ content: "Hi.", said_at: new Date() }], { role: "assistant" }); // no role: the default
  await memory.revise("a", "b", { expect: ["a", 42], expires: null });
  const acts: Act[] = [{ act: "remember", text: "a" }, { act: "revise", id: "a", tags: ["b"] }];
  await memory.batch(acts, { idempotency_key: "k", timeout_s: 3 });
  same<Message["said_at"], string | Date | undefined>();

  // 34–45: what the compiler refuses.
  // @ts-expect-error: a text is needed
  await memory.remember();
  // @ts-expect-error: there is no such field
  await memory.remember("a", { kye: "b" });
  // @ts-expect-error: tags are texts
  await memory.remember("a", { tags: [1] });
  // @ts-expect-error: a position and an id are not the same
  await memory.revise("a", "b", { expect: "42" });
  // @ts-expect-error: a unit is one of three
  await memory.recall("a", { unit: "records" });
  // @ts-expect-error: a read has no idempotency key
  await memory.recall("a", { idempotency_key: "k" });
  // @ts-expect-error: an act has a name
  await memory.batch([{ act: "erase", id: "a" }]);
  // @ts-expect-error: an act has its own fields
  await memory.batch([{ act: "undo", id: "a", text: "b" }]);
  // @ts-expect-error: a list is not an array
  (await memory.list()).length;
  // @ts-expect-error: a value is not changed
  recall.hits[0]!.record!.text = "b";
  // @ts-expect-error: a token is needed
  new Recollect({ url: "http://127.0.0.1" });
  // @ts-expect-error: a message has its words
  const wrong: Message = { role: "user" };

  // 46–48: errors are a tree of classes.
  try {
    await memory.forget("a", { sources: "hide" satisfies Include | "hide" });
  } catch (error) {
    if (error instanceof Changed) same<typeof error.code, string>();
    if (error instanceof Conflict || error instanceof NotFound) same<typeof error.hint, string | null>();
    if (error instanceof RecollectError) same<typeof error.status, number | null>();
  }
}

// The controls: two types that differ are told apart, and `any` is nothing but itself.
// @ts-expect-error: they differ
same<string, number>();
// @ts-expect-error: they differ
same<{ a: unknown }, { a: any }>();

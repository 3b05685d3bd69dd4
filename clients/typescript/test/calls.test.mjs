// Every call against a real service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";

import {
  Changed, ConfigError, Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, Recollect,
  RecollectError, Unavailable, Unsupported,
} from "../dist/index.js";
import { all, folder, serve } from "./service.mjs";

let place, service, client, memory;

before(async () => {
  place = await folder();
  service = await serve(place);
  client = new Recollect(service);
  memory = client.space();
});
after(async () => {
  await service?.stop();
  await place?.remove();
});

test("the calls of a memory", async () => {
  const seat = await memory.remember("Alice sits in 12A.", {
    key: "alice.seat", tags: ["seat"], data: { row: 12 }, valid_from: new Date("2026-01-01"),
  });
  assert.equal(seat.valid_from?.slice(0, 10), "2026-01-01");
  assert.deepEqual(await memory.get(seat.id), seat);
  assert.deepEqual(await memory.get({ key: "alice.seat" }), seat);
  const revised = await memory.revise(seat.id, "Alice sits in 14C.", { reason: "moved" });
  assert.equal(revised.text, "Alice sits in 14C.");
  assert.deepEqual((await memory.history(seat.id)).map((one) => one.what), ["added", "revised"]);
  assert.equal((await memory.at(seat.seq).get(seat.id)).text, "Alice sits in 12A.");
  assert.deepEqual((await memory.revise(seat.id, { tags: ["plane"], untag: ["seat"] })).tags, ["plane"]);
  const other = await memory.remember("Bob sits in 14E.");
  assert.equal((await memory.link(seat.id, other.id, { kind: "near", weight: 0.5 })).weight, 0.5);
  assert.equal(await memory.unlink(seat.id, other.id, { kind: "near" }), undefined);
  const said = await memory.observe([{ content: "Hello." }, { content: "Hi.", role: "assistant" }], {
    metadata: { channel: "web" },
  });
  assert.deepEqual(said.map((one) => [one.text, one.role, one.metadata.channel]), [
    ["Hello.", "user", "web"], ["Hi.", "assistant", "web"],
  ]);
  assert.equal((await memory.recall("Where does Alice sit?")).hits[0].record?.text, "Alice sits in 14C.");
  assert.equal((await memory.why(seat.id)).record.id, seat.id);
  const context = await memory.context("Where does Alice sit?", { tokens: 300 });
  assert.match(context.text, /14C/);
  assert.equal((await memory.used(context, { ids: [seat.id] }))[0].reinforcement_count, 1);
  assert.equal((await memory.forget(other.id, { reason: "left" })).id, other.id);
  await assert.rejects(memory.get(other.id), NotFound);
  const undone = await memory.undo(other.id);
  assert.equal(undone.record?.id, other.id);
  await memory.undo(undone.position);
  await assert.rejects(memory.get(other.id), NotFound);
  await memory.undo();
  assert.equal((await memory.get(other.id)).id, other.id);
  const moved = await memory.remember("Bob sits in 15A.", { replaces: other.id, reason: "moved" });
  assert.equal(moved.replaces, other.id);
  assert.equal((await memory.undo(other.id, { dry_run: true })).undone_by.length, 0);
  assert.equal((await memory.forget(moved.id, { derived: true })).taken[0], moved.id);
  assert.equal((await memory.status()).seq, await memory.position());
  assert.equal((await memory.events({ after: 1, limit: 2 })).length, 2);
});

test("a batch happens whole or not at all", async () => {
  const space = client.space((await client.createSpace("Zoë/batch")).name ?? "Zoë/batch");
  const made = await space.batch([
    { act: "remember", text: "One.", id: "one" },
    { act: "observe", content: "Said." },
    { act: "revise", id: "one", text: "Two." },
  ]);
  assert.equal(made.length, 3);
  const before = await space.position();
  await assert.rejects(
    space.batch([{ act: "remember", text: "Three." }, { act: "forget", id: "missing" }]), NotFound,
  );
  assert.equal(await space.position(), before);
  assert.ok((await client.spaces()).includes("Zoë/batch"));
});

test("a list has every page, from one state", async () => {
  await client.createSpace("many");
  const space = client.space("many");
  const texts = Array.from({ length: 1_234 }, (_, n) => `Number ${n}.`);
  await space.batch(texts.map((text) => ({ act: "remember", text })));
  const found = [];
  for await (const record of space.list()) {
    if (found.length === 10) await space.remember("In between.");
    found.push(record.text);
  }
  assert.deepEqual(new Set(found), new Set(texts));
  assert.equal(found.length, texts.length);
  assert.equal((await all(space.list({ limit: 7 }))).length, 7);
  assert.equal((await all(space.list({ limit: 1_100 }))).length, 1_100);
  assert.deepEqual(await all(space.list({ limit: 0 })), []);
  assert.deepEqual(await all(space.episodes()), []);
});

test("errors are classes by their code", async () => {
  const one = await memory.remember("One.");
  await memory.revise(one.id, "Two.");
  await assert.rejects(memory.revise(one.id, "Three.", { expect: [one.id, one.seq] }), (error) => {
    assert.ok(error instanceof Changed && error instanceof Conflict && error instanceof RecollectError);
    assert.deepEqual([error.name, error.code, error.status], ["Changed", "changed", 412]);
    return true;
  });
  await assert.rejects(memory.remember("Late.", { expect: one.seq }), Changed);
  await assert.rejects(memory.get("missing"), NotFound);
  await assert.rejects(memory.recall("x", { filter: "((" }), InvalidInput);
  await assert.rejects(memory.remember("x".repeat(9_000_000)), LimitExceeded);
  await assert.rejects(memory.remember("A half: \ud800"), InvalidInput);
  await assert.rejects(memory.at(1).remember("No."), Unsupported);
  await memory.remember("Once.", { idempotency_key: "k" });
  await assert.rejects(memory.remember("Twice.", { idempotency_key: "k" }), RecollectError);
  const wrong = memory.remember("", { tags: ["a"] });
  await assert.rejects(wrong, (error) => error.faults[0].pointer === "/text");
  const stranger = new Recollect({ ...service, token: "rct_made-up" }).space();
  await assert.rejects(stranger.status(), (error) => error instanceof Forbidden && error.status === 401);
});

test("a key that was given is the service's", async () => {
  const first = await memory.remember("Under a key.", { idempotency_key: "mine" });
  assert.deepEqual(await memory.remember("Under a key.", { idempotency_key: "mine" }), first);
});

test("a handle is narrowed", async () => {
  const bob = memory.scoped({ user: "Boß", session: "s", trust: "agent" });
  const record = await bob.remember("Bob's.");
  assert.deepEqual([record.scope, record.trust], [{ user: "Boß", session: "s" }, "agent"]);
  await assert.rejects(memory.scoped({ user: "ann" }).get(record.id), NotFound);
  for (const user of ["a\nb", "\x00", "a\u2028b"]) {
    assert.throws(() => memory.scoped({ user }), InvalidInput);
  }
});

test("names of any letters travel", async () => {
  for (const key of ["a/b", "ключ", "a#b+c", "..", "~x", "a%2Fb", "😀"]) {
    const made = await memory.remember(`Named ${key}.`, { key });
    assert.deepEqual(await memory.get({ key }), made);
  }
  assert.throws(() => client.space("\ud800"), InvalidInput);
});

test("a token is never shown, and not sent in the open", async () => {
  const error = await memory.get("missing").catch((found) => found);
  const away = new Recollect({ ...service, url: "http://127.0.0.1:1", timeout_s: 0.3 });
  const lost = await away.space().status().catch((found) => found);
  assert.ok(lost instanceof Unavailable);
  for (const each of [client, memory, memory.scoped({ user: "a" }), error, lost, { client }]) {
    const shown = inspect(each, { depth: 20, showHidden: true }) + JSON.stringify(each) + String(each);
    assert.ok(!shown.includes(service.token), shown);
  }
  const { token } = service; // the control: an object that has it is caught
  assert.ok(inspect({ token }).includes(token));
  for (const url of [
    "http://memory.example", "http://10.0.0.1:7357", "http://127.0.0.1.evil.example",
    "ftp://127.0.0.1", "127.0.0.1:80", "http://a:b@127.0.0.1", "http://127.0.0.1/?q", "",
  ]) {
    assert.throws(() => new Recollect({ url, token }), (found) => {
      return found instanceof ConfigError && !inspect(found).includes(token);
    });
  }
  for (const wrong of ["hunter2", "rct_a\nb", "rct_a b", "rct_ä"]) {
    assert.throws(() => new Recollect({ url: service.url, token: wrong }), (found) => {
      return found instanceof ConfigError && !found.message.includes(wrong);
    });
  }
  for (const url of ["https://memory.example/team/", "http://localhost:1", "http://[::1]:1"]) {
    assert.ok(new Recollect({ url, token: ` ${token}\n` }));
  }
});

test("a job is asked for, followed to its end and found", async () => {
  const working = await folder();
  const other = await serve(working, "--work");
  try {
    const { jobs } = new Recollect(other).space();
    const asked = await jobs.ask("verify", { params: { deep: true } });
    const states = [];
    for await (const job of jobs.follow(asked.id)) states.push(job.state);
    assert.equal(states.at(-1), "done");
    assert.deepEqual((await jobs.list({ state: "done" })).map((job) => job.id), [asked.id]);
    await assert.rejects(jobs.cancel(asked.id), Conflict);
    await assert.rejects(jobs.get(999), NotFound);
    await assert.rejects(jobs.follow(999).next(), NotFound);
    const later = await jobs.ask("seal", { due: new Date(Date.now() + 3_600_000) });
    assert.equal((await jobs.cancel(later.id)).state, "cancelled");
    const daily = await jobs.setSchedule("seal", { every_s: 86_400 });
    assert.deepEqual(await jobs.schedules(), [daily]);
    assert.equal(await jobs.dropSchedule("seal"), undefined);
  } finally {
    await other.stop();
    await working.remove();
  }
});

test("tokens are created, rotated and revoked", async () => {
  const { tokens } = client;
  const made = await tokens.create("phone", { space: "main", user: "ann" });
  assert.match(made.token, /^rct_/);
  const phone = new Recollect({ url: service.url, token: made.token });
  assert.deepEqual([(await phone.me()).label, (await phone.me()).user], ["phone", "ann"]);
  await assert.rejects(phone.tokens.list(), Forbidden);
  const next = await tokens.rotate(made.id, { overlap_s: 60 });
  assert.ok((await tokens.list()).some((each) => each.id === next.id && each.live));
  await tokens.revoke(made.id);
  assert.equal((await tokens.get(made.id)).live, false);
  await assert.rejects(phone.me(), Forbidden);
});

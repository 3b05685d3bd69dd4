// The feed: each event once, in order, whatever breaks.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Forbidden, NotFound, Recollect } from "../dist/index.js";
import { folder, proxy, serve } from "./service.mjs";

let place, between, service;

before(async () => {
  place = await folder();
  between = await proxy();
  service = await serve(place, "--hostname", between.host);
  between.target = service.port;
});
after(async () => {
  between?.close();
  await service?.stop();
  await place?.remove();
});

async function taken(changes, count) {
  const found = [];
  for await (const change of changes) {
    found.push(change);
    if (found.length === count) break;
  }
  return found;
}

test("200 events through a proxy that cuts every stream: none missed, none twice", async () => {
  const { token } = service;
  const memory = new Recollect(service).space();
  const start = await memory.position();
  between.lose = (number) => 700 + ((number * 977) % 9_000);
  const tail = new Recollect({ url: between.url, token }).space().tail({ after: start, kinds: ["episode.observed"] });
  const reading = taken(tail, 200);
  for (let n = 0; n < 20; n++) {
    await memory.observe(Array.from({ length: 10 }, (_, k) => ({ content: `Number ${n * 10 + k}.` })));
  }
  const found = (await reading).map((change) => change.seq);
  const written = (await memory.events({ after: start, kinds: ["episode.observed"], limit: 1_000 })).map((change) => change.seq);
  assert.deepEqual(found, written);
  assert.ok(between.cuts.length >= 5, `${between.cuts.length} cuts`);

  // The control: who connects again without a position gets events twice.
  const again = [];
  for (let n = 0; n < 4; n++) {
    const url = `${between.url}/v1/spaces/main/events?after=${start}`;
    const headers = { Authorization: `Bearer ${token}`, Accept: "text/event-stream" };
    const answer = await fetch(url, { headers });
    try {
      for await (const piece of answer.body) again.push(...Buffer.from(piece).toString().matchAll(/^id: (\d+)$/gm));
    } catch {} // it was cut
  }
  const seqs = again.map((match) => match[1]);
  assert.ok(seqs.length > new Set(seqs).size);
});

test("it goes on after a restart, and only kinds that were asked for come", async () => {
  const place = await folder();
  const first = await serve(place);
  const { url, port, token } = first;
  const memory = new Recollect({ url, token }).space();
  const ending = new AbortController();
  const tail = memory.tail({ kinds: ["record.added"], signal: ending.signal });
  const reading = taken(tail, 2);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await memory.remember("Before.");
  await memory.observe("Not asked for.");
  await first.stop();
  const second = await serve(place, "--port", port);
  await memory.remember("After.");
  assert.deepEqual((await reading).map((change) => change.text), ["Before.", "After."]);
  const waiting = memory.tail({ signal: ending.signal }).next();
  setTimeout(() => ending.abort(new Error("enough")), 200);
  await assert.rejects(waiting, /enough/);
  await second.stop();
  await place.remove();
});

test("a tail that may not read ends", async () => {
  const strange = new Recollect({ ...service, token: "rct_made-up" }).space();
  await assert.rejects(strange.tail({ after: 0 }).next(), Forbidden);
  await assert.rejects(new Recollect(service).space("nowhere").tail().next(), NotFound);
});

// Lost answers, busy services, deadlines and signals.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { InvalidInput, LimitExceeded, Recollect, Unavailable } from "../dist/index.js";
import { all, folder, proxy, serve } from "./service.mjs";

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

const withoutKey = (url, init) => {
  const { "Idempotency-Key": _, ...headers } = init.headers;
  return fetch(url, { ...init, headers: { ...headers, Connection: "close" } });
};
const closing = (url, init) =>
  fetch(url, { ...init, headers: { ...init.headers, Connection: "close" } });

for (const [name, kind, count] of [["with its key", closing, 1], ["without it (the control)", withoutKey, 2]]) {
  test(`a write whose answer was lost, ${name}, happens ${count} times`, async () => {
    const space = `lost-${count}`;
    await new Recollect(service).createSpace(space);
    const first = between.cuts.length;
    let number = 0;
    between.lose = () => (number++ === 0 ? 200 : Infinity); // within the headers or the body
    const { token } = service;
    const memory = new Recollect({ url: between.url, token, fetch: kind }).space(space);
    await memory.observe("Once.");
    assert.equal(between.cuts.length - first, 1);
    const found = await all(new Recollect(service).space(space).episodes());
    assert.deepEqual(found.map((each) => each.text), Array(count).fill("Once."));
  });
}

test("100 writes through a proxy that loses a third of the answers happen once each", async () => {
  await new Recollect(service).createSpace("third");
  between.lose = (number) => (number % 3 === 0 ? (number * 37) % 200 : Infinity);
  const { token } = service;
  const tries = new Map();
  const third = (url, init) => {  // a client gives up in the end, so the third try does not go there
    const key = init.headers["Idempotency-Key"];
    tries.set(key, (tries.get(key) ?? 0) + 1);
    return closing(tries.get(key) < 3 ? url : url.replace(between.url, service.url), init);
  };
  const memory = new Recollect({ url: between.url, token, fetch: third }).space("third");
  const texts = Array.from({ length: 100 }, (_, n) => `Number ${n}.`);
  const first = between.cuts.length;
  for (let n = 0; n < 100; n += 10) {
    await Promise.all(texts.slice(n, n + 10).map((text) => memory.observe(text)));
  }
  const found = await all(new Recollect(service).space("third").episodes());
  assert.deepEqual(found.map((each) => each.text).sort(), texts.sort());
  assert.ok(between.cuts.length - first > 30);
});

/** A server that answers as it is told, and keeps what it was asked. */
async function answering(answer) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push({ key: request.headers["idempotency-key"], at: performance.now(), url: request.url });
    answer(response, asked.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, asked, close: () => (server.closeAllConnections(), server.close()) };
}

test("429 and 503 are tried again, with the same key, as late as they ask", async () => {
  const there = await answering((response, number) => {
    const status = [503, 429, 200][number - 1];
    response.writeHead(status, number === 1 ? { "Retry-After": "1" } : {});
    response.end(status === 200 ? '{"id":"a"}' : "{}");
  });
  const made = await new Recollect({ url: there.url, token: "rct_x" }).space().remember("Yes.");
  there.close();
  assert.equal(made.id, "a");
  assert.equal(new Set(there.asked.map((each) => each.key)).size, 1);
  assert.ok(there.asked[0].key.length >= 20);
  assert.equal(there.asked.length, 3);
  assert.ok(there.asked[1].at - there.asked[0].at >= 990);
});

test("a refusal is not tried again, and tries end", async () => {
  const there = await answering((response, number) => {
    response.writeHead(number === 1 ? 500 : 503);
    response.end('{"code":"busy","detail":"too many"}');
  });
  const memory = new Recollect({ url: there.url, token: "rct_x" }).space();
  await assert.rejects(memory.status(), (error) => error.code === "busy" && error.status === 500);
  assert.equal(there.asked.length, 1);
  await assert.rejects(memory.status(), Unavailable);
  there.close();
  assert.equal(there.asked.length, 7);
});

test("an answer that is not a service's is told", async () => {
  for (const [status, body] of [[200, "<html>"], [502, "<html>"], [404, "null"], [302, ""]]) {
    const there = await answering((response) => {
      response.writeHead(status, { Location: "/elsewhere" });
      response.end(body);
    });
    const memory = new Recollect({ url: there.url, token: "rct_x" }).space();
    await assert.rejects(memory.status(), Unavailable);
    assert.equal(there.asked.length, 1); // and nothing is followed
    there.close();
  }
});

test("a list ends, whatever the service says of a next page", async () => {
  for (const [page, count] of [
    [{ items: [], next: "again" }, -1],
    [{}, -1],
    [null, -1],
    [{ items: [{ id: "a" }], next: null }, 1], // the control
    [{ items: [], next: null }, 0],
  ]) {
    const there = await answering((response) => response.end(JSON.stringify(page)));
    const memory = new Recollect({ url: there.url, token: "rct_x" }).space();
    if (count < 0) await assert.rejects(all(memory.list()), Unavailable);
    else assert.equal((await all(memory.list())).length, count);
    assert.equal(there.asked.length, 1);
    there.close();
  }
});

test("an answer that unpacks to more than 256 MiB is left, and asked for once", async () => {
  const packed = gzipSync(Buffer.alloc(300_000_000, 0x20));
  const there = await answering((response) => {
    response.writeHead(200, { "Content-Encoding": "gzip" });
    response.end(packed);
  });
  const memory = new Recollect({ url: there.url, token: "rct_x" }).space();
  await assert.rejects(memory.status(), LimitExceeded);
  assert.equal(there.asked.length, 1);
  there.close();
  const control = await answering((response) => {
    response.writeHead(200, { "Content-Encoding": "gzip" });
    response.end(gzipSync('{"records":1}'));
  });
  assert.equal((await new Recollect({ url: control.url, token: "rct_x" }).space().status()).records, 1);
  control.close();
});

test("a call ends at its deadline", async () => {
  const there = await answering((response, number) => {
    if (number > 1) response.writeHead(200).write("{"); // and then nothing
  });
  const memory = new Recollect({ url: there.url, token: "rct_x", timeout_s: 0.4 }).space();
  for (const options of [{}, { timeout_s: 0.3 }]) {
    const began = performance.now();
    await assert.rejects(memory.remember("Late.", options), Unavailable);
    assert.ok(performance.now() - began < 1_500);
  }
  for (const timeout_s of [0, -1, NaN, Infinity]) {
    await assert.rejects(memory.remember("Now.", { timeout_s }), InvalidInput);
  }
  there.close();
});

test("a signal ends a call, also while it waits for the next try", async () => {
  for (const answer of [() => {}, (response) => response.writeHead(503, { "Retry-After": "20" }).end()]) {
    const there = await answering(answer);
    const memory = new Recollect({ url: there.url, token: "rct_x" }).space();
    const ending = new AbortController();
    setTimeout(() => ending.abort(new Error("enough")), 150);
    const began = performance.now();
    await assert.rejects(memory.status({ signal: ending.signal }), /enough/);
    await assert.rejects(memory.status({ signal: ending.signal }), /enough/);
    assert.ok(performance.now() - began < 1_500);
    assert.equal(there.asked.length, 1);
    there.close();
  }
});

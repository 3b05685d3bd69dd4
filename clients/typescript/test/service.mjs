// A real `recollect serve` on files, and a proxy that loses answers.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const COMMAND =
  process.env.RECOLLECT ?? fileURLToPath(new URL("../../../.venv/bin/recollect", import.meta.url));

/** A folder with one memory; its home is a folder of its own. */
export async function folder() {
  const path = await mkdtemp(join(tmpdir(), "recollect-ts-"));
  const env = { ...process.env, HOME: path, RECOLLECT_EMBEDDER: "none" };
  await run(["--store", join(path, "w"), "remember", "The first one."], env);
  return { path, env, remove: () => rm(path, { recursive: true }) };
}

async function run(args, env) {
  const child = spawn(COMMAND, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`recollect ${args.join(" ")}: ${said}`);
}

/** The service of a folder; `token` is there at its first start. */
export async function serve(place, ...options) {
  const args = ["--store", join(place.path, "w"), "serve", "--port", "0", ...options];
  const child = spawn(COMMAND, args, { env: place.env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  await new Promise((resolve, reject) => {
    child.stderr.on("data", (data) => {
      said += data;
      if (/^Try: .*\n/m.test(said)) resolve();
    });
    child.on("exit", (code) => reject(new Error(`serve ended with ${code}: ${said}`)));
  });
  const [url] = /http:\/\/127[^ \n]+/.exec(said);
  const stop = async (signal = "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  return { url, port: new URL(url).port, token: /rct_[\w-]{20,}/.exec(said)?.[0], stop };
}

/** Passes bytes on; `lose(number)` says after how many bytes the answer of a connection is cut off. */
export async function proxy(lose = () => Infinity) {
  const cuts = [];
  const state = { target: 0, lose };
  let number = 0;
  const server = createServer((client) => {
    const there = connect(Number(state.target), "127.0.0.1");
    let left = state.lose(number++);
    client.pipe(there);
    there.on("data", (data) => {
      client.write(data.subarray(0, Math.max(0, left)));
      left -= data.length;
      if (left <= 0) {
        cuts.push(number);
        client.destroy();
      }
    });
    there.on("end", () => client.end());
    client.on("close", () => there.destroy());
    there.on("error", () => client.destroy());
    client.on("error", () => there.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${server.address().port}`;
  return Object.assign(state, { host, url: `http://${host}`, cuts, close: () => server.close() });
}

/** All that an async iterator gives. */
export async function all(items) {
  const found = [];
  for await (const each of items) found.push(each);
  return found;
}

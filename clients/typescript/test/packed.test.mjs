// README's program and that of docs/start/service.md, with the package as others get it: packed from a source that
// was not built, and installed in an empty folder.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { folder, serve } from "./service.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
let place, service;

before(async () => {
  place = await folder();
  service = await serve(place);
});
after(async () => {
  await service?.stop();
  await place?.remove();
});

function run(command, args, options) {
  const done = spawnSync(command, args, { encoding: "utf8", timeout: 60_000, ...options });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  return done.stdout;
}

test("the programs of the pages run from the packed client and print what the pages say", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, program] = /```js\n(.*?)```/s.exec(readme);
  const [, printed] = /```text\n(.*?)```/s.exec(readme);
  const fresh = join(place.path, "fresh");
  const source = join(place.path, "source");
  await mkdir(fresh);
  await mkdir(source);
  for (const name of ["src", "package.json", "tsconfig.json", "README.md", "LICENSE"]) {
    await cp(join(ROOT, name), join(source, name), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(source, "node_modules"));
  run("npm", ["pack", "--silent", "--pack-destination", fresh], { cwd: source });
  const [tarball] = await readdir(fresh);
  await writeFile(join(fresh, "package.json"), '{"type": "module"}');
  run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", `./${tarball}`], { cwd: fresh });
  assert.deepEqual((await readdir(join(fresh, "node_modules"))).filter((name) => name[0] !== "."), [
    "recollect-client",
  ]);
  const page = await readFile(join(ROOT, "../../docs/start/service.md"), "utf8");
  const [, other] = /```js\n(.*?)```/s.exec(page);
  await writeFile(join(fresh, "program.js"), program);
  await writeFile(join(fresh, "other.js"), other.replace("http://127.0.0.1:7400", service.url));
  const env = { ...place.env, RECOLLECT_STORE: service.url, RECOLLECT_TOKEN: service.token };
  assert.equal(run(process.execPath, ["program.js"], { cwd: fresh, env }), printed);
  const [, last] = /It prints `(.*?)`/.exec(page);
  assert.equal(run(process.execPath, ["other.js"], { cwd: fresh, env }), `${last}\n`);
});

// The public types: they compile as they should, and `any` is nowhere in them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

test("the type tests compile without an error", async () => {
  const tsc = here("../node_modules/typescript/bin/tsc");
  const done = spawnSync(process.execPath, [tsc, "--project", here(".")], { encoding: "utf8" });
  assert.equal(done.stdout + done.stderr, "");
  const source = await readFile(here("types.ts"), "utf8");
  const checks = [...source.matchAll(/same<|@ts-expect-error|await memory\./g)].length;
  assert.ok(checks >= 40, `${checks} checks`);
});

/** Where `any` is in what a module exports: in fields, arguments, answers and type arguments. */
function anys(path, source) {
  const options = { lib: ["lib.es2023.d.ts", "lib.dom.d.ts"], strict: true, types: [], module: ts.ModuleKind.NodeNext };
  const host = ts.createCompilerHost(options);
  if (source !== undefined) {
    const read = host.getSourceFile;
    host.getSourceFile = (name, ...rest) =>
      name === path ? ts.createSourceFile(name, source, ...rest) : read(name, ...rest);
    const exists = host.fileExists;
    host.fileExists = (name) => name === path || exists(name);
  }
  const program = ts.createProgram([path], options, host);
  const checker = program.getTypeChecker();
  const seen = new Set();
  const found = [];
  const isOurs = (symbol) =>
    !(symbol?.declarations ?? []).some((each) => program.isSourceFileDefaultLibrary(each.getSourceFile()));

  function look(type, where) {
    if (type.flags & ts.TypeFlags.Any) found.push(where);
    if (seen.has(type)) return;
    seen.add(type);
    for (const each of type.types ?? []) look(each, where);
    for (const each of checker.getTypeArguments(type) ?? []) look(each, `${where}<>`);
    for (const each of type.aliasTypeArguments ?? []) look(each, `${where}<>`);
    if (!(type.flags & ts.TypeFlags.Object) || !isOurs(type.symbol)) return;
    for (const index of checker.getIndexInfosOfType(type)) look(index.type, `${where}[]`);
    for (const part of type.getProperties()) if (isOurs(part) && !part.name.startsWith("#")) member(part, `${where}.${part.name}`);
    for (const kind of [ts.SignatureKind.Call, ts.SignatureKind.Construct]) {
      for (const signature of checker.getSignaturesOfType(type, kind)) {
        look(signature.getReturnType(), `${where}()`);
        for (const part of signature.getParameters()) member(part, `${where}(${part.name})`);
      }
    }
  }
  function member(symbol, where) {
    look(checker.getTypeOfSymbol(symbol), where);
  }
  const module = checker.getSymbolAtLocation(program.getSourceFile(path));
  const exported = checker.getExportsOfModule(module);
  for (const each of exported) {
    const real = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
    if (real.flags & ts.SymbolFlags.Value) member(real, each.name);
    if (real.flags & ts.SymbolFlags.Type) look(checker.getDeclaredTypeOfSymbol(real), each.name);
  }
  return { found, looked: seen.size, exported: exported.length };
}

test("there is no any in the public types", () => {
  const { found, looked, exported } = anys(here("../dist/index.d.ts"));
  assert.deepEqual(found, []);
  assert.ok(exported >= 40 && looked > 300, `${exported} exported, ${looked} types looked at`);
});

test("an any is found wherever it hides (the control)", () => {
  const source = `
    export interface A { x: { y: any } }
    export declare class B { f(a: Promise<any>): void; g(): any[] }
    export type C = string | { [key: string]: any };
    export declare function d(...rest: readonly unknown[]): AsyncGenerator<any>;
    export type Fine = { a: unknown; b: string };`;
  const { found } = anys(here("control.d.ts"), source);
  assert.deepEqual(new Set(found.map((where) => where[0])), new Set(["A", "B", "C", "d"]));
});

/** Server-sent events in a stream of bytes. */

import { Unavailable } from "./errors.js";

const LINE_MAX_CHARS = 1_048_576;

/** One event of a stream. */
export interface Sent {
  readonly name: string;
  readonly data: string;
}

/** The events in a stream; comments and other fields are left out, and `heard` is called for every piece. */
export async function* events(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<Sent, void, undefined> {
  let fields = new Map<string, string>();
  for await (const line of lines(body, heard)) {
    if (line !== "") {
      const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
      if (name === "event" || name === "data") fields.set(name, value);
    } else if (fields.has("data")) {
      yield { name: fields.get("event") ?? "", data: fields.get("data") ?? "" };
      fields = new Map();
    }
  }
}

async function* lines(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const found = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = found.pop() ?? "";
    if (rest.length > LINE_MAX_CHARS) throw new Unavailable("an event of the stream is too long");
    yield* found;
  }
}

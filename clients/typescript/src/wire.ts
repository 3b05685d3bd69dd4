/** What the service and its clients agree on: names in paths, ETags, headers. */

import { ConfigError, InvalidInput } from "./errors.js";

const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const LONE = /\p{Cs}/u; // half of a surrogate pair has no UTF-8 form
const UNPRINTABLE = /\p{C}|(?! )\p{Z}/u;
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
const TOKEN = /^rct_[!-~]+$/;

/** What a write expects: the position of the whole memory, or an id with the `seq` it was read at. */
export type Expect = number | readonly [id: string, seq: number];

/** A name as one segment of a path: as it is, or `~` and its UTF-8 bytes in base64url. */
export function segment(name: string): string {
  if (PLAIN.test(name)) return name;
  if (LONE.test(name)) throw new InvalidInput("a name contains half of a surrogate pair");
  return `~${base64url(new TextEncoder().encode(name))}`;
}

/** Bytes in base64url, without padding. */
export function base64url(bytes: Uint8Array): string {
  const text = btoa(latin1(bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The `If-Match` of an expectation. */
export function ifMatch(expect: Expect): string {
  return typeof expect === "number" ? `"h${expect}"` : `"v${expect[1]}"`;
}

/** A header's value as the service reads it: UTF-8, one character for each byte. */
export function header(name: string, value: string): string {
  if (UNPRINTABLE.test(value)) {
    throw new InvalidInput(`${name} has a character that a header cannot have`);
  }
  return latin1(new TextEncoder().encode(value));
}

/** A key that makes a write happen once, however often it is sent. */
export function newKey(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(18)));
}

/** The address of a service without a slash at its end; refused if a token would travel in the open. */
export function address(url: string): string {
  const found = URL.canParse(url) ? new URL(url) : null;
  if (found === null || !["http:", "https:"].includes(found.protocol)) {
    throw new ConfigError("this is not the address of a service", { hint: "http://HOST:PORT" });
  }
  if (found.username || found.password || found.search || found.hash) {
    throw new ConfigError("the address of a service has no user, query or fragment");
  }
  if (found.protocol === "http:" && !LOOPBACK.has(found.hostname)) {
    throw new ConfigError("a token is not sent over http to another machine", {
      hint: "use https://",
    });
  }
  return found.origin + found.pathname.replace(/\/+$/, "");
}

/** A token without the white space around it. */
export function token(text: string): string {
  const found = text.trim();
  if (TOKEN.test(found)) return found;
  throw new ConfigError("this is not a token of a service", { hint: "a token begins with rct_" });
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

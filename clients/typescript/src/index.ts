/** A client for `recollect serve`.
 *
 *     const memory = new Recollect({ url: "http://127.0.0.1:7357", token }).space("alice");
 *     await memory.remember("Alice sits in 12A.", { key: "alice.seat" });
 */

export { Recollect } from "./client.js";
export type { Jobs } from "./jobs.js";
export type { Memory } from "./memory.js";
export type { Tokens } from "./tokens.js";
export type { CallOptions, Options } from "./transport.js";
export type { Expect } from "./wire.js";
export type * from "./values.js";
export {
  Ambiguous,
  Changed,
  ConfigError,
  Conflict,
  type Details,
  Forbidden,
  IntegrityError,
  InvalidInput,
  KeyMissing,
  LimitExceeded,
  NotFound,
  NotInstalled,
  RecollectError,
  Unavailable,
  Unsupported,
} from "./errors.js";

/** Why a call failed, grouped by what the caller can do next; `code` is stable and for programs. */

import type { components } from "./schema.js";

type Problem = components["schemas"]["Problem"];

/** What an error carries besides its message. */
export interface Details {
  readonly code?: string;
  readonly hint?: string | null;
  readonly status?: number | null;
  readonly faults?: NonNullable<Problem["errors"]>;
  readonly cause?: unknown;
}

/** The root of the tree; catch it to catch everything that this client throws on purpose. */
export class RecollectError extends Error {
  /** The code when the service gave none. */
  static readonly code: string = "error";
  readonly code: string;
  /** The next step, for a person. */
  readonly hint: string | null;
  /** The status of the answer; null if there was none. */
  readonly status: number | null;
  /** Where in a request something is wrong. */
  readonly faults: NonNullable<Problem["errors"]>;

  constructor(message: string, details: Details = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.code = details.code ?? new.target.code;
    this.hint = details.hint ?? null;
    this.status = details.status ?? null;
    this.faults = details.faults ?? [];
  }
}

/** The call itself is wrong; nothing was written. */
export class InvalidInput extends RecollectError {
  static override readonly code: string = "invalid_input";
}
/** A limit was passed: send less. */
export class LimitExceeded extends InvalidInput {
  static override readonly code = "limit_exceeded";
}
/** A name could mean several things; the message lists their ids. */
export class Ambiguous extends InvalidInput {
  static override readonly code = "ambiguous";
}
/** Nothing that this token may see has that name. */
export class NotFound extends RecollectError {
  static override readonly code = "not_found";
}
/** The token does not allow that, or is not valid. */
export class Forbidden extends RecollectError {
  static override readonly code = "forbidden";
}
/** The memory is in another state: read again, then decide. */
export class Conflict extends RecollectError {
  static override readonly code: string = "conflict";
}
/** What the call expected has changed; nothing was written. */
export class Changed extends Conflict {
  static override readonly code = "changed";
}
/** The service does not answer, or is overloaded; try again later. */
export class Unavailable extends RecollectError {
  static override readonly code = "unavailable";
}
/** This service, or this handle, cannot do that. */
export class Unsupported extends RecollectError {
  static override readonly code: string = "unsupported";
}
/** An optional package is missing on the service. */
export class NotInstalled extends Unsupported {
  static override readonly code = "not_installed";
}
/** The address, the token or the settings of the service are wrong. */
export class ConfigError extends RecollectError {
  static override readonly code: string = "config";
}
/** A key is missing on the service. */
export class KeyMissing extends ConfigError {
  static override readonly code = "key_missing";
}
/** The ledger or its index is damaged; a person must decide how to go on. */
export class IntegrityError extends RecollectError {
  static override readonly code = "integrity";
}

type Kind = new (message: string, details?: Details) => RecollectError;

const CODES = new Map<string, Kind>([
  ...[
    InvalidInput, LimitExceeded, Ambiguous, NotFound, Forbidden, Conflict, Changed, Unavailable,
    Unsupported, NotInstalled, ConfigError, KeyMissing, IntegrityError,
  ].map((kind): [string, Kind] => [kind.code, kind]),
  ["unauthorized", Forbidden],
  ["malformed", InvalidInput],
  ["media_type", InvalidInput],
  ["precondition_required", InvalidInput],
  ["body_too_long", LimitExceeded],
  ["no_route", Unsupported],
  ["method_not_allowed", Unsupported],
]);

/** The error for a refusal; a body that is not a problem means that something else answered. */
export function refusal(status: number, body: string): RecollectError {
  const problem = parsed(body);
  if (problem === null) {
    return new Unavailable(`the service answered ${status} without a reason`, { status });
  }
  const Found = CODES.get(problem.code) ?? Unavailable;
  const { code, hint = null, errors: faults = [] } = problem;
  return new Found(problem.detail, { code, hint, status, faults });
}

function parsed(body: string): Problem | null {
  try {
    const found: Partial<Problem> | null = JSON.parse(body);
    return typeof found?.code === "string" && typeof found.detail === "string"
      ? (found as Problem)
      : null;
  } catch {
    return null;
  }
}

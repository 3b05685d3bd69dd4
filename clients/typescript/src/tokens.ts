/** The tokens of a service, for a token with the verb `admin`. */

import type { CallOptions, Transport } from "./transport.js";
import type * as v from "./values.js";

const PATH = "/v1/tokens";

/** Who may open which memories of a service. */
export class Tokens {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Create a token. The answer is the only one that ever holds it, so it is asked for once. */
  create(label: string, options: v.TokenOptions = {}): Promise<v.MadeToken> {
    const { signal: _, timeout_s: __, ...fields } = options;
    return this.#once(PATH, { label, ...fields }, options);
  }

  /** Every token, the oldest first, also those that have ended. */
  async list(call: CallOptions = {}): Promise<readonly v.Token[]> {
    const asked = { method: "GET", path: PATH, headers: {}, call } as const;
    return (await this.#transport.ask<{ items: readonly v.Token[] }>(asked)).items;
  }

  /** One token: what it allows, and until when. */
  get(id: number, call: CallOptions = {}): Promise<v.Token> {
    return this.#transport.ask({ method: "GET", path: `${PATH}/${Number(id)}`, headers: {}, call });
  }

  /** Create a token in the place of another; both work until the overlap has passed. */
  rotate(id: number, options: v.RotateOptions = {}): Promise<v.MadeToken> {
    const { signal: _, timeout_s: __, ...fields } = options;
    return this.#once(`${PATH}/${Number(id)}/rotate`, fields, options);
  }

  /** End a token at once. */
  async revoke(id: number, call: CallOptions = {}): Promise<void> {
    await this.#transport.ask({ method: "DELETE", path: `${PATH}/${Number(id)}`, headers: {}, call });
  }

  #once(path: string, body: object, call: CallOptions): Promise<v.MadeToken> {
    return this.#transport.ask({ method: "POST", path, headers: {}, body, isOnce: true, call });
  }
}

/** The memories that a token opens on a service. */

import { Memory } from "./memory.js";
import { type CallOptions, type Options, Transport } from "./transport.js";
import { Tokens } from "./tokens.js";
import type { SpaceStatus, Token } from "./values.js";

/** A service; create one for each process. */
export class Recollect {
  readonly #transport: Transport;

  constructor(options: Options) {
    this.#transport = new Transport(options);
  }

  /** The memory of one user, project or team. */
  space(name = "main"): Memory {
    return new Memory(this.#transport, name);
  }

  /** The names of the memories that the token opens. */
  async spaces(call: CallOptions = {}): Promise<readonly string[]> {
    const found = await this.#transport.ask<{ items: readonly { name: string }[] }>({
      method: "GET", path: "/v1/spaces", headers: {}, call,
    });
    return found.items.map((each) => each.name);
  }

  /** Create a memory, if the token may. */
  createSpace(name: string, call: CallOptions = {}): Promise<SpaceStatus> {
    const asked = { method: "POST", path: "/v1/spaces", headers: {} } as const;
    return this.#transport.ask({ ...asked, body: { name }, isWrite: true, call });
  }

  /** What the token of this client allows. */
  me(call: CallOptions = {}): Promise<Token> {
    return this.#transport.ask({ method: "GET", path: "/v1/me", headers: {}, call });
  }

  /** The tokens of this service, for a token with the verb `admin`. */
  get tokens(): Tokens {
    return new Tokens(this.#transport);
  }

  /** What is shown of a service: never its token. */
  toJSON(): { readonly url: string } {
    return { url: this.#transport.url };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Recollect(${this.#transport.url})`;
  }
}

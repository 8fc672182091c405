/**
 * Applies kill switches of the environment to programs that receive through a server. While a switch is on,
 * work that obeys its name stays in its queue. The settings of the queues contain the names.
 */

import type { Backend } from '../backends/backend.ts'
import { heldNamesIn, type ObeyingQueue } from '../contracts/held-names.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { allQueues } from '../operations/list-queues.ts'

export interface HeldReceivesSetup {
  readonly backend: Backend
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly log?: Logger
}

export class HeldReceives {
  /** The store for receivers, with the switches applied to receives. */
  readonly store: Backend
  readonly #setup: HeldReceivesSetup
  #names: readonly string[] = []

  constructor(setup: HeldReceivesSetup) {
    this.#setup = setup
    this.store = holding(setup.backend, () => this.#names)
  }

  /**
   * Reads the names that queues obey. Queues that are about to be created are passed in, so that no message
   * is received from them too early. Rejects if a value is neither on nor off.
   */
  async refresh(goingUp: readonly ObeyingQueue[] = []): Promise<void> {
    const { backend, environment, log = silentLogger } = this.#setup
    const before = this.#names
    this.#names = heldNamesIn(environment, [...(await allQueues(backend)), ...goingUp])
    const names = this.#names.filter((name) => !before.includes(name))
    if (names.length > 0)
      log.warn({ names: names.join(', ') }, 'kill switches are on in the environment')
  }
}

/** Without held names, a receive costs only this check. */
function holding(backend: Backend, heldNames: () => readonly string[]): Backend {
  const { inboxes } = backend
  return {
    ...backend,
    receive: (request) => backend.receive(withNames(request, heldNames())),
    whenReady: (request) => backend.whenReady(withNames(request, heldNames())),
    inboxes: inboxes && {
      ...inboxes,
      claim: (request) => inboxes.claim(withNames(request, heldNames())),
    },
  }
}

function withNames<Request extends { readonly heldNames?: readonly string[] }>(
  request: Request,
  names: readonly string[],
): Request {
  return names.length === 0
    ? request
    : { ...request, heldNames: [...new Set([...(request.heldNames ?? []), ...names])] }
}

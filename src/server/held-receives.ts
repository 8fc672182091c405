/**
 * Kill switches of the environment for programs that receive through a server: while one is on, what obeys
 * its name stays in its queue. Which names there are is in the settings of the queues.
 */
import { heldNamesIn, type ObeyingQueue } from '../app/held-names.ts'
import type { Backend } from '../backends/backend.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { allQueues } from '../operations/list-queues.ts'

export interface HeldReceivesSetup {
  readonly backend: Backend
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly log?: Logger
}

export class HeldReceives {
  /** The store for receivers: it holds what is to be held, and is otherwise as it was. */
  readonly store: Backend
  readonly #setup: HeldReceivesSetup
  #names: readonly string[] = []

  constructor(setup: HeldReceivesSetup) {
    this.#setup = setup
    this.store = holding(setup.backend, () => this.#names)
  }

  /**
   * Looks which names are obeyed by now. Queues that are about to go up are named before they do, so
   * that nothing slips out of them; a value that means neither on nor off is refused, also before.
   */
  async refresh(goingUp: readonly ObeyingQueue[] = []): Promise<void> {
    const { backend, environment, log = silentLogger } = this.#setup
    const before = this.#names
    this.#names = heldNamesIn(environment, [...(await allQueues(backend)), ...goingUp])
    const names = this.#names.filter((name) => !before.includes(name))
    if (names.length > 0)
      log.warn({ names: names.join(', ') }, 'kill switches of the environment are on')
  }
}

/** Without names, a receive costs no more than the question. */
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

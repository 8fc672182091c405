/**
 * A worker process with all roles, or the roles in its arguments. With `--drain` it exits when no work is left,
 * for machines that are started for a batch of uploads.
 */
import { parseArgs } from 'node:util'
import { runUntilSignal, type Worker } from 'millrace'
import { pino } from 'pino'
import { readEnvironment } from './environment.ts'
import { CircuitBreaker } from './extractor/circuit-breaker.ts'
import { type Ingestion, openIngestion } from './open-ingestion.ts'
import { extractHandler } from './runtime/extract-handler.ts'
import { finalizeHandler } from './runtime/finalize-handler.ts'
import { ingestHandler } from './runtime/ingest-handler.ts'
import { runJanitor } from './runtime/janitor.ts'
import { ProviderGate } from './runtime/provider-gate.ts'
import { workerRuntime } from './runtime/worker-runtime.ts'

export const roles = ['ingest', 'extract', 'finalize', 'janitor'] as const

export type Role = (typeof roles)[number]

export interface IngestionWorkerOptions {
  /** Default: all. */
  readonly roles?: readonly Role[]
}

export function createIngestionWorker(
  ingestion: Ingestion,
  { roles: chosen = roles }: IngestionWorkerOptions = {},
): Worker {
  const { mill, environment, now, log } = ingestion
  const runtime = workerRuntime(mill)
  const gate = new ProviderGate({
    breaker: new CircuitBreaker({ now }),
    switches: mill.switches,
    log,
  })
  const handle = {
    ingest: ingestHandler(ingestion),
    extract: extractHandler({ ...ingestion, gate }),
    finalize: finalizeHandler(ingestion),
    janitor: async () => {
      await runJanitor(ingestion, runtime)
    },
  }
  // Drawing pages needs a whole core; a model call mostly waits.
  const queueConcurrency = {
    ingest: 1,
    extract: environment.EXTRACT_CONCURRENCY,
    finalize: 1,
    janitor: 1,
  }
  return mill.worker({
    poll: chosen,
    handle,
    queueConcurrency: only(queueConcurrency, chosen),
  })
}

/** Selects the given roles. The types still list all of them. */
function only<Entries extends Record<Role, unknown>>(
  entries: Entries,
  chosen: readonly Role[],
): Entries {
  return Object.fromEntries(chosen.map((role) => [role, entries[role]])) as Entries
}

/** Runs until SIGTERM or SIGINT, or with `--drain` until no work is left. */
async function main(): Promise<void> {
  const options = { drain: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const chosen = positionals.length > 0 ? positionals.map(roleOf) : roles
  await using ingestion = await openIngestion(readEnvironment(), pino({}, pino.destination(2)))
  const worker = createIngestionWorker(ingestion, { roles: chosen })
  console.log(`worker ${chosen.join(', ')}`)
  await (values.drain ? worker.drain() : runUntilSignal(ingestion.mill, worker))
}

function roleOf(text: string): Role {
  const role = roles.find((one) => one === text)
  if (role === undefined) throw new Error(`A role is one of ${roles.join(', ')}.`)
  return role
}

if (process.argv[1] === import.meta.filename) await main()

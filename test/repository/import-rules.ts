import { posix } from 'node:path'

/**
 * Who may import whom, as data. A part is a folder of `src/`, a folder in a folder (`backends/sqlite`),
 * or a file beside the folders; the most specific name counts. Dependencies point one way: a part may
 * name only parts above it, so the table cannot hold a circle.
 */
export interface ImportRule {
  readonly part: string
  /** Other parts. `backends` is the port itself, never one of its implementations. */
  readonly parts: readonly string[]
  /** Parts that are loaded with `import()`, when they are needed and not before. */
  readonly lazily?: readonly string[]
  /** Parts of which only types are imported, so that none of their code runs with this part. */
  readonly types?: readonly string[]
  /** Packages, and `node:` for what the runtime brings. */
  readonly outside: readonly string[]
}

export const importRules: readonly ImportRule[] = [
  // Reads the version out of package.json.
  { part: 'version.ts', parts: [], outside: ['node:'] },
  { part: 'core', parts: [], outside: [] },
  { part: 'backends', parts: ['core'], outside: [] },
  {
    part: 'observability',
    parts: ['core'],
    types: ['backends'],
    // Loaded when an app with traces is opened.
    outside: ['@opentelemetry/api'],
  },
  {
    part: 'contracts',
    parts: ['core'],
    // Handlers that are declared with their job type are given a logger.
    types: ['observability'],
    outside: ['@standard-schema/spec', 'croner'],
  },
  // Hashes bodies and payloads; no driver.
  { part: 'engine', parts: ['core', 'backends'], outside: ['node:'] },
  { part: 'backends/sqlite', parts: ['core', 'backends', 'engine'], outside: ['node:'] },
  { part: 'backends/postgres', parts: ['core', 'backends', 'engine'], outside: ['pg'] },
  // The port of carriers, and a store with carriers. Each carrier is a folder in it, with its own driver.
  { part: 'backends/carriers', parts: ['core', 'backends'], outside: ['node:'] },
  {
    part: 'backends/carriers/bullmq',
    parts: ['core'],
    types: ['backends', 'backends/carriers'],
    outside: ['node:', 'bullmq', 'ioredis'],
  },
  { part: 'sealing', parts: ['core', 'backends'], outside: ['node:'] },
  { part: 'sqs', parts: ['core', 'backends'], outside: ['node:'] },
  {
    part: 'backends/carriers/sqs',
    parts: ['core', 'sqs'],
    types: ['backends', 'backends/carriers'],
    outside: ['@aws-sdk/client-sqs'],
  },
  { part: 'templates', parts: ['core', 'contracts', 'sqs'], outside: ['node:', 'yaml'] },
  { part: 'producer', parts: ['core', 'observability', 'contracts', 'backends'], outside: [] },
  {
    part: 'jobs',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer'],
    outside: [],
  },
  { part: 'receiving', parts: ['core', 'contracts', 'backends', 'producer'], outside: [] },
  // Hashes long names; the rest of the flows needs nothing of the runtime.
  { part: 'flows/tick-id.ts', parts: ['core'], outside: ['node:'] },
  {
    part: 'flows',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'jobs',
      'flows/tick-id.ts',
    ],
    outside: [],
  },
  // How Node reads TypeScript; what the command and the threads of functions load needs it.
  { part: 'worker/typescript-modules.ts', parts: [], outside: ['node:'] },
  {
    part: 'worker',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'jobs',
      'receiving',
      'flows',
      'sqs',
      'worker/typescript-modules.ts',
    ],
    // Threads keep leases and run functions; computed imports load, in such a thread, the module of
    // the store or of the function.
    outside: ['node:', '(computed)'],
  },
  // Resolves names and opens connections; the rest of the maintenance never leaves the store.
  { part: 'maintenance/webhook.ts', parts: ['core'], outside: ['node:'] },
  {
    part: 'maintenance',
    parts: [
      'core',
      'observability',
      'backends',
      'flows/tick-id.ts',
      'flows',
      'maintenance/webhook.ts',
    ],
    outside: [],
  },
  {
    part: 'operations',
    parts: ['core', 'contracts', 'backends', 'receiving', 'maintenance'],
    types: ['producer'],
    outside: [],
  },
  // What all surfaces share. The server hands it to them.
  {
    part: 'surfaces',
    parts: [],
    types: ['core', 'contracts', 'backends', 'operations', 'worker'],
    outside: ['node:'],
  },
  {
    part: 'app/load-app.ts',
    parts: ['core', 'contracts', 'worker/typescript-modules.ts'],
    // The computed import loads the app that the user names.
    outside: ['node:', '(computed)'],
  },
  // Loaded by apps with a carrier.
  {
    part: 'app/open-carried.ts',
    parts: ['core', 'backends', 'backends/carriers'],
    outside: [],
  },
  {
    part: 'app',
    parts: [
      'version.ts',
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'jobs',
      'receiving',
      'flows',
      'maintenance/webhook.ts',
      'maintenance',
      'worker',
      'operations',
    ],
    lazily: ['app/open-carried.ts', 'backends/sqlite', 'backends/postgres', 'sealing'],
    types: ['backends/carriers', 'sealing'],
    outside: ['node:'],
  },
  // What programs use inside a Lambda function. The store is loaded by functions that have one.
  {
    part: 'lambda',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'jobs',
      'receiving',
      'flows',
      'sqs',
      'worker',
      'operations',
      'app',
    ],
    outside: ['@aws-sdk/client-sqs'],
  },
  {
    part: 'stacks',
    parts: ['core', 'contracts', 'backends', 'operations', 'templates', 'app/load-app.ts'],
    outside: ['node:'],
  },
  {
    part: 'server',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'jobs',
      'receiving',
      'maintenance',
      'worker',
      'operations',
      'sqs',
      'templates',
      'surfaces',
      'app',
      'stacks',
    ],
    outside: ['node:'],
  },
  {
    part: 'surfaces/http-api',
    parts: ['version.ts', 'core', 'contracts', 'observability', 'jobs', 'operations', 'surfaces'],
    types: ['backends', 'worker'],
    outside: [
      'node:',
      '@hono/node-server',
      'hono',
      'hono/route',
      'hono-openapi',
      'jose',
      'rate-limiter-flexible',
    ],
  },
  {
    part: 'surfaces/sqs-protocol',
    parts: ['version.ts', 'core', 'observability', 'sqs', 'surfaces'],
    types: ['backends'],
    outside: ['node:'],
  },
  // The entries join the parts for users of the package.
  { part: 'backend.ts', parts: ['backends'], outside: [] },
  {
    part: 'bullmq.ts',
    parts: ['app', 'backends/carriers/bullmq'],
    types: ['backends/carriers'],
    outside: [],
  },
  {
    part: 'postgres.ts',
    parts: ['app', 'backends/postgres'],
    types: ['backends'],
    outside: [],
  },
  {
    part: 'sqs.ts',
    parts: ['app', 'backends/carriers/sqs'],
    types: ['backends/carriers'],
    outside: [],
  },
  {
    part: 'index.ts',
    parts: ['core', 'contracts', 'flows', 'receiving', 'worker', 'app', 'lambda'],
    types: ['observability', 'producer', 'jobs', 'maintenance', 'operations'],
    outside: [],
  },
  {
    part: 'server.ts',
    parts: ['core', 'app', 'server', 'surfaces/http-api', 'surfaces/sqs-protocol'],
    types: ['surfaces'],
    outside: ['node:'],
  },
  {
    part: 'surfaces/cli',
    parts: [
      'version.ts',
      'core',
      'contracts',
      'observability',
      'flows',
      'operations',
      'sqs',
      'templates',
    ],
    // What runs of these is handed in by `cli.ts`.
    types: ['backends', 'app/load-app.ts', 'app', 'stacks', 'server', 'server.ts'],
    outside: ['node:', 'commander', 'pino', 'picocolors'],
  },
  {
    part: 'platform.ts',
    parts: [],
    lazily: ['app/load-app.ts', 'app', 'stacks', 'server', 'server.ts'],
    types: ['surfaces/cli'],
    outside: [],
  },
  {
    part: 'cli.ts',
    parts: ['core'],
    lazily: ['surfaces/cli', 'platform.ts'],
    outside: ['node:'],
  },
  {
    part: 'testing',
    parts: ['core', 'contracts', 'backends', 'receiving', 'worker', 'app'],
    lazily: ['backends/sqlite'],
    types: ['observability', 'jobs', 'backends/sqlite'],
    outside: ['node:'],
  },
]

/** Parts that are the files of a folder, and not the folders in it. */
const direct: readonly string[] = ['backends', 'backends/carriers', 'surfaces']

/** The rule for a file, named by its path below `src/`. */
export function ruleFor(file: string): ImportRule | undefined {
  return importRules
    .filter(({ part }) => file === part || file.startsWith(`${part}/`))
    .sort((one, other) => other.part.length - one.part.length)
    .find(({ part }) => !direct.includes(part) || posix.dirname(file) === part)
}

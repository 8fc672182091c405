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
  /** Packages, and `node:` for what the runtime brings. */
  readonly outside: readonly string[]
}

export const importRules: readonly ImportRule[] = [
  { part: 'core', parts: [], outside: [] },
  { part: 'observability', parts: ['core'], outside: [] },
  { part: 'contracts', parts: ['core'], outside: ['@standard-schema/spec', 'croner'] },
  { part: 'backends', parts: ['core'], outside: [] },
  { part: 'backends/sqlite', parts: ['core', 'backends'], outside: ['node:'] },
  { part: 'sqs', parts: ['core', 'backends'], outside: ['node:'] },
  { part: 'templates', parts: ['core', 'contracts', 'sqs'], outside: ['node:', 'yaml'] },
  { part: 'producer', parts: ['core', 'contracts', 'backends'], outside: [] },
  {
    part: 'status',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer'],
    outside: [],
  },
  { part: 'leases', parts: ['core', 'contracts', 'backends', 'producer'], outside: [] },
  {
    part: 'flows',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer', 'leases'],
    outside: [],
  },
  {
    part: 'worker',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer', 'leases', 'flows', 'sqs'],
    // Threads keep leases and run functions; computed imports load, in such a thread, the module of
    // the store or of the function.
    outside: ['node:', '(computed)'],
  },
  // Resolves names and opens connections; the rest of the upkeep never leaves the store.
  { part: 'maintenance/webhook.ts', parts: ['core'], outside: ['node:'] },
  {
    part: 'maintenance',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'leases',
      'flows',
      'maintenance/webhook.ts',
    ],
    outside: [],
  },
  {
    part: 'operations',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'leases',
      'flows',
      'maintenance',
    ],
    outside: [],
  },
  {
    part: 'config/load-app.ts',
    parts: ['core', 'contracts'],
    // The computed import loads the app that the user names.
    outside: ['node:', '(computed)'],
  },
  {
    part: 'config',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'status',
      'leases',
      'flows',
      'maintenance/webhook.ts',
      'maintenance',
      'worker',
      'operations',
      'sqs',
      'templates',
      'config/load-app.ts',
    ],
    lazily: ['backends/sqlite'],
    outside: ['node:'],
  },
  {
    part: 'surfaces/http-api',
    // `backends` for the types of the port; a store itself is never in reach.
    parts: [
      'core',
      'contracts',
      'observability',
      'backends',
      'producer',
      'status',
      'leases',
      'flows',
      'operations',
      'config',
    ],
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
    // `backends` for the types of the port here too.
    parts: ['core', 'observability', 'backends', 'sqs', 'leases', 'config'],
    outside: ['node:'],
  },
  // The two entries join the parts for users of the package.
  {
    part: 'index.ts',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'status',
      'leases',
      'flows',
      'worker',
      'maintenance',
      'operations',
      'config',
    ],
    outside: [],
  },
  {
    part: 'server.ts',
    parts: ['config', 'surfaces/http-api', 'surfaces/sqs-protocol'],
    outside: ['node:'],
  },
  {
    part: 'surfaces/cli',
    // `backends` for the types of the port here too.
    parts: [
      'core',
      'contracts',
      'observability',
      'backends',
      'producer',
      'leases',
      'flows',
      'operations',
      'sqs',
      'templates',
      'config/load-app.ts',
      'config',
      'server.ts',
    ],
    outside: ['node:', 'commander', 'pino', 'picocolors'],
  },
  {
    part: 'testing',
    parts: ['core', 'contracts', 'backends', 'index.ts', 'server.ts'],
    outside: ['node:'],
  },
]

/** The rule for a file, named by its path below `src/`. */
export function ruleFor(file: string): ImportRule | undefined {
  return importRules
    .filter(({ part }) => file === part || file.startsWith(`${part}/`))
    .sort((one, other) => other.part.length - one.part.length)
    .find(({ part }) => part !== 'backends' || !file.slice('backends/'.length).includes('/'))
}

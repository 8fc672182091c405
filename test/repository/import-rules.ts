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
    part: 'jobs',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer'],
    outside: [],
  },
  { part: 'receiving', parts: ['core', 'contracts', 'backends', 'producer'], outside: [] },
  {
    part: 'flows',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer', 'jobs', 'receiving'],
    outside: [],
  },
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
    ],
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
      'receiving',
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
      'receiving',
      'flows',
      'maintenance',
    ],
    outside: [],
  },
  {
    part: 'app/load-app.ts',
    parts: ['core', 'contracts'],
    // The computed import loads the app that the user names.
    outside: ['node:', '(computed)'],
  },
  {
    part: 'app',
    parts: [
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
    lazily: ['backends/sqlite'],
    outside: ['node:'],
  },
  {
    part: 'stacks',
    parts: ['core', 'contracts', 'backends', 'operations', 'templates', 'app/load-app.ts', 'app'],
    outside: ['node:'],
  },
  {
    part: 'server',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'receiving',
      'maintenance',
      'worker',
      'operations',
      'sqs',
      'templates',
      'app',
      'stacks',
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
      'jobs',
      'receiving',
      'flows',
      'operations',
      'app',
      'stacks',
      'server',
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
    parts: ['core', 'observability', 'backends', 'sqs', 'receiving', 'app', 'server'],
    outside: ['node:'],
  },
  // The entries join the parts for users of the package.
  { part: 'backend.ts', parts: ['backends'], outside: [] },
  {
    part: 'index.ts',
    parts: [
      'core',
      'observability',
      'contracts',
      'backends',
      'producer',
      'jobs',
      'receiving',
      'flows',
      'worker',
      'maintenance',
      'operations',
      'app',
      'stacks',
      'server',
    ],
    outside: [],
  },
  {
    part: 'server.ts',
    parts: ['app', 'server', 'surfaces/http-api', 'surfaces/sqs-protocol'],
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
      'receiving',
      'flows',
      'operations',
      'sqs',
      'templates',
      'app/load-app.ts',
      'app',
      'stacks',
      'server',
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

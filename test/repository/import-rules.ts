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
  { part: 'contracts', parts: ['core'], outside: ['@standard-schema/spec'] },
  { part: 'backends', parts: ['core'], outside: [] },
  { part: 'backends/sqlite', parts: ['core', 'backends'], outside: ['node:'] },
  { part: 'producer', parts: ['core', 'contracts', 'backends'], outside: [] },
  {
    part: 'status',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer'],
    outside: [],
  },
  { part: 'leases', parts: ['core', 'contracts', 'backends', 'producer'], outside: [] },
  {
    part: 'worker',
    parts: ['core', 'observability', 'contracts', 'backends', 'producer', 'leases'],
    // A thread keeps leases; the computed import loads, in that thread, the module of the store.
    outside: ['node:', '(computed)'],
  },
  {
    part: 'maintenance',
    parts: ['core', 'contracts', 'backends', 'producer', 'leases'],
    outside: [],
  },
  {
    part: 'operations',
    parts: ['core', 'contracts', 'backends', 'producer', 'leases', 'maintenance'],
    outside: [],
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
      'maintenance',
      'worker',
      'operations',
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
      'worker',
      'maintenance',
      'operations',
      'config',
    ],
    outside: [],
  },
  { part: 'server.ts', parts: ['config', 'surfaces/http-api'], outside: [] },
  {
    part: 'surfaces/cli',
    parts: [
      'core',
      'contracts',
      'observability',
      'producer',
      'leases',
      'operations',
      'config',
      'server.ts',
    ],
    // The computed import loads the app that the user names.
    outside: ['node:', 'commander', 'pino', '(computed)'],
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

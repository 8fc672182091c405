import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'

/**
 * Tests that kill processes, measure time or live on short leases: one at a time, on a real disk. All
 * others run side by side, with their stores in memory where the system has a folder for that: what
 * they ask does not depend on when a disk has written, and waiting for it is most of their time.
 */
const alone = [
  'test/crash/**/*.test.ts',
  'test/packaging/**/*.test.ts',
  'test/worker/blocked-event-loop*.test.ts',
  'src/worker/lease-guard.test.ts',
]

const memory = '/dev/shm'

// Real processes and real disks: a slow machine is not a failure.
const patience = { testTimeout: 60_000, hookTimeout: 60_000, pool: 'forks' as const }

export default defineConfig({
  test: {
    // Once for both projects. It starts servers only for tests that ask for them.
    globalSetup: 'test/services/global-setup.ts',
    projects: [
      {
        test: {
          ...patience,
          name: 'side by side',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone],
          typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'] },
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
          env: existsSync(memory) ? { TMPDIR: memory } : {},
        },
      },
      {
        test: {
          ...patience,
          name: 'alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

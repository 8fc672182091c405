import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that kill processes, measure time or need short leases: they get the machine for themselves. */
const alone = [
  'test/crash/**/*.test.ts',
  'test/packaging/**/*.test.ts',
  'src/worker/lease-guard.test.ts',
]

// Real processes and real disks: a slow machine is not a failure.
const patience = { testTimeout: 60_000, hookTimeout: 60_000, pool: 'forks' as const }

export default defineConfig({
  test: {
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

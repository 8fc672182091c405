import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'] },
    // Real processes and real disks: a slow machine is not a failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
})

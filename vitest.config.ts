import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { compileCache } from './test/support/child-variables.ts'

/**
 * Tests that kill processes or install packages: one at a time, on a real disk. All others run side by
 * side, with their stores in memory where the system has a folder for that: what they ask does not depend
 * on when a disk has written, and waiting for it is most of their time.
 */
const alone = ['test/crash/**/*.test.ts', 'test/packaging/**/*.test.ts']

/**
 * Tests of what a whole process has: tracer providers, and the list of all statements that were declared.
 * Each of these files has its own process. Others share one, which saves loading the same modules again.
 */
const isolated = [
  'test/traces/**/*.test.ts',
  'test/backends/postgres/**/*.test.ts',
  'test/backends/sqlite/statements.test.ts',
  'src/engine/statements.test.ts',
]

/** Tests of examples that depend on the store. They run once more, with new databases on Postgres. */
const examplesOnPostgres = [
  'examples/academy/{academy,app,redelivery}.test.ts',
  'examples/academy/ai/create-ai-worker.test.ts',
  'examples/job-queue/test/{cleanup,course-generation,edge-cases,enqueueing,main}.test.ts',
  'examples/job-queue/test/{processes,processing}.test.ts',
  'examples/replies/test/{collecting,main,template}.test.ts',
  'examples/ingestion/test/{drain,janitor,main,pipeline,redelivery}.test.ts',
  'examples/tutoring/test/{budget,main,pauses,workers}.test.ts',
]

const memory = '/dev/shm'

/**
 * Real processes and real disks: a slow machine is not a failure. `npm test` reports tests that pass only at
 * the second try as flaky.
 */
const patience = {
  testTimeout: 180_000,
  hookTimeout: 180_000,
  retry: 1,
  pool: 'forks' as const,
  env: { NODE_COMPILE_CACHE: compileCache },
}

const sideBySide = {
  ...patience,
  // Some wait for servers and child processes while others compute.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 0 },
  env: { ...patience.env, ...(existsSync(memory) && { TMPDIR: memory }) },
}

export default defineConfig({
  test: {
    // Once for all projects. It starts servers only for tests that ask for them.
    globalSetup: 'test/services/global-setup.ts',
    projects: [
      {
        test: {
          ...sideBySide,
          name: 'side by side',
          isolate: false,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone, ...isolated],
          typecheck: {
            enabled: true,
            include: ['test/types/**/*.test-d.ts'],
            // The step `types` has checked all other files.
            tsconfig: 'test/types/tsconfig.json',
          },
        },
      },
      { test: { ...sideBySide, name: 'isolated', include: isolated } },
      {
        test: {
          ...sideBySide,
          name: 'on Postgres',
          isolate: false,
          include: examplesOnPostgres,
          provide: { exampleStore: 'postgres' },
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

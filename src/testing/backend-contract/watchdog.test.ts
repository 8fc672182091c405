import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { ContractHarness } from './contract-harness.ts'
import { ContractSuite } from './suite.ts'
import { Watchdog } from './watchdog.ts'

const never = new Promise<never>(() => undefined)
const capabilities = { name: 'stuck', peek: true }

function harnessWith(parts: object): ContractHarness {
  const backend = { capabilities, switches: { set: () => never }, ...parts }
  const harness = { backend, advance: async () => undefined, dispose: async () => undefined }
  return harness as unknown as ContractHarness
}

/** What a test of the suite fails with. */
async function failureOf(
  open: () => Promise<ContractHarness>,
  body: Parameters<ContractSuite['test']>[1],
): Promise<string> {
  let run: () => Promise<void> = async () => undefined
  const suite = new ContractSuite({
    describe: () => undefined,
    test: (_name, test) => {
      run = () => test({ skip: () => undefined })
    },
    open,
    watchdog: () => new Watchdog({ stepMsMax: 20 }),
  })
  suite.test('hangs', body)
  return run().then(
    () => 'it passed',
    (error: Error) => error.message,
  )
}

describe('a contract test that hangs', () => {
  test('says that the store does not open', async () => {
    const said = await failureOf(
      () => never,
      async () => undefined,
    )
    assert.match(said, /^Opening the store has not ended after \d+ ms\./)
  })

  test('names the calls that have not returned, and no others', async () => {
    const harness = harnessWith({ sweep: async () => ({ more: false }), receive: () => never })
    const said = await failureOf(
      async () => harness,
      async ({ backend }) => {
        await backend.sweep()
        const request = { scope: 'name', value: 'x', mode: 'hold', by: 'test' } as const
        await Promise.all([
          backend.switches?.set(request),
          backend.receive({ queue: 'q' } as never),
        ])
      },
    )
    assert.match(said, /^The body of the test has not ended/)
    assert.match(said, /Pending: switches\.set for \d+ ms; receive for \d+ ms\./)
    assert.match(said, /event loop stood still for \d+ ms at most/)
  })

  test('says that the store does not close', async () => {
    const harness = { ...harnessWith({}), dispose: () => never }
    assert.match(
      await failureOf(
        async () => harness,
        async () => undefined,
      ),
      /^Closing the store/,
    )
  })

  test('keeps the error of a body when closing fails as well', async () => {
    const harness = { ...harnessWith({}), dispose: () => Promise.reject(new Error('closing')) }
    const said = await failureOf(
      async () => harness,
      async () => assert.fail('body'),
    )
    assert.match(said, /body/)
  })
})

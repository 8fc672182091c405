/** Conversations in the handoff queue, and the people who claim them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runCli } from '../../../test/support/cli-process.ts'
import { ben } from '../demo/sample-conversations.ts'
import { type Fixture, from, minute, openFixture } from './fixture.ts'

const queue = 'ai-multi-comms-human-handoff-queue-dev'

async function inbox({ variables }: Fixture, ...args: readonly string[]) {
  const { code, stdout, stderr } = await runCli(['inbox', ...args, '--json'], variables)
  return { code, stderr, answer: stdout === '' ? null : JSON.parse(stdout) }
}

async function fixtureWithOneWaiting(): Promise<Fixture> {
  const fixture = await openFixture()
  const { provider, startWorker, passing, payloads } = fixture
  startWorker()
  await provider.deliver(from(ben, 'SM1', 'A person, please!'))
  await passing(async () => (await payloads('handoff')).length === 1)
  return fixture
}

describe('a conversation for a person', () => {
  test('is claimed and resolved from the command line', async () => {
    const fixture = await fixtureWithOneWaiting()
    // No worker polls this queue.
    fixture.clock.sleep(9 * minute)
    await fixture.clock.advance(minute)
    const listed = await inbox(fixture, 'list', queue)
    const [item] = listed.answer.items
    assert.equal(item.message.handoff_reason, 'user_requested')
    assert.equal(item.message.merged_body, 'A person, please!')
    const claimed = await inbox(fixture, 'claim', queue, '--by', 'anna')
    assert.equal(claimed.answer.claim.by, 'anna')
    const second = await inbox(fixture, 'claim', queue, item.id, '--by', 'ben')
    assert.equal(second.code, 1)
    assert.equal((await inbox(fixture, 'note', queue, item.id, 'calls at noon')).code, 0)
    assert.equal((await inbox(fixture, 'resolve', queue, item.id, '--by', 'anna')).code, 0)
    assert.deepEqual(await fixture.payloads('handoff'), [])
    assert.deepEqual(fixture.outbox.sent, [])
  })

  test('is claimed and resolved over HTTP, and can be claimed again after an hour', async () => {
    const { endpoint, clock } = await fixtureWithOneWaiting()
    const call = async (path: string, body?: object): Promise<Response> =>
      fetch(`${endpoint}/inbox/${queue}${path}`, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      })
    const states = async (): Promise<readonly string[]> => {
      const { items } = JSON.parse(await (await call('')).text())
      return items.map(({ state }: { readonly state: string }) => state)
    }
    const { id } = JSON.parse(await (await call('/claim', { by: 'anna' })).text())
    clock.sleep(58 * minute)
    await clock.advance(minute)
    assert.deepEqual(await states(), ['claimed'])
    await clock.advance(minute)
    assert.deepEqual(await states(), ['waiting'])
    assert.equal((await call(`/${id}/resolve`, { by: 'anna' })).status, 409)
    assert.equal((await call('/claim', { by: 'clara' })).status, 200)
    assert.equal((await call(`/${id}/resolve`, { by: 'clara' })).status, 204)
    assert.deepEqual(await states(), [])
  })
})

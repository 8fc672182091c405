/** A conversation that waits for a person, and the person. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runCli } from '../../../test/support/cli-process.ts'
import { ben } from '../demo/sample-conversations.ts'
import { from, minute, openScene, type Scene } from './scene.ts'

const queue = 'ai-multi-comms-human-handoff-queue-dev'

async function inbox({ folder }: Scene, ...args: readonly string[]) {
  const { code, stdout, stderr } = await runCli(['inbox', ...args, '--data', folder, '--json'])
  return { code, stderr, answer: stdout === '' ? null : JSON.parse(stdout) }
}

async function sceneWithOneWaiting(): Promise<Scene> {
  const scene = await openScene()
  const { provider, startWorker, passing, payloads } = scene
  startWorker()
  await provider.deliver(from(ben, 'SM1', 'A person, please!'))
  await passing(async () => (await payloads('handoff')).length === 1)
  return scene
}

describe('a conversation for a person', () => {
  test('waits until somebody claims and resolves it from the command line', async () => {
    const scene = await sceneWithOneWaiting()
    // No worker takes it, however long it waits.
    await scene.clock.advance(10 * minute)
    const listed = await inbox(scene, 'list', queue)
    const [item] = listed.answer.items
    assert.equal(item.message.handoff_reason, 'user_requested')
    assert.equal(item.message.merged_body, 'A person, please!')
    const claimed = await inbox(scene, 'claim', queue, '--by', 'anna')
    assert.equal(claimed.answer.claim.by, 'anna')
    const second = await inbox(scene, 'claim', queue, item.id, '--by', 'ben')
    assert.equal(second.code, 1)
    assert.equal((await inbox(scene, 'note', queue, item.id, 'calls at noon')).code, 0)
    assert.equal((await inbox(scene, 'resolve', queue, item.id, '--by', 'anna')).code, 0)
    assert.deepEqual(await scene.payloads('handoff'), [])
    assert.deepEqual(scene.outbox.sent, [])
  })

  test('is claimed and resolved over HTTP, and comes back when an hour has gone by', async () => {
    const { endpoint, clock } = await sceneWithOneWaiting()
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
    await clock.advance(59 * minute)
    assert.deepEqual(await states(), ['claimed'])
    await clock.advance(minute)
    assert.deepEqual(await states(), ['waiting'])
    assert.equal((await call(`/${id}/resolve`, { by: 'anna' })).status, 409)
    assert.equal((await call('/claim', { by: 'clara' })).status, 200)
    assert.equal((await call(`/${id}/resolve`, { by: 'clara' })).status, 204)
    assert.deepEqual(await states(), [])
  })
})

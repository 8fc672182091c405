/** Fields that a contract calls secret or personal, in what commands print. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineApp, open, queue } from '../../../src/index.ts'
import { assertRefused, type CliRun, type CliScene, cliScene } from './cli-scene.ts'

const Payment = z.object({ id: z.number(), card: z.object({ number: z.string() }), to: z.string() })
const shop = defineApp('shop', {
  queues: {
    payments: queue({
      schema: Payment,
      secret: ['card.number'],
      personal: ['to'],
      deadLetter: { after: 1 },
    }),
    shared: queue({ schema: Payment, secret: ['card.number'], deadLetter: { queue: 'failed' } }),
    failed: queue(),
    open: queue({ schema: Payment }),
  },
})
const payment = { id: 7, card: { number: '4111-1111' }, to: 'ann@example.org' }
const shown = '{"id":7,"card":{"number":"[hidden]"},"to":"[hidden]"}'

async function withPayments(): Promise<CliScene> {
  const scene = await cliScene()
  const mill = await open(shop, { data: scene.data })
  onTestFinished(() => mill.close())
  await mill.queues.payments.send(payment)
  return scene
}

function assertMasked(text: string): void {
  assert.doesNotMatch(text, /4111|ann@/)
  assert.match(text, /\[hidden\]/)
}

async function tailed({ start }: CliScene, ...flags: readonly string[]): Promise<string> {
  const tail: CliRun = start(['message', 'tail', 'shop-dev-payments', '--from-start', ...flags])
  await tail.output(/card/)
  tail.interrupt()
  return (await tail.ended).stdout
}

describe('fields that are secret or personal', () => {
  test('are masked in peek, tail and receive', async () => {
    const scene = await withPayments()
    const { good, read } = scene
    assertMasked(await good('message', 'peek', 'shop-dev-payments'))
    const { messages } = await read('message', 'peek', 'shop-dev-payments')
    assert.equal(messages[0].body, shown)
    assert.equal(await tailed(scene, '--body'), `${shown}\n`)
    assert.equal(await good('message', 'receive', 'shop-dev-payments', '--body'), `${shown}\n`)
  })

  test('are shown to those who ask for them', async () => {
    const scene = await withPayments()
    const whole = `${JSON.stringify(payment)}\n`
    const body = ['shop-dev-payments', '--body', '--reveal']
    assert.equal(await scene.good('message', 'peek', ...body), whole)
    assert.equal(await tailed(scene, '--body', '--reveal'), whole)
    assert.equal(await scene.good('message', 'receive', ...body), whole)
  })

  test('are not lost in a message that is deleted as it is printed', async () => {
    const { run, good } = await withPayments()
    const args = ['message', 'receive', 'shop-dev-payments', '--body', '--delete']
    assertRefused(
      await run(...args),
      2,
      /--delete would lose the hidden fields of \S+ Add --reveal/,
    )
    assert.equal(await good(...args, '--reveal'), `${JSON.stringify(payment)}\n`)
  })

  test('are masked in an inbox', async () => {
    const { good, read } = await withPayments()
    assertMasked(await good('inbox', 'list', 'shop-dev-payments'))
    const { items } = await read('inbox', 'list', 'shop-dev-payments')
    assertMasked(await good('inbox', 'show', 'shop-dev-payments', items[0].id))
    const claimed = await read('inbox', 'claim', 'shop-dev-payments', '--by', 'ben')
    assert.deepEqual(claimed.message, JSON.parse(shown))
  })

  test('are masked in dead letters too, and only where a contract names them', async () => {
    const { read } = await withPayments()
    const hiddenIn = async (name: string): Promise<readonly string[]> =>
      (await read('queue', 'show', name)).settings.hidden
    assert.deepEqual(await hiddenIn('shop-dev-payments-dlq'), ['card.number', 'to'])
    assert.deepEqual(await hiddenIn('shop-dev-failed'), ['card.number'])
    assert.deepEqual(await hiddenIn('shop-dev-open'), [])
  })

  test('of a body that is not JSON are masked with it', async () => {
    const { good, run } = await withPayments()
    await run('message', 'send', 'shop-dev-payments', 'number=4111')
    const bodies = await good('message', 'peek', 'shop-dev-payments', '--body')
    assert.deepEqual(bodies.trimEnd().split('\n'), [shown, '[hidden]'])
  })
})

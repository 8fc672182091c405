/** A project of the Serverless Framework, in its third version's habits, under `millrace dev`. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Project, runCommand, untilVersion } from './running-project.ts'

interface Billing extends Project {
  readonly dev: Awaited<ReturnType<typeof runCommand>>['dev']
  readonly invoices: string
  readonly outbox: string
}

async function runBilling(): Promise<Billing> {
  const project = await runCommand('serverless', 'serverless.yml', ['--stage', 'test'])
  const [invoices, outbox] = await Promise.all([
    project.queue('billing-test-invoices'),
    project.queue('billing-test-outbox'),
  ])
  return { ...project, invoices, outbox }
}

describe('a serverless.yml of variables, parameters and included files', () => {
  test('runs its TypeScript and middy handlers, and buries what they cannot do', async () => {
    const { dev, queue, send, take, invoices, outbox } = await runBilling()
    await send(
      invoices,
      { body: { to: 'a@example.test', cents: 1_250 } },
      { body: { to: 'b@example.test', cents: 'many' } },
      { body: { to: 'c@example.invalid', cents: 300 } },
    )
    const { body } = await take(outbox)
    assert.deepEqual(body, {
      version: 'v1',
      to: 'a@example.test',
      text: '12.50 EUR',
      stage: 'test',
      receives: '1',
    })
    const unreadable = await take(await queue('billing-test-invoices-dlq'))
    assert.deepEqual(unreadable.body, { to: 'b@example.test', cents: 'many' })
    const bounced = await take(await queue('billing-test-mails-dlq'))
    assert.deepEqual(bounced.body, { version: 'v1', to: 'c@example.invalid', text: '3.00 EUR' })
    // The file of the stage allows two receives. The one that follows from the dead letters is the third.
    assert.deepEqual([unreadable.receives, bounced.receives], [3, 3])
    await dev.notice(/^billing-test-renderInvoice \S+ .*0 of 1 message done/m)
  })

  test('takes over a module that a handler imports', async () => {
    const { send, take, edit, invoices, outbox } = await runBilling()
    const next = async (cents: number): ReturnType<typeof take> => {
      await send(invoices, { body: { to: 'a@example.test', cents } })
      return take(outbox)
    }
    assert.equal((await next(1)).body['version'], 'v1')
    await edit('src/invoice.ts', (text) => text.replace("'v1'", "'v2'"))
    await untilVersion('v2', next)
  })
})

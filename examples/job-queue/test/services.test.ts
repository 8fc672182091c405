/** The services of the example, on a real database and a real SMTP server. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { Mailbox } from '../demo/mailbox.ts'
import { offlineProvider } from '../services/ai-provider.ts'
import { openServices, type Services } from '../services/services.ts'
import { InsufficientCreditsError } from '../services/users-service.ts'

interface Fixture {
  readonly services: Services
  readonly mailbox: Mailbox
  readonly file: (name: string) => string
}

async function openFixture(): Promise<Fixture> {
  const folder = await temporaryFolder('job-queue-services')
  const mailbox = new Mailbox()
  const smtpUrl = await mailbox.start()
  const settings = { dataDirectory: folder.path, smtpUrl, mailFrom: 'no-reply@academy.example' }
  const services = openServices(settings)
  onTestFinished(async () => {
    await services.close()
    await mailbox.stop()
    await folder.remove()
  })
  return { services, mailbox, file: folder.file }
}

function addDocument({ documents }: Services, title: string): Promise<string> {
  return documents.add({ owner: 'ada', title, content: Readable.from(['content']) })
}

describe('the mail service', () => {
  test('sends one message per job', async () => {
    const { services, mailbox } = await openFixture()
    const mail = { jobId: 'job-1', to: 'ada@example.com', template: 'welcome' } as const
    assert.equal(await services.mail.send(mail), true)
    assert.equal(await services.mail.send(mail), false)
    assert.equal(mailbox.received.length, 1)
    assert.deepEqual(mailbox.received[0]?.to, ['ada@example.com'])
    assert.match(mailbox.received[0].source, /^Message-ID: <job-1@jobs\.academy\.example>\r$/m)
    assert.match(mailbox.received[0].source, /^Subject: Welcome\r$/m)
  })

  test('fails if the server refuses, and can be retried', async () => {
    const { services, mailbox } = await openFixture()
    const mail = { jobId: 'job-1', to: 'ada@example.com', template: 'welcome' } as const
    mailbox.refusal = 'no room'
    await assert.rejects(services.mail.send(mail), /no room/)
    mailbox.refusal = undefined
    assert.equal(await services.mail.send(mail), true)
    assert.equal(mailbox.received.length, 1)
  })
})

describe('the notifications service', () => {
  test('stores one notification per job', async () => {
    const { notifications } = (await openFixture()).services
    assert.equal(notifications.create({ jobId: 'j', userId: 'ada', kind: 'message' }), true)
    assert.equal(notifications.create({ jobId: 'j', userId: 'ada', kind: 'message' }), false)
    assert.deepEqual(
      notifications.listOf('ada').map(({ kind, readAt }) => [kind, readAt]),
      [['message', null]],
    )
  })

  test('lets only its user mark a notification as read', async () => {
    const { notifications } = (await openFixture()).services
    notifications.create({ jobId: 'j', userId: 'ada', kind: 'message' })
    const id = notifications.listOf('ada')[0]?.id ?? 0
    assert.equal(notifications.markRead({ id, userId: 'bob' }), false)
    assert.equal(notifications.markRead({ id, userId: 'ada' }), true)
    assert.equal(typeof notifications.listOf('ada')[0]?.readAt, 'number')
  })
})

describe('the search index', () => {
  test('indexes the title first, and the text when it is known', async () => {
    const { services } = await openFixture()
    const id = await addDocument(services, 'Invoice')
    assert.equal(services.search.indexDocument(id), 'title')
    assert.deepEqual(services.search.search({ owner: 'ada', words: 'wheel' }), [])
    services.documents.saveText(id, 'the mill wheel')
    assert.equal(services.search.indexDocument(id), 'title and text')
    const found = [{ entityId: id, title: 'Invoice' }]
    assert.deepEqual(services.search.search({ owner: 'ada', words: 'invoice wheel' }), found)
    assert.deepEqual(services.search.search({ owner: 'bob', words: 'wheel' }), [])
  })

  test('removes a deleted document', async () => {
    const { services } = await openFixture()
    const id = await addDocument(services, 'Invoice')
    services.search.indexDocument(id)
    await services.documents.delete(id)
    assert.equal(services.search.indexDocument(id), 'removed')
    assert.deepEqual(services.search.search({ owner: 'ada', words: 'invoice' }), [])
  })

  test('treats query operators as words', async () => {
    const { services } = await openFixture()
    const id = await addDocument(services, 'This AND that')
    services.search.indexDocument(id)
    assert.equal(services.search.search({ owner: 'ada', words: 'AND' }).length, 1)
    assert.equal(services.search.search({ owner: 'ada', words: '"this* NEAR(' }).length, 0)
  })
})

describe('a subscription', () => {
  test('pays once for each key, and throws if no credit is left', async () => {
    const { users } = (await openFixture()).services
    users.save({ id: 'ada', email: 'ada@example.com' }, 1)
    users.useAiCredit('ada', 'outline:1')
    users.useAiCredit('ada', 'outline:1')
    assert.equal(users.creditsOf('ada'), 0)
    assert.throws(() => users.useAiCredit('ada', 'outline:2'), InsufficientCreditsError)
    users.save({ id: 'ada', email: 'ada@example.com' }, 1)
    users.useAiCredit('ada', 'outline:2')
    assert.equal(users.creditsOf('ada'), 0)
  })
})

describe('the offline provider', () => {
  test('returns the same output for the same input', async () => {
    const text = 'The wheel turns. The wheel grinds corn and corn alone.'
    assert.equal(await offlineProvider.summarize(text), 'The wheel turns.')
    assert.equal(await offlineProvider.keywords(text), 'corn, wheel, alone, grinds, turns')
  })
})

/** Rules, reply writers, and the outbox. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { textOf } from '../../shared/messages-api/messages-request.ts'
import { answerPayload } from '../answering/answer-payload.ts'
import { claudeWriter } from '../answering/claude-writer.ts'
import { Outbox } from '../answering/outbox.ts'
import { offlineWriter } from '../answering/reply-writer.ts'
import { applyRules } from '../conversations/rules.ts'
import { ClaudeStub } from '../demo/claude-stub.ts'
import { ada } from '../demo/sample-conversations.ts'
import { readEnvironment, readWebhookEnvironment } from '../environment.ts'
import type { MergedPayload } from '../messages.ts'

const payload: MergedPayload = {
  conversation_id: 'conv-ada',
  merged_body: 'Hello\nwhere is it?',
  channel_type: 'whatsapp',
  sender_id: ada.customer,
  recipient_id: ada.line,
  first_message_received_at: '2026-01-01T12:00:00.000Z',
  last_message_received_at: '2026-01-01T12:00:01.000Z',
  message_sids: ['SM1', 'SM2'],
  handoff_reason: null,
  full_conversation_context: {
    ...{ project_id: 'p', company_id: 'c', thread_id: 't' },
    ...{ customer_name: 'Ada', current_step: 'order question' },
  },
}

function memoryOutbox(): Outbox {
  const outbox = new Outbox(':memory:')
  onTestFinished(() => outbox.close())
  return outbox
}

async function startClaude(): Promise<ClaudeStub> {
  const claude = await ClaudeStub.start()
  onTestFinished(() => claude[Symbol.asyncDispose]())
  return claude
}

describe('a request for a person', () => {
  const reasonOf = (body: string): string | null => {
    const result = applyRules({ ...ada, window_seconds: null }, body)
    return result.accepted ? result.handoffReason : result.because
  }

  test.each([
    'Can I talk to a human?',
    'I WANT TO SPEAK TO A REAL PERSON',
    'please put me through to an agent',
    'a person, please!',
    'Representative',
    'Hello\noperator please\nthanks',
  ])('is recognized in: %s', (body) => {
    assert.equal(reasonOf(body), 'user_requested')
  })

  test.each(['The delivery person was kind', 'Which agent sold this house?', ''])(
    'is not recognized in: %s',
    (body) => {
      assert.equal(reasonOf(body), null)
    },
  )
})

describe('a reply', () => {
  test('is written and sent once, even if the payload is delivered again', async () => {
    const channel = memoryOutbox()
    let written = 0
    const writer = {
      write: async (given: MergedPayload) => {
        written += 1
        return offlineWriter.write(given)
      },
    }
    for (let delivery = 0; delivery < 3; delivery += 1) {
      await answerPayload({ writer, channel }, payload)
    }
    assert.equal(written, 1)
    assert.deepEqual(channel.sent, [
      {
        conversation_id: 'conv-ada',
        answers: 'SM1 SM2',
        channel_type: 'whatsapp',
        sender_id: ada.line,
        recipient_id: ada.customer,
        body:
          'Hello Ada, thank you for your message: "Hello where is it?". ' +
          'We are at the step "order question", and will be back with you soon.',
      },
    ])
  })

  test('comes from Claude when there is a key', async () => {
    const claude = await startClaude()
    const writer = claudeWriter({ apiKey: 'k', baseUrl: claude.url, model: 'claude-haiku-4-5' })
    assert.match(await writer.write(payload), /where is it\?$/)
    const [request] = claude.requests
    assert.ok(request !== undefined)
    assert.match(textOf(request), /^Channel: whatsapp\. Customer: Ada\. Step: order question\./)
  })

  test('is not sent when Claude fails', async () => {
    const claude = await startClaude()
    claude.failNext(401)
    const writer = claudeWriter({ apiKey: 'k', baseUrl: claude.url, model: 'claude-haiku-4-5' })
    const channel = memoryOutbox()
    await assert.rejects(answerPayload({ writer, channel }, payload))
    assert.deepEqual(channel.sent, [])
  })
})

describe('the environment', () => {
  test('defaults to the parameters of the template and offline replies', () => {
    const { settings, claude } = readEnvironment({ ANTHROPIC_API_KEY: '' })
    assert.deepEqual(settings, {
      projectPrefix: 'ai-multi-comms',
      environmentName: 'dev',
      retryMs: 5_000,
    })
    assert.equal(claude, null)
  })

  test('is refused with all wrong names and no values', () => {
    const wrong = { TWILIO_AUTH_TOKEN: 'hush', ENVIRONMENT_NAME: 'a b', PORT: 'http' }
    assert.throws(
      () => readWebhookEnvironment(wrong),
      ({ message }: Error) =>
        ['TWILIO_AUTH_TOKEN', 'EMAIL_WEBHOOK_SECRET', 'ENVIRONMENT_NAME', 'PORT'].every((name) =>
          message.includes(name),
        ) && !/hush|a b|http/.test(message),
    )
  })
})

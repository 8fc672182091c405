/**
 * The system in one process, on a virtual clock: the deployed template, a server that evaluates alarms, the
 * webhooks, and a worker if the test starts one.
 */
import assert from 'node:assert/strict'
import type { Worker } from 'millrace'
import type { Backend } from 'millrace/backend'
import { serve } from 'millrace/server'
import { type VirtualClock, virtualPorts } from 'millrace/testing'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { collectingLogger, type LogLine, withTime } from '../../../test/support/worker-scene.ts'
import { bringUp, openBackend, planUp, readSources } from '../../shared/not-public.ts'
import { freshStore } from '../../shared/test/store.ts'
import { Outbox } from '../answering/outbox.ts'
import { offlineWriter, type ReplyWriter } from '../answering/reply-writer.ts'
import { ConversationStore } from '../conversations/conversation-store.ts'
import { createRepliesWorker } from '../create-worker.ts'
import { Provider, type TextMessage } from '../demo/provider.ts'
import { template } from '../demo/replies-system.ts'
import { sampleConversations } from '../demo/sample-conversations.ts'
import { MergedPayload } from '../messages.ts'
import { openReplies, type RepliesMill } from '../open-replies.ts'
import { createApi } from '../webhooks/create-api.ts'

export const second = 1_000
export const minute: number = 60 * second

/** The server evaluates a minute this long after its end. */
const evaluationDelayMs = 5 * second

export const secrets = {
  twilioAuthToken: 'a-token-for-the-tests',
  emailSecret: 'a-secret-for-the-tests',
} as const

/** The base URL that providers sign. */
export const publicUrl = 'https://replies.example.org'

type TargetQueue = 'whatsapp' | 'sms' | 'email' | 'handoff'

export interface Fixture {
  readonly mill: RepliesMill
  readonly clock: VirtualClock
  /** Direct access to the store. */
  readonly backend: Backend
  /** The environment of the command line. */
  readonly variables: Readonly<Record<string, string>>
  /** The server's own address. */
  readonly endpoint: string
  readonly provider: Provider
  readonly conversations: ConversationStore
  readonly outbox: Outbox
  readonly lines: readonly LogLine[]
  /** The clock of the webhooks; a test may set it back. */
  readonly watch: { behindMs: number }
  startWorker(writer?: ReplyWriter): Worker
  /** The states of alarms by name, as the server reports them. */
  alarms(): Promise<ReadonlyMap<string, string>>
  /** The messages in a queue, checked against the schema. */
  payloads(queue: TargetQueue): Promise<readonly MergedPayload[]>
  /** Advances the clock in small steps until the condition holds. */
  passing(holds: () => boolean | Promise<boolean>): Promise<void>
}

export async function openFixture(): Promise<Fixture> {
  const folder = await temporaryFolder('replies')
  // Close to now, because the command line uses the machine's clock; rounded to a minute.
  const startAt = Math.floor(Date.now() / minute) * minute
  const ports = virtualPorts(1, { startAt })
  const { clock } = ports
  const lines: LogLine[] = []
  const log = collectingLogger(lines)
  const { variables, store } = await freshStore(folder.path, clock)
  const server = await serve({ port: 0, store, ports, log })
  const { backend } = await openBackend({ store, ports })
  await bringTemplateUp(backend, server.url)
  const mill = await openReplies({ store, ports, log })
  const conversations = new ConversationStore(folder.file('conversations.db'))
  for (const conversation of sampleConversations) conversations.add(conversation)
  const outbox = new Outbox(folder.file('answers.db'))
  const workers: Worker[] = []
  onTestFinished(async () => {
    for (const worker of workers) await withTime(clock, worker.stop())
    await withTime(clock, mill.close())
    await withTime(clock, server.stop())
    await backend.close()
    conversations.close()
    outbox.close()
    await folder.remove()
  })
  const watch = { behindMs: 0 }
  const now = (): Date => new Date(clock.now() - watch.behindMs)
  const api = createApi({ mill, conversations, log, now, settings: { publicUrl, ...secrets } })
  const { fetch } = api
  return {
    ...{ mill, clock, backend, conversations, outbox, lines, watch, variables },
    endpoint: server.url,
    provider: new Provider({ url: publicUrl, ...secrets, fetch, now: () => clock.now() }),
    startWorker(writer = offlineWriter) {
      const worker = createRepliesWorker({ mill, writer, channel: outbox })
      workers.push(worker)
      worker.start()
      return worker
    },
    async payloads(queue) {
      const { items } = await mill.queues[queue].peek({ limit: 100 })
      return items.map(({ body }) => MergedPayload.parse(JSON.parse(body)))
    },
    async alarms() {
      const ended = Math.floor((clock.now() - evaluationDelayMs) / minute) * minute
      for (;;) {
        const shown = await shownAlarms(server.url)
        // Reading the alarms of a stack from disk takes real time.
        const isEvaluated = shown.every(
          ({ evaluated_at: at }) => at === null || Date.parse(at) >= ended,
        )
        if (isEvaluated) return new Map(shown.map(({ name, state }) => [name, state]))
      }
    },
    async passing(holds) {
      while (!(await holds())) await clock.advance(50)
    },
  }
}

/** The same, a few seconds after an evaluation in which all alarms of the template were OK. */
export async function openWatchedFixture(): Promise<Fixture> {
  const fixture = await openFixture()
  const { clock, alarms } = fixture
  await clock.advance(2 * evaluationDelayMs)
  const inOrder = async (): Promise<number> =>
    [...(await alarms())].filter(([name, state]) => ofTemplate.test(name) && state === 'OK').length
  while ((await inOrder()) < 20) await clock.advance(minute)
  return fixture
}

/** The app names its alarms after the queues. */
const ofTemplate = /-[A-Z]\w+-dev$/

interface ShownAlarm {
  readonly name: string
  readonly state: string
  readonly evaluated_at: string | null
}

async function shownAlarms(endpoint: string): Promise<readonly ShownAlarm[]> {
  const response = await fetch(`${endpoint}/alarms`)
  return JSON.parse(await response.text()).alarms
}

async function bringTemplateUp(backend: Backend, endpoint: string) {
  const place = { region: 'us-east-1', account: '000000000000', environment: {}, endpoint }
  const sources = await readSources([template], place)
  const planned = await planUp({ backend, sources })
  assert.deepEqual(planned.problems, [])
  await bringUp(backend, planned)
}

/** A message from a sample customer. */
export function from(
  { customer, line, channel_type }: (typeof sampleConversations)[number],
  sid: string,
  body: string,
): TextMessage {
  const channel = channel_type === 'whatsapp' ? 'whatsapp' : 'sms'
  return { channel, sid, from: customer, to: line, body }
}

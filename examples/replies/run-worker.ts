/** The worker process. Run as many as you need. */
import { mkdirSync } from 'node:fs'
import { runUntilSignal } from 'millrace'
import { pino } from 'pino'
import { claudeWriter } from './answering/claude-writer.ts'
import { Outbox } from './answering/outbox.ts'
import { offlineWriter } from './answering/reply-writer.ts'
import { createRepliesWorker } from './create-worker.ts'
import { readEnvironment } from './environment.ts'
import { openReplies } from './open-replies.ts'

const { settings, store, data, answersFile, claude } = readEnvironment()
const log = pino({ level: 'warn' }, pino.destination(2))
mkdirSync(data, { recursive: true })
const mill = await openReplies({ settings, store, log })
const outbox = new Outbox(answersFile)
const worker = createRepliesWorker({
  mill,
  channel: outbox,
  writer: claude === null ? offlineWriter : claudeWriter(claude),
  onAnswered: ({ conversation_id, channel_type, message_sids }) =>
    console.log(`answered ${conversation_id} by ${channel_type}, messages: ${message_sids.length}`),
})
console.log('worker ready')
await runUntilSignal(mill, worker)
outbox.close()

/** `millrace message send`: one message, or one per line of a file or a pipe. */

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Backend, SendResult } from '../../backends/backend.ts'
import type { EnqueuedJob, NewJob } from '../../backends/job-store.ts'
import { counted } from '../../core/counted.ts'
import type { NewMessage } from '../../core/message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { renameFields } from '../../core/rename-fields.ts'
import { supported } from '../../core/supported.ts'
import type { AppFlags } from './app-options.ts'
import { CommandFailure, failureOf } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Attributes } from './message-attribute.ts'
import { checkedStore } from './message-contract.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, type StoreFlags } from './store-command.ts'
import { printable } from './table.ts'

interface SendFlags extends StoreFlags, AppFlags {
  readonly file?: string
  readonly lines?: true
  readonly type?: string
  readonly attribute?: Attributes
  readonly group?: string
  readonly dedupId?: string
  readonly delay?: number
  readonly jsonl?: true
}

export async function sendMessage(
  call: Call<SendFlags>,
  queue: string,
  body: string | undefined,
): Promise<void> {
  const { flags } = call
  if (body !== undefined && (flags.file !== undefined || flags.lines)) {
    throw usage('Pass the body as an argument, or use --file or --lines, but not both.')
  }
  if (flags.lines && flags.dedupId !== undefined) {
    throw usage(
      '--dedup-id cannot be used with --lines: all lines would be duplicates of the first.',
    )
  }
  if (flags.lines) return sendLines(call, queue)
  const text = body ?? (await readBody(inputOf(call)))
  const [result] = await inStore(
    call,
    async ({ backend }) => store(await checkedStore(call, backend, queue), queue, flags, [text]),
    { queue },
  )
  if (result === undefined)
    throw new CommandFailure(exitCodes.failed, 'The store returned no result for the message.')
  if (result.status === 'refused') throw failureOf(renameFields(result.error, options))
  printSent(call, result)
}

const options: ReadonlyMap<string, string> = new Map([
  ['delayMs', '--delay'],
  ['group', '--group'],
  ['deduplicationId', '--dedup-id'],
  ['type', '--type'],
])

/** Sends each body, or enqueues it as a job if there is a type. One result per body. */
async function store(
  backend: Backend,
  queue: string,
  flags: SendFlags,
  bodies: readonly string[],
): Promise<readonly Result[]> {
  const messages = bodies.map((body) => messageOf(flags, body))
  const { type } = flags
  if (type === undefined) return backend.send({ queue, messages })
  return Promise.all(messages.map((message) => enqueue(backend, queue, jobOf(type, message))))
}

async function enqueue(backend: Backend, queue: string, job: NewJob): Promise<Result> {
  try {
    const [enqueued] = await supported(backend.jobs).enqueue({ queue, jobs: [job] })
    return enqueued ?? { status: 'refused', error: new MillraceError('store_failed') }
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code === 'queue_not_found') throw error
    return { status: 'refused', error }
  }
}

function jobOf(type: string, { body, group, ...others }: NewMessage): NewJob {
  return { ...others, type, payload: body, ...(group !== undefined && { tenant: group }) }
}

function printSent({ flags, output }: Call<SendFlags>, result: Stored): void {
  const { id, status } = result
  if (flags.json) output.json({ id, ...sequenceOf(result), status })
  else if (flags.jsonl) output.jsonLine({ id, ...sequenceOf(result), status })
  else output.line(id)
  if (status === 'duplicate')
    output.notice('The message is a duplicate of an earlier one and was not stored again.')
}

type Result = SendResult | EnqueuedJob
type Stored = Exclude<Result, { readonly status: 'refused' }>

/** Jobs have none. */
function sequenceOf(stored: Stored): { readonly sequence?: number } {
  return 'sequence' in stored ? { sequence: stored.sequence } : {}
}

/** The limits of one call to the store. Its lines share a commit. */
const linesPerCall = 500
const charactersPerCall = 4_000_000

interface Line {
  readonly number: number
  readonly text: string
}

interface Tally {
  sent: number
  duplicates: number
  readonly refused: { readonly line: number; readonly error: string }[]
}

async function sendLines(call: Call<SendFlags>, queue: string): Promise<void> {
  const { flags, output } = call
  const tally: Tally = { sent: 0, duplicates: 0, refused: [] }
  await inStore(
    call,
    async ({ backend }) => {
      const checked = await checkedStore(call, backend, queue)
      for await (const lines of batchesOf(inputOf(call))) {
        const bodies = lines.map(({ text }) => text)
        const results = await store(checked, queue, flags, bodies)
        for (const [at, result] of results.entries()) count(call, tally, lines[at]?.number, result)
      }
    },
    { queue },
  )
  const { sent, duplicates, refused } = tally
  if (flags.json) output.json({ sent, duplicates, refused })
  else if (!flags.jsonl)
    output.line(`${sent} sent, ${duplicates} duplicates, ${refused.length} refused.`)
  if (refused.length === 0) return
  const lines = counted(sent + duplicates + refused.length, 'line')
  const message = `The store refused ${refused.length} of ${lines}.`
  throw new CommandFailure(sent > 0 ? exitCodes.partlyDone : exitCodes.failed, message)
}

function count({ flags, output }: Call<SendFlags>, tally: Tally, line = 0, result: Result): void {
  if (result.status === 'refused') {
    const error = renameFields(result.error, options).message
    tally.refused.push({ line, error })
    if (flags.jsonl) output.jsonLine({ line, status: result.status, error })
    else output.notice(`line ${line}: ${printable(error)}`)
    return
  }
  const { status, id } = result
  if (status === 'duplicate') tally.duplicates += 1
  else tally.sent += 1
  if (flags.jsonl) output.jsonLine({ line, status, id, ...sequenceOf(result) })
}

/** Groups lines into calls. Empty lines are left out. */
async function* batchesOf(input: Readable): AsyncGenerator<readonly Line[]> {
  let lines: Line[] = []
  let characters = 0
  let number = 0
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    if (text === '') continue
    lines.push({ number, text })
    characters += text.length
    if (lines.length < linesPerCall && characters < charactersPerCall) continue
    yield lines
    lines = []
    characters = 0
  }
  if (lines.length > 0) yield lines
}

function messageOf({ attribute, group, dedupId, delay }: SendFlags, body: string): NewMessage {
  return {
    body,
    ...(attribute !== undefined && { attributes: attribute }),
    ...(group !== undefined && { group }),
    ...(dedupId !== undefined && { deduplicationId: dedupId }),
    ...(delay !== undefined && { delayMs: delay }),
  }
}

function inputOf({ flags: { file }, shell }: Call<SendFlags>): Readable {
  if (file !== undefined && file !== '-') return createReadStream(file)
  if (file === undefined && isTerminal(shell)) {
    throw usage('The body is missing. Pass it as an argument, with --file, or on stdin.')
  }
  return shell.stdin
}

function isTerminal({ stdin }: Shell): boolean {
  return 'isTTY' in stdin && stdin.isTTY === true
}

/** Programs end their output with a line break, which does not belong to the body. */
async function readBody(input: Readable): Promise<string> {
  const parts: Buffer[] = []
  try {
    for await (const part of input) parts.push(Buffer.from(part))
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    throw new CommandFailure(exitCodes.failed, `Cannot read the body: ${reason}`)
  }
  return Buffer.concat(parts)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

function usage(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message)
}

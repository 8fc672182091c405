/** The backend in one process: real server, queues and database, and a stub of Claude. */
import { join } from 'node:path'
import { type Message, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { SQSEvent, SQSRecord } from 'aws-lambda'
import { type LambdaHandler, type Mill, open } from 'millrace'
import { serve } from 'millrace/server'
import { onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { storeVariables } from '../../shared/test/store.ts'
import { createApi } from '../backend/api/create-api.ts'
import { tutoring } from '../backend/app.ts'
import type { Environment } from '../backend/environment.ts'
import { type Backend, openBackend } from '../backend/open-backend.ts'
import type { ClassifyingParts } from '../backend/services/classify-by-model.ts'
import { claudeClassifier } from '../backend/services/claude-classifier.ts'
import { openTokenMeter } from '../backend/services/llm-budget.ts'
import { ClaudeStub } from '../claude-stub/claude-stub.ts'
import { awsVariables, localVariables } from '../demo/local-variables.ts'

export type QueueVariable = Extract<keyof Environment, `SQS_${string}`>

export interface Answered {
  readonly status: number
  // Not checked: tests assert the fields that they expect.
  readonly body: Record<string, unknown>
}

export interface Fixture {
  readonly mill: Mill<typeof tutoring>
  readonly backend: Backend
  readonly endpoint: string
  /** The folder or the URL of the store. */
  readonly store: string
  /** The environment of other processes of the same system. */
  readonly variables: Readonly<Record<string, string>>
  readonly claude: ClaudeStub
  readonly classifying: ClassifyingParts
  /** What functions and the API have logged. */
  readonly logged: readonly string[]
  ask(method: string, path: string, body?: unknown): Promise<Answered>
  /** Receives the messages of a queue as a Lambda event. */
  take(queue: QueueVariable): Promise<SQSEvent>
  /** Creates an exercise and an attempt at it. */
  attempt(line: string, more?: object): Promise<Record<string, unknown>>
}

export const studentId = 'f4a4e1de-6a0e-4a4e-8c51-0a4c0d2f9a11'
export const exerciseId = '0b9d2a44-7a52-4b27-9d0b-5b7c2a8f3e21'
export const unknownId = '00000000-0000-4000-8000-000000000000'

export async function openFixture(): Promise<Fixture> {
  const folder = await temporaryFolder('tutoring')
  const { MILLRACE_STORE: store = folder.file('store') } = await storeVariables()
  const server = await serve({ port: 0, store })
  const mill = await open(tutoring, { store, onNotice: () => undefined })
  const claude = await ClaudeStub.start()
  for (const [name, value] of Object.entries(awsVariables)) vi.stubEnv(name, value)
  const variables = {
    ...localVariables(server.url),
    DATABASE_FILE: join(folder.path, 'innova.db'),
    TELEMETRY_FILE: join(folder.path, 'telemetry.db'),
    BUCKET_FOLDER: join(folder.path, 'bucket'),
    ANTHROPIC_BASE_URL: claude.url,
    ANTHROPIC_API_KEY: 'offline',
  }
  const logged: string[] = []
  for (const level of ['warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((line) => void logged.push(String(line)))
  }
  const backend = openBackend(variables)
  const { stores, sender, environment } = backend
  stores.exercises.add({
    id: exerciseId,
    statement: '47 + 38',
    subdomainCode: 'ADDITION',
    gradeLevel: 5,
    targetErrorCode: null,
  })
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
    backend[Symbol.dispose]()
    await claude[Symbol.asyncDispose]()
    await mill.close()
    await server.stop()
    await folder.remove()
  })
  const ask = asking(backend)
  return {
    mill,
    backend,
    endpoint: server.url,
    store,
    variables,
    claude,
    logged,
    classifying: {
      stores,
      sender,
      classifier: claudeClassifier(environment),
      meter: await openTokenMeter(undefined),
    },
    ask,
    take: (queue) => take(backend, queue),
    attempt: async (line, more) =>
      (await ask('POST', '/attempts', { studentId, exerciseId, steps: [line], ...more })).body,
  }
}

function asking(backend: Backend): Fixture['ask'] {
  const api = createApi(backend)
  return async (method, path, body) => {
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const response = await api.request(path, { method, ...(sent !== undefined && { body: sent }) })
    return { status: response.status, body: (await response.json()) as Answered['body'] }
  }
}

async function take({ client, environment }: Backend, queue: QueueVariable): Promise<SQSEvent> {
  const command = new ReceiveMessageCommand({
    QueueUrl: environment[queue],
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ['All'],
  })
  const { Messages = [] } = await client.send(command)
  return { Records: Messages.map(toRecord) }
}

function toRecord({
  MessageId = '',
  ReceiptHandle = '',
  Body = '',
  Attributes,
}: Message): SQSRecord {
  return {
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    // The SDK and Lambda have the same attributes; only the types differ.
    attributes: Attributes as unknown as SQSRecord['attributes'],
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:queue',
    awsRegion: 'us-east-1',
  }
}

/** Calls a function as Lambda does, with a minute of time. */
export function called(handler: LambdaHandler): (event: SQSEvent) => ReturnType<LambdaHandler> {
  const getRemainingTimeInMillis = (): number => 60_000
  const context = { functionName: 'test', awsRequestId: 'request', getRemainingTimeInMillis }
  return (event) => handler(event, context)
}

/** The message ids in a partial batch response. */
export function failed(response: {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[]
}): readonly string[] {
  return response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
}

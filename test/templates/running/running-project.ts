/**
 * A project as it lies on somebody's disk, running under Millrace: its files are copied, so that a test
 * can change them, and its packages are those that are installed here. Nobody knows more than an AWS client.
 */
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { onTestFinished } from 'vitest'
import { type DevOptions, type RunningDev, startDev } from '../../../src/server.ts'
import { type CliProcess, startCli } from '../../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

export type Kind = 'serverless' | 'sam' | 'cloudformation' | 'cdk'

export interface Sent {
  readonly body: unknown
  readonly group?: string
  readonly delaySeconds?: number
}

export interface Project {
  /** The URL of a queue, by its name or by how its name begins. */
  queue(name: string): Promise<string>
  queueStarting(prefix: string): Promise<string>
  send(url: string, ...messages: readonly Sent[]): Promise<void>
  /** The next message of a queue, which is waited for and then deleted. */
  take(url: string): Promise<Taken>
  attributes(url: string): Promise<Readonly<Record<string, string>>>
  /** Changes a file of the project, as in an editor. */
  edit(file: string, change: (text: string) => string): Promise<void>
}

export interface Taken {
  // Tests read what they expect; what is missing fails there.
  readonly body: Readonly<Record<string, unknown>>
  readonly receives: number
}

/** The command, on a template of the project, as a process of its own. */
export async function runCommand(
  kind: Kind,
  template: string,
  args: readonly string[] = [],
): Promise<Project & { readonly dev: CliProcess }> {
  const folder = await checkOut(kind)
  const data = ['--data', folder.file('data'), '--port', '0']
  const dev = startCli(['dev', folder.file(template), ...data, ...args], {
    HOME: folder.file('home'),
  })
  onTestFinished(async () => {
    dev.kill('SIGTERM')
    await dev.ended
    await folder.remove()
  })
  const [, endpoint = ''] = await dev.output(/AWS_ENDPOINT_URL_SQS=(\S+)/)
  return { ...project(folder, endpoint), dev }
}

/** The same in this process. */
export async function runHere(
  kind: Kind,
  template: string,
  options: DevOptions = {},
): Promise<Project & { readonly dev: RunningDev }> {
  const folder = await checkOut(kind)
  const dev = await startDev({
    templates: [folder.file(template)],
    data: folder.file('data'),
    port: 0,
    environment: { PATH: process.env['PATH'] },
    onLogLine: () => undefined,
    ...options,
  })
  onTestFinished(async () => {
    await dev.stop()
    await folder.remove()
  })
  return { ...project(folder, dev.url), dev }
}

/** What a function of a running template has in its environment. */
export function variableOf({ plans }: RunningDev, logicalId: string, name: string): string {
  const functions = plans.flatMap(({ stack }) => stack.functions)
  const value = functions.find((one) => one.logicalId === logicalId)?.environment[name]
  if (value === undefined) throw new Error(`${logicalId} has no ${name}`)
  return value
}

/** Sends until the new code has answered: which code meets a message is open until the change is seen. */
export async function untilVersion(
  version: string,
  answerTo: (turn: number) => Promise<Taken>,
): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    if ((await answerTo(turn)).body['version'] === version) return
  }
}

async function checkOut(kind: Kind): Promise<TemporaryFolder> {
  const folder = await temporaryFolder(kind)
  await cp(new URL(`${kind}/`, import.meta.url), folder.path, { recursive: true })
  const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url))
  await symlink(packages, folder.file('node_modules'))
  return folder
}

function project(folder: TemporaryFolder, endpoint: string): Project {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const sqs = new SQSClient({ endpoint, region: 'us-east-1', credentials })
  onTestFinished(() => sqs.destroy())
  return {
    async queue(name) {
      return given((await sqs.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl)
    },
    async queueStarting(prefix) {
      const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: prefix }))
      return given(QueueUrls[0])
    },
    send: (url, ...messages) => send(sqs, url, messages),
    take: (url) => take(sqs, url),
    async attributes(url) {
      const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] })
      return (await sqs.send(command)).Attributes ?? {}
    },
    async edit(file, change) {
      const path = folder.file(file)
      const before = await readFile(path, 'utf8')
      const after = change(before)
      if (after === before) throw new Error(`nothing to change in ${file}`)
      await writeFile(path, after)
    },
  }
}

async function send(sqs: SQSClient, url: string, messages: readonly Sent[]): Promise<void> {
  const Entries = messages.map(({ body, group, delaySeconds }, at) => ({
    Id: String(at),
    MessageBody: JSON.stringify(body),
    ...(group !== undefined && { MessageGroupId: group }),
    ...(delaySeconds !== undefined && { DelaySeconds: delaySeconds }),
  }))
  const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }))
  if (Failed.length > 0) throw new Error(Failed.map(({ Message }) => Message).join('\n'))
}

async function take(sqs: SQSClient, url: string): Promise<Taken> {
  for (;;) {
    const { Messages: [message] = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: url,
        WaitTimeSeconds: 20,
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
      }),
    )
    if (message === undefined) continue
    const { Body = '', ReceiptHandle, Attributes = {} } = message
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }))
    return { body: JSON.parse(Body), receives: Number(Attributes['ApproximateReceiveCount']) }
  }
}

function given(url: string | undefined): string {
  if (url === undefined) throw new Error('there is no such queue')
  return url
}

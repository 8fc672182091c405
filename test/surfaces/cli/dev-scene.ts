/** A dev server on a folder of its own, with a template, a handler, and what both have said. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { onTestFinished } from 'vitest'
import { type DevOptions, type RunningDev, startDev } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export interface DevScene {
  readonly dev: RunningDev
  /** Signs with the first access key that the server was given. */
  readonly client: SQSClient
  urlOf(queue: string): string
  write(name: string, text: string): Promise<void>
  send(queue: string, body: string): Promise<void>
  /** Answers when the functions have written a line like this, which is then forgotten. */
  line(pattern: RegExp): Promise<string>
  /** The same for what is told of templates: stacks that went up, and problems. */
  told(pattern: RegExp): Promise<string>
}

/** The queue `orders` feeds the function `grade`, which knows the URL of `results`. */
export const template = (extra = ''): string => `Transform: AWS::Serverless-2016-10-31
Resources:
  Results: { Type: AWS::SQS::Queue, Properties: { QueueName: results } }
  Orders: { Type: AWS::SQS::Queue, Properties: { QueueName: orders } }
  Grade:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: grade
      Handler: grade.handler
      Runtime: nodejs22.x
      CodeUri: ./src
      Environment: { Variables: { RESULTS_URL: !Ref Results, NAME: !Sub "\${AWS::Region}" } }
      Events:
        Orders: { Type: SQS, Properties: { Queue: !GetAtt Orders.Arn } }
${extra}`

export const handler = (word: string): string => `
export const handler = async (event) => {
  for (const { body } of event.Records) {
    console.log('${word}', body, process.env.RESULTS_URL, process.env.NAME, process.env.SHELL_SECRET)
  }
}`

class Lines {
  readonly #lines: string[] = []
  #look: () => void = () => {}

  add(line: string): void {
    this.#lines.push(line)
    this.#look()
  }

  next(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      this.#look = () => {
        const at = this.#lines.findIndex((line) => pattern.test(line))
        if (at < 0) return
        this.#look = () => {}
        resolve(this.#lines.splice(0, at + 1).at(-1) ?? '')
      }
      this.#look()
    })
  }
}

export interface DevSceneOptions extends DevOptions {
  /** Beside the template, which is the only thing that goes up unless `declarations` names more. */
  readonly files?: Readonly<Record<string, string>>
  readonly declarations?: readonly string[]
}

export async function devScene(
  text = template(),
  { files = {}, declarations = ['template.yaml'], ...options }: DevSceneOptions = {},
): Promise<DevScene> {
  const folder = await temporaryFolder('dev')
  const write = async (name: string, content: string): Promise<void> => {
    await mkdir(dirname(folder.file(name)), { recursive: true })
    await writeFile(folder.file(name), content)
  }
  await write('template.yaml', text)
  await write('src/grade.mjs', handler('first'))
  for (const [name, content] of Object.entries(files)) await write(name, content)
  const lines = new Lines()
  const told = new Lines()
  const dev = await startDev({
    templates: declarations.map((name) => folder.file(name)),
    data: join(folder.path, 'data'),
    port: 0,
    environment: { PATH: process.env['PATH'], SHELL_SECRET: 'secret' },
    onLogLine: ({ kind, text: line }) => lines.add(`${kind}: ${line}`),
    onUp: (plans) => {
      for (const { stack, steps } of plans) told.add(`up ${stack.name} ${steps.length}`)
    },
    onProblems: (problems) => {
      for (const { severity, message, at } of problems) {
        told.add(`${severity} ${at.line}: ${message}`)
      }
    },
    ...options,
  })
  const client = new SQSClient({
    endpoint: dev.url,
    region: options.region ?? 'us-east-1',
    credentials: options.accessKeys?.[0] ?? { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  onTestFinished(async () => {
    client.destroy()
    await dev.stop()
    await folder.remove()
  })
  const urlOf = (queue: string): string => `${dev.url}/000000000000/${queue}`
  return {
    dev,
    client,
    urlOf,
    write,
    send: async (queue, body) => {
      await client.send(new SendMessageCommand({ QueueUrl: urlOf(queue), MessageBody: body }))
    },
    line: (pattern) => lines.next(pattern),
    told: (pattern) => told.next(pattern),
  }
}

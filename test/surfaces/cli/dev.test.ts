/** `startDev`: what a template declares, running in one process, and changing while it runs. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { describe, onTestFinished, test } from 'vitest'
import { type DevOptions, type RunningDev, startDev } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Scene {
  readonly dev: RunningDev
  write(name: string, text: string): Promise<void>
  send(queue: string, body: string): Promise<void>
  /** Answers when the functions have written a line like this, which is then forgotten. */
  line(pattern: RegExp): Promise<string>
  /** The same for what is told of templates: stacks that went up, and problems. */
  told(pattern: RegExp): Promise<string>
}

const template = (extra = ''): string => `Transform: AWS::Serverless-2016-10-31
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

const handler = (word: string): string => `
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

async function devScene(text = template(), options: DevOptions = {}): Promise<Scene> {
  const folder = await temporaryFolder('dev')
  const write = async (name: string, content: string): Promise<void> => {
    await mkdir(dirname(folder.file(name)), { recursive: true })
    await writeFile(folder.file(name), content)
  }
  await write('template.yaml', text)
  await write('src/grade.mjs', handler('first'))
  const lines = new Lines()
  const told = new Lines()
  const dev = await startDev({
    templates: [folder.file('template.yaml')],
    dataDirectory: join(folder.path, 'data'),
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
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  onTestFinished(async () => {
    client.destroy()
    await dev.stop()
    await folder.remove()
  })
  return {
    dev,
    write,
    send: async (queue, body) => {
      const QueueUrl = `${dev.url}/000000000000/${queue}`
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody: body }))
    },
    line: (pattern) => lines.next(pattern),
    told: (pattern) => told.next(pattern),
  }
}

describe('a running dev server', () => {
  test('gives messages of AWS clients to handlers, whose queue URLs are its own', async () => {
    const { dev, send, line } = await devScene()
    assert.equal(dev.plans[0]?.steps.length, 2)
    await send('orders', 'hello')
    const said = await line(/^output: first/)
    // Nothing of the user's shell reaches a function that did not ask for it.
    assert.equal(
      said.trimEnd(),
      `output: first hello ${dev.url}/000000000000/results us-east-1 undefined`,
    )
  })

  test('is in the region that was chosen', async () => {
    const { send, line } = await devScene(template(), { region: 'eu-west-1' })
    await send('orders', 'hello')
    assert.match(await line(/^output: first/), / eu-west-1 /)
  })

  test('takes over a handler that was changed', async () => {
    const { send, line, write } = await devScene()
    await send('orders', 'one')
    await line(/^output: first one/)
    await write('src/grade.mjs', handler('second'))
    // Which code meets a message is the runtime's choice until the change is seen.
    for (let at = 0; ; at += 1) {
      await send('orders', `more-${at}`)
      if ((await line(new RegExp(`more-${at} `))).includes('second')) break
    }
  })

  test('takes over a template that was changed, and new event sources with it', async () => {
    const { dev, send, line, told, write } = await devScene()
    await told(/^up /)
    await write('template.yaml', template().replaceAll('QueueName: orders', 'QueueName: renamed'))
    assert.match(await told(/^up /), / 2$/)
    assert.deepEqual(dev.plans[0]?.gone, ['orders'])
    await send('renamed', 'hello')
    await line(/^output: first hello/)
  })

  test('goes on as it was while a template is broken, and says where', async () => {
    const { dev, send, line, told, write } = await devScene()
    await write('template.yaml', template().replace('!GetAtt Orders.Arn', '!GetAtt Ordres.Arn'))
    assert.match(await told(/^error/), /^error 14: .*Ordres/)
    assert.equal(await dev.reload(), false)
    await send('orders', 'still')
    await line(/^output: first still/)
    await write('template.yaml', template())
    await told(/^up /)
    assert.equal(await dev.reload(), true)
  })

  test('leaves out functions of other runtimes, with a warning', async () => {
    const python = template().replace('nodejs22.x', 'python3.13')
    const { told, dev } = await devScene(python)
    assert.match(await told(/^warning/), /grade is not run: its runtime is python3\.13/)
    assert.equal(dev.plans[0]?.stack.eventSources.length, 1)
  })

  test('does not start with a template that has errors, and lets go of its port', async () => {
    const folder = await temporaryFolder('dev')
    onTestFinished(() => folder.remove())
    const problems: string[] = []
    const starting = startDev({
      templates: [folder.file('nowhere.yml')],
      dataDirectory: folder.file('data'),
      port: 0,
      onProblems: (told) => problems.push(...told.map(({ message }) => message)),
    })
    await assert.rejects(starting, { code: 'invalid_contract' })
    assert.equal(problems.length, 1)
  })

  test('stops once, however often it is asked', async () => {
    const { dev } = await devScene()
    assert.equal(dev.stop(), dev.stop())
    await dev.stop()
    await assert.rejects(fetch(`${dev.url}/healthz`))
    assert.equal(await dev.reload(), false)
  })
})

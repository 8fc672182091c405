/** `millrace dev` as a process: what it prints, how it ends, and how soon it is there. */
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { describe, onTestFinished, test } from 'vitest'
import { type CliProcess, startCli } from '../../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

async function newFolder(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder('dev-command')
  onTestFinished(() => folder.remove())
  return folder
}

function startDev(args: readonly string[], env: Record<string, string> = {}): CliProcess {
  const dev = startCli(['dev', '--port', '0', ...args], env)
  onTestFinished(() => dev.kill('SIGKILL'))
  return dev
}

async function stop(dev: CliProcess): Promise<string> {
  dev.kill('SIGTERM')
  const { code, stderr } = await dev.ended
  assert.equal(code, 0, stderr)
  return stderr
}

/** The processor time of a process so far. Unlike the time of a clock, it does not depend on other processes. */
async function processorMs({ pid }: CliProcess): Promise<number> {
  const [ranNs] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')
  return Number(ranNs) / 1e6
}

describe('millrace dev', () => {
  test('prints the lines to paste, logs invocations, and ends well at SIGTERM', async () => {
    const folder = await newFolder()
    await mkdir(folder.file('src'))
    await writeFile(
      folder.file('src/greet.mjs'),
      `export const handler = async () => { console.log('greeted', process.env.GREETING) }`,
    )
    await writeFile(folder.file('vars.env'), 'GREETING=hello\nREGION=unused\n')
    await writeFile(
      folder.file('serverless.yml'),
      `service: hi
provider: { name: aws, runtime: nodejs22.x, environment: { GREETING: "\${env:GREETING}" } }
functions:
  greet: { handler: src/greet.handler, events: [{ sqs: !GetAtt Greetings.Arn }] }
resources:
  Resources:
    Greetings: { Type: AWS::SQS::Queue, Properties: { QueueName: greetings } }
`,
    )
    const dev = startDev([folder.file('serverless.yml'), '--env-file', folder.file('vars.env')], {
      MILLRACE_DATA: folder.file('data'),
      AWS_REGION: 'eu-west-3',
    })
    const [, url = ''] = await dev.output(
      /AWS_ENDPOINT_URL_SQS=(\S+)\n {2}export AWS_REGION=eu-west-3/,
    )
    const body = new URLSearchParams({
      Action: 'SendMessage',
      QueueUrl: `${url}/000000000000/greetings`,
      MessageBody: 'x',
    })
    assert.equal((await fetch(url, { method: 'POST', body })).status, 200)
    await dev.notice(/done: 1 of 1 message, [\d.]+ ms/)
    const stderr = await stop(dev)
    assert.match(stderr, /^up hi-dev: 1 queue /m)
    assert.match(stderr, /^hi-dev-greet [0-9a-f-]{36} greeted hello$/m)
    assert.match(stderr, /^hi-dev-greet [0-9a-f-]{36} done: 1 of 1 message, /m)
  })

  /** A function that writes a line with a tab and fails, in a template for another region. */
  async function failingDev(...flags: readonly string[]): Promise<string> {
    const folder = await newFolder()
    await writeFile(
      folder.file('work.mjs'),
      `export const handler = async () => { console.log('a\\tb\\r\\nc'); throw new Error('it broke') }`,
    )
    await writeFile(
      folder.file('serverless.yml'),
      `service: hi
provider: { name: aws, runtime: nodejs22.x, region: eu-west-1 }
functions:
  work: { handler: work.handler, events: [{ sqs: !GetAtt Jobs.Arn }] }
resources:
  Resources:
    Jobs: { Type: AWS::SQS::Queue, Properties: { QueueName: jobs } }
`,
    )
    const data = folder.file('data')
    const dev = startDev([folder.file('serverless.yml'), '--data', data, ...flags])
    const [, url = ''] = await dev.output(/AWS_ENDPOINT_URL_SQS=(\S+)\n/)
    const QueueUrl = `${url}/000000000000/jobs`
    const body = new URLSearchParams({ Action: 'SendMessage', QueueUrl, MessageBody: 'x' })
    assert.equal((await fetch(url, { method: 'POST', body })).status, 200)
    await dev.notice(/failed: 0 of 1 message done/)
    return stop(dev)
  }

  test('keeps tabs, tells a failure once, and warns of another region', async () => {
    const stderr = await failingDev()
    assert.match(stderr, /^hi-dev-work [0-9a-f-]{36} a\tb$/m)
    assert.match(stderr, /^hi-dev-work [0-9a-f-]{36} c$/m)
    assert.match(stderr, /^hi-dev-work [0-9a-f-]{36} Invoke Error\t\{"errorType":"Error"/m)
    assert.doesNotMatch(stderr, /function failed|\uFFFD|START|REPORT/)
    assert.match(stderr, /serverless\.yml:2:\d+.*for eu-west-1.*use us-east-1 here/)
  })

  test('writes START, END and REPORT when they are asked for', async () => {
    const stderr = await failingDev('--reports', '--region', 'eu-west-1')
    assert.match(stderr, / START RequestId: [0-9a-f-]{36} Version: \$LATEST$/m)
    assert.match(stderr, / END RequestId: [0-9a-f-]{36}$/m)
    assert.match(stderr, / REPORT RequestId: [0-9a-f-]{36}\tDuration: [\d.]+ ms\t.*Status: error$/m)
    assert.doesNotMatch(stderr, /for eu-west-1/)
  })

  test('says what is wrong with a template, and exits with 1', async () => {
    const folder = await newFolder()
    await writeFile(folder.file('bad.yml'), 'nothing: here\n')
    const dev = startDev([folder.file('bad.yml'), '--data', folder.file('data')])
    const { code, stdout, stderr } = await dev.ended
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /bad\.yml:1:1: error: /)
  })

  test('has 100 queues of a template ready in little more time than two', async () => {
    const folder = await newFolder()
    const env = { HOME: folder.file('home') }
    let starts = 0
    const startMs = async (pairs: number): Promise<number> => {
      await writeFile(folder.file('template.yaml'), templateOf(pairs))
      const data = folder.file(`data-${starts}`)
      starts += 1
      const dev = startDev([folder.file('template.yaml'), '--data', data], env)
      const [, url] = await dev.output(/listening on (\S+)/)
      const last = await fetch(`${url}/?Action=GetQueueUrl&QueueName=many-${pairs - 1}`)
      const ms = await processorMs(dev)
      assert.equal(last.status, 200)
      const count = 2 * pairs
      assert.match(await stop(dev), new RegExp(`${count} queues \\(${count} new or changed\\)`))
      return ms
    }
    const best = { few: Number.POSITIVE_INFINITY, many: Number.POSITIVE_INFINITY }
    // The first start compiles the code for all others.
    await startMs(1)
    do {
      best.few = Math.min(best.few, await startMs(1))
      best.many = Math.min(best.many, await startMs(50))
    } while (best.many > 2 * best.few && starts < 10)
    assert.ok(best.many <= 2 * best.few, `it took ${best.many} ms instead of ${best.few} ms`)
  })
})

function templateOf(pairs: number): string {
  const queues = Array.from({ length: pairs }, (_, at) => [
    `  Dlq${at}: { Type: AWS::SQS::Queue, Properties: { QueueName: many-${at}-dlq } }`,
    `  Queue${at}:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: many-${at}
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dlq${at}.Arn, maxReceiveCount: 3 }`,
  ])
  return `Resources:\n${queues.flat().join('\n')}\n`
}

/** `millrace dev` as a process: what it prints, how it ends, and how soon it is there. */
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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

/**
 * How long a process has taken so far, without the time in which it could have run and others had the
 * processor: other tests may run on this machine. What it waits for of itself counts.
 */
async function unhinderedMs({ pid }: CliProcess, startedAt: number): Promise<number> {
  const [, queuedNs = ''] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')
  return performance.now() - startedAt - Number(queuedNs) / 1e6
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

  test('has 100 queues of a template ready within a second of its start', async () => {
    const folder = await newFolder()
    const queues = Array.from({ length: 50 }, (_, at) => [
      `  Dlq${at}: { Type: AWS::SQS::Queue, Properties: { QueueName: many-${at}-dlq } }`,
      `  Queue${at}:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: many-${at}
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dlq${at}.Arn, maxReceiveCount: 3 }`,
    ])
    await writeFile(folder.file('template.yaml'), `Resources:\n${queues.flat().join('\n')}\n`)
    // Like every start after the first: code that was compiled once is kept.
    const env = { HOME: folder.file('home') }
    const times: number[] = []
    for (let run = 0; run < 4 && !times.some((ms) => ms < 1_000); run += 1) {
      const data = join(folder.path, `data-${run}`)
      const startedAt = performance.now()
      const dev = startDev([folder.file('template.yaml'), '--data', data], env)
      const [, url] = await dev.output(/listening on (\S+)/)
      const last = await fetch(`${url}/?Action=GetQueueUrl&QueueName=many-49`)
      times.push(await unhinderedMs(dev, startedAt))
      assert.equal(last.status, 200)
      assert.match(await stop(dev), /100 queues \(100 new or changed\)/)
    }
    assert.ok(Math.min(...times) < 1_000, `it took ${times.join(', ')} ms`)
  })
})

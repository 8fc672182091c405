/** `millrace doctor` and `millrace template`: what is wrong with a resolved, before AWS says it. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const tutor = fileURLToPath(new URL('../tutor.ts', import.meta.url))
const library = fileURLToPath(new URL('../../../src/index.ts', import.meta.url))

const template = (visibility: number): string => `Transform: AWS::Serverless-2016-10-31
Resources:
  Dead: { Type: AWS::SQS::Queue, Properties: { QueueName: orders-dlq } }
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      VisibilityTimeout: ${visibility}
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5 }
  Grade:
    Type: AWS::Serverless::Function
    Properties:
      Handler: index.handler
      Runtime: nodejs22.x
      Timeout: 60
      Events:
        Orders: { Type: SQS, Properties: { Queue: !GetAtt Orders.Arn, BatchSize: 1 } }
`

interface Found {
  readonly rule: string
  readonly severity: string
  readonly subject: string
  readonly line: number | null
}

const errorsIn = ({ findings }: { readonly findings: readonly Found[] }): readonly Found[] =>
  findings.filter(({ severity }) => severity === 'error')

async function examined(scene: CliScene, ...args: readonly string[]): Promise<readonly Found[]> {
  const { code, stdout } = await scene.run('doctor', ...args, '--json')
  const errors = errorsIn(JSON.parse(stdout))
  assert.equal(code, errors.length > 0 ? 1 : 0)
  return errors
}

describe('the doctor', () => {
  test('finds in a template what AWS would refuse, with reason, repair and place', async () => {
    const scene = await cliScene()
    const file = await scene.write('template.yaml', template(30))
    const [error, ...others] = await examined(scene, file)
    assert.deepEqual(others, [])
    assert.match(error?.rule ?? '', /visibility/)
    assert.equal(typeof error?.line, 'number')
    const { code, stdout, stderr } = await scene.run('doctor', file)
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^error \S+ {2}\S*visibility\S* {2}template\.yaml:\d+:\d+\n {2}.*\n {2}fix: /m,
    )
    assert.match(stderr, /Found 1 error\./)
  })

  test('has nothing to refuse in a template that is in order', async () => {
    const scene = await cliScene()
    assert.deepEqual(await examined(scene, await scene.write('template.yaml', template(360))), [])
  })

  test('looks at the queues of the store as they are now, and at what feeds their functions', async () => {
    const scene = await cliScene()
    await scene.good('up', await scene.write('template.yaml', template(360)))
    assert.deepEqual(await examined(scene), [])
    await scene.good('queue', 'set', 'orders', '--visibility', '10s')
    const [error] = await examined(scene)
    assert.match(error?.rule ?? '', /visibility/)
  })

  test('examines an app', async () => {
    const scene = await cliScene()
    const { findings } = await scene.read('doctor', tutor)
    assert.ok(findings.some(({ subject }: Found) => subject === 'tutor-dev-classify'))
  })

  test('has nothing against alarms of an app that only an export would leave out', async () => {
    const { good, read, run, write } = await cliScene()
    const app = await write(
      'app.ts',
      `import { alarm, defineApp, queue } from ${JSON.stringify(library)}
      export default defineApp('shop', {
        queues: { orders: queue({ deadLetter: {} }) },
        alarms: [alarm.metric('basket value').above(10)],
      })`,
    )
    const { problems } = await read('doctor', app)
    assert.deepEqual(problems, [])
    assert.doesNotMatch((await run('up', app)).stderr, /left out/)
    const exported = await run('template', 'export', '--app', app)
    assert.match(
      exported.stderr,
      /value of 'basket value' is left out: SQS does not have this metric/,
    )
    await good('doctor', app)
  })

  test('says what it could not read', async () => {
    const { run, write } = await cliScene()
    const end = await run('doctor', await write('template.yaml', 'nothing: here\n'))
    assertRefused(end, 1, /^template\.yaml:1:1: error: /m)
  })
})

describe('millrace template', () => {
  test('checks templates', async () => {
    const { run, write } = await cliScene()
    const good = await run('template', 'check', await write('template.yaml', template(30)))
    assert.deepEqual([good.code, good.stdout], [0, ''])
    const bad = await write(
      'bad.yaml',
      template(30).replace('!GetAtt Dead.Arn', '!GetAtt Daed.Arn'),
    )
    assertRefused(await run('template', 'check', bad), 1, /^bad\.yaml:9:\d+: error: .*Daed/m)
    const { stdout } = await run('template', 'check', bad, '--json')
    assert.equal(JSON.parse(stdout).problems[0].line, 9)
  })

  test.each([
    ['cloudformation', /^AWSTemplateFormatVersion: /m],
    ['sam', /^Transform: AWS::Serverless-2016-10-31$/m],
    ['serverless', /^service: tutor$/m],
  ])('writes an app as %s, which then goes up as the app does', async (format, line) => {
    const { good, write, read } = await cliScene()
    const text = await good('template', 'export', '--app', tutor, '--format', format)
    assert.match(text, line)
    const { stacks } = await read('up', await write(`${format}.yml`, text), '--stage', 'dev')
    assert.deepEqual(stacks[0].queues.map(({ name }: { name: string }) => name).toSorted(), [
      'tutor-dev-classify',
      'tutor-dev-notes',
    ])
  })

  test('writes JSON when it is asked to, and what it could not say to stderr', async () => {
    const { run } = await cliScene()
    const { stdout, stderr } = await run('template', 'export', '--app', tutor, '--json')
    assert.ok('ClassifyQueue' in JSON.parse(stdout).Resources)
    assert.match(stderr, /^warning: .*kill switches/m)
  })

  test('needs to know the app', async () => {
    const { run } = await cliScene()
    assertRefused(await run('template', 'export'), 2, /--app/)
    assertRefused(await run('template', 'export', '--app', 'nowhere.ts'), 1, /Cannot load the app/)
  })
})

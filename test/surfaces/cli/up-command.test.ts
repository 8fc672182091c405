/** `millrace up`: from a template or an app to queues, and what becomes of them later. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const serverless = `service: shop
provider:
  name: aws
  runtime: nodejs22.x
  environment:
    SECRET: \${env:SECRET, 'none'}
functions:
  grade:
    handler: src/grade.handler
    events:
      - sqs:
          arn: !GetAtt Orders.Arn
resources:
  Resources:
    OrdersDlq:
      Type: AWS::SQS::Queue
      Properties:
        QueueName: shop-\${sls:stage}-orders-dlq
    Orders:
      Type: AWS::SQS::Queue
      Properties:
        QueueName: shop-\${sls:stage}-orders
        VisibilityTimeout: 60
        RedrivePolicy:
          deadLetterTargetArn: !GetAtt OrdersDlq.Arn
          maxReceiveCount: 4
        Tags:
          - { Key: team, Value: shop }
`

async function withTemplate(): Promise<CliScene & { readonly template: string }> {
  const scene = await cliScene()
  return { ...scene, template: await scene.write('serverless.yml', serverless) }
}

const actionsIn = (document: {
  stacks: { queues: { name: string; action: string }[] }[]
}): object =>
  Object.fromEntries(
    document.stacks.flatMap(({ queues }) => queues.map(({ name, action }) => [name, action])),
  )

describe('a template that goes up', () => {
  test('creates its queues, then leaves alone what is as it should be', async () => {
    const { read, template, store } = await withTemplate()
    assert.deepEqual(actionsIn(await read('up', template)), {
      'shop-dev-orders-dlq': 'created',
      'shop-dev-orders': 'created',
    })
    const { settings, tags } = await (await store()).backend.readQueue({ queue: 'shop-dev-orders' })
    assert.equal(settings.visibilityMs, 60_000)
    assert.deepEqual(settings.deadLetter, { queue: 'shop-dev-orders-dlq', maxReceives: 4 })
    assert.deepEqual(tags, { team: 'shop' })
    assert.deepEqual(actionsIn(await read('up', template)), {
      'shop-dev-orders-dlq': 'unchanged',
      'shop-dev-orders': 'unchanged',
    })
  })

  test('changes what is other than it says, and takes back what it said before', async () => {
    const { read, write, template, store } = await withTemplate()
    await read('up', template)
    const { backend } = await store()
    // What was set by hand and what a template cannot say are two things.
    await backend.changeQueue({
      queue: 'shop-dev-orders',
      changes: {
        delayMs: 5_000,
        obeys: { queue: ['PAUSED'], types: {} },
        annotations: { Policy: '{}' },
      },
    })
    await backend.tagQueue({ queue: 'shop-dev-orders', set: { owner: 'me' } })
    await write(
      'serverless.yml',
      serverless
        .replace('        VisibilityTimeout: 60\n', '')
        .replace(/ {8}Tags:\n.*\n/, '        MessageRetentionPeriod: 120\n'),
    )
    const { stacks } = await read('up', template)
    const { action, changes } = stacks[0].queues[1]
    assert.equal(action, 'changed')
    assert.deepEqual(changes.toSorted(), ['delay_ms', 'retention_ms', 'tags', 'visibility_ms'])
    const { settings, tags } = await backend.readQueue({ queue: 'shop-dev-orders' })
    assert.deepEqual(
      [settings.visibilityMs, settings.delayMs, settings.retentionMs],
      [30_000, 0, 120_000],
    )
    assert.deepEqual(settings.obeys.queue, ['PAUSED'])
    assert.deepEqual(settings.annotations, { Policy: '{}' })
    assert.deepEqual(tags, { owner: 'me' })
  })

  test('keeps queues that are gone from it until they are pruned with --yes', async () => {
    const { read, run, good, write, template } = await withTemplate()
    await read('up', template)
    await write('serverless.yml', 'service: shop\nprovider: { name: aws }\n')
    const gone = ['shop-dev-orders-dlq', 'shop-dev-orders']
    for (const _ of ['the first time', 'and again']) {
      const { stacks } = await read('up', template)
      assert.deepEqual(
        stacks[0].gone,
        gone.map((name) => ({ name, deleted: false })),
      )
    }
    assert.match(await good('up', template), /^ {2}- shop-dev-orders is no longer .* --prune/m)
    assertRefused(await run('up', template, '--prune'), 4, /delete 2 queues .* add --yes/)
    const pruned = await read('up', template, '--prune', '--yes')
    assert.deepEqual(
      pruned.stacks[0].gone,
      gone.map((name) => ({ name, deleted: true })),
    )
    assert.deepEqual((await read('queue', 'list')).queues, [])
    assert.deepEqual((await read('up', template)).stacks[0].gone, [])
  })

  test('is recorded in the store, without the environment of functions', async () => {
    const { start, template, store } = await withTemplate()
    const environment = { SECRET: 'very-secret-value' }
    assert.equal((await start(['up', template], { environment }).ended).code, 0)
    const { backend } = await store()
    const [record] = (await backend.stacks?.list()) ?? []
    assert.equal(record?.stack, 'shop-dev')
    assert.equal(record.document.includes('very-secret-value'), false)
    const stack = JSON.parse(record.document)
    assert.equal(stack.eventSources[0].queue, 'shop-dev-orders')
    assert.equal(stack.functions[0].name, 'shop-dev-grade')
    assert.equal(stack.queues[1].at.file, template)
  })

  test('follows stage, parameters, options, region and account', async () => {
    const { write, read } = await cliScene()
    const template = await write(
      'template.yaml',
      `Parameters: { Name: { Type: String } }
Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties: { QueueName: !Sub "\${Name}-\${AWS::Region}-\${AWS::AccountId}" }
`,
    )
    const place = ['--region', 'eu-west-1', '--account', '123456789012']
    const made = await read('up', template, '--param', 'Name=a', ...place)
    assert.deepEqual(actionsIn(made), { 'a-eu-west-1-123456789012': 'created' })
    const other = await write('serverless.yml', serverless.replaceAll('sls:stage', 'opt:tenant'))
    const { stacks } = await read('up', other, '--opt', 'tenant=acme', '--stage', 'test')
    assert.equal(stacks[0].name, 'shop-test')
    assert.equal(stacks[0].queues[1].name, 'shop-acme-orders')
  })

  test('looks for the region where AWS clients look', async () => {
    const { write, start } = await cliScene()
    const name = `!Sub "q-\${AWS::Region}"`
    const template = await write(
      'template.yaml',
      `Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueName: ${name} } } }\n`,
    )
    const environment = { AWS_REGION: 'eu-north-1' }
    const { stdout } = await start(['up', template, '--json'], { environment }).ended
    assert.deepEqual(actionsIn(JSON.parse(stdout)), { 'q-eu-north-1': 'created' })
  })
})

describe('a dry run', () => {
  test('says what would be done, and makes not even a store', async () => {
    const { read, run, template, data } = await withTemplate()
    const planned = await read('up', template, '--dry-run')
    assert.equal(planned.dry_run, true)
    assert.deepEqual(Object.values(actionsIn(planned)), ['created', 'created'])
    assert.equal(existsSync(data), false)
    const { stderr } = await run('up', template, '--dry-run')
    assert.match(stderr, /Dry run: 2 created, 0 changed, 0 unchanged/)
  })
})

describe('a template with errors', () => {
  test('changes nothing, and says where each of them is', async () => {
    const { run, write, data, template } = await withTemplate()
    const bad = await write(
      'bad.yaml',
      `Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 99999999
      QueueName: !Ref Nothing
`,
    )
    const end = await run('up', template, bad)
    assertRefused(end, 1, /^bad\.yaml:5:\d+: error: .*VisibilityTimeout/m)
    assert.match(end.stderr, /^bad\.yaml:6:\d+: error: .*Nothing/m)
    assert.match(end.stderr, /Nothing was changed/)
    assert.equal(existsSync(data), false)
    const { stdout } = await run('up', bad, '--json')
    const { problems } = JSON.parse(stdout)
    assert.deepEqual([problems[0].severity, problems[0].line, problems[0].file], ['error', 5, bad])
  })

  test('is refused when its dead letters have nowhere to go, and makes none of its queues', async () => {
    const { run, write, store, read } = await cliScene()
    const { backend } = await store()
    await backend.createQueue({ queue: 'present' })
    const template = await write(
      'template.yaml',
      `Resources:
  Fresh: { Type: AWS::SQS::Queue, Properties: { QueueName: fresh } }
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders
      RedrivePolicy:
        deadLetterTargetArn: arn:aws:sqs:us-east-1:000000000000:elsewhere
        maxReceiveCount: 3
`,
    )
    const end = await run('up', template)
    assertRefused(
      end,
      1,
      /^template\.yaml:3:\d+: error: .*'elsewhere'.* not declared and does not exist/m,
    )
    const { queues } = await read('queue', 'list')
    assert.deepEqual(
      queues.map(({ name }: { name: string }) => name),
      ['present'],
    )
  })

  test('is a file that does not exist', async () => {
    const { run } = await cliScene()
    assert.equal((await run('up', 'nowhere.yml')).code, 1)
  })
})

describe('an app that goes up', () => {
  const tutor = fileURLToPath(new URL('../tutor.ts', import.meta.url))

  test('brings its queues into being for a stage', async () => {
    const { read, store } = await cliScene()
    const { stacks } = await read('up', tutor, '--stage', 'test')
    assert.equal(stacks[0].name, 'tutor-test')
    assert.deepEqual(
      stacks[0].queues.map(({ name }: { name: string }) => name),
      ['tutor-test-classify', 'tutor-test-notes'],
    )
    const { settings } = await (await store()).backend.readQueue({ queue: 'tutor-test-classify' })
    assert.deepEqual(settings.obeys.queue, ['LLM_PAUSED'])
    const again = await read('up', tutor, '--stage', 'test')
    assert.deepEqual([...new Set(Object.values(actionsIn(again)))], ['unchanged'])
  })

  test('is refused with its place when the module exports none', async () => {
    const { run, write } = await cliScene()
    const module = await write('app.mjs', 'export const nothing = 1\n')
    assertRefused(await run('up', module), 1, /^app\.mjs:1:1: error: .*must export one app/m)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type ReadingOptions, readFiles, stackOf } from './reading.ts'

/** A service with a queue named by the expression. */
function service(name: string, custom = ''): string {
  return `
service: shop
params:
  default: { region: north, size: 1 }
  dev: { size: 2 }
custom:
  plain: text
  nested: { dev: { name: deep }, list: [a, b] }
  number: 5
${custom}
provider: { name: aws, stage: "\${opt:stage, 'dev'}", memorySize: 256 }
resources:
  Resources:
    Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: ${name} } }
`
}

async function nameFor(
  expression: string,
  options: ReadingOptions & { readonly files?: Readonly<Record<string, string>> } = {},
): Promise<string | undefined> {
  const { files = {}, ...others } = options
  const reading = await readFiles(
    { 'serverless.yml': service(JSON.stringify(expression)), ...files },
    others,
  )
  return stackOf(reading).queues[0]?.name
}

async function complaintsFor(expression: string, custom = ''): Promise<readonly string[]> {
  const text = service(JSON.stringify(expression), custom)
  const { complaints } = await readFiles({ 'serverless.yml': text })
  return complaints.map((complaint) => complaint.replace(/^(\w+) \S+ /, '$1: '))
}

describe('a variable of serverless.yml', () => {
  test.each([
    ['${self:custom.plain}', 'text'],
    ['a-${self:custom.plain}-b', 'a-text-b'],
    ['${self:service}', 'shop'],
    ['${self:custom.missing, "other"}', 'other'],
    ["${self:custom.missing, self:custom.plain, 'other'}", 'text'],
    ['${self:custom.missing, ${self:custom.plain}}', 'text'],
    ['${self:custom.missing, 7}', '7'],
    ['${self:custom.nested.${self:provider.stage}.name}', 'deep'],
    ['${self:custom.nested.list.1}', 'b'],
    ['n${self:custom.number}', 'n5'],
    ['${sls:stage}-${aws:region}', 'dev-us-east-1'],
    ['a${aws:accountId}', 'a000000000000'],
    ['${param:region}-${param:size}', 'north-2'],
    ['${strToBool("true")}', 'true'],
    ['${opt:color, "red"}', 'red'],
    ['${env:HOME_TOWN, "none"}', 'none'],
    ['${ self:custom.plain }', 'text'],
  ])('has its value: %s', async (expression, name) => {
    assert.equal(await nameFor(expression), name)
  })

  test('takes what the caller gives before what the file says', async () => {
    assert.equal(
      await nameFor('${sls:stage}-${param:size}-${opt:color}-${env:TOWN}', {
        stage: 'prod',
        parameters: { size: '9' },
        options: { color: 'blue' },
        environment: { TOWN: 'Lyon' },
      }),
      'prod-9-blue-Lyon',
    )
  })

  test('names the stage as the command line does, also where the file fixes one', async () => {
    const text = service('"${self:provider.stage}"').replace("${opt:stage, 'dev'}", 'dev')
    const { queues } = stackOf(await readFiles({ 'serverless.yml': text }, { stage: 'prod' }))
    assert.equal(queues[0]?.name, 'prod')
  })

  test('reads files: YAML, JSON and plain text, each with its own variables', async () => {
    const files = {
      'config/dev.yml': 'name: ${self:service}-yaml\n',
      'config/all.json': '{ "names": { "q": "json" } }',
      'name.txt': 'plain\n',
    }
    assert.equal(await nameFor('${file(./config/${sls:stage}.yml):name}', { files }), 'shop-yaml')
    assert.equal(await nameFor('${file(config/all.json):names.q}', { files }), 'json')
    assert.equal(await nameFor('${file(name.txt)}', { files }), 'plain')
    assert.equal(await nameFor("${file(nowhere.yml):x, 'fallback'}", { files }), 'fallback')
  })

  test('finds the variables of .env files', async () => {
    const files = { '.env': 'TOWN=Rome\nCOLOR=red\n', '.env.dev': 'TOWN=Bern\n' }
    assert.equal(await nameFor('${env:TOWN}-${env:COLOR}', { files }), 'Bern-red')
  })

  test('leaves what is not its own to CloudFormation', async () => {
    const text = service("!Sub '${AWS::StackName}-${self:custom.plain}'")
    const { queues } = stackOf(await readFiles({ 'serverless.yml': text }))
    assert.equal(queues[0]?.name, 'test-text')
  })

  test.each([
    ['${self:custom.missing}', 'error: ${self:custom.missing} has no value.'],
    ['${env:TOWN}', 'error: ${env:TOWN} has no value. Set TOWN in the environment.'],
    ['${param:x}', 'error: ${param:x} has no value. Use --param x=…'],
    ['${opt:x}', 'error: ${opt:x} has no value. Use --opt x=…'],
    [
      '${ssm:/a/b}',
      'error: QueueName is required, but its value is only known on AWS: ${ssm:/a/b}.',
    ],
    [
      '${cf:stack.Output}',
      'error: QueueName is required, but its value is only known on AWS: ${cf:stack.Output}.',
    ],
    ["${ssm:/a/b, 'local'}", 'warning: ${ssm:/a/b} is not available here; the fallback is used.'],
    ['${weird:x}', "error: The variable source 'weird' is not supported."],
    [
      '${file(./x.js)}',
      "error: './x.js' is a program, and Millrace does not run programs to read templates. " +
        'Use a YAML or JSON file.',
    ],
    [
      '${self:custom.plain',
      "error: The variable is not valid: the closing '}' of a variable is missing.",
    ],
    ['${self:a, plain}', 'error: The variable is not valid: a string as fallback needs quotes.'],
    ["${self:a, 'x}", "error: The variable is not valid: the closing ' of a string is missing."],
    ['a-${self:custom.nested}', 'error: Expected a string, got a map of dev, list.'],
    ['${strToBool(maybe)}', 'error: strToBool needs true, false, 1 or 0.'],
  ])('that cannot be resolved is a problem: %s', async (expression, complaint) => {
    assert.deepEqual(await complaintsFor(expression), [complaint])
  })

  test.each([
    ['${self:custom.a}', '  a: ${self:custom.b}\n  b: x-${self:custom.a}'],
    ['${self:custom.a.x}', '  a: { x: "${self:custom.a}" }'],
  ])('that leads back to itself is a problem: %s', async (expression, custom) => {
    const [first] = await complaintsFor(expression, custom)
    assert.match(first ?? '', /^error: /)
  })

  test('that contains itself is a problem with its place', async () => {
    const { complaints } = await readFiles({
      'serverless.yml': 'service: s\nprovider: { name: aws }\nresources: ${file(r.yml)}\n',
      'r.yml':
        'Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      Tags: ${file(r.yml)}\n',
    })
    assert.ok(
      complaints.includes('error r.yml:5:13 This variable refers to itself.'),
      complaints.join('\n'),
    )
  })

  test('is not looked at where nobody needs it', async () => {
    const text = `${service('q')}    Bucket: { Type: 'AWS::S3::Bucket', Properties: { BucketName: "\${self:nowhere}" } }\n`
    const { complaints } = await readFiles({ 'serverless.yml': text })
    assert.deepEqual(complaints, [])
  })
})

describe('a function of serverless.yml', () => {
  test('may be fed by an ARN as text, as a function, or by an import', async () => {
    const { stack, complaints } = await readFiles(
      {
        'serverless.yml': `
service: s
provider: { name: aws }
functions:
  one:
    handler: a.b
    events:
      - sqs: arn:aws:sqs:eu-west-1:123456789012:Q
      - sqs: { Fn::GetAtt: [Q, Arn] }
      - sqs: { arn: !GetAtt Q.Arn, enabled: false, batchSize: '3' }
      - sqs: { arn: { Fn::ImportValue: other } }
resources: { Resources: { Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: Q } } } }
`,
      },
      { imports: { other: 'arn:aws:sqs:us-east-1:000000000000:Q' } },
    )
    assert.deepEqual(complaints, [])
    assert.deepEqual(
      stack?.eventSources.map(({ queue, enabled, batchSize }) => [queue, enabled, batchSize]),
      [
        ['Q', true, 10],
        ['Q', true, 10],
        ['Q', false, 3],
        ['Q', true, 10],
      ],
    )
    assert.equal(new Set(stack?.eventSources.map(({ logicalId }) => logicalId)).size, 4)
    assert.equal(stack?.functions[0]?.memoryMb, 1_024)
  })

  test('with a misspelt setting of its event is told so', async () => {
    const { complaints } = await readFiles({
      'serverless.yml': `
service: s
provider: { name: aws }
functions:
  f: { handler: a.b, events: [{ sqs: { arn: !GetAtt Q.Arn, maximumBatchingWindowInSeconds: 5 } }] }
resources: { Resources: { Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: Q } } } }
`,
    })
    assert.deepEqual(complaints, [
      "warning serverless.yml:5:60 An sqs event has no setting 'maximumBatchingWindowInSeconds'; " +
        "did you mean 'maximumBatchingWindow'?",
    ])
  })

  test('with constructs of a plugin is told that they are not read', async () => {
    const text = 'service: s\nprovider: { name: aws }\nconstructs:\n  jobs: { type: queue }\n'
    const { complaints } = await readFiles({ 'serverless.yml': text })
    assert.match(
      complaints[0] ?? '',
      /^warning serverless\.yml:4:3 'constructs' belong to a plugin/,
    )
  })
})

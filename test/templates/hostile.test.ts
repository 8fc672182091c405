/** Whatever stands in a file, reading it ends soon and with an answer. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { assertTimesAsLong } from '../support/processor-time.ts'
import { fixture, readFiles, readText, stackOf, type TextReading } from './reading.ts'

/** Reading goes wrong in one way only: no stack, and at least one error that says where. */
function assertAnswered({ stack, problems }: TextReading): void {
  const errors = problems.filter(({ severity }) => severity === 'error')
  assert.equal(stack === null, errors.length > 0)
  for (const { message, at } of problems) {
    assert.ok(message.length > 0 && message.length < 4_000, message)
    assert.ok(at.line >= 1 && at.column >= 1)
  }
}

const sources = ['tutoring/serverless.yml', 'replies/template.yaml', 'plain/orders.yaml'].map(
  (path) => readFileSync(fixture(path), 'utf8'),
)

describe('a file of rubbish', () => {
  test('is answered: random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        assertAnswered(await readText(Buffer.from(bytes).toString('latin1')))
      }),
      { numRuns: 300 },
    )
  })

  test('is answered: random pieces of syntax', async () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ': ',
        '- ',
        '\n',
        '  ',
        '"',
        "'",
        '&a ',
        '*a',
        '!Ref ',
        '!Sub ',
        '${',
      ],
      ...[
        'self:',
        'file(',
        ')',
        ', ',
        'Resources:\n',
        'Type: ',
        'AWS::SQS::Queue',
        'Fn::If',
        'a',
        '1',
      ],
      ...[
        'service: s\nprovider: p\n',
        'Properties:\n',
        'QueueName: ',
        '<<: ',
        '|\n',
        '? ',
        '# ',
        '\t',
      ],
    )
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''))
    await fc.assert(
      fc.asyncProperty(text, async (source) => assertAnswered(await readText(source))),
      { numRuns: 300 },
    )
  })

  test('is answered: real templates with something cut, doubled or swapped', async () => {
    const mutation = fc.record({
      source: fc.constantFrom(...sources),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.integer({ min: 0, max: 40 }),
      insert: fc.oneof(
        fc.string({ maxLength: 6 }),
        fc.constantFrom('!Ref Q', '${self:custom}', '[]', '{}', 'null', '*x', ': ', '\n'),
      ),
    })
    await fc.assert(
      fc.asyncProperty(mutation, async ({ source, from, length, insert }) => {
        const at = Math.floor(from * source.length)
        const text = source.slice(0, at) + insert + source.slice(at + length)
        assertAnswered(await readFiles({ 'serverless.yml': text }))
      }),
      { numRuns: 150 },
    )
  })

  test.each([
    ['nested lists', '['.repeat(50_000)],
    ['nested maps', 'a: '.repeat(20_000)],
    ['one deep but whole', `a: ${'['.repeat(500)}${']'.repeat(500)}`],
    ['many aliases of aliases', bomb(30)],
    ['many anchors', '&a '.repeat(50_000)],
    ['a map with many keys', Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join('\n')],
    ['many aliases', `a: &a 1\nb: [${'*a, '.repeat(30_000)}]`],
    ['conditions in a chain', chain(3_000)],
    ['functions that double', doubling()],
    ['variables that double', doublingVariables()],
    ['nothing', ''],
    ['a zero byte', '\0'],
    ['two documents', 'a: 1\n---\nb: 2\n'],
  ])('is answered: %s', async (_, text) => {
    assertAnswered(await readText(text))
  })

  test('is answered with its error, however many warnings come before it', async () => {
    const alarms = Array.from(
      { length: 150 },
      (_, n) => `  A${n}: { Type: 'AWS::CloudWatch::Alarm', Properties: { Namespace: Other } }`,
    )
    const queue = "  Q: { Type: 'AWS::SQS::Queue', Properties: { DelaySeconds: -1 } }"
    const reading = await readText(['Resources:', ...alarms, queue].join('\n'))
    assertAnswered(reading)
    assert.equal(reading.stack, null)
    assert.equal(reading.problems.length, 101)
  })

  test('is answered: a file that is too large', async () => {
    const { complaints } = await readText('#'.repeat(1_048_577))
    assert.match(complaints[0] ?? '', /is larger than 1048576 bytes\.$/)
  })
})

describe('a large template', () => {
  test('of many queues is read in a time that grows with its length only', async () => {
    const [small, large] = [templateOf(25), templateOf(100)]
    const read = (text: string) => async () => stackOf(await readText(text)).queues.length
    assert.equal(await read(large)(), 200)
    // By the square of the length it would take 16 times as long.
    await assertTimesAsLong({ work: read(large), reference: read(small), timesMax: 10 })
  })
})

function templateOf(pairs: number): string {
  const lines = Array.from({ length: pairs }, (_, n) => [
    `  Queue${n}:`,
    '    Type: AWS::SQS::Queue',
    '    Properties:',
    `      QueueName: !Sub 'shop-\${AWS::Region}-${n}'`,
    '      VisibilityTimeout: 60',
    '      RedrivePolicy:',
    `        deadLetterTargetArn: !GetAtt Dead${n}.Arn`,
    '        maxReceiveCount: 3',
    `  Dead${n}:`,
    '    Type: AWS::SQS::Queue',
    '    Properties:',
    `      QueueName: !Sub 'shop-\${AWS::Region}-${n}-dead'`,
    '      MessageRetentionPeriod: 1209600',
  ])
  return ['Resources:', ...lines.flat()].join('\n')
}

/** Each line stands for twice as much as the one before. */
function bomb(lines: number): string {
  const names = Array.from({ length: lines }, (_, n) => `x${n}`)
  const anchors = names.map((name, n) =>
    n === 0 ? `${name}: &${name} [q]` : `${name}: &${name} [*x${n - 1}, *x${n - 1}]`,
  )
  const queue = `Q: { Type: 'AWS::SQS::Queue', Properties: { Tags: *x${lines - 1} } }`
  return [...anchors, `Resources: { ${queue} }`].join('\n')
}

function chain(length: number): string {
  const links = Array.from({ length }, (_, n) => `  C${n}: !Not [!Condition C${n + 1}]`)
  const queue = `Q: { Type: 'AWS::SQS::Queue', Condition: C0 }`
  return ['Conditions:', ...links, `  C${length}: !Equals [a, a]`, `Resources: { ${queue} }`].join(
    '\n',
  )
}

function doubling(): string {
  const queues = Array.from(
    { length: 40 },
    (_, n) =>
      `  Q${n}: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Sub '\${Q${n + 1}.QueueName}\${Q${n + 1}.QueueName}' } }`,
  )
  const last = "  Q40: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q } }"
  return ['Resources:', ...queues, last].join('\n')
}

function doublingVariables(): string {
  const custom = Array.from(
    { length: 40 },
    (_, n) => `  v${n}: "\${self:custom.v${n + 1}}\${self:custom.v${n + 1}}"`,
  )
  return [
    'service: s',
    'provider: { name: aws }',
    'custom:',
    ...custom,
    '  v40: x',
    'resources: { Resources: { Q: { Type: \'AWS::SQS::Queue\', Properties: { QueueName: "${self:custom.v0}" } } } }',
  ].join('\n')
}

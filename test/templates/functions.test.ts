import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { nameFrom, readText, stackOf } from './reading.ts'

const surroundings = `
Parameters:
  Stage: { Type: String, Default: prod }
  Zones: { Type: CommaDelimitedList, Default: 'north, south' }
  Count: { Type: Number, Default: 3 }
Mappings:
  Names:
    prod: { Long: production, Many: [a, b] }
    '007': { Long: secret }
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsDev: { 'Fn::Equals': [{ Ref: Stage }, dev] }
  Both: !And [!Condition IsProd, !Not [!Condition IsDev]]
  Either: !Or [!Condition IsDev, !Condition Both]
`

describe('a function of CloudFormation', () => {
  test.each([
    ['!Ref Stage', 'prod'],
    ['!Ref AWS::Region', 'us-east-1'],
    ['!Ref AWS::AccountId', '000000000000'],
    ['!Ref AWS::StackName', 'test'],
    ['!Ref AWS::Partition', 'aws'],
    ['!Join ["-", [!Ref Stage, jobs]]', 'prod-jobs'],
    ['!Join ["_", !Ref Zones]', 'north_south'],
    ['!Sub "${Stage}-${AWS::Region}"', 'prod-us-east-1'],
    ['!Sub ["${Stage}-${Other}", { Other: !Select [1, !Ref Zones] }]', 'prod-south'],
    ['{ "Fn::Sub": "x-${Stage}" }', 'x-prod'],
    ['!Select [0, !Split ["/", "a/b"]]', 'a'],
    ['!Select ["1", [a, b]]', 'b'],
    ['!FindInMap [Names, !Ref Stage, Long]', 'production'],
    ['!FindInMap [Names, 007, Long]', 'secret'],
    ['!FindInMap [Names, dev, Long, { DefaultValue: other }]', 'other'],
    ['!Join ["", !FindInMap [Names, prod, Many]]', 'ab'],
    ['!If [IsProd, yes-it-is, no]', 'yes-it-is'],
    ['!If [Either, either, neither]', 'either'],
    ['!If [IsDev, !Ref Nothing, fine]', 'fine'],
    ['!Join ["", [n, !Length [a, b, c]]]', 'n3'],
    ['!Join ["", [c, !Ref Count]]', 'c3'],
    ['!Join ["-", [a, !If [IsProd, !Ref AWS::NoValue, b], c]]', 'a-c'],
  ])('gives its value: %s', async (expression, name) => {
    assert.equal(await nameFrom(expression, surroundings), name)
  })

  test('keeps a literal ${} of Fn::Sub and encodes with Fn::Base64', async () => {
    const tags = "[{ Key: a, Value: !Sub '${!Literal}' }, { Key: b, Value: !Base64 hello }]"
    const { queues } = stackOf(
      await readText(
        `Resources: { Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q, Tags: ${tags} } } }`,
      ),
    )
    assert.deepEqual(queues[0]?.tags, { a: '${Literal}', b: 'aGVsbG8=' })
  })

  test('gives the URL, the ARN and the name of a queue', async () => {
    const { functions } = stackOf(
      await readText(`
Resources:
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: orders } }
  F:
    Type: AWS::Lambda::Function
    Properties:
      Handler: index.handler
      Code: ./code
      Environment:
        Variables:
          URL: !Ref Q
          SAME: !GetAtt Q.QueueUrl
          ARN: { 'Fn::GetAtt': [Q, Arn] }
          NAME: !Sub '\${Q.QueueName}'
          SELF: !Ref AWS::StackName
          ALL: !ToJsonString { queue: !Ref Q, n: 1 }
`),
    )
    const url = 'http://127.0.0.1:4566/000000000000/orders'
    assert.deepEqual(functions[0]?.environment, {
      URL: url,
      SAME: url,
      ARN: 'arn:aws:sqs:us-east-1:000000000000:orders',
      NAME: 'orders',
      SELF: 'test',
      ALL: `{"queue":"${url}","n":1}`,
    })
  })

  test('takes parameters from the caller', async () => {
    const text = `
Parameters: { Stage: { Type: String, AllowedValues: [dev, prod] } }
Resources: { Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Ref Stage } } }
`
    const { queues } = stackOf(await readText(text, { parameters: { Stage: 'dev' } }))
    assert.equal(queues[0]?.name, 'dev')
  })

  test('leaves out a resource whose condition is false', async () => {
    const { queues } = stackOf(
      await readText(`
${surroundings}
Resources:
  A: { Type: 'AWS::SQS::Queue', Condition: IsDev, Properties: { QueueName: a } }
  B: { Type: 'AWS::SQS::Queue', Condition: Either, Properties: { QueueName: b } }
`),
    )
    assert.deepEqual(
      queues.map(({ name }) => name),
      ['b'],
    )
  })

  test('names queues that have no name, in the same way every time', async () => {
    const text = `
Resources:
  Plain: { Type: 'AWS::SQS::Queue' }
  Ordered: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true } }
`
    const names = async (): Promise<readonly string[]> =>
      stackOf(await readText(text)).queues.map(({ name }) => name)
    const [plain, ordered] = await names()
    assert.match(plain ?? '', /^test-Plain-[A-Z2-7]{12}$/)
    assert.match(ordered ?? '', /^test-Ordered-[A-Z2-7]{12}\.fifo$/)
    assert.deepEqual(await names(), [plain, ordered])
  })

  test('imports what another stack exports, when the caller knows it', async () => {
    const text = `
Resources:
  Q:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: q
      RedrivePolicy: { deadLetterTargetArn: !ImportValue dead, maxReceiveCount: 2 }
`
    const imports = { dead: 'arn:aws:sqs:eu-west-1:123456789012:graveyard' }
    const { queues } = stackOf(await readText(text, { imports }))
    assert.deepEqual(queues[0]?.settings.deadLetter, { queue: 'graveyard', maxReceives: 2 })
  })
})

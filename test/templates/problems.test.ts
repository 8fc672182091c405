/** What is wrong with a template is told with its place, all of it at once. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readFiles, readText } from './reading.ts'

async function complaintsOf(text: string): Promise<readonly string[]> {
  return (await readText(text)).complaints
}

/** The complaints about one queue with these properties. */
function aboutQueue(properties: string): Promise<readonly string[]> {
  const lines = properties.split('\n').map((line) => `      ${line}`)
  return complaintsOf(
    ['Resources:', '  Q:', '    Type: AWS::SQS::Queue', '    Properties:', ...lines].join('\n'),
  )
}

describe('a problem with a queue', () => {
  test.each([
    [
      'VisibilityTimeout: 50000',
      'error template.yaml:5:26 VisibilityTimeout must be a whole number, 0 to 43200 seconds; ' +
        "it is '50000'.",
    ],
    [
      'DelaySeconds: ten',
      "error template.yaml:5:21 DelaySeconds must be a whole number, 0 to 900 seconds; it is 'ten'.",
    ],
    [
      'VisibiltyTimeout: 30',
      "error template.yaml:5:7 A queue has no property 'VisibiltyTimeout'; " +
        "did you mean 'VisibilityTimeout'?",
    ],
    [
      'QueueName: no spaces',
      'error template.yaml:5:18 QueueName must be 1 to 80 of A-Z a-z 0-9 _ -, and ' +
        "'.fifo' at the end of a FIFO queue only; it is 'no spaces'.",
    ],
    [
      'QueueName: orders.fifo',
      "error template.yaml:5:18 Only the name of a FIFO queue may end with '.fifo'. " +
        "Add 'FifoQueue: true', or change the name.",
    ],
    [
      'QueueName: orders\nFifoQueue: true',
      "error template.yaml:5:18 The name of a FIFO queue must end with '.fifo'.",
    ],
    [
      'QueueName: !Ref Topic',
      "error template.yaml:5:23 The parameter or resource 'Topic' does not exist.",
    ],
    [
      'RedrivePolicy: { maxReceiveCount: 3 }',
      'error template.yaml:5:22 Value {"maxReceiveCount":3} for parameter RedrivePolicy is invalid. ' +
        'Reason: Redrive policy does not contain mandatory attribute: deadLetterTargetArn.',
    ],
    [
      'FifoQueue: maybe',
      "error template.yaml:5:18 FifoQueue must be true or false; it is 'maybe'.",
    ],
    ['Tags: [{ Key: a }]', 'error template.yaml:5:13 A tag must be a map with a Key and a Value.'],
  ])('is told with its place: %s', async (properties, complaint) => {
    assert.deepEqual(await aboutQueue(properties), [complaint])
  })

  test('does not keep others from being told', async () => {
    const complaints = await aboutQueue('VisibilityTimeout: -1\nDelaySeconds: 901\nQueueName: ""')
    assert.deepEqual(
      complaints.map((text) => text.split(' ')[1]),
      ['template.yaml:5:26', 'template.yaml:6:21', 'template.yaml:7:18'],
    )
  })

  test('never quotes what is hidden', async () => {
    const { complaints } = await readText(
      `
Parameters: { Secret: { Type: String, NoEcho: true } }
Resources: { Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Sub 'a \${Secret}' } } }
`,
      { parameters: { Secret: 'hunter2' } },
    )
    assert.equal(complaints.length, 1)
    assert.match(complaints[0] ?? '', /it is a hidden value\.$/)
  })

  test('is told of a value that only AWS knows, where it is needed', async () => {
    const complaints = await complaintsOf(`
Resources:
  Topic: { Type: 'AWS::SNS::Topic' }
  Q:
    Type: AWS::SQS::Queue
    Properties: { QueueName: !GetAtt Topic.TopicName }
`)
    assert.deepEqual(complaints, [
      'error template.yaml:6:38 QueueName is required, but its value is only known on AWS: ' +
        'Topic.TopicName (AWS::SNS::Topic).',
    ])
  })
})

describe('a problem between queues', () => {
  const queue = (id: string, name: string, target?: string): string =>
    `  ${id}: { Type: 'AWS::SQS::Queue', Properties: { QueueName: ${name}${
      name.endsWith('.fifo') ? ', FifoQueue: true' : ''
    }${
      target === undefined
        ? ''
        : `, RedrivePolicy: { deadLetterTargetArn: !GetAtt ${target}.Arn, maxReceiveCount: 3 }`
    } } }`

  test.each([
    [
      'a name that is given twice',
      [queue('A', 'same'), queue('B', 'same')],
      "error template.yaml:3:3 'B' and 'A' both have the name 'same'.",
    ],
    [
      'a queue that is its own dead-letter queue',
      [queue('A', 'a', 'A')],
      'error template.yaml:2:76 A queue cannot be its own dead-letter queue.',
    ],
    [
      'dead letters of another type',
      [queue('A', 'a.fifo', 'B'), queue('B', 'b')],
      'error template.yaml:2:98 The dead-letter queue of a FIFO queue must have the same type; ' +
        "'b' is standard.",
    ],
  ])('is told: %s', async (_, lines, complaint) => {
    assert.deepEqual(await complaintsOf(['Resources:', ...lines].join('\n')), [complaint])
  })

  test('is told once when dead letters go round', async () => {
    const lines = [queue('A', 'a', 'B'), queue('B', 'b', 'C'), queue('C', 'c', 'B')]
    assert.deepEqual(await complaintsOf(['Resources:', ...lines].join('\n')), [
      'error template.yaml:3:76 The dead letters of this queue return to it through other queues.',
    ])
  })

  test('is a warning when a dead-letter queue is not in the template', async () => {
    const arn = 'arn:aws:sqs:us-east-1:000000000000:elsewhere'
    const policy = `RedrivePolicy: { deadLetterTargetArn: '${arn}', maxReceiveCount: 3 }`
    assert.deepEqual(await aboutQueue(`QueueName: q\n${policy}`), [
      "warning template.yaml:6:22 The template does not create the queue 'elsewhere'. " +
        'It must already exist.',
    ])
  })
})

describe('a problem with a reference', () => {
  test.each([
    ['!GetAtt Orders.Url', "A queue has no attribute 'Url'; it has Arn, QueueName, QueueUrl."],
    [
      '!GetAtt Odrers.Arn',
      "The parameter or resource 'Odrers' does not exist; did you mean 'Orders'?",
    ],
    [
      '!GetAtt Orders',
      "Fn::GetAtt needs a logical id and an attribute: 'Orders.Arn' or [Orders, Arn].",
    ],
    [
      '!ImportValue other',
      "No template here exports 'other'. Replace the import with a fixed value.",
    ],
    ['!Select [5, [a]]', "Fn::Select cannot select '5': the list has 1 entries, counted from 0."],
    ['!FindInMap [A, b, c]', "The mappings have no 'A.b.c'."],
    ['!If [Nope, a, b]', "The condition 'Nope' does not exist."],
    ['!Transform { Name: x }', "The function 'Fn::Transform' is not supported."],
    ['!Ref Given', "The parameter 'Given' has no value and no default. Use --param Given=…"],
    ['!Ref Q', 'This value refers to itself.'],
    ['!Ref Never', "'Never' is not created: its condition is false."],
    ['[a, b]', 'QueueName must be a string; it is a list.'],
  ])('is told: %s', async (expression, message) => {
    const { complaints } = await readText(`
Parameters: { Given: { Type: String } }
Conditions: { No: !Equals [a, b] }
Resources:
  Orders: { Type: 'AWS::SQS::Queue', Properties: { QueueName: orders } }
  Never: { Type: 'AWS::SQS::Queue', Condition: No }
  Q:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: ${expression}
`)
    assert.equal(complaints.length, 1)
    assert.ok(complaints[0]?.endsWith(` ${message}`), complaints[0])
  })

  test('is told once for a parameter that is not one of those allowed', async () => {
    const text = `
Parameters:
  Stage: { Type: String, Default: test, AllowedValues: [dev, prod] }
Resources:
  A: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Sub 'a-\${Stage}' } }
  B: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Sub 'b-\${Stage}' } }
`
    assert.deepEqual(await complaintsOf(text), [
      "error template.yaml:3:10 The parameter 'Stage' must be one of dev, prod; got 'test'.",
    ])
  })

  test('is told although a policy met it first, where it does not matter', async () => {
    const complaints = await complaintsOf(`
Conditions: { Odd: !Equals [!Ref Missing, a] }
Resources:
  Policy:
    Type: AWS::SQS::QueuePolicy
    Properties: { Queues: [!Ref Q, !Ref R], PolicyDocument: {} }
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: !Ref Missing } }
  R: { Type: 'AWS::SQS::Queue', Condition: Odd }
`)
    const missing = "The parameter or resource 'Missing' does not exist."
    assert.deepEqual(complaints, [
      `error template.yaml:2:34 ${missing}`,
      'warning template.yaml:4:3 The policy could not be resolved and is ignored.',
      `error template.yaml:7:63 ${missing}`,
    ])
  })

  test('is none of ours where nobody needs the value', async () => {
    const text = `
Resources:
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q } }
  Role:
    Type: AWS::IAM::Role
    Properties: { ManagedPolicyArns: [!ImportValue missing, !Ref Nowhere, !Foo x] }
  Api:
    Type: AWS::Lambda::Function
    Properties: { Code: { ImageUri: !Ref Nowhere }, Environment: { Variables: { A: !Ref Nowhere } } }
`
    assert.deepEqual(await complaintsOf(text), [])
  })
})

describe('a problem with a file', () => {
  test('is told when it is missing', async () => {
    const { complaints } = await readFiles({ 'a/b.yaml': '' }, {})
    assert.deepEqual(complaints, [
      'error a/b.yaml:1:1 This is not a template. Expected Resources (CloudFormation, SAM, CDK), ' +
        'or a service with a provider (serverless.yml).',
    ])
  })

  test('is told for a program', async () => {
    const { complaints } = await readFiles({ 'serverless.ts': 'export default {}' })
    assert.deepEqual(complaints, [
      'error serverless.ts:1:1 This is a program, and Millrace does not run programs to read templates. ' +
        'Generate the template first, with `serverless print` or `cdk synth`.',
    ])
  })

  test.each([
    ['Resources:\n  Q: [', 'error template.yaml:2:7 The file cannot be read: '],
    ['Resources:\n\tQ: 1', 'error template.yaml:2:1 The file cannot be read: '],
    ['Resources:\n  A: {}\n  A: {}', "error template.yaml:3:3 The key 'A' appears twice."],
    [
      'a: *b',
      "error template.yaml:1:4 The anchor '&b' does not exist before this alias, or contains it.",
    ],
    ['a: &b [*b]', "error template.yaml:1:8 The anchor '&b' does not exist"],
    ['a: !<tag:me> x', "error template.yaml:1:14 The tag 'tag:me' is not a CloudFormation tag."],
    ['? [a]\n: b', 'error template.yaml:1:3 A key must be a plain string.'],
    [
      'Resources: 1',
      "error template.yaml:1:12 A template must have 'Resources', a map by logical id.",
    ],
    ['Resources: { Q: 1 }', "error template.yaml:1:14 A resource must be a map with a 'Type'."],
    [
      "Resources: { 'Fn::ForEach::Queues': [] }",
      "error template.yaml:1:14 'Fn::ForEach' around resources is not supported.",
    ],
  ])('is told with its place: %j', async (text, complaint) => {
    const complaints = await complaintsOf(text)
    assert.ok(
      complaints.some((one) => one.startsWith(complaint)),
      complaints.join('\n'),
    )
  })
})

describe('a problem with an event source or an alarm', () => {
  const source = (properties: string): string => `
Resources:
  Q: { Type: 'AWS::SQS::Queue', Properties: { QueueName: q } }
  F: { Type: 'AWS::Lambda::Function', Properties: { FunctionName: f, Handler: a.b, Code: . } }
  S:
    Type: AWS::Lambda::EventSourceMapping
    Properties: { FunctionName: !Ref F, ${properties} }
`
  test.each([
    [
      'EventSourceArn: !GetAtt Q.Arn, BatchSize: 0',
      "error template.yaml:7:83 BatchSize must be a whole number, 1 to 10000 messages; it is '0'.",
    ],
    [
      'EventSourceArn: queue',
      'error template.yaml:7:57 EventSourceArn must be the ARN of a queue.',
    ],
    ['BatchSize: 1', 'error template.yaml:5:3 An event source needs the ARN of its queue.'],
    [
      "EventSourceArn: !GetAtt Q.Arn, FilterCriteria: { Filters: [{ Pattern: '{' }] }",
      'error template.yaml:7:111 The Pattern of a filter must be a string with a JSON object.',
    ],
  ])('is told: %s', async (properties, complaint) => {
    assert.deepEqual(await complaintsOf(source(properties)), [complaint])
  })

  test('is not told of streams', async () => {
    const stream = 'EventSourceArn: !ImportValue stream, StartingPosition: LATEST'
    assert.deepEqual(await complaintsOf(source(stream)), [])
    const arn = 'arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/1'
    assert.deepEqual(await complaintsOf(source(`EventSourceArn: '${arn}'`)), [])
  })

  test('is a warning for alarms that watch something else', async () => {
    const complaints = await complaintsOf(`
Resources:
  A: { Type: 'AWS::CloudWatch::Alarm', Properties: { Namespace: AWS/Lambda, MetricName: Errors } }
  B:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: NumberOfMessagesSent
      Dimensions: [{ Name: QueueName, Value: elsewhere }]
      Statistic: Sum
      Period: 300
      EvaluationPeriods: 3
      DatapointsToAlarm: 2
      Threshold: 1.5
      ComparisonOperator: LessThanThreshold
`)
    assert.deepEqual(complaints, [
      'warning template.yaml:3:65 The alarm does not watch AWS/SQS, so the alarm is ignored here.',
      "warning template.yaml:4:3 The template does not create the queue 'elsewhere'. " +
        'It must already exist.',
    ])
  })

  test('is a warning for alarms that cannot be evaluated here', async () => {
    const alarm = (id: string, more: string): string => `
  ${id}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      Dimensions: [{ Name: QueueName, Value: !GetAtt Q.QueueName }]
      Threshold: 1
      ComparisonOperator: GreaterThanThreshold
      ${more}`
    const sent = 'MetricName: NumberOfMessagesSent'
    const complaints = await complaintsOf(`
Resources:
  Q: { Type: 'AWS::SQS::Queue' }
${alarm('A', 'MetricName: SentMessageSize\n      Statistic: Sum\n      Period: 60\n      EvaluationPeriods: 1')}
${alarm('B', `${sent}\n      ExtendedStatistic: p99\n      Period: 60\n      EvaluationPeriods: 1`)}
${alarm('C', `${sent}\n      Statistic: Sum\n      Period: 3600\n      EvaluationPeriods: 25`)}
`)
    assert.deepEqual(
      complaints.map((complaint) => complaint.replace(/template.yaml:\S+ /, '')),
      [
        'warning This metric is not available, so the alarm is not evaluated here.',
        'warning Percentiles are not available, so the alarm is not evaluated here.',
        'warning The alarm evaluates more than one day, so the alarm is not evaluated here.',
      ],
    )
  })

  test('is told for a parameter that the template does not have', async () => {
    const { complaints } = await readText("Resources: { Q: { Type: 'AWS::SQS::Queue' } }", {
      parameters: { Stgae: 'dev' },
    })
    assert.deepEqual(complaints, [
      "warning template.yaml:1:1 The template has no parameter 'Stgae'.",
    ])
  })
})

/** Functions in container images: their handlers run if the files lie beside the Dockerfile. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readFiles, type TextReading } from './reading.ts'

const queue = '  Q: { Type: AWS::SQS::Queue, Properties: { QueueName: q } }'

function sam(metadata: string, config = ''): string {
  return `Transform: AWS::Serverless-2016-10-31
Resources:
${queue}
  Grade:
    Type: AWS::Serverless::Function
    Metadata: ${metadata}
    Properties:
      FunctionName: grade
      PackageType: Image
      ${config}
      Events: { Q: { Type: SQS, Properties: { Queue: !GetAtt Q.Arn } } }
`
}

const node = 'FROM public.ecr.aws/lambda/nodejs:22\n'

function found({ stack, complaints }: TextReading): unknown {
  const [one] = stack?.functions ?? []
  if (one === undefined) return complaints
  return [one.handler, one.folder.split('/').at(-1), one.runtime, stack?.eventSources.length]
}

describe('the function of an image', () => {
  test('is the last CMD of its Dockerfile, in the build context', async () => {
    const reading = await readFiles({
      'template.yaml': sam('{ DockerContext: ./grade, Dockerfile: Dockerfile.prod }'),
      'grade/Dockerfile.prod': `FROM node:22 AS build\nCMD ["other.handler"]\n${node}COPY \\\n  index.js ./\nCMD [ "index.handler" ]\n`,
      'grade/index.js': '',
    })
    assert.deepEqual(found(reading), ['index.handler', 'grade', 'nodejs22.x', 1])
    assert.deepEqual(reading.complaints, [])
  })

  test('is the command of its configuration, in a folder that the Dockerfile copies', async () => {
    const reading = await readFiles({
      'template.yaml': sam('{ DockerContext: . }', 'ImageConfig: { Command: [app.run] }'),
      Dockerfile: `${node}COPY --chown=1:1 src/ \${LAMBDA_TASK_ROOT}/\nCMD index.handler\n`,
      'src/app.ts': '',
    })
    assert.deepEqual(found(reading), ['app.run', 'src', 'nodejs22.x', 1])
  })

  test('may be built into a folder that another stage is copied from', async () => {
    const reading = await readFiles({
      'template.yaml': sam('{ DockerContext: . }'),
      Dockerfile: `FROM node:22 AS build\n${node}COPY --from=build /app/dist ./\nCMD ["index.handler"]`,
      'dist/index.mjs': '',
    })
    assert.deepEqual(found(reading), ['index.handler', 'dist', 'nodejs22.x', 1])
  })

  test('has the name of an image of serverless.yml', async () => {
    const functions = `service: s
provider:
  name: aws
  ecr: { images: { base: { path: ./image, file: Dockerfile.lambda } } }
functions:
  one: { image: base, events: [{ sqs: 'arn:aws:sqs:us-east-1:000000000000:q' }] }
  two:
    image: { name: base, command: [two.handler] }
    events: [{ sqs: 'arn:aws:sqs:us-east-1:000000000000:q2' }]
resources: { Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueName: q } } } }
`
    const { stack } = await readFiles({
      'serverless.yml': functions,
      'image/Dockerfile.lambda': `${node}CMD ["one.handler"]`,
      'image/one.js': '',
      'image/two.js': '',
    })
    assert.deepEqual(
      stack?.functions.map(({ handler }) => handler),
      ['one.handler', 'two.handler'],
    )
  })

  test('of another language is read, so that dev can say so', async () => {
    const reading = await readFiles({
      'template.yaml': sam('{ DockerContext: . }'),
      Dockerfile: 'FROM public.ecr.aws/lambda/python:3.12\nCMD ["app.handler"]',
    })
    assert.deepEqual(found(reading), [
      'app.handler',
      reading.stack?.functions[0]?.folder.split('/').at(-1),
      'python',
      1,
    ])
  })

  test.each<readonly [string, Readonly<Record<string, string>>, RegExp]>([
    [
      'without a command',
      { 'x/Dockerfile': node },
      /warning .*neither ImageConfig\.Command nor a CMD in x\/Dockerfile names its handler/,
    ],
    ['without a Dockerfile', {}, /warning .*neither ImageConfig\.Command nor a CMD/],
    [
      'whose file is missing',
      { 'x/Dockerfile': `${node}COPY src ./\nCMD ["index.handler"]` },
      /warning .*index\{\.js,.*\} of its handler 'index\.handler' is not in x, x\/src, so the function does not run/,
    ],
  ])('%s does not run, and the rest does', async (_, files, text) => {
    const reading = await readFiles({ 'template.yaml': sam('{ DockerContext: x }'), ...files })
    assert.equal(reading.stack?.functions.length, 0)
    assert.equal(reading.stack?.queues.length, 1)
    assert.match(reading.complaints.join('\n'), text)
  })
})

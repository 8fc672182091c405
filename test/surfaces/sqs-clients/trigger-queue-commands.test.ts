/** Commands out of a team's own pages, run by a shell as they stand there. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { startCommand } from '../../support/cli-process.ts'
import { debianEnvironment } from './debian-environment.ts'
import { attributesOf } from './queue-scene.ts'
import { jsonSdk } from './sdk-clients.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-commands')

const file = new URL('./trigger-queue-commands.sh', import.meta.url)

/** This version of the command knows of no variable for the endpoint: the shell adds it. */
const withEndpoint = 'aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }'

describe('the commands that create a trigger queue and its dead-letter queue', () => {
  test('run with nothing but the variables filled in', async () => {
    const commands = await readFile(file, 'utf8')
    const place = `${server.url}/000000000000/`
    const script = `set -eu\n${withEndpoint}\n${commands.replace('.../', place)}`
    const { code, stdout, stderr } = await startCommand(
      'bash',
      ['-c', script],
      debianEnvironment({
        AWS_ENDPOINT_URL: server.url,
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        ProjectPrefix: 'replies',
        EnvironmentName: 'dev',
      }),
    ).ended
    assert.equal(code, 0, stderr)
    const [dead, queue] = ['dlq', 'queue'].map((end) => `${place}replies-trigger-delay-${end}-dev`)
    assert.ok(stdout.includes(`"QueueUrl": "${dead}"`))
    assert.ok(stdout.includes(`"QueueUrl": "${queue}"`))
    const shown = await attributesOf(server.client(jsonSdk), { url: queue ?? '' })
    assert.equal(shown['VisibilityTimeout'], '905')
    assert.equal(shown['MessageRetentionPeriod'], '345600')
    assert.equal(shown['SqsManagedSseEnabled'], 'true')
    const policy = JSON.parse(shown['RedrivePolicy'] ?? '')
    assert.equal(
      policy.deadLetterTargetArn,
      'arn:aws:sqs:us-east-1:000000000000:replies-trigger-delay-dlq-dev',
    )
    assert.equal(Number(policy.maxReceiveCount), 3)
    const deadShown = await attributesOf(server.client(jsonSdk), { url: dead ?? '' })
    assert.equal(deadShown['MessageRetentionPeriod'], '1209600')
  })
})

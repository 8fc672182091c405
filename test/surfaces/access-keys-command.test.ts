import assert from 'node:assert/strict'
import { SQS } from '@aws-sdk/client-sqs'
import { describe, onTestFinished, test } from 'vitest'
import { runCli } from '../support/cli-process.ts'
import { commandServers } from './command-servers.ts'

const servers = commandServers('access-keys')
const secret = 'a-secret/of+the=team'

describe('the variable MILLRACE_ACCESS_KEYS', () => {
  test('says who may sign, and its secrets are not shown', async () => {
    const { server, url } = await servers.serve([], { MILLRACE_ACCESS_KEYS: `tutoring:${secret}` })
    const credentials = { accessKeyId: 'tutoring', secretAccessKey: secret }
    const client = new SQS({ endpoint: url, region: 'us-east-1', credentials, maxAttempts: 1 })
    onTestFinished(() => client.destroy())
    const { QueueUrl } = await client.createQueue({ QueueName: 'attempts' })
    assert.equal(QueueUrl, `${url}/000000000000/attempts`)
    assert.equal((await fetch(`${url}/?Action=ListQueues`)).status, 403)
    server.kill('SIGTERM')
    const { stdout, stderr } = await server.ended
    assert.match(stdout, /^ {2}export AWS_ACCESS_KEY_ID=tutoring$/m)
    assert.ok(!`${stdout}${stderr}`.includes(secret))
  })

  test('counts as none when it is empty', async () => {
    const { url } = await servers.serve([], { MILLRACE_ACCESS_KEYS: '' })
    assert.equal((await fetch(`${url}/?Action=ListQueues`)).status, 200)
  })

  test.each([
    [`tutoring:${secret}:12:34`, /MILLRACE_ACCESS_KEYS, entry 1.*id:secret or id:secret:account/],
    ['tutoring:short-secret', /accessKeys\[0\]\.secretAccessKey: .*at least 16 visible ASCII/],
  ])('in another form ends the command in one line, without the secret', async (list, line) => {
    const data = servers.fresh('data')
    const { code, stdout, stderr } = await runCli(['serve', '--port', '0', '--data', data], {
      MILLRACE_ACCESS_KEYS: list,
    })
    assert.equal(code, 1, stderr)
    assert.match(stderr, line)
    assert.equal(stderr.trimEnd().split('\n').length, 1)
    assert.ok(!/secret\/of|short-secret/.test(stdout + stderr), stderr)
  })

  test('lets the server listen to other machines', async () => {
    const env = { MILLRACE_ACCESS_KEYS: `tutoring:${secret}`, MILLRACE_HOST: '0.0.0.0' }
    const { url } = await servers.serve([], env)
    const { port } = new URL(url)
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    assert.equal((await fetch(`http://127.0.0.1:${port}/jobs`)).status, 403)
  })
})

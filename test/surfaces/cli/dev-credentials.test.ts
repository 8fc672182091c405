/** A dev server that asks for credentials, and the functions that it runs. */
import assert from 'node:assert/strict'
import { CreateQueueCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { describe, onTestFinished, test } from 'vitest'
import { startCli } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { devScene } from './dev-scene.ts'

const sdk = import.meta.resolve('@aws-sdk/client-sqs')
const team = { accessKeyId: 'team', secretAccessKey: 'a-secret/of+the=team' }
const other = { ...team, accessKeyId: 'other', account: '123456789012' }

/** As it would be on AWS: the client finds its endpoint and its key by itself. */
const answering = `
import { SendMessageCommand, SQSClient } from '${sdk}'
const client = new SQSClient({ maxAttempts: 1 })
export const handler = async (event) => {
  for (const { body } of event.Records) {
    const QueueUrl = process.env.RESULTS_URL
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'graded ' + body }))
    console.log('answered', body, process.env.AWS_ACCESS_KEY_ID, process.env.AWS_SESSION_TOKEN)
  }
}`

describe('a dev server with access keys', () => {
  test('gives functions a key of their account, in place of that of the shell', async () => {
    const { client, send, line, urlOf } = await devScene(undefined, {
      files: { 'src/grade.mjs': answering },
      accessKeys: [team, other],
      environment: {
        PATH: process.env['PATH'],
        AWS_ACCESS_KEY_ID: 'of-the-shell',
        AWS_SECRET_ACCESS_KEY: 'of-the-shell',
        AWS_SESSION_TOKEN: 'of-the-shell',
      },
    })
    await send('orders', 'one')
    assert.equal((await line(/^output: answered/)).trim(), 'output: answered one team undefined')
    const results = new ReceiveMessageCommand({ QueueUrl: urlOf('results'), WaitTimeSeconds: 20 })
    const { Messages = [] } = await client.send(results)
    assert.deepEqual(
      Messages.map(({ Body }) => Body),
      ['graded one'],
    )
  })

  test('refuses whoever does not sign', async () => {
    const { dev, client } = await devScene(undefined, { accessKeys: [team] })
    assert.equal((await fetch(`${dev.url}/?Action=ListQueues`)).status, 403)
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: 'more' }))
    assert.equal(QueueUrl, `${dev.url}/000000000000/more`)
  })
})

test('millrace dev takes credentials from the environment, and does not show secrets', async () => {
  const folder = await temporaryFolder('dev-credentials')
  onTestFinished(() => folder.remove())
  const dev = startCli(['dev', '--host', '0.0.0.0', '--port', '0', '--data', folder.file('data')], {
    MILLRACE_ACCESS_KEYS: `team:${team.secretAccessKey}`,
    MILLRACE_API_KEYS: 'ops:admin:0123456789abcdef0123456789abcdef',
  })
  onTestFinished(() => dev.kill('SIGKILL'))
  const [, port = ''] = await dev.output(/listening on http:\S+:(\d+).*AWS_ACCESS_KEY_ID=team\n/s)
  const url = `http://127.0.0.1:${port}`
  assert.equal((await fetch(`${url}/?Action=ListQueues`)).status, 403)
  // Without keys of its own the HTTP API is closed here (403); with them, no app is all it lacks.
  assert.equal((await fetch(`${url}/jobs`)).status, 404)
  dev.kill('SIGTERM')
  const { code, stdout, stderr } = await dev.ended
  assert.equal(code, 0, stderr)
  assert.ok(!`${stdout}${stderr}`.includes(team.secretAccessKey))
})

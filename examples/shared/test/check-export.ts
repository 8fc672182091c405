/** Exports an app with `millrace template export` and checks that the template declares the same queues. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { runCli } from '../../../test/support/cli-process.ts'
import { inTemporaryFolder } from '../../../test/support/temporary-folder.ts'

const formats = ['cloudformation', 'sam', 'serverless'] as const

/** The actions that a role needs to send to a queue, or to receive from it. */
const grants = [
  ['sqs:SendMessage', 'sqs:GetQueueAttributes', 'sqs:GetQueueUrl'],
  [
    'sqs:ReceiveMessage',
    'sqs:DeleteMessage',
    'sqs:ChangeMessageVisibility',
    'sqs:GetQueueAttributes',
    'sqs:GetQueueUrl',
  ],
]

/** Exactly one statement on exactly one queue. A `*` or a second queue is refused. */
const Policy = z.strictObject({
  Type: z.literal('AWS::IAM::ManagedPolicy'),
  Properties: z.strictObject({
    Description: z.string(),
    PolicyDocument: z.strictObject({
      Version: z.literal('2012-10-17'),
      Statement: z.tuple([
        z.strictObject({
          Effect: z.literal('Allow'),
          Action: z.array(z.string()),
          Resource: z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) }),
        }),
      ]),
    }),
  }),
})

const Template = z.object({ Resources: z.record(z.string(), z.looseObject({ Type: z.string() })) })

interface Run {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command that must succeed. */
async function run(...args: readonly string[]): Promise<Run> {
  const { code, stdout, stderr } = await runCli(args)
  assert.equal(code, 0, stderr)
  return { stdout, stderr }
}

/** Deploys the template in every format, compares its queues with those of the app, and returns their names. */
export async function checkQueues(app: string): Promise<readonly string[]> {
  let own: readonly string[] = []
  await inTemporaryFolder('export', async ({ file }) => {
    const queuesOf = async (source: string, data: string): Promise<readonly string[]> => {
      await run('up', source, '--data', file(data))
      const { stdout } = await run('queue', 'list', '--data', file(data), '--json')
      const { queues } = JSON.parse(stdout) as { readonly queues: { readonly name: string }[] }
      return queues.map(({ name }) => name).toSorted()
    }
    own = await queuesOf(app, 'own')
    for (const format of formats) {
      const template = file(`${format}.yml`)
      const { stdout } = await run('template', 'export', '--app', app, '--format', format)
      await writeFile(template, stdout)
      assert.deepEqual(await queuesOf(template, format), own, format)
    }
  })
  return own
}

/** Checks that each policy is for one role on one queue, without duplicates. Returns the warnings. */
export async function checkPolicies(app: string): Promise<string> {
  const { stdout, stderr } = await run('template', 'export', '--app', app, '--json')
  const { Resources: resources } = Template.parse(JSON.parse(stdout))
  const granted: string[] = []
  for (const resource of Object.values(resources)) {
    assert.ok(!/^AWS::IAM::(?!ManagedPolicy$)/.test(resource.Type), resource.Type)
    if (resource.Type !== 'AWS::IAM::ManagedPolicy') continue
    const [{ Action, Resource }] = Policy.parse(resource).Properties.PolicyDocument.Statement
    const role = grants.findIndex((actions) => actions.join() === Action.join())
    assert.notEqual(role, -1, `${Action} is more than a role needs, or less`)
    const [queue] = Resource['Fn::GetAtt']
    assert.equal(resources[queue]?.Type, 'AWS::SQS::Queue')
    granted.push(`${queue} ${role}`)
  }
  assert.ok(granted.length > 0)
  assert.equal(new Set(granted).size, granted.length)
  return stderr
}

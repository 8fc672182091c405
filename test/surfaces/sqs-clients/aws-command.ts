/** The aws command of Debian's packages, run for each call, with the input in a file. */
import { writeFile } from 'node:fs/promises'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { debianEnvironment } from './debian-environment.ts'
import { type LineProcess, lineProcess } from './line-process.ts'
import {
  type ActionName,
  type ClientKind,
  type ClientSettings,
  type InputOf,
  type OutputOf,
  type SqsClient,
  SqsRefusal,
  secretAccessKey,
} from './sqs-client.ts'

export const awsCommand: ClientKind = {
  name: 'the aws command',
  protocol: 'query',
  open: openAwsCommand,
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function openAwsCommand({ endpoint, region, accessKeyId }: ClientSettings): SqsClient {
  const env = debianEnvironment({
    AWS_DEFAULT_REGION: region ?? 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKeyId ?? 'test',
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_MAX_ATTEMPTS: '1',
  })
  const host: LineProcess = lineProcess({ script: './aws-command-host.py', args: [], env })
  const folder: Promise<TemporaryFolder> = temporaryFolder('aws-command')
  const options = ['--endpoint-url', endpoint, '--output', 'json', '--no-paginate']
  let count = 0
  return {
    protocol: awsCommand.protocol,
    async call<Name extends ActionName>(action: Name, input: InputOf<Name>) {
      const file = (await folder).file(`input-${count++}.json`)
      await writeFile(file, JSON.stringify(input, withBase64))
      const args = ['sqs', commandOf(action), '--cli-input-json', `file://${file}`, ...options]
      // What the command prints has the members that the types of the SDK name.
      return outputOf((await host.ask({ args })) as Ended) as OutputOf<Name>
    },
    async close() {
      await host.close()
      await (await folder).remove()
    },
  }
}

/** `GetQueueUrl` is `get-queue-url`. */
function commandOf(action: ActionName): string {
  return action.replaceAll(/(?<=.)[A-Z]/g, '-$&').toLowerCase()
}

const refused = /An error occurred \(([\w.]+)\) when calling the \w+ operation(?: \(.*?\))?: (.*)/s

function outputOf({ code, stdout, stderr }: Ended): unknown {
  if (code === 0) return stdout.trim() === '' ? {} : JSON.parse(stdout, fromBase64)
  const [, error, message] = refused.exec(stderr) ?? []
  if (error === undefined || message === undefined) throw new Error(`aws ended: ${stderr}`)
  throw new SqsRefusal({ code: error, kind: error, status: undefined, message: message.trim() })
}

function withBase64(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

function fromBase64(key: string, value: unknown): unknown {
  return key === 'BinaryValue' ? new Uint8Array(Buffer.from(String(value), 'base64')) : value
}

/** boto3 of Debian's packages, in one Python process per client. */
import { debianEnvironment } from './debian-environment.ts'
import { lineProcess } from './line-process.ts'
import {
  type ActionName,
  type ClientKind,
  type ClientSettings,
  type InputOf,
  type OutputOf,
  type RefusalFacts,
  type SqsClient,
  SqsRefusal,
  secretAccessKey,
} from './sqs-client.ts'

export const boto3: ClientKind = { name: 'boto3', protocol: 'query', open: openBoto3 }

export interface Boto3Client extends SqsClient {
  /** A URL that makes the call when somebody opens it. */
  presign<Name extends ActionName>(action: Name, input: InputOf<Name>): Promise<string>
}

type Answer =
  | { readonly output: unknown }
  | { readonly refusal: RefusalFacts }
  | { readonly failure: string }

export function openBoto3({ endpoint, region, accessKeyId }: ClientSettings): Boto3Client {
  const settings = {
    endpoint,
    region: region ?? 'us-east-1',
    accessKeyId: accessKeyId ?? 'test',
    secretAccessKey,
  }
  const python = lineProcess({
    script: './boto3-driver.py',
    args: [JSON.stringify(settings)],
    env: debianEnvironment(),
  })
  const ask = async (action: ActionName, input: object, presign: boolean): Promise<unknown> => {
    const request = { action, presign, input: mapBinary(input, toBase64) }
    // The driver answers in these three forms.
    const answer = (await python.ask(request)) as Answer
    if ('refusal' in answer) throw new SqsRefusal(answer.refusal)
    if ('failure' in answer) throw new Error(answer.failure)
    return mapBinary(answer.output, fromBase64)
  }
  return {
    protocol: boto3.protocol,
    // boto3 gives its answers the members that the types of the SDK name.
    call: <Name extends ActionName>(action: Name, input: InputOf<Name>) =>
      ask(action, input, false) as Promise<OutputOf<Name>>,
    presign: async (action, input) => String(await ask(action, input, true)),
    close: () => python.close(),
  }
}

/** Goes through what JSON is made of, and through bytes, which JSON is not made of. */
function mapBinary(value: unknown, change: (value: object) => object | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => mapBinary(item, change))
  if (value === null || typeof value !== 'object') return value
  const changed = change(value)
  if (changed !== undefined) return changed
  const entries = Object.entries(value).map(([key, item]) => [key, mapBinary(item, change)])
  return Object.fromEntries(entries)
}

function toBase64(value: object): object | undefined {
  if (!(value instanceof Uint8Array)) return undefined
  return { $binary: Buffer.from(value).toString('base64') }
}

function fromBase64(value: object): object | undefined {
  if (!('$binary' in value)) return undefined
  return new Uint8Array(Buffer.from(String(value.$binary), 'base64'))
}

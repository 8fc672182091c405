/**
 * The AWS SDK for JavaScript: the current one, which speaks JSON, and one of 2023, which speaks Query.
 * Both check the MD5 of every body that they send and receive, as they do for everybody.
 */
import { SQS as JsonSqs } from '@aws-sdk/client-sqs'
import { SQS as QuerySqs } from 'client-sqs-query'
import {
  type ActionName,
  type ClientKind,
  type ClientSettings,
  type InputOf,
  type OutputOf,
  type ProtocolName,
  type SqsClient,
  SqsRefusal,
  secretAccessKey,
} from './sqs-client.ts'

export const jsonSdk: ClientKind = {
  name: 'the current AWS SDK',
  protocol: 'json',
  open: (settings) => sdkClient('json', new JsonSqs(optionsOf(settings))),
}

export const querySdk: ClientKind = {
  name: 'an AWS SDK of 2023',
  protocol: 'query',
  open: (settings) => sdkClient('query', new QuerySqs(optionsOf(settings))),
}

/** What both versions of the SDK understand. */
export interface SdkOptions {
  readonly endpoint: string
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
  readonly maxAttempts: number
}

export function optionsOf({ endpoint, region, accessKeyId }: ClientSettings): SdkOptions {
  return {
    endpoint,
    region: region ?? 'us-east-1',
    credentials: { accessKeyId: accessKeyId ?? 'test', secretAccessKey },
    // A refusal must reach the test, not be tried again.
    maxAttempts: 1,
  }
}

type Method = (input: unknown) => Promise<Readonly<Record<string, unknown>>>

function sdkClient(protocol: ProtocolName, client: JsonSqs | QuerySqs): SqsClient {
  return {
    protocol,
    async call<Name extends ActionName>(action: Name, input: InputOf<Name>) {
      const method = Reflect.get(client, `${action.charAt(0).toLowerCase()}${action.slice(1)}`)
      try {
        // Both SDKs have a method of this form for each action.
        const { $metadata, ...output } = await (method as Method).call(client, input)
        return definedOf(output) as OutputOf<Name>
      } catch (error) {
        throw refusalFrom(error)
      }
    },
    async close() {
      client.destroy()
    },
  }
}

/** The older SDK writes out members that were not in the answer. */
function definedOf(output: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(output).filter(([, value]) => value !== undefined))
}

interface SdkError extends Error {
  readonly Code?: string
  /** What was in the answer: the older SDK has no other place for the text of errors it has a class for. */
  readonly Error?: { readonly Code?: string; readonly Message?: string }
  readonly $metadata: { readonly httpStatusCode?: number }
}

function refusalFrom(error: unknown): unknown {
  if (!isSdkError(error)) return error
  const { name, Code, Error: answer, $metadata } = error
  return new SqsRefusal({
    code: Code ?? answer?.Code ?? name,
    kind: name,
    message: answer?.Message ?? error.message,
    status: $metadata.httpStatusCode,
  })
}

function isSdkError(error: unknown): error is SdkError {
  return error instanceof Error && '$metadata' in error
}

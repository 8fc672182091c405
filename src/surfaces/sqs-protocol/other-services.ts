/**
 * Requests for other services of AWS. SDKs send them here when all of their services share one endpoint
 * setting. They get an error that says so, in a form that clients of that service can read.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { RequestHead } from './access/canonical-request.ts'
import { scopeOf } from './access/credential-scope.ts'
import { isForm } from './content-types.ts'
import { jsonProtocol } from './json-protocol.ts'
import type { Protocol } from './protocol.ts'
import { queryProtocol } from './query-protocol.ts'
import { otherService } from './refusals.ts'
import type { SqsError } from './sqs-error.ts'

export interface OtherService {
  readonly protocol: Protocol
  readonly error: SqsError
}

/** Undefined when a request is for SQS, or when it does not say what it is for. */
export function otherServiceOf(
  head: RequestHead,
  headers: IncomingHttpHeaders,
): OtherService | undefined {
  const { 'x-amz-target': target, 'content-type': contentType = '' } = headers
  const isTargeted = typeof target === 'string' && !isForm(contentType)
  const service = isTargeted ? targetedService(target) : scopeOf(head)?.service
  if (service === undefined || service === 'sqs') return undefined
  const isXml =
    !isTargeted &&
    (isForm(contentType) || /[?&]Action=/.test(head.url) || xmlServices.includes(service))
  return isXml
    ? { protocol: queryProtocol, error: otherService('InvalidAction', service) }
    : { protocol: jsonProtocol, error: otherService('UnknownOperationException', service) }
}

/** Those that neither name an action nor speak JSON. */
const xmlServices: readonly string[] = ['s3', 's3express', 'route53', 'cloudfront']

function targetedService(target: string): string | undefined {
  const [, prefix] = /^([A-Za-z]\w*)\.\w/.exec(target) ?? []
  return prefix === 'AmazonSQS' ? undefined : prefix
}

/**
 * Requests for other AWS services. SDKs send them here if all services share one endpoint setting. They get
 * an error that explains this, in a form that clients of that service can read.
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

/** Returns undefined if the request is for SQS or names no service. */
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

/** Services with XML errors, whose requests name no action. */
const xmlServices: readonly string[] = ['s3', 's3express', 'route53', 'cloudfront']

function targetedService(target: string): string | undefined {
  const [, prefix] = /^([A-Za-z]\w*)\.\w/.exec(target) ?? []
  return prefix === 'AmazonSQS' ? undefined : prefix
}

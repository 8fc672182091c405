/** The HTTP response that API Gateway makes from what a function returned. */
import type { HttpRoute } from './http-route.ts'

export interface GatewayResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Uint8Array
}

/** Responses of the gateway itself. The texts differ between HTTP APIs and REST APIs. */
const own = {
  notFound: { http: [404, 'Not Found'], rest: [403, 'Missing Authentication Token'] },
  failed: { http: [500, 'Internal Server Error'], rest: [502, 'Internal server error'] },
  timedOut: { http: [503, 'Service Unavailable'], rest: [504, 'Endpoint request timed out'] },
  tooLarge: { http: [413, 'Request Entity Too Large'], rest: [413, 'Request Too Long'] },
} as const

export function gatewayProblem(problem: keyof typeof own, api: HttpRoute['api']): GatewayResponse {
  const [status, message] = own[problem][api]
  return json(status, JSON.stringify({ message }))
}

/** @param returned JSON, as the function returned it */
export function gatewayResponse(returned: string, route: HttpRoute): GatewayResponse {
  const value: unknown = JSON.parse(returned)
  if (!isRecord(value) || value['statusCode'] === undefined) {
    // Only format 2.0 has a response without a status.
    if (route.payload === '1.0') return gatewayProblem('failed', route.api)
    return json(200, typeof value === 'string' ? value : value === null ? '' : returned)
  }
  const status = Number(value['statusCode'])
  const { body = '', isBase64Encoded } = value
  const isValid = Number.isInteger(status) && status >= 100 && status <= 599
  // A REST API refuses a body that is not text; an HTTP API writes it as JSON.
  const text = typeof body === 'string' ? body : body === null ? '' : undefined
  if (!isValid || (text === undefined && route.api === 'rest')) {
    return gatewayProblem('failed', route.api)
  }
  const content = text ?? JSON.stringify(body)
  const headers = [...headersIn(value), ...cookiesIn(value, route)]
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type')
  const type = route.api === 'rest' ? 'application/json' : 'text/plain;charset=UTF-8'
  return {
    status,
    headers: hasType || content === '' ? headers : [...headers, ['content-type', type]],
    body: isBase64Encoded === true ? Buffer.from(content, 'base64') : content,
  }
}

/** A header in both maps has the values of `multiValueHeaders`. */
function headersIn(
  value: Readonly<Record<string, unknown>>,
): readonly (readonly [string, string])[] {
  const { headers, multiValueHeaders } = value
  const many = isRecord(multiValueHeaders) ? multiValueHeaders : {}
  const names = new Set(Object.keys(many).map((name) => name.toLowerCase()))
  const single = Object.entries(isRecord(headers) ? headers : {})
  return [
    ...single.flatMap(([name, one]) =>
      names.has(name.toLowerCase()) ? [] : [[name, String(one)] as const],
    ),
    ...Object.entries(many).flatMap(([name, list]) =>
      (Array.isArray(list) ? list : [list]).map((one) => [name, String(one)] as const),
    ),
  ]
}

function cookiesIn(
  { cookies }: Readonly<Record<string, unknown>>,
  { payload }: HttpRoute,
): readonly (readonly [string, string])[] {
  if (payload === '1.0' || !Array.isArray(cookies)) return []
  return cookies.map((cookie) => ['set-cookie', String(cookie)] as const)
}

function json(status: number, body: string): GatewayResponse {
  return { status, headers: [['content-type', 'application/json']], body }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

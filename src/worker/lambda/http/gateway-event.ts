/** The event that API Gateway makes from an HTTP request, in the payload formats 1.0 and 2.0. */
import type { RouteMatch } from './http-route.ts'

export interface GatewayRequest {
  readonly method: string
  /** The path and the query, as in the request line. */
  readonly target: string
  /** Names and values, one after the other, as Node has them in `rawHeaders`. */
  readonly rawHeaders: readonly string[]
  readonly body: Uint8Array
  readonly sourceIp: string
  readonly requestId: string
  readonly nowMs: number
  readonly account: string
}

export function gatewayEvent(request: GatewayRequest, match: RouteMatch): object {
  return match.route.payload === '2.0' ? eventOf2(request, match) : eventOf1(request, match)
}

function eventOf2(request: GatewayRequest, { route, parameters, path }: RouteMatch): object {
  const { method, target, requestId, sourceIp, nowMs, account } = request
  const headers = headersOf(request, true)
  const { cookie, ...others } = joined(headers)
  const [, query = ''] = split(target)
  const parsed = queryOf(query)
  const domain = others['host'] ?? 'localhost'
  return {
    version: '2.0',
    routeKey: keyOf(route),
    rawPath: path,
    rawQueryString: query,
    ...(cookie !== undefined && { cookies: cookie.split(/;\s*/) }),
    headers: others,
    ...(parsed.size > 0 && { queryStringParameters: joined(parsed) }),
    requestContext: {
      accountId: account,
      apiId: 'local',
      domainName: domain,
      domainPrefix: domain.split(/[.:]/)[0],
      http: {
        method,
        path,
        protocol: 'HTTP/1.1',
        sourceIp,
        userAgent: others['user-agent'] ?? '',
      },
      requestId,
      routeKey: keyOf(route),
      stage: route.stage,
      time: gatewayTime(nowMs),
      timeEpoch: nowMs,
    },
    ...(Object.keys(parameters).length > 0 && { pathParameters: parameters }),
    ...bodyOf2(request, others['content-type']),
  }
}

function eventOf1(request: GatewayRequest, { route, parameters, path }: RouteMatch): object {
  const { method, target, requestId, sourceIp, nowMs, account } = request
  const headers = headersOf(request, false)
  const parsed = queryOf(split(target)[1])
  const last = lasts(headers)
  return {
    ...(route.api === 'http' && { version: '1.0' }),
    resource: route.path === '$default' ? '/{proxy+}' : route.path,
    path,
    httpMethod: method,
    headers: last,
    multiValueHeaders: Object.fromEntries(headers),
    queryStringParameters: parsed.size === 0 ? null : lasts(parsed),
    multiValueQueryStringParameters: parsed.size === 0 ? null : Object.fromEntries(parsed),
    pathParameters: Object.keys(parameters).length === 0 ? null : parameters,
    stageVariables: null,
    requestContext: {
      accountId: account,
      apiId: 'local',
      domainName: 'localhost',
      httpMethod: method,
      identity: { sourceIp, userAgent: headerNamed(headers, 'user-agent') ?? null },
      path: route.api === 'rest' ? `/${route.stage}${path}` : path,
      protocol: 'HTTP/1.1',
      requestId,
      requestTime: gatewayTime(nowMs),
      requestTimeEpoch: nowMs,
      resourcePath: route.path,
      stage: route.stage,
    },
    ...bodyOf1(request),
  }
}

function keyOf({ path, method }: RouteMatch['route']): string {
  return path === '$default' ? path : `${method} ${path}`
}

/** An HTTP API passes texts on as they are, and everything else as base64. */
const textTypes =
  /^(?:text\/|application\/(?:json|javascript|xml)\b|application\/[\w.+-]+\+(?:json|xml)\b)/i

function bodyOf2({ body }: GatewayRequest, type: string | undefined): object {
  if (body.length === 0) return { isBase64Encoded: false }
  const isText = type === undefined || textTypes.test(type)
  return {
    body: Buffer.from(body).toString(isText ? 'utf8' : 'base64'),
    isBase64Encoded: !isText,
  }
}

/** A REST API passes everything on as text. Bytes that are not text are base64 here. */
function bodyOf1({ body }: GatewayRequest): object {
  if (body.length === 0) return { body: null, isBase64Encoded: false }
  const bytes = Buffer.from(body)
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes)
  return { body: isText ? text : bytes.toString('base64'), isBase64Encoded: !isText }
}

type Values = ReadonlyMap<string, readonly string[]>

function headersOf({ rawHeaders }: GatewayRequest, isLowerCase: boolean): Values {
  const headers = new Map<string, string[]>()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    add(headers, isLowerCase ? name.toLowerCase() : name, value)
  }
  return headers
}

function queryOf(query: string): Values {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(query)) add(values, name, value)
  return values
}

function add(values: Map<string, string[]>, name: string, value: string): void {
  const list = values.get(name)
  if (list === undefined) values.set(name, [value])
  else list.push(value)
}

function joined(values: Values): Record<string, string> {
  return Object.fromEntries([...values].map(([name, list]) => [name, list.join(',')]))
}

function lasts(values: Values): Record<string, string> {
  return Object.fromEntries([...values].map(([name, list]) => [name, list.at(-1) ?? '']))
}

function headerNamed(values: Values, name: string): string | undefined {
  return [...values].find(([one]) => one.toLowerCase() === name)?.[1].at(-1)
}

/** The path and the query of a request target. */
export function split(target: string): readonly [path: string, query: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** As API Gateway writes it: `12/Mar/2026:19:03:58 +0000`. */
function gatewayTime(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  const [year, month, day] = date.split('-')
  return `${day}/${months[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`
}

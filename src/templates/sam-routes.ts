/** Converts the `Api` and `HttpApi` events of SAM functions to routes. */
import { entriesOf, type Node, stringOf, valueAt } from './node.ts'
import { type DeclaredRoute, routeResource } from './route-reader.ts'
import type { Resource } from './template.ts'

/** The settings of all APIs of one kind in a template. */
interface ApiSettings {
  readonly cors: boolean
  readonly guard: string | undefined
}

export interface SamApis {
  readonly Api: ApiSettings
  readonly HttpApi: ApiSettings
}

/** From the globals, and from the declared APIs of the template. */
export function samApis(document: Node, resources: Iterable<Resource>): SamApis {
  const all = [...resources]
  const settingsOf = (kind: keyof SamApis): ApiSettings => {
    const declared = all.filter(({ type }) => type === `AWS::Serverless::${kind}`)
    const blocks = [
      valueAt(valueAt(document, 'Globals'), kind),
      ...declared.map(({ properties }) => properties),
    ]
    const has = (name: string): boolean => blocks.some((one) => valueAt(one, name) !== undefined)
    const guards = blocks.map((one) => guardIn(valueAt(one, 'Auth'), 'DefaultAuthorizer'))
    return {
      cors: has('Cors') || has('CorsConfiguration'),
      guard: guards.find((guard) => guard !== undefined),
    }
  }
  return { Api: settingsOf('Api'), HttpApi: settingsOf('HttpApi') }
}

export function samRoutes(
  resource: Resource,
  events: Node | undefined,
  apis: SamApis,
): readonly Resource[] {
  return entriesOf(events).flatMap(([name, { keyAt, value }]) => {
    const kind = stringOf(valueAt(value, 'Type'))
    if (kind !== 'Api' && kind !== 'HttpApi') return []
    const route = routeOf(kind, valueAt(value, 'Properties'), apis[kind])
    const origin = { at: keyAt, path: value.path }
    const id = `${resource.logicalId}${name}`
    const { condition } = resource
    return [routeResource(resource.logicalId, route, { id, origin, condition })]
  })
}

function routeOf(
  kind: keyof SamApis,
  properties: Node | undefined,
  { cors, guard }: ApiSettings,
): DeclaredRoute {
  const auth = valueAt(properties, 'Auth')
  const isOpen = stringOf(valueAt(auth, 'Authorizer')) === 'NONE'
  const version = valueAt(properties, 'PayloadFormatVersion')
  const isOld = kind === 'Api' || (version?.kind === 'scalar' && /^1(?:\.0)?$/.test(version.text))
  return {
    api: kind === 'Api' ? 'rest' : 'http',
    payload: isOld ? '1.0' : '2.0',
    method: valueAt(properties, 'Method'),
    path: valueAt(properties, 'Path'),
    stage: kind === 'Api' ? 'Prod' : '$default',
    cors,
    guard: isOpen ? undefined : (guardIn(auth, 'Authorizer') ?? guard),
  }
}

function guardIn(auth: Node | undefined, name: string): string | undefined {
  if (valueAt(auth, name) !== undefined) return 'an authorizer'
  const key = valueAt(auth, 'ApiKeyRequired')
  return key?.kind === 'scalar' && key.text === 'true' ? 'an API key' : undefined
}

/** Converts the `httpApi` and `http` events of serverless.yml to routes. */

import { entriesOf, type Node, valueAt } from './node.ts'
import { isTrue } from './references.ts'
import { type DeclaredRoute, methodAndPath, routeResource } from './route-reader.ts'
import type { EventfulFunction } from './serverless-events.ts'
import { functionLogicalId } from './serverless-naming.ts'
import type { ServerlessVariables } from './serverless-variables.ts'
import type { Resource } from './template.ts'

export function serverlessRoutes(
  variables: ServerlessVariables,
  { key, declared, origin }: EventfulFunction,
): readonly Resource[] {
  const written = valueAt(declared, 'events')
  const events = written === undefined ? undefined : variables.shallow(written)
  if (events?.kind !== 'list') return []
  return events.items.flatMap((item, index) => {
    const route = routeOf(variables, declared, variables.shallow(item))
    if (route === undefined) return []
    const id = `${functionLogicalId(key)}Route${index}`
    return [routeResource(functionLogicalId(key), route, { id, origin, condition: undefined })]
  })
}

function routeOf(
  variables: ServerlessVariables,
  declared: Node,
  event: Node,
): DeclaredRoute | undefined {
  const [entry] = entriesOf(event).filter(([name]) => name === 'httpApi' || name === 'http')
  // An event without settings, `- httpApi`, is not valid in the framework either.
  if (entry === undefined) return undefined
  const [kind, { value }] = entry
  const written = variables.deep(value)
  const place = written.kind === 'map' ? mapPlace(written) : methodAndPath(written)
  const guarded = (name: string): boolean => {
    const guard = valueAt(written, name)
    return guard !== undefined && !isFalse(guard)
  }
  if (kind === 'http') {
    const guard = guarded('authorizer') ? 'an authorizer' : undefined
    return {
      ...place,
      api: 'rest',
      payload: '1.0',
      stage: variables.stage,
      cors: guarded('cors'),
      guard: guard ?? (guarded('private') ? 'an API key' : undefined),
    }
  }
  const payload =
    valueAt(variables.shallow(valueAt(declared, 'httpApi') ?? declared), 'payload') ??
    variables.lookUp('provider.httpApi.payload')
  const cors = variables.lookUp('provider.httpApi.cors')
  return {
    ...place,
    api: 'http',
    payload: payload?.kind === 'scalar' && payload.text === '1.0' ? '1.0' : '2.0',
    stage: '$default',
    cors: cors !== undefined && !isFalse(cors),
    guard: guarded('authorizer') ? 'an authorizer' : undefined,
  }
}

function mapPlace(event: Node): Pick<DeclaredRoute, 'method' | 'path'> {
  return { method: valueAt(event, 'method'), path: valueAt(event, 'path') }
}

function isFalse(node: Node): boolean {
  return node.kind === 'scalar' && !isTrue(node) && /^(?:false|)$/i.test(node.text)
}

/**
 * Reads the HTTP routes of functions. The dialects that have such events convert them to a resource of this
 * type, so that references and conditions are resolved in one way. Routes with an authorizer are not served.
 */
import type { Evaluator } from './evaluator.ts'
import { functionNameIn } from './function-reader.ts'
import { mapNode, type Node, type Origin, scalarNode, stringOf } from './node.ts'
import { PropertyReader } from './property-reader.ts'
import type { StackRoute } from './stack.ts'
import type { Resource } from './template.ts'

export const routeType = 'Millrace::Function::Route'

/** A route as a dialect declares it. */
export interface DeclaredRoute {
  readonly api: StackRoute['api']
  readonly payload: StackRoute['payload']
  readonly method: Node | undefined
  readonly path: Node | undefined
  readonly stage: string
  readonly cors: boolean
  /** What protects the route; undefined if nothing does. */
  readonly guard: string | undefined
}

/** @param logicalId of the function */
export function routeResource(
  logicalId: string,
  route: DeclaredRoute,
  { id, origin, condition }: { id: string; origin: Origin; condition: Node | undefined },
): Resource {
  const text = (value: string | boolean): Node => scalarNode(value, origin)
  return {
    logicalId: id,
    type: routeType,
    properties: mapNode(
      {
        FunctionName: mapNode({ Ref: text(logicalId) }, origin),
        Api: text(route.api),
        Payload: text(route.payload),
        Method: route.method,
        Path: route.path,
        Stage: text(route.stage),
        Cors: text(route.cors),
        Guard: route.guard === undefined ? undefined : text(route.guard),
      },
      origin,
    ),
    metadata: undefined,
    condition,
    at: origin.at,
    path: origin.path,
  }
}

/** The method and path of `GET /users/{id}`, in one text. */
export function methodAndPath(node: Node): Pick<DeclaredRoute, 'method' | 'path'> {
  const text = stringOf(node)?.trim() ?? ''
  if (text === '*') return { method: undefined, path: undefined }
  const [method = '', path = '/'] = text.split(/\s+/)
  return { method: scalarNode(method, node), path: scalarNode(path, node) }
}

/** Without a path, all requests that no other route matches. */
export const otherRequests = '$default'

export function readRoute(evaluator: Evaluator, resource: Resource): StackRoute | undefined {
  const reader = new PropertyReader(evaluator, resource.properties, resource)
  const target = reader.text('FunctionName')
  const guard = reader.text('Guard')
  const path = pathOf(reader.text('Path'))
  const method = (reader.text('Method') ?? 'ANY').toUpperCase()
  if (target === undefined) return undefined
  const name = functionNameIn(target)
  if (guard !== undefined) {
    const route = path === otherRequests ? 'A route' : `${method} ${path}`
    evaluator.problems.warning(
      resource,
      `${route} of ${name} is not served: it has ${guard}, which does not run here.`,
    )
    return undefined
  }
  return {
    logicalId: resource.logicalId,
    function: name,
    api: reader.word('Api', ['http', 'rest']) ?? 'http',
    payload: reader.word('Payload', ['1.0', '2.0']) ?? '2.0',
    method: method === '*' ? 'ANY' : method,
    path,
    stage: reader.text('Stage') ?? otherRequests,
    cors: reader.flag('Cors') ?? false,
    at: resource.at,
  }
}

function pathOf(written: string | undefined): string {
  if (written === undefined || written === '*') return otherRequests
  return `/${written.replace(/^\/+/, '').replace(/(?<=.)\/+$/, '')}`
}

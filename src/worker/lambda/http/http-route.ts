/** The routes of functions, and which one a request matches, by the rules of API Gateway. */
export interface HttpRoute {
  /** The name of the function. */
  readonly function: string
  readonly api: 'http' | 'rest'
  /** The format of the event. */
  readonly payload: '1.0' | '2.0'
  /** In upper case, or `ANY`. */
  readonly method: string
  /** `/users/{id}`, `/files/{proxy+}`, or `$default` for all other requests. */
  readonly path: string
  readonly stage: string
  readonly cors: boolean
}

export interface RouteMatch {
  readonly route: HttpRoute
  readonly parameters: Readonly<Record<string, string>>
  /** The path of the request without the stage. */
  readonly path: string
}

/**
 * The route for a request. Fixed parts of a path win over parameters, parameters over `{proxy+}`, and a
 * method over `ANY`. Requests to a REST API may begin with its stage, as on AWS, or leave it out.
 */
export function matchRoute(
  routes: readonly HttpRoute[],
  method: string,
  path: string,
): RouteMatch | undefined {
  const matches = routes.flatMap((route) => {
    if (route.method !== 'ANY' && route.method !== method) return []
    return pathsFor(route, path).flatMap((one) => {
      const parameters = parametersOf(route.path, one)
      return parameters === undefined ? [] : [{ route, parameters, path: one }]
    })
  })
  const [best] = matches.sort((one, other) => compareRoutes(one.route, other.route))
  return best
}

/** The methods that have a route for a path, for the response to a preflight request. */
export function methodsFor(routes: readonly HttpRoute[], path: string): readonly string[] {
  const found = routes.filter((route) =>
    pathsFor(route, path).some((one) => parametersOf(route.path, one) !== undefined),
  )
  return [...new Set(found.map(({ method }) => method))]
}

function pathsFor({ api, stage }: HttpRoute, path: string): readonly string[] {
  const prefix = `/${stage}`
  if (api !== 'rest' || !(path === prefix || path.startsWith(`${prefix}/`))) return [path]
  return [path.slice(prefix.length) || '/', path]
}

/** The path parameters of a request, if the path of the route matches. */
function parametersOf(route: string, path: string): Record<string, string> | undefined {
  if (route === '$default') return {}
  const wanted = partsOf(route)
  const given = partsOf(path)
  const parameters: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const [, name, rest] = /^\{([^}+]+)(\+?)\}$/.exec(part) ?? []
    const value = given[index]
    if (value === undefined) return undefined
    if (name === undefined) {
      if (part !== value) return undefined
    } else if (rest === '+') {
      parameters[name] = given.slice(index).map(decoded).join('/')
      return parameters
    } else {
      parameters[name] = decoded(value)
    }
  }
  return wanted.length === given.length ? parameters : undefined
}

function partsOf(path: string): readonly string[] {
  return path.replace(/^\/|(?<=.)\/$/g, '').split('/')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function compareRoutes(one: HttpRoute, other: HttpRoute): number {
  const [a, b] = [ranksOf(one), ranksOf(other)]
  for (const [index, rank] of a.entries()) {
    const difference = rank - (b[index] ?? -1)
    if (difference !== 0) return difference
  }
  return Number(one.method === 'ANY') - Number(other.method === 'ANY')
}

/** One number per part of the path. The lower number wins. */
function ranksOf({ path }: HttpRoute): readonly number[] {
  if (path === '$default') return [3]
  return partsOf(path).map((part) => (/^\{.*\+\}$/.test(part) ? 2 : /^\{.*\}$/.test(part) ? 1 : 0))
}

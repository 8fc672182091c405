/** The address in a request line, in its parts. */
export interface RequestTarget {
  readonly path: string
  /** What follows the question mark. */
  readonly query: string
}

const root: RequestTarget = { path: '/', query: '' }

export function targetOf(url: string): RequestTarget {
  if (url === '/') return root
  const address = url.startsWith('/') ? url : withoutOrigin(url)
  const mark = address.indexOf('?')
  if (mark < 0) return { path: address, query: '' }
  return { path: address.slice(0, mark), query: address.slice(mark + 1) }
}

/** Clients that believe they talk to a proxy write whole URLs. */
function withoutOrigin(url: string): string {
  const afterScheme = url.indexOf('//') + 2
  const slash = url.indexOf('/', afterScheme)
  return afterScheme < 2 || slash < 0 ? '/' : url.slice(slash)
}

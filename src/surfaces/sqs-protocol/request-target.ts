/** The parts of the address in a request line. */
export interface RequestTarget {
  readonly path: string
  /** The part after the question mark. */
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

/** Clients send a full URL if they are configured to use a proxy. */
function withoutOrigin(url: string): string {
  const afterScheme = url.indexOf('//') + 2
  const slash = url.indexOf('/', afterScheme)
  return afterScheme < 2 || slash < 0 ? '/' : url.slice(slash)
}

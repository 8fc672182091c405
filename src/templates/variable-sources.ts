/**
 * The sources of serverless variables. A source returns a node, undefined if it has no value (then the next
 * fallback is used), or an opaque node if only AWS has the value.
 */
import { dirname, extname, join } from 'node:path'
import { type Node, type Origin, opaqueNode, scalarNode, valueAt } from './node.ts'
import type { TemplateFiles } from './template-files.ts'
import { fileExists } from './template-files.ts'

export interface SourceContext {
  readonly stage: string
  readonly region: string
  readonly account: string
  readonly file: string
  /** Options of the command line, such as `--stage`. */
  readonly options: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly files: TemplateFiles
  /** Follows a path in the document, and resolves variables on the way. */
  readonly lookUp: (address: string) => Node | undefined
  /** The same within another document. */
  readonly lookUpIn: (document: Node, address: string) => Node | undefined
  readonly refuse: (origin: Origin, message: string) => Node
}

export interface SourceRequest {
  readonly argument: string | undefined
  readonly address: string
  readonly origin: Origin
}

type VariableSource = (context: SourceContext, request: SourceRequest) => Node | undefined

export const variableSources: Readonly<Record<string, VariableSource>> = {
  self: ({ lookUp }, { address }) => lookUp(address),
  opt: ({ options }, { address, origin }) => fromRecord(options, address, origin),
  env: ({ environment }, { address, origin }) => {
    const node = fromRecord(environment, address, origin)
    return node && { ...node, hidden: true }
  },
  param: readParameter,
  file: readFileSource,
  sls: ({ stage }, { address, origin }) => {
    if (address === 'stage') return scalarNode(stage, origin)
    return address === 'instanceId' ? scalarNode('local', origin) : undefined
  },
  aws: ({ region, account }, { address, origin }) => {
    if (address === 'region') return scalarNode(region, origin)
    return address === 'accountId' ? scalarNode(account, origin) : undefined
  },
  strToBool: ({ refuse }, { argument = '', origin }) => {
    if (/^(?:true|1)$/i.test(argument)) return scalarNode(true, origin)
    if (/^(?:false|0|null)$/i.test(argument)) return scalarNode(false, origin)
    return refuse(origin, 'strToBool needs true, false, 1 or 0.')
  },
}

function fromRecord(
  record: Readonly<Record<string, string | undefined>>,
  key: string,
  origin: Origin,
): (Node & { readonly kind: 'scalar' }) | undefined {
  const value = Object.hasOwn(record, key) ? record[key] : undefined
  return value === undefined ? undefined : scalarNode(value, origin)
}

/** From the command line, then for the stage, then for all stages. */
function readParameter(
  { stage, parameters, lookUp }: SourceContext,
  { address, origin }: SourceRequest,
): Node | undefined {
  const given = fromRecord(parameters, address, origin)
  if (given !== undefined) return given
  for (const scope of [stage, 'default']) {
    const node = lookUp(`stages.${scope}.params.${address}`) ?? lookUp(`params.${scope}.${address}`)
    if (node !== undefined) return node
  }
  return undefined
}

function readFileSource(
  { file, files, lookUpIn, refuse }: SourceContext,
  { argument = '', address, origin }: SourceRequest,
): Node | undefined {
  if (argument === '' || argument.startsWith('~')) {
    return refuse(origin, 'file(…) needs a path, relative to the template.')
  }
  const path = join(dirname(file), argument)
  const kind = extname(argument)
  if (['.js', '.cjs', '.mjs', '.ts', '.cts', '.mts'].includes(kind)) {
    return refuse(
      origin,
      `'${argument}' is a program, and Millrace does not run programs to read templates. ` +
        'Use a YAML or JSON file.',
    )
  }
  if (!fileExists(path)) return undefined
  if (!['.yml', '.yaml', '.json'].includes(kind)) {
    const text = files.text(path, origin)
    return text === undefined ? undefined : scalarNode(text.trimEnd(), origin)
  }
  const document = files.document(path, origin)
  if (document === undefined) return refuse(origin, `'${argument}' could not be read.`)
  return address === '' ? document : lookUpIn(document, address)
}

/** A value that only an AWS service or a plugin has. */
export function elsewhere(type: string, request: SourceRequest): Node {
  const what = `\${${type}:${request.address}}`
  return opaqueNode(`{{${type}:${request.address}}}`, what, request.origin)
}

/** One step in a path: the key of a map, or the index of a list. */
export function stepInto(node: Node, key: string): Node | undefined {
  if (node.kind !== 'list') return valueAt(node, key)
  return /^\d+$/.test(key) ? node.items[Number(key)] : undefined
}

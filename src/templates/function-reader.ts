/** Reads the functions of a template: handler, local code folder, and environment. */
import { join, resolve } from 'node:path'
import type { Evaluator } from './evaluator.ts'
import { type FunctionCode, imageCode, isImage } from './image-function.ts'
import { isCall } from './intrinsics.ts'
import { entriesOf, type Node, stringOf, valueAt } from './node.ts'
import { PropertyReader } from './property-reader.ts'
import type { StackFunction } from './stack.ts'
import type { Resource } from './template.ts'

const timeoutSeconds = { min: 1, max: 900, unit: 'seconds' }
const memoryMb = { min: 128, max: 10_240, unit: 'MB' }
const reserved = { min: 0, max: 100_000, unit: 'at once' }

/** Supplies values that are only known on AWS, by the name of the variable. */
export type Environment = Readonly<Record<string, string | undefined>>

export function readFunction(
  evaluator: Evaluator,
  resource: Resource,
  environment: Environment,
): StackFunction | undefined {
  const reader = new PropertyReader(evaluator, resource.properties, resource)
  const name = evaluator.nameOf(resource)
  const code = isImage(reader)
    ? imageCode(evaluator, resource, reader)
    : fileCode(evaluator, resource, reader)
  const timeout = reader.wholeNumber('Timeout', timeoutSeconds) ?? 3
  const memory = reader.wholeNumber('MemorySize', memoryMb) ?? 128
  const reservedConcurrency = reader.wholeNumber('ReservedConcurrentExecutions', reserved) ?? null
  if (name.kind !== 'scalar' || code === undefined) return undefined
  return {
    logicalId: resource.logicalId,
    name: name.text,
    ...code,
    timeoutMs: timeout * 1_000,
    memoryMb: memory,
    environment: readEnvironment(evaluator, resource, environment),
    reservedConcurrency,
    at: resource.at,
  }
}

function fileCode(
  evaluator: Evaluator,
  resource: Resource,
  reader: PropertyReader,
): FunctionCode | undefined {
  const folder = codeFolder(evaluator, resource, reader)
  const runtime = reader.value('Runtime')
  if (folder === undefined) return undefined
  const handler = reader.text('Handler')
  if (!reader.has('Handler')) {
    reader.refuse('Handler', "A function needs a Handler, such as 'src/orders.handler'.")
  }
  if (handler === undefined) return undefined
  return {
    handler,
    folder: sourceFolder(resource, folder, handler),
    runtime: runtime?.kind === 'scalar' ? runtime.text : null,
  }
}

function codeFolder(
  evaluator: Evaluator,
  resource: Resource,
  reader: PropertyReader,
): string | undefined {
  const code = reader.value('Code')
  const asset = assetFolder(resource, code)
  const path = code?.kind === 'scalar' ? code.text : asset
  const notHere = (why: string, what: string): undefined => {
    const message = `${why}, so the function does not run here. ${what}`
    evaluator.problems.warning(reader.at('Code'), message)
    return undefined
  }
  if (valueAt(code, 'ZipFile') !== undefined) {
    return notHere('The code is inline in the template', 'To run it, move the code into a file.')
  }
  if (path === undefined && code !== undefined) {
    return notHere('The code is not on this machine', 'To run it, name the folder with the code.')
  }
  if (path !== undefined && /^s3:|\.zip$/.test(path)) {
    return notHere('The code is an archive', 'To run it, name the folder instead of the archive.')
  }
  return resolve(evaluator.template.folder, path ?? '.')
}

/** SAM puts a bundle at the top of the folder. The entry point shows where the source is. */
function sourceFolder({ metadata }: Resource, folder: string, handler: string): string {
  const entries = valueAt(valueAt(metadata, 'BuildProperties'), 'EntryPoints')
  const module = `/${handler.slice(0, Math.max(0, handler.lastIndexOf('.')))}`
  for (const entry of entries?.kind === 'list' ? entries.items : []) {
    const path = stringOf(entry)?.replace(/\.[a-z]+$/, '') ?? ''
    if (path.endsWith(module)) return join(folder, path.slice(0, -module.length))
  }
  return folder
}

const hashedKey = /^([0-9a-f]{64})\.zip$/

/** The folder of the code in the CDK output, from the metadata or from the asset key. */
function assetFolder({ metadata }: Resource, code: Node | undefined): string | undefined {
  const path = stringOf(valueAt(metadata, 'aws:asset:path'))
  if (path !== undefined) return path
  const [, hash] = hashedKey.exec(stringOf(valueAt(code, 'S3Key')) ?? '') ?? []
  return hash === undefined ? undefined : `asset.${hash}`
}

function readEnvironment(
  evaluator: Evaluator,
  resource: Resource,
  given: Environment,
): Readonly<Record<string, string>> {
  const environment: [string, string][] = []
  for (const [name, { value }] of entriesOf(variablesOf(evaluator, resource))) {
    const instead = Object.hasOwn(given, name) ? given[name] : undefined
    const text = variableText(evaluator, name, value, instead)
    if (text !== undefined) environment.push([name, text])
  }
  return Object.fromEntries(environment)
}

/** The variables as written, unless a template function creates all of them at once. */
function variablesOf(evaluator: Evaluator, { properties }: Resource): Node | undefined {
  let node: Node | undefined = valueAt(properties, 'Environment')
  for (const key of ['', 'Variables']) {
    if (key !== '') node = valueAt(node, key)
    if (node?.kind === 'map' && isCall(node)) node = evaluator.resolve(node)
  }
  return node
}

/** @param instead the value from the environment, if the variable cannot be resolved */
function variableText(
  evaluator: Evaluator,
  name: string,
  written: Node,
  instead: string | undefined,
): string | undefined {
  const found = evaluator.problems.quietly(() => evaluator.resolve(written))
  const isKnown = found.kind === 'scalar' || found.kind === 'absent'
  if (!isKnown && instead !== undefined) return instead
  // Resolves it again to report the problem.
  const value = found.kind === 'broken' ? evaluator.resolve(written) : found
  if (value.kind === 'scalar') return value.value === null ? undefined : value.text
  if (value.kind === 'opaque') {
    evaluator.problems.warning(value, onlyOnAws(name, value.what))
    return value.text
  }
  if (value.kind === 'list' || value.kind === 'map') {
    evaluator.refuse(value, `The variable ${name} must be a string.`)
  }
  return undefined
}

function onlyOnAws(name: string, what: string): string {
  return `The value of ${name} is only known on AWS: ${what}. Set ${name} in the environment.`
}

/** The function of an event source, from a name or ARN, with or without a version. */
export function functionNameIn(text: string): string {
  const [, name] = /(?:^|:)function:([^:]+)/.exec(text) ?? []
  return name ?? text.split(':')[0] ?? text
}

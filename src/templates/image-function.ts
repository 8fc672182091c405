/**
 * Finds the code of a function in a container image: the handler that the image runs, in a file that lies in
 * the build context. The image itself is neither built nor run.
 */
import { join, relative, resolve } from 'node:path'
import { describeMissingFile, handlerExtensions } from '../core/handler-extensions.ts'
import { readDockerfile } from './dockerfile.ts'
import type { Evaluator } from './evaluator.ts'
import { entriesOf, stringOf, valueAt } from './node.ts'
import type { PropertyReader } from './property-reader.ts'
import type { StackFunction } from './stack.ts'
import type { Resource } from './template.ts'
import { fileExists } from './template-files.ts'

export type FunctionCode = Pick<StackFunction, 'handler' | 'folder' | 'runtime'>

export function isImage(reader: PropertyReader): boolean {
  return stringOf(reader.value('PackageType')) === 'Image'
}

/** Undefined, after a warning, if the handler or its file is not known here. */
export function imageCode(
  evaluator: Evaluator,
  resource: Resource,
  reader: PropertyReader,
): FunctionCode | undefined {
  const { context, dockerfile } = buildOf(evaluator, resource)
  const image = readDockerfile(dockerfile)
  const config = reader.document('ImageConfig')
  const handler = stringOf(config?.list('Command')?.[0]) ?? image.command
  const missing = (what: string): undefined => {
    const message = `The code is in a container image, and ${what}, so the function does not run here.`
    evaluator.problems.warning(reader.at('PackageType'), message)
    return undefined
  }
  if (handler === undefined) {
    const file = relative(evaluator.template.folder, dockerfile)
    return missing(`neither ImageConfig.Command nor a CMD in ${file} names its handler`)
  }
  if (image.runtime !== null && !image.runtime.startsWith('nodejs')) {
    // The caller reports functions in other languages.
    return { handler, folder: context, runtime: image.runtime }
  }
  const module = handler.slice(0, Math.max(0, handler.lastIndexOf('.')))
  const folders = ['.', ...image.copied].map((folder) => resolve(context, folder))
  const folder = folders.find((one) => hasModule(one, module))
  if (folder !== undefined) return { handler, folder, runtime: image.runtime }
  const tried = folders.map((one) => relative(evaluator.template.folder, one))
  return missing(describeMissingFile({ handler, module, folders: tried }))
}

function hasModule(folder: string, module: string): boolean {
  return handlerExtensions.some((extension) => fileExists(join(folder, module + extension)))
}

/** From the metadata of SAM and of the CDK; by default, a Dockerfile beside the template. */
function buildOf(
  { template }: Evaluator,
  { metadata }: Resource,
): { readonly context: string; readonly dockerfile: string } {
  const texts = Object.fromEntries(
    entriesOf(metadata).map(([name]) => [name, stringOf(valueAt(metadata, name))]),
  )
  const context = resolve(template.folder, texts['DockerContext'] ?? texts['aws:asset:path'] ?? '.')
  const file = texts['Dockerfile'] ?? texts['aws:asset:dockerfile-path'] ?? 'Dockerfile'
  return { context, dockerfile: join(context, file) }
}

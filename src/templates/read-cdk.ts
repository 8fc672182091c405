/** Reads the output folder of the CDK: `manifest.json` lists the stacks and their templates. */
import { basename, dirname, join } from 'node:path'
import { entriesOf, type Node, stringOf, valueAt } from './node.ts'
import type { Problems } from './problems.ts'
import type { TemplateDocument } from './template.ts'
import type { TemplateFiles } from './template-files.ts'

/** Stages of an app have nested folders. */
const stagesMax = 5

export function isCdkManifest(document: Node): boolean {
  return (
    valueAt(document, 'artifacts')?.kind === 'map' && valueAt(document, 'version') !== undefined
  )
}

export interface ManifestSource {
  readonly file: string
  readonly document: Node
}

export function readCdkManifest(
  { file, document }: ManifestSource,
  files: TemplateFiles,
  problems: Problems,
): readonly TemplateDocument[] {
  const found = stacksIn({ file, document }, files, stagesMax)
  if (found.length === 0) problems.error(document, 'The manifest lists no stack.')
  return found
}

function stacksIn(
  { file, document }: ManifestSource,
  files: TemplateFiles,
  depth: number,
): readonly TemplateDocument[] {
  const folder = dirname(file)
  return entriesOf(valueAt(document, 'artifacts')).flatMap(([id, { value: artifact }]) => {
    const properties = valueAt(artifact, 'properties')
    const type = stringOf(valueAt(artifact, 'type'))
    const nested = stringOf(valueAt(properties, 'directoryName'))
    if (type === 'cdk:cloud-assembly' && nested !== undefined && depth > 0) {
      const inner = join(folder, nested, 'manifest.json')
      const manifest = files.document(inner, artifact)
      return manifest === undefined
        ? []
        : stacksIn({ file: inner, document: manifest }, files, depth - 1)
    }
    const templateFile = stringOf(valueAt(properties, 'templateFile'))
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return []
    const template = files.document(join(folder, templateFile), artifact)
    if (template === undefined) return []
    const stackName = stringOf(valueAt(properties, 'stackName')) ?? id
    return [{ stackName, folder, document: template }]
  })
}

/** `OrdersStack.template.json` is the template of `OrdersStack`. */
export function stackNameOfFile(file: string): string | undefined {
  const [, name] = /^(.+)\.template\.json$/.exec(basename(file)) ?? []
  return name
}

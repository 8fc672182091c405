/**
 * A template in the form of CloudFormation. The other dialects are converted to it, so that references,
 * conditions and properties are read in only one way.
 */
import { resolve } from 'node:path'
import { entriesOf, type MapNode, type Node, type Origin, stringOf, valueAt } from './node.ts'
import type { Problems } from './problems.ts'

export interface Template extends Origin {
  readonly stackName: string
  /** Absolute path of the folder to which local paths in the template are relative. */
  readonly folder: string
  readonly parameters: Node | undefined
  readonly mappings: Node | undefined
  readonly conditions: Node | undefined
  readonly outputs: Node | undefined
  readonly resources: ReadonlyMap<string, Resource>
  /** Logical ids of resources that the dialect generates and the template may refer to. */
  readonly generatedIds?: RegExp
}

export interface Resource extends Origin {
  readonly logicalId: string
  readonly type: string
  readonly properties: MapNode | undefined
  readonly metadata: Node | undefined
  /** The name of the condition under which the resource exists. */
  readonly condition: Node | undefined
}

export interface TemplateDocument {
  readonly stackName: string
  readonly folder: string
  readonly document: Node
}

export function readCloudFormation(
  { stackName, folder, document }: TemplateDocument,
  problems: Problems,
): Template {
  const resources = new Map<string, Resource>()
  const declared = valueAt(document, 'Resources')
  if (declared?.kind !== 'map') {
    problems.error(declared ?? document, "A template must have 'Resources', a map by logical id.")
  }
  for (const [logicalId, { keyAt, value }] of entriesOf(declared)) {
    const at = { at: keyAt, path: value.path }
    if (logicalId.startsWith('Fn::')) {
      problems.error(
        at,
        `'${logicalId.split('::', 2).join('::')}' around resources is not supported.`,
      )
      continue
    }
    const resource = readResource(logicalId, value, at)
    if (resource === undefined) problems.error(at, "A resource must be a map with a 'Type'.")
    else resources.set(logicalId, resource)
  }
  return {
    stackName,
    folder: resolve(folder),
    at: document.at,
    path: document.path,
    parameters: valueAt(document, 'Parameters'),
    mappings: valueAt(document, 'Mappings'),
    conditions: valueAt(document, 'Conditions'),
    outputs: valueAt(document, 'Outputs'),
    resources,
  }
}

function readResource(logicalId: string, node: Node, origin: Origin): Resource | undefined {
  const type = stringOf(valueAt(node, 'Type'))
  if (type === undefined) return undefined
  const properties = valueAt(node, 'Properties')
  return {
    logicalId,
    type,
    properties: properties?.kind === 'map' ? properties : undefined,
    metadata: valueAt(node, 'Metadata'),
    condition: valueAt(node, 'Condition'),
    at: origin.at,
    path: origin.path,
  }
}

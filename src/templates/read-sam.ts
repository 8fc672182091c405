/**
 * Converts SAM functions as SAM does: a Lambda function with the globals merged in, one event source mapping
 * per SQS event, and one route per HTTP event.
 */

import { eventSourceType } from './event-source-reader.ts'
import {
  entriesOf,
  listNode,
  type MapEntry,
  type MapNode,
  mapNode,
  type Node,
  scalarNode,
  stringOf,
  valueAt,
} from './node.ts'
import type { Problems } from './problems.ts'
import { functionType } from './references.ts'
import { samApis, samRoutes } from './sam-routes.ts'
import {
  type Resource,
  readCloudFormation,
  type Template,
  type TemplateDocument,
} from './template.ts'

const samFunction = 'AWS::Serverless::Function'
const samTransform = 'AWS::Serverless-2016-10-31'

export function isSam(document: Node): boolean {
  const transform = valueAt(document, 'Transform')
  const names = transform?.kind === 'list' ? transform.items : [transform]
  return (
    names.some((name) => stringOf(name) === samTransform) ||
    entriesOf(valueAt(document, 'Resources')).some(([, { value }]) =>
      stringOf(valueAt(value, 'Type'))?.startsWith('AWS::Serverless::'),
    )
  )
}

export function readSam(source: TemplateDocument, problems: Problems): Template {
  const template = readCloudFormation(source, problems)
  const globals = valueAt(valueAt(source.document, 'Globals'), 'Function')
  const apis = samApis(source.document, template.resources.values())
  const resources = new Map<string, Resource>()
  for (const resource of template.resources.values()) {
    if (resource.type !== samFunction) {
      resources.set(resource.logicalId, resource)
      continue
    }
    const properties = merged(globals, resource.properties ?? mapNode({}, resource))
    resources.set(resource.logicalId, asFunction(resource, properties))
    const events = valueAt(properties, 'Events')
    for (const made of [...eventSources(resource, events), ...samRoutes(resource, events, apis)]) {
      resources.set(made.logicalId, made)
    }
  }
  return { ...template, resources, generatedIds: /^Serverless(?:Rest|Http)Api|Role$|Stage$/ }
}

/** The function overrides globals. Maps are merged and lists are concatenated. */
function merged(base: Node | undefined, own: Node): Node {
  if (base === undefined) return own
  if (base.kind === 'list' && own.kind === 'list') {
    return listNode([...base.items, ...own.items], own)
  }
  if (base.kind !== 'map' || own.kind !== 'map') return own
  const entries = new Map<string, MapEntry>(base.entries)
  for (const [key, entry] of own.entries) {
    entries.set(key, { ...entry, value: merged(entries.get(key)?.value, entry.value) })
  }
  return { ...own, entries }
}

function asFunction(resource: Resource, properties: Node): Resource {
  if (properties.kind !== 'map') return { ...resource, type: functionType }
  const entries = new Map(properties.entries)
  const inline = valueAt(properties, 'InlineCode')
  const code =
    inline === undefined ? valueAt(properties, 'CodeUri') : mapNode({ ZipFile: inline }, inline)
  if (code !== undefined) entries.set('Code', { keyAt: code.at, value: code })
  return { ...resource, type: functionType, properties: { ...properties, entries } }
}

function eventSources(resource: Resource, events: Node | undefined): readonly Resource[] {
  return entriesOf(events).flatMap(([name, { keyAt, value }]) => {
    const properties = valueAt(value, 'Properties')
    if (stringOf(valueAt(value, 'Type')) !== 'SQS' || properties?.kind !== 'map') return []
    return [
      {
        logicalId: `${resource.logicalId}${name}`,
        type: eventSourceType,
        properties: asMapping(properties, resource.logicalId),
        metadata: undefined,
        condition: resource.condition,
        at: keyAt,
        path: value.path,
      },
    ]
  })
}

/** All properties have the same names, except the queue. */
function asMapping(properties: MapNode, logicalId: string): MapNode {
  const entries = new Map(properties.entries)
  const queue = entries.get('Queue')
  entries.delete('Queue')
  if (queue !== undefined) entries.set('EventSourceArn', queue)
  const target = mapNode({ Ref: scalarNode(logicalId, properties) }, properties)
  entries.set('FunctionName', { keyAt: properties.at, value: target })
  return { ...properties, entries }
}

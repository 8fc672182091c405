/**
 * Converts serverless.yml to CloudFormation as the Serverless Framework does: the resources unchanged, one
 * Lambda function per function, and one event source mapping per SQS event.
 */
import { dirname, resolve } from 'node:path'
import { alarmType } from './alarm-reader.ts'
import { eventSourceType } from './event-source-reader.ts'
import {
  entriesOf,
  type MapEntry,
  type MapNode,
  mapNode,
  type Node,
  stringOf,
  valueAt,
} from './node.ts'
import type { Problems } from './problems.ts'
import { policyTypes } from './queue-reader.ts'
import { functionType, queueType } from './references.ts'
import { serverlessFunctions } from './serverless-functions.ts'
import { ServerlessVariables, type VariablesOptions } from './serverless-variables.ts'
import { readCloudFormation, type Template } from './template.ts'

const sections = ['Parameters', 'Mappings', 'Conditions'] as const

/** Resources of other types are not read, so their variables need no values. */
const readTypes: readonly string[] = [
  queueType,
  alarmType,
  functionType,
  eventSourceType,
  'AWS::Lambda::Version',
  'AWS::Lambda::Alias',
]

const generatedIds =
  /^(?:HttpApi|ApiGateway|Websockets|IamRole|ServerlessDeploymentBucket)|(?:LogGroup|LambdaVersion\w*)$/

export function isServerless(document: Node): boolean {
  return valueAt(document, 'service') !== undefined && valueAt(document, 'provider') !== undefined
}

export function readServerless(options: VariablesOptions): Template {
  const { document, file, problems } = options
  const variables = new ServerlessVariables(options)
  const service = serviceName(variables, document)
  const stackName = `${service}-${variables.stage}`
  const cloudFormation = readCloudFormation(
    { stackName, folder: dirname(resolve(file)), document: resourcesOf(variables, options) },
    problems,
  )
  warnOfConstructs(document, problems)
  warnOfRegion(variables, options)
  const resources = new Map(cloudFormation.resources)
  for (const resource of serverlessFunctions(variables, options, stackName)) {
    resources.set(resource.logicalId, resource)
  }
  return { ...cloudFormation, at: document.at, path: document.path, resources, generatedIds }
}

function serviceName(variables: ServerlessVariables, document: Node): string {
  const service = variables.lookUp('service')
  const name = service?.kind === 'map' ? variables.lookUp('service.name') : service
  if (name?.kind === 'scalar') return name.text
  if (name?.kind !== 'broken') variables.refuse(document, "'service' must be a string.")
  return 'service'
}

/** Merges `resources`, which may be one block or a list of blocks and files. */
function resourcesOf(
  variables: ServerlessVariables,
  { document, problems }: VariablesOptions,
): MapNode {
  const written = variables.lookUp('resources')
  const blocks = written?.kind === 'list' ? written.items : written === undefined ? [] : [written]
  const merged: Record<string, Map<string, MapEntry>> = { Resources: new Map() }
  for (const block of blocks.map((item) => variables.shallow(item))) {
    for (const [section, { value }] of entriesOf(block)) {
      const into = merged[section] ?? new Map<string, MapEntry>()
      merged[section] = into
      for (const [key, entry] of entriesOf(variables.shallow(value))) into.set(key, entry)
    }
  }
  const asNode = (name: string, change: (node: Node) => Node): MapNode | undefined => {
    const entries = Object.hasOwn(merged, name) ? merged[name] : undefined
    if (entries === undefined) return undefined
    const changed = [...entries].map(
      ([key, { keyAt, value }]) => [key, { keyAt, value: change(value) }] as const,
    )
    return { kind: 'map', entries: new Map(changed), at: document.at, path: name }
  }
  const deep = (node: Node): Node => variables.deep(node)
  return mapNode(
    {
      Resources: asNode('Resources', (node) => resourceOf(variables, node, problems)),
      ...Object.fromEntries(sections.map((name) => [name, asNode(name, deep)])),
      // Without reporting problems, because outputs only matter for imports.
      Outputs: problems.quietly(() => asNode('Outputs', deep)),
    },
    document,
  )
}

function resourceOf(variables: ServerlessVariables, node: Node, problems: Problems): Node {
  const resource = variables.shallow(node)
  const type = stringOf(valueAt(resource, 'Type')) ?? ''
  if (readTypes.includes(type)) return variables.deep(resource)
  return policyTypes.includes(type) ? problems.quietly(() => variables.deep(resource)) : resource
}

function warnOfConstructs(document: Node, problems: Problems): void {
  const constructs = valueAt(document, 'constructs')
  if (constructs === undefined) return
  problems.warning(
    constructs,
    "'constructs' belong to a plugin and are not read. Run `serverless package` and use the template " +
      'in .serverless.',
  )
}

/** All stacks use the region of the server. */
function warnOfRegion(
  variables: ServerlessVariables,
  { region, problems }: VariablesOptions,
): void {
  const declared = problems.quietly(() => variables.lookUp('provider.region'))
  if (declared?.kind !== 'scalar' || declared.text === region) return
  const other = declared.hidden ? 'another region' : declared.text
  problems.warning(
    declared,
    `The template is for ${other}, but its queues and functions use ${region} here. ` +
      'To change the region, use --region.',
  )
}

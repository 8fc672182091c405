/** Converts the functions of serverless.yml, with the defaults of the provider, and their events. */
import {
  entriesOf,
  type MapNode,
  mapNode,
  type Node,
  type Origin,
  scalarNode,
  stringOf,
  valueAt,
} from './node.ts'
import { functionType } from './references.ts'
import { serverlessEventSources } from './serverless-events.ts'
import { functionLogicalId } from './serverless-naming.ts'
import { serverlessRoutes } from './serverless-routes.ts'
import type { ServerlessVariables, VariablesOptions } from './serverless-variables.ts'
import type { Resource } from './template.ts'

export function serverlessFunctions(
  variables: ServerlessVariables,
  { document, problems }: Pick<VariablesOptions, 'document' | 'problems'>,
  stackName: string,
): readonly Resource[] {
  const written = variables.lookUp('functions')
  const blocks = written?.kind === 'list' ? written.items : [written ?? mapNode({}, document)]
  return blocks.flatMap((block) =>
    entriesOf(variables.shallow(block)).flatMap(([key, { keyAt, value }]) => {
      const origin = { at: keyAt, path: value.path }
      const declared = variables.shallow(value)
      const target = functionResource(variables, { key, declared, origin, stackName })
      const eventful = { key, declared, origin }
      return [
        target,
        ...serverlessEventSources(variables, eventful, problems),
        ...problems.leniently(() => serverlessRoutes(variables, eventful)),
      ]
    }),
  )
}

interface ServerlessFunction {
  readonly key: string
  readonly declared: Node
  readonly origin: Origin
  readonly stackName: string
}

function functionResource(
  variables: ServerlessVariables,
  { key, declared, origin, stackName }: ServerlessFunction,
): Resource {
  const setting = (name: string): Node | undefined => {
    const own = valueAt(declared, name)
    return own === undefined ? variables.lookUp(`provider.${name}`) : variables.deep(own)
  }
  const own = (name: string): Node | undefined => {
    const value = valueAt(declared, name)
    return value === undefined ? undefined : variables.deep(value)
  }
  const image = own('image')
  const properties = mapNode(
    {
      FunctionName: own('name') ?? scalarNode(`${stackName}-${key}`, origin),
      Handler: own('handler'),
      Runtime: setting('runtime'),
      Timeout: setting('timeout') ?? scalarNode(6, origin),
      MemorySize: setting('memorySize') ?? scalarNode(1_024, origin),
      ReservedConcurrentExecutions: own('reservedConcurrency'),
      Environment: environmentOf(variables, declared),
      PackageType: image === undefined ? undefined : scalarNode('Image', image),
      ImageConfig: imageConfig(image),
      Code: scalarNode('.', origin),
    },
    origin,
  )
  return {
    logicalId: functionLogicalId(key),
    type: functionType,
    properties,
    metadata: imageMetadata(variables, image),
    condition: own('condition'),
    at: origin.at,
    path: origin.path,
  }
}

/** In CloudFormation, the command is an uppercase property. */
function imageConfig(image: Node | undefined): Node | undefined {
  const command = valueAt(image, 'command')
  return command && mapNode({ Command: command }, command)
}

/** Where an image of `provider.ecr.images` is built, in the form of SAM. */
function imageMetadata(
  variables: ServerlessVariables,
  image: Node | undefined,
): MapNode | undefined {
  const name = stringOf(image) ?? stringOf(valueAt(image, 'name'))
  const images = name === undefined ? undefined : variables.lookUp('provider.ecr.images')
  const built = name === undefined ? undefined : valueAt(images, name)
  if (built === undefined) return undefined
  const context = stringOf(built) ?? stringOf(valueAt(built, 'path'))
  return mapNode(
    {
      DockerContext: context === undefined ? undefined : scalarNode(context, built),
      Dockerfile: valueAt(built, 'file'),
    },
    built,
  )
}

/** The variables of the provider, overridden by those of the function. */
function environmentOf(variables: ServerlessVariables, declared: Node): Node | undefined {
  const blocks = [variables.lookUp('provider.environment'), valueAt(declared, 'environment')]
  const known = blocks.flatMap((block) => (block === undefined ? [] : [variables.deep(block)]))
  const [first] = known
  if (first === undefined) return undefined
  const entries = new Map(known.flatMap((block) => entriesOf(block)))
  return mapNode({ Variables: { kind: 'map', entries, at: first.at, path: first.path } }, first)
}

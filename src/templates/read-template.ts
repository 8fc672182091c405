/**
 * Reads a template in any dialect: serverless.yml, SAM, CloudFormation in YAML or JSON, or the output of the
 * CDK. A value that cannot be resolved is reported with its position, and never guessed.
 */
import { basename, dirname, extname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Surroundings } from './evaluation.ts'
import { Evaluator } from './evaluator.ts'
import { entriesOf, type Node, type Origin, scalarNode, valueAt } from './node.ts'
import { Problems } from './problems.ts'
import { isCdkManifest, readCdkManifest, stackNameOfFile } from './read-cdk.ts'
import { isSam, readSam } from './read-sam.ts'
import { isServerless, readServerless } from './read-serverless.ts'
import { readStack } from './read-stack.ts'
import type { ReadTemplate } from './stack.ts'
import { readCloudFormation, type Template, type TemplateDocument } from './template.ts'
import { fileExists, folderExists, TemplateFiles } from './template-files.ts'
import { TemplateTooLarge, WorkBudget } from './work-budget.ts'

export interface ReadTemplateOptions {
  /** A file, or a folder with a template, such as `cdk.out`. */
  readonly file: string
  /** The stage of serverless.yml. Default: the stage in the file, or `dev`. */
  readonly stage?: string
  /** Default: from the file or folder name, or from the service and the stage. */
  readonly stackName?: string
  /** Parameters of CloudFormation, and serverless `param`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Serverless `opt`. */
  readonly options?: Readonly<Record<string, string>>
  /** Exports of other stacks, by name. */
  readonly imports?: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly region: string
  readonly account: string
  /** The server's base URL, for the URLs of queues. */
  readonly endpoint: string
}

export async function readTemplate(options: ReadTemplateOptions): Promise<ReadTemplate> {
  const problems = new Problems()
  const files = new TemplateFiles(problems)
  const file = fileIn(options.file)
  const start = { at: { file, line: 1, column: 1 }, path: '' }
  let read = nothing
  try {
    read = readFile({ ...options, file }, { problems, files, start })
  } catch (error) {
    if (!(error instanceof TemplateTooLarge) && !(error instanceof RangeError)) throw error
    problems.error(start, 'The template expands to too many values, or contains itself.')
  }
  return {
    stack: problems.hasErrors ? null : read.stack,
    problems: problems.list(),
    exports: read.exports,
    files: files.list(),
  }
}

type StackWithExports = Pick<ReadTemplate, 'stack' | 'exports'>

const nothing: StackWithExports = { stack: null, exports: {} }

interface Reading {
  readonly problems: Problems
  readonly files: TemplateFiles
  /** The position for problems of the whole file. */
  readonly start: Origin
}

function readFile(
  options: ReadTemplateOptions,
  { problems, files, start }: Reading,
): StackWithExports {
  const { file, environment } = options
  if (/^\.[cm]?[jt]s$/.test(extname(file))) {
    problems.error(
      start,
      'This is a program, and Millrace does not run programs to read templates. ' +
        'Generate the template first, with `serverless print` or `cdk synth`.',
    )
    return nothing
  }
  const document = files.document(file, start)
  if (document === undefined) return nothing
  const budget = new WorkBudget()
  const templates = templatesIn(document, options, { problems, files, start, budget })
  if (templates.length === 0) return nothing
  const evaluators = evaluatorsFor(templates, options, { problems, budget, start })
  // Serverless parameters need no declaration.
  if (!isServerless(document)) warnOfUnknownParameters(templates, options, problems)
  const stack = readStack(evaluators, { problems, environment })
  return { stack, exports: exportsOf(evaluators) }
}

function templatesIn(
  document: Node,
  options: ReadTemplateOptions,
  { problems, files, start, budget }: Reading & { readonly budget: WorkBudget },
): readonly Template[] {
  const { file, stackName } = options
  const source: TemplateDocument = {
    stackName: stackName ?? defaultStackName(file),
    folder: dirname(resolve(file)),
    document,
  }
  if (isCdkManifest(document)) {
    const stacks = readCdkManifest({ file, document }, files, problems)
    return stacks.map((stack) => readCloudFormation(stack, problems))
  }
  if (isServerless(document)) {
    const template = readServerless({
      ...options,
      document,
      files,
      problems,
      budget,
      stage: options.stage ?? options.options?.['stage'],
      options: withStage(options),
      parameters: options.parameters ?? {},
      environment: withDotenv(options, files, start),
    })
    return [stackName === undefined ? template : { ...template, stackName }]
  }
  if (valueAt(document, 'Resources') === undefined) {
    problems.error(
      document,
      'This is not a template. Expected Resources (CloudFormation, SAM, CDK), or a service with a ' +
        'provider (serverless.yml).',
    )
    return []
  }
  return [isSam(document) ? readSam(source, problems) : readCloudFormation(source, problems)]
}

interface Evaluating extends Omit<Reading, 'files'> {
  readonly budget: WorkBudget
}

/** The templates of a set can import each other's exports. */
function evaluatorsFor(
  templates: readonly Template[],
  options: ReadTemplateOptions,
  { problems, budget, start }: Evaluating,
): readonly Evaluator[] {
  const { region, account, endpoint, parameters = {}, imports = {} } = options
  const surroundings: Surroundings = {
    region,
    account,
    endpoint: endpoint.replace(/\/+$/, ''),
    parameters,
  }
  const exports = new Map<string, () => Node>()
  const imported = (name: string): Node | undefined => exports.get(name)?.()
  const evaluators = templates.map(
    (template) => new Evaluator({ template, surroundings, problems, budget, imported }),
  )
  for (const [name, text] of Object.entries(imports)) {
    exports.set(name, () => scalarNode(text, start))
  }
  for (const evaluator of evaluators) collectExports(evaluator, exports)
  return evaluators
}

/** Only string outputs can be imported. */
function exportsOf(evaluators: readonly Evaluator[]): Readonly<Record<string, string>> {
  const exports = new Map<string, () => Node>()
  for (const evaluator of evaluators) collectExports(evaluator, exports)
  return Object.fromEntries(
    [...exports].flatMap(([name, resolve]) => {
      const value = evaluators[0]?.problems.quietly(resolve)
      return value?.kind === 'scalar' ? [[name, value.text]] : []
    }),
  )
}

function collectExports(evaluator: Evaluator, into: Map<string, () => Node>): void {
  for (const [, { value: output }] of entriesOf(evaluator.template.outputs)) {
    const written = valueAt(valueAt(output, 'Export'), 'Name')
    const value = valueAt(output, 'Value')
    if (written === undefined || value === undefined) continue
    const name = evaluator.problems.quietly(() => evaluator.resolve(written))
    if (name.kind === 'scalar') into.set(name.text, () => evaluator.resolve(value))
  }
}

const candidates = [
  'manifest.json',
  'serverless.yml',
  'serverless.yaml',
  'serverless.json',
  'template.yaml',
  'template.yml',
  'template.json',
  join('cdk.out', 'manifest.json'),
]

/** The template in a folder, or the file itself. */
function fileIn(path: string): string {
  if (!folderExists(path)) return path
  return candidates.map((name) => join(path, name)).find(fileExists) ?? path
}

function defaultStackName(file: string): string {
  const name = stackNameOfFile(file) ?? basename(dirname(resolve(file)))
  const words = name.replaceAll(/[^A-Za-z0-9-]+/g, '-').replace(/^[^A-Za-z]+|-+$/g, '')
  return words === '' ? 'stack' : words
}

function withStage({ stage, options = {} }: ReadTemplateOptions): Readonly<Record<string, string>> {
  return stage === undefined ? options : { ...options, stage }
}

/** Like the framework, reads `.env` files beside the template. The environment overrides them. */
function withDotenv(
  { file, stage, environment }: ReadTemplateOptions,
  files: TemplateFiles,
  start: Origin,
): Readonly<Record<string, string | undefined>> {
  const names = ['.env', `.env.${stage ?? 'dev'}`]
  const found = names.map((name) => join(dirname(file), name)).filter(fileExists)
  const texts = found.map((path) => files.text(path, start) ?? '')
  return Object.assign({}, ...texts.map((text) => parseEnv(text)), environment)
}

function warnOfUnknownParameters(
  templates: readonly Template[],
  { parameters = {} }: ReadTemplateOptions,
  problems: Problems,
): void {
  const [first] = templates
  if (first === undefined) return
  for (const name of Object.keys(parameters)) {
    if (templates.some((template) => valueAt(template.parameters, name) !== undefined)) continue
    problems.warning(first, `The template has no parameter '${name}'.`)
  }
}

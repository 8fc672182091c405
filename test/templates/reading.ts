/** Reads templates in tests: fixtures by their path, and texts from a folder of their own. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ReadTemplateOptions, readTemplate } from '../../src/templates/read-template.ts'
import type { ReadTemplate, Stack } from '../../src/templates/stack.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export type ReadingOptions = Partial<Omit<ReadTemplateOptions, 'file'>>

const place = {
  environment: {},
  region: 'us-east-1',
  account: '000000000000',
  endpoint: 'http://127.0.0.1:4566',
}

export function fixture(path: string): string {
  return fileURLToPath(new URL(`fixtures/${path}`, import.meta.url))
}

export function readFixture(path: string, options: ReadingOptions = {}): Promise<ReadTemplate> {
  return readTemplate({ ...place, ...options, file: fixture(path) })
}

export interface TextReading extends ReadTemplate {
  /** `severity file:line:column message`, with paths from the folder of the files. */
  readonly complaints: readonly string[]
}

/** Reads the first of the files, each named by its path in a folder that is made for them. */
export async function readFiles(
  files: Readonly<Record<string, string>>,
  options: ReadingOptions = {},
): Promise<TextReading> {
  const folder = await temporaryFolder('templates')
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(folder.file(name)), { recursive: true })
      await writeFile(folder.file(name), text)
    }
    const [first = ''] = Object.keys(files)
    const reading = await readTemplate({
      stackName: 'test',
      ...place,
      ...options,
      file: folder.file(first),
    })
    const complaints = reading.problems.map(({ severity, message, at: { file, line, column } }) => {
      const from = relative(folder.path, file)
      return `${severity} ${from}:${line}:${column} ${message.replaceAll(`${folder.path}/`, '')}`
    })
    return { ...reading, complaints }
  } finally {
    await folder.remove()
  }
}

export function readText(text: string, options: ReadingOptions = {}): Promise<TextReading> {
  return readFiles({ 'template.yaml': text }, options)
}

/** The stack of a reading that must have gone well. */
export function stackOf({ stack, problems }: ReadTemplate): Stack {
  if (stack !== null) return stack
  throw new Error(`The template was refused:\n${problems.map(({ message }) => message).join('\n')}`)
}

/** The name of the queue `Q`, into which a template computes what is to be seen. */
export async function nameFrom(expression: string, rest = ''): Promise<string> {
  const text = [
    rest,
    'Resources:',
    '  Q:',
    '    Type: AWS::SQS::Queue',
    '    Properties:',
    `      QueueName: ${expression}`,
  ]
  const { queues } = stackOf(await readText(text.join('\n')))
  return queues.find(({ logicalId }) => logicalId === 'Q')?.name ?? ''
}

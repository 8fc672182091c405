/** What a Dockerfile has about a function: its handler, its runtime, and the folders that it copies. */
import { readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'

export interface Dockerfile {
  /** The first word of the last CMD; undefined if there is none. */
  readonly command: string | undefined
  /** As in a template, such as `nodejs22.x` or `python`; null if the base image is not one of AWS. */
  readonly runtime: string | null
  /** Paths below the build context that end up in the image, without the context itself. */
  readonly copied: readonly string[]
}

const nothing: Dockerfile = { command: undefined, runtime: null, copied: [] }

export function readDockerfile(file: string): Dockerfile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return nothing
  }
  const lines = text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) => line.trim())
  // Only the last stage of a build becomes the image.
  const stage = lines.slice(
    Math.max(
      0,
      lines.findLastIndex((line) => /^FROM\s/i.test(line)),
    ),
  )
  return {
    command: commandIn(stage),
    runtime: runtimeIn(stage[0] ?? ''),
    copied: stage.flatMap(copiedBy),
  }
}

function commandIn(stage: readonly string[]): string | undefined {
  const [, text] = /^CMD\s+(.+)$/i.exec(stage.findLast((line) => /^CMD\s/i.test(line)) ?? '') ?? []
  if (text === undefined) return undefined
  if (!text.startsWith('[')) return text.split(/\s+/)[0]
  try {
    const words: unknown = JSON.parse(text)
    return Array.isArray(words) && typeof words[0] === 'string' ? words[0] : undefined
  } catch {
    return undefined
  }
}

function runtimeIn(from: string): string | null {
  const [, language, version] = /lambda\/([a-z]+)(?::(\d+))?/i.exec(from) ?? []
  if (language === undefined) return null
  return language === 'nodejs' ? `nodejs${version ?? '22'}.x` : language
}

function copiedBy(line: string): readonly string[] {
  const [, flags = '', rest = ''] = /^(?:COPY|ADD)\s+((?:--\S+\s+)*)(.+)$/i.exec(line) ?? []
  const words = rest.split(/[\s"[\],]+/).filter((word) => word !== '')
  const sources = words.slice(0, -1)
  // A path of another stage is usually named like the folder that the build writes.
  const isOther = flags.includes('--from=')
  return sources.map((source) => (isOther ? basename(source) : source)).map(folderOf)
}

function folderOf(source: string): string {
  const isFile = source.includes('*') || extname(source) !== ''
  return join('.', isFile ? dirname(source) : source)
}

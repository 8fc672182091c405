/**
 * What commands see of the process they run in: streams, the environment, and the parts of Millrace that
 * they use. Commands take it as an argument, so that tests can run them in their own process.
 */
import type { Readable } from 'node:stream'
import pc from 'picocolors'
import { type Ports, systemPorts } from '../../core/ports.ts'
import { type ColourChoice, usesColour } from './colour.ts'
import type { Platform } from './platform.ts'

export type Colours = ReturnType<typeof pc.createColors>

export interface Shell {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where the command was called. */
  readonly folder: string
  readonly ports: Ports
  readonly platform: Platform
  readonly stdin: Readable
  /** Whether somebody can be asked: there is a keyboard, and a screen for the question. */
  readonly isInteractive: boolean
  readonly out: Stream
  readonly err: Stream
  /** Calls `run` at every Ctrl-C, which then does nothing else; the answer takes that back. */
  onInterrupt(run: () => void): () => void
  /** Calls `run` once at a request to stop: SIGTERM, or Ctrl-C. */
  onStop(run: () => void): () => void
}

export interface Stream {
  readonly isTerminal: boolean
  /** Of the terminal; without one there is no limit. */
  readonly columns: number
  write(text: string): void
}

export function processShell(platform: Platform): Shell {
  const on = (signals: readonly NodeJS.Signals[], run: () => void): (() => void) => {
    for (const signal of signals) process.on(signal, run)
    return () => {
      for (const signal of signals) process.off(signal, run)
    }
  }
  return {
    environment: process.env,
    folder: process.cwd(),
    ports: systemPorts,
    platform,
    stdin: process.stdin,
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    out: streamOf(process.stdout),
    err: streamOf(process.stderr),
    onInterrupt: (run) => on(['SIGINT'], run),
    onStop: (run) => on(['SIGINT', 'SIGTERM'], run),
  }
}

function streamOf(stream: NodeJS.WriteStream): Stream {
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : Number.POSITIVE_INFINITY
    },
    write: (text) => void stream.write(text),
  }
}

/** The output of one call: data and words, in colour or not. */
export interface Output {
  /** One line of data, on stdout. */
  line(text: string): void
  /** One JSON document on stdout, for people and programs. */
  json(document: object): void
  /** One JSON document on one line of stdout. */
  jsonLine(document: object): void
  /** One line that is not data, on stderr. */
  notice(text: string): void
  /** For what goes to stdout. */
  readonly paint: Colours
  /** For what goes to stderr. */
  readonly noticePaint: Colours
}

export function outputOf({ out, err, environment }: Shell, colour: ColourChoice = 'auto'): Output {
  const paintFor = ({ isTerminal }: Stream): Colours =>
    pc.createColors(usesColour(colour, { environment, isTerminal }))
  return {
    line: (text) => out.write(`${text}\n`),
    json: (document) => out.write(`${JSON.stringify(document, null, 2)}\n`),
    jsonLine: (document) => out.write(`${JSON.stringify(document)}\n`),
    notice: (text) => err.write(`${text}\n`),
    paint: paintFor(out),
    noticePaint: paintFor(err),
  }
}

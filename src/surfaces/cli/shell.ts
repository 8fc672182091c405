/**
 * The surroundings of a command: streams, the environment, and the parts of Millrace that commands use.
 * Commands take it as an argument, so that tests can run them in process.
 */
import type { Readable } from 'node:stream'
import pc from 'picocolors'
import { type Ports, systemPorts } from '../../core/ports.ts'
import { type ColourChoice, usesColour } from './colour.ts'
import type { Platform } from './platform.ts'

export type Colours = ReturnType<typeof pc.createColors>

export interface Shell {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The current folder of the command. */
  readonly folder: string
  readonly ports: Ports
  readonly platform: Platform
  readonly stdin: Readable
  /** Whether the command can prompt: stdin and stderr are terminals. */
  readonly isInteractive: boolean
  readonly out: Stream
  readonly err: Stream
  /** Calls `run` at every Ctrl-C, in place of the default. Returns a function that unregisters it. */
  onInterrupt(run: () => void): () => void
  /** Calls `run` once, at SIGTERM or Ctrl-C. Returns a function that unregisters it. */
  onStop(run: () => void): () => void
}

export interface Stream {
  readonly isTerminal: boolean
  /** Width of the terminal; unlimited without one. */
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

/** The output of one command, in colour or not. */
export interface Output {
  /** One line of data, on stdout. */
  line(text: string): void
  /** One JSON document on stdout, indented. */
  json(document: object): void
  /** One JSON document on one line of stdout. */
  jsonLine(document: object): void
  /** One line that is not data, on stderr. */
  notice(text: string): void
  /** Colours for stdout. */
  readonly paint: Colours
  /** Colours for stderr. */
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

/** Servers that the tests of one file start with the command, ended and cleared away after them. */
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type CliProcess, startCli } from '../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

export interface Served {
  readonly server: CliProcess
  readonly url: string
  readonly data: string
}

export interface CommandServers {
  /** A path for something that the tests of this file need. */
  file(name: string): string
  /** A path that no other test uses. */
  fresh(prefix: string): string
  /** Sees to it that a process ends with its test. */
  watch(server: CliProcess): CliProcess
  /** Starts a server on a store and a port of its own. */
  serve(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<Served>
}

export function commandServers(purpose: string): CommandServers {
  let folder: TemporaryFolder
  let count = 0
  const running: CliProcess[] = []
  beforeAll(async () => {
    folder = await temporaryFolder(purpose)
  })
  afterEach(async () => {
    for (const server of running) server.kill('SIGKILL')
    await Promise.all(running.splice(0).map((server) => server.ended))
  })
  afterAll(() => folder.remove())

  const fresh = (prefix: string): string => folder.file(`${prefix}-${count++}`)
  const watch = (server: CliProcess): CliProcess => {
    running.push(server)
    return server
  }
  return {
    file: (name) => folder.file(name),
    fresh,
    watch,
    async serve(args = [], env = {}) {
      const data = fresh('data')
      const server = watch(startCli(['serve', '--port', '0', '--data', data, ...args], env))
      const [, url = ''] = await server.output(/listening on (http:\S+)/)
      return { server, url, data }
    },
  }
}

/** A fresh clone with an empty npm cache: the size of the installation, and the time until the server is ready. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root } from '../built-package.ts'
import { inScratchFolder } from '../load.ts'
import type { Row } from '../report.ts'

const installedMbMax = 250
const servesWithinS = 60

/** Uses a folder outside the checkout, because npm uses the programs of every `node_modules` above. */
export function installRows(): Promise<readonly Row[]> {
  return inScratchFolder(measureClone)
}

async function measureClone(folder: string): Promise<readonly Row[]> {
  const clone = join(folder, 'clone')
  execFileSync('git', ['clone', '--quiet', root, clone])
  const cache = join(folder, 'npm-cache')
  mkdirSync(cache)
  const startedMs = performance.now()
  const server = spawn('npm', ['start', '--', '--port', '0'], {
    cwd: clone,
    env: { ...environmentWithoutNpm(), npm_config_cache: cache },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  try {
    await untilServing(server.stdout)
    const seconds = (performance.now() - startedMs) / 1_000
    const mb = installedMb(join(clone, 'node_modules'))
    return [
      {
        what: '`npm start` in a fresh clone, disk space of the installation',
        measured: `${mb} MB`,
        bar: `at most ${installedMbMax} MB`,
        isMet: mb <= installedMbMax,
      },
      {
        what: '`npm start` in a fresh clone with an empty npm cache, time until it serves',
        measured: `${seconds.toFixed(1)} s`,
        bar: `at most ${servesWithinS} s`,
        isMet: seconds <= servesWithinS,
      },
    ]
  } finally {
    if (server.exitCode === null && server.pid !== undefined) {
      // npm and its shell do not pass on signals, so signal the whole process group.
      process.kill(-server.pid, 'SIGTERM')
      await once(server, 'close')
    }
  }
}

async function untilServing(output: AsyncIterable<Buffer>): Promise<void> {
  let printed = ''
  for await (const chunk of output) {
    printed += String(chunk)
    const [, url] = /listening on (http:\S+)/.exec(printed) ?? []
    if (url === undefined) continue
    const { ok } = await fetch(`${url}/healthz`)
    if (!ok) throw new Error('The server is not healthy.')
    return
  }
  throw new Error('`npm start` ended before the server was ready.')
}

/** Disk blocks, as reported by du. */
function installedMb(folder: string): number {
  const output = execFileSync('du', ['-sm', folder], { encoding: 'utf8' })
  return Number.parseInt(output, 10)
}

/** A new user has neither the npm settings of this run nor its Node. */
function environmentWithoutNpm(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const PATH = folders.filter((folder) => !folder.includes('node_modules')).join(delimiter)
  return { ...Object.fromEntries(entries), PATH }
}

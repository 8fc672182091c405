/** The API mounted in a server of somebody else, on a store that the test can trouble. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { onTestFinished } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type Mill, open } from '../../../src/index.ts'
import type { LogFields, Logger } from '../../../src/observability/logger.ts'
import { createJobsApi, type JobsApiOptions } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { academy } from './academy.ts'
import { type Answer, auth, type Call, callApi, keys } from './scene.ts'

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: LogFields
}

export interface Mounted {
  readonly url: string
  readonly file: string
  readonly backend: Backend
  readonly log: readonly LogLine[]
  call(path: string, call?: Call): Promise<Answer>
  enqueue(fields?: object): Promise<Answer>
}

export interface MountOptions extends Partial<JobsApiOptions> {
  /** Puts something in place of the open app. */
  readonly change?: (mill: Mill<typeof academy>) => Mill<typeof academy>
}

export async function mountAcademy(options: MountOptions = {}): Promise<Mounted> {
  const { change = (mill: Mill<typeof academy>) => mill, ...others } = options
  const folder = await temporaryFolder('mounted')
  const file = folder.file('millrace.db')
  const backend = await openSqlite({ file, busyTimeoutMs: 200 })
  const mill = await open(academy, { backend })
  const log: LogLine[] = []
  const api = createJobsApi(change(mill), { auth, log: recorder(log), ...others })
  const server = createServer(getRequestListener(api.fetch, { overrideGlobalObjects: false }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await mill.close()
    await backend.close()
    await folder.remove()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const call = (path: string, wanted: Call = {}): Promise<Answer> => callApi(url, path, wanted)
  return {
    url,
    file,
    backend,
    log,
    call,
    enqueue: (fields = {}) => {
      const body = { type: 'OCR', payload: { examId: 'e-1' }, ...fields }
      const prefix = options.basePath ?? ''
      return call(`${prefix}/jobs/basic`, { key: keys.admin, method: 'POST', body })
    },
  }
}

function recorder(into: LogLine[]): Logger {
  const at =
    (level: string) =>
    (fields: LogFields, message: string): void =>
      void into.push({ level, message, fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

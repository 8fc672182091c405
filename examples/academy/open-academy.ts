/** Opens what every process of the academy uses: the queues, the job rows and the files. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Mill, type OpenOptions, open } from 'millrace'
import { type Academy, attemptTimeout, createAcademy } from './app.ts'
import type { Environment } from './environment.ts'
import { openRecords, type Records } from './records.ts'
import { openStorage, type Storage } from './storage.ts'

export interface OpenAcademy {
  readonly mill: Mill<Academy>
  readonly records: Records
  readonly storage: Storage
  close(): Promise<void>
}

export async function openAcademy(
  environment: Environment,
  options: Pick<OpenOptions, 'ports' | 'store'> = {},
): Promise<OpenAcademy> {
  const folder = environment.ACADEMY_DATA
  await mkdir(folder, { recursive: true })
  const mill = await open(createAcademy(environment), {
    store: environment.MILLRACE_STORE ?? join(folder, 'queues'),
    ...options,
  })
  const records = openRecords({
    file: join(folder, 'academy.db'),
    attemptMsMax: attemptTimeout.seconds * 1_000,
    now: options.ports?.clock.now ?? Date.now,
  })
  return {
    mill,
    records,
    storage: openStorage(join(folder, 'files')),
    async close() {
      await mill.close()
      records[Symbol.dispose]()
    },
  }
}

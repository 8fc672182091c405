/** A store on which versions of an app are opened, on a clock that the test moves. */
import { onTestFinished } from 'vitest'
import { type Mill, open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import type { App } from '../../src/contracts/define-app.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const minute = 60_000

/** The bodies in a queue, in order, without receiving them. */
export async function bodies(backend: Backend, name: string): Promise<readonly string[]> {
  const { items } = await backend.peek({ queue: name, state: 'ready', limit: 1_000 })
  return items.map(({ body }) => body)
}

/** One store that apps are opened on one after the other, or at once. */
export async function oneStore(): Promise<{
  readonly backend: Backend
  readonly clock: ReturnType<typeof virtualPorts>['clock']
  openApp<const Opened extends App>(app: Opened, stage?: string): Promise<Mill<Opened>>
}> {
  const folder = await temporaryFolder('schedules')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const mills: Mill[] = []
  onTestFinished(async () => {
    for (const mill of mills) await mill.close()
    await backend.close()
    await folder.remove()
  })
  return {
    backend,
    clock: ports.clock,
    openApp: async (app, stage = 'dev') => {
      const mill = await open(app, { backend, ports, stage })
      mills.push(mill as unknown as Mill)
      return mill
    },
  }
}

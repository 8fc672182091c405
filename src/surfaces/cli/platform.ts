/**
 * The parts of Millrace that commands use and must not load themselves. The entry of the program hands them
 * over; each is loaded when a command first asks for it.
 */
export interface Platform {
  stores(): Promise<typeof import('../../app/open-backend.ts')>
  apps(): Promise<typeof import('../../app/load-app.ts')>
  stacks(): Promise<typeof import('../../stacks/bring-up.ts')>
  doctor(): Promise<typeof import('../../stacks/examine.ts')>
  server(): Promise<ServerModule>
}

export type ServerModule = typeof import('../../server.ts')

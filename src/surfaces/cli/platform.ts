/**
 * The parts of Millrace that commands use but may not import. `src/cli.ts` passes them in. Each part is
 * loaded on first use.
 */
export interface Platform {
  stores(): Promise<typeof import('../../app/open-backend.ts')>
  apps(): Promise<typeof import('../../app/load-app.ts')>
  contracts(): Promise<typeof import('../../server/wire-contracts.ts')>
  stacks(): Promise<typeof import('../../stacks/bring-up.ts')>
  doctor(): Promise<typeof import('../../stacks/examine.ts')>
  server(): Promise<ServerModule>
}

export type ServerModule = typeof import('../../server.ts')

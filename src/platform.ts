/** The parts of Millrace that commands use. Each is loaded on first use. */
import type { Platform } from './surfaces/cli/platform.ts'

export const platform: Platform = {
  stores: () => import('./app/open-backend.ts'),
  apps: () => import('./app/load-app.ts'),
  contracts: () => import('./server/wire-contracts.ts'),
  stacks: () => import('./stacks/bring-up.ts'),
  doctor: () => import('./stacks/examine.ts'),
  server: () => import('./server.ts'),
}

/** What the command line is made of. Nothing is loaded before a command asks for it. */
import type { Platform } from './surfaces/cli/platform.ts'

export const platform: Platform = {
  stores: () => import('./app/open-backend.ts'),
  apps: () => import('./app/load-app.ts'),
  stacks: () => import('./stacks/bring-up.ts'),
  doctor: () => import('./stacks/examine.ts'),
  server: () => import('./server.ts'),
}

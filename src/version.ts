import { readFileSync } from 'node:fs'

/** The version of this package, from its package.json: beside `src/` here, beside `dist/` installed. */
export const version: string = readVersion()

function readVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
  return version
}

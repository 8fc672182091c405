import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for one test. It is kept if the test fails. */
export interface TemporaryFolder {
  readonly path: string
  file(name: string): string
  remove(): Promise<void>
}

export async function temporaryFolder(purpose: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), `millrace-${purpose}-`))
  return {
    path,
    file: (name) => join(path, name),
    remove: () => rm(path, { recursive: true, force: true }),
  }
}

/** Runs a test in a temporary folder, which is removed if the test passes. */
export async function inTemporaryFolder(
  purpose: string,
  run: (folder: TemporaryFolder) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder(purpose)
  await run(folder)
  await folder.remove()
}

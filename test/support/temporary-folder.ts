import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for one test; what a failed test leaves in it is kept for a look. */
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

/** Runs a test in a folder of its own, which is removed when the test has passed. */
export async function inTemporaryFolder(
  purpose: string,
  run: (folder: TemporaryFolder) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder(purpose)
  await run(folder)
  await folder.remove()
}

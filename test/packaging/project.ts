/** The package as it is published, and projects of users that have installed it. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

export const execute = promisify(execFile)
export const root: string = fileURLToPath(new URL('../..', import.meta.url))

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin: { readonly millrace: string }
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
}

export const manifest: Manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))

/** Names by which the package is imported. */
export const names: readonly string[] = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => join(manifest.name, path))

/** Builds and packs; returns the tarball. */
export async function pack(folder: TemporaryFolder): Promise<string> {
  await execute('npm', ['pack', '--pack-destination', folder.path], { cwd: root })
  return folder.file(`${manifest.name}-${manifest.version}.tgz`)
}

/** A project with the package, the dependencies that it declares, and what else is named. */
export class Project {
  readonly folder: TemporaryFolder

  private constructor(folder: TemporaryFolder) {
    this.folder = folder
  }

  static async create(tarball: string, type: 'commonjs' | 'module'): Promise<Project> {
    const project = new Project(await temporaryFolder('package'))
    await mkdir(project.installed, { recursive: true })
    await execute('tar', ['-xzf', tarball, '-C', project.installed, '--strip-components=1'])
    for (const name of Object.keys(manifest.dependencies)) await project.link(name)
    await project.write('package.json', JSON.stringify({ type, private: true }))
    return project
  }

  get installed(): string {
    return this.folder.file(join('node_modules', manifest.name))
  }

  async link(name: string, source: string = join(root, 'node_modules', name)): Promise<void> {
    const place = this.folder.file(join('node_modules', name))
    await mkdir(dirname(place), { recursive: true })
    await symlink(source, place, 'dir')
  }

  async write(name: string, text: string): Promise<void> {
    const file = this.folder.file(name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  /** What the program printed; a failure shows it, since checkers explain themselves on stdout. */
  async run(args: readonly string[], node: string = process.execPath): Promise<string> {
    try {
      const { stdout } = await execute(node, [...args], { cwd: this.folder.path, env: environment })
      return stdout
    } catch (error) {
      const { message, stdout } = error as Error & { readonly stdout: string }
      throw new Error(`${message}\n${stdout}`, { cause: error })
    }
  }
}

/** Without what the runner of these tests has set for itself; before Node 24.15, SQLite warns. */
const { PATH, HOME, TMPDIR } = process.env
const environment = {
  ...(PATH !== undefined && { PATH }),
  ...(HOME !== undefined && { HOME }),
  ...(TMPDIR !== undefined && { TMPDIR }),
}

/** A block of JavaScript in a page of the documentation, by the name in its first line. */
export async function documented(page: string, name: string): Promise<string> {
  const text = await readFile(join(root, page), 'utf8')
  const [, code] = text.split(`\`\`\`js\n// ${name}\n`)
  const [block] = code?.split('\n```') ?? []
  if (block === undefined) throw new Error(`${page} has no block ${name}.`)
  return block
}

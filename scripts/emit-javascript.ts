/**
 * The JavaScript of the package: every source file as CommonJS, because Jest and older tools cannot load
 * anything else, and a small ES module beside each entry. Both lead to the same code, so a program
 * that mixes `import` and `require` has one copy of every class.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src')

/** The entries that package.json names, as paths below `dist` without their ending: `testing/index`. */
export const entries: readonly string[] = [
  ...readFileSync(join(root, 'package.json'), 'utf8').matchAll(/"\.\/dist\/([^"]+)\.mjs"/g),
].map(([, entry = '']) => entry)

/** Writes all JavaScript into the folder. */
export async function emitJavaScript(folder: string): Promise<void> {
  // All files, not only those that an entry leads to: threads are started by the name of their file.
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test|\.test-d)\.ts$/.test(file))
    .map((file) => file.replaceAll('\\', '/'))
  const build = await rolldown({
    input: Object.fromEntries(files.map((file) => [file.slice(0, -'.ts'.length), file])),
    cwd: sources,
    platform: 'node',
    // Helpers for syntax that the oldest supported Node lacks come along; packages do not.
    external: /^(?!@oxc-project\/)[a-z@]/,
    treeshake: false,
    tsconfig: false,
    transform: { target: 'es2024' },
    experimental: { attachDebugInfo: 'none' },
    plugins: [requireLazily, leaveOutTypes],
  })
  const { output } = await build.write({
    dir: folder,
    format: 'cjs',
    preserveModules: true,
    preserveModulesRoot: sources,
    // What the build itself adds has long names of its own.
    entryFileNames: ({ name }) => `${name.replace(/^_virtual\/(?:.*\/)?/, 'helpers/')}.js`,
    strict: true,
    esModule: true,
    generatedCode: { symbols: false },
    // Comments are for those who read: they are in the declarations, and not a second time here.
    comments: false,
    minify: false,
  })
  await build.close()
  // Says for these files what the package.json above them says for the sources: what they are.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n')
  for (const entry of entries) {
    const chunk = output.find(({ fileName }) => fileName === `${entry}.js`)
    if (chunk?.type !== 'chunk') throw new Error(`The build has made no ${entry}.js.`)
    writeModule(join(folder, entry), chunk.exports)
  }
}

/**
 * Packages that are loaded when they are needed are required: Jest has no `import()` in CommonJS. What
 * is imported by a name that the program makes up, such as a user's file, may be an ES module, and
 * stays as it is.
 */
const requireLazily: Plugin = {
  name: 'require-lazily',
  renderChunk: (code) =>
    code.replaceAll(/\bimport\(("[\w@./-]+")\)/g, 'Promise.resolve().then(() => require($1))'),
}

/** Files that hold only types would be empty. Those of entries stay: package.json names them. */
const leaveOutTypes: Plugin = {
  name: 'leave-out-types',
  generateBundle(_options, bundle) {
    for (const [file, chunk] of Object.entries(bundle)) {
      const isEmpty = chunk.type === 'chunk' && chunk.exports.length === 0 && isBare(chunk.code)
      if (isEmpty && !entries.includes(file.slice(0, -'.js'.length))) delete bundle[file]
    }
  },
}

function isBare(code: string): boolean {
  return /^(?:"use strict";|Object\.defineProperty\(exports, '__esModule'.*;|\s)*$/.test(code)
}

/** Every name by itself, so that an editor and a bundler see what there is without running it. */
function writeModule(path: string, names: readonly string[]): void {
  const from = `'./${basename(path)}.js'`
  const list = names.toSorted().map((name) => `  ${name},\n`)
  const code = names.length === 0 ? 'export {}\n' : `export {\n${list.join('')}} from ${from}\n`
  writeFileSync(`${path}.mjs`, code)
  writeFileSync(`${path}.d.mts`, `export * from ${from}\n`)
}

/**
 * Emits the JavaScript of the package: every source file as CommonJS, because Jest and older tools cannot load ES
 * modules, and a small ES module for each entry. Both load the same code, so a program that mixes `import` and
 * `require` has one copy of every class.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src')

/** The entries of package.json, as paths in `dist` without an extension: `testing/index`. */
export const entries: readonly string[] = [
  ...readFileSync(join(root, 'package.json'), 'utf8').matchAll(/"\.\/dist\/([^"]+)\.mjs"/g),
].map(([, entry = '']) => entry)

/** Writes all JavaScript to the folder. */
export async function emitJavaScript(folder: string): Promise<void> {
  // All files, not only those that entries import: threads are started by file name.
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test|\.test-d)\.ts$/.test(file))
    .map((file) => file.replaceAll('\\', '/'))
  const build = await rolldown({
    input: Object.fromEntries(files.map((file) => [file.slice(0, -'.ts'.length), file])),
    cwd: sources,
    platform: 'node',
    // Include helpers for syntax that the oldest supported Node lacks, but no packages.
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
    // The build's own helpers have unique names.
    entryFileNames: ({ name }) => `${name.replace(/^_virtual\/(?:.*\/)?/, 'helpers/')}.js`,
    strict: true,
    esModule: true,
    generatedCode: { symbols: false },
    // The comments are already in the declarations.
    comments: false,
    minify: false,
  })
  await build.close()
  // These files are CommonJS, unlike the sources.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n')
  for (const entry of entries) {
    const chunk = output.find(({ fileName }) => fileName === `${entry}.js`)
    if (chunk?.type !== 'chunk') throw new Error(`The build did not emit ${entry}.js.`)
    writeModule(join(folder, entry), chunk.exports)
  }
}

/**
 * Packages that are loaded lazily are required, because Jest has no `import()` in CommonJS. An import with a
 * computed name, such as a user's file, may be an ES module and stays an `import()`.
 */
const requireLazily: Plugin = {
  name: 'require-lazily',
  renderChunk: (code) =>
    code.replaceAll(/\bimport\(("[\w@./-]+")\)/g, 'Promise.resolve().then(() => require($1))'),
}

/** Skips files that contain only types, unless they are entries, which package.json names. */
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

/** Lists every name, so that editors and bundlers see the exports without running the code. */
function writeModule(path: string, names: readonly string[]): void {
  const from = `'./${basename(path)}.js'`
  const list = names.toSorted().map((name) => `  ${name},\n`)
  const code = names.length === 0 ? 'export {}\n' : `export {\n${list.join('')}} from ${from}\n`
  writeFileSync(`${path}.mjs`, code)
  writeFileSync(`${path}.d.mts`, `export * from ${from}\n`)
}

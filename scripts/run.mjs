/**
 * Runs `npm start`, `npm test` and the examples. It is plain JavaScript for Node 20 or newer. It installs missing
 * dependencies and starts the project's own Node, so a fresh clone needs only npm. Further arguments go to the
 * server, the test runner or the example.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')
const [command, ...args] = process.argv.slice(2)

if (command === 'start') {
  installServer()
  process.exitCode = await run('src/cli.ts', ['serve', ...args])
} else if (command === 'test') {
  install()
  const services = ['postgresql', 'pgbouncer', 'redis-server']
  const missing = installPrograms(['ffmpeg', 'awscli', 'python3-boto3', ...services])
  // A missing service is a failure, not a skip.
  if (missing.length > 0) fail(howToInstall(missing))
  process.exitCode = await test()
} else if (command === 'example' && /^[a-z-]+$/.test(args[0] ?? '')) {
  install()
  // The example prints what to do if its program is still missing.
  if (args[0] === 'academy') installPrograms(['ffmpeg'])
  if (args[0] === 'foreign-worker') installPrograms(['python3-boto3'])
  process.exitCode = await run(`examples/${args[0]}/main.ts`, args.slice(1))
} else if (command === 'consume:reprocess') {
  install()
  const tutoring = 'examples/tutoring'
  const options = [`--env-file-if-exists=${tutoring}/.env`]
  process.exitCode = await run(`${tutoring}/scripts/local-reprocess-consumer.ts`, args, options)
} else {
  fail('Usage: node scripts/run.mjs start|test|example NAME|consume:reprocess [arguments]', 2)
}

/** Installs everything: the server, and the tools and libraries of tests, benchmarks and examples. */
function install() {
  const wanted = wantedPackages()
  const present = presentPackages()
  const isComplete = Object.entries(wanted).every(([path, entry]) => {
    // Optional packages for other platforms are in the lock file but not installed.
    if (path === '' || (present[path] === undefined && entry.optional === true)) return true
    return isSame(present[path], entry)
  })
  if (!isComplete) npmCi(root)
}

/**
 * Installs only what the server needs: the package's dependencies, and Node if the machine's own is too old. npm
 * cannot install some of the development dependencies, so it gets a manifest with only these and the same lock
 * file. The result is then moved here.
 */
function installServer() {
  const manifest = readJson(join(root, 'package.json')) ?? fail('package.json is unreadable.')
  const { node, ...others } = manifest.devDependencies
  const wanted = wantedPackages()
  const present = presentPackages()
  const needsNode = nodeMajor() < 24 || process.execPath.startsWith(modules)
  const dependencies = { ...manifest.dependencies, ...(needsNode && { node }) }
  const isPresent = (name) => present[`node_modules/${name}`] !== undefined
  const isCurrent = ([path, entry]) => wanted[path] === undefined || isSame(entry, wanted[path])
  if (Object.keys(dependencies).every(isPresent) && Object.entries(present).every(isCurrent)) return
  // Keep the tools of a developer's checkout.
  if (Object.keys(others).some(isPresent)) return npmCi(root)
  const { name, version, overrides, allowScripts } = manifest
  const part = { name, version, dependencies, overrides, allowScripts }
  const lock = readJson(join(root, 'package-lock.json'))
  const folder = join(root, '.install')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(part))
  const packages = { ...lock.packages, '': part }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  copyFileSync(join(root, '.npmrc'), join(folder, '.npmrc'))
  npmCi(folder)
  rmSync(modules, { recursive: true, force: true })
  renameSync(join(folder, 'node_modules'), modules)
  rmSync(folder, { recursive: true })
}

function npmCi(folder) {
  process.stderr.write('Installing dependencies, once ...\n')
  const npm = process.env.npm_execpath
  const npmArgs = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: folder, encoding: 'utf8' }
  const result = npm
    ? spawnSync(process.execPath, [npm, ...npmArgs], options)
    : spawnSync('npm', npmArgs, { ...options, shell: process.platform === 'win32' })
  if (result.error || result.status !== 0) {
    process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`)
    const reason = result.error?.message ?? result.signal ?? `exit code ${result.status}`
    fail(`Installing the dependencies failed (npm ci: ${reason}).`)
  }
}

function wantedPackages() {
  const lock = readJson(join(root, 'package-lock.json'))
  return lock?.packages ?? fail('package-lock.json is missing or unreadable.')
}

/** npm writes its own copy of the lock file last, so an interrupted install never looks complete. */
function presentPackages() {
  return readJson(join(modules, '.package-lock.json'))?.packages ?? {}
}

function isSame(one, other) {
  return one?.version === other.version && one?.integrity === other.integrity
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** Whether a program is installed, by the name of its Debian package. */
function isThere(name) {
  // The tests use these two paths; another version may come first on PATH.
  if (name === 'awscli') return existsSync('/usr/bin/aws')
  if (name === 'python3-boto3') {
    return spawnSync('/usr/bin/python3', ['-c', 'import boto3']).status === 0
  }
  // Debian keeps these two outside of the PATH of most users.
  if (name === 'postgresql') return hasPostgres()
  if (name === 'pgbouncer' && existsSync('/usr/sbin/pgbouncer')) return true
  return isOnPath(name)
}

/** The client's package makes the same folders, so only the program that creates a server's data counts. */
function hasPostgres() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const isInstalled = (version) => existsSync(join(debian, version, 'bin', 'initdb'))
  return versions.some(isInstalled) || isOnPath('initdb')
}

/** Installs programs from Debian packages if possible, and returns those that are still missing. */
function installPrograms(programs) {
  const missing = programs.filter((name) => !isThere(name))
  if (missing.length === 0 || process.getuid?.() !== 0 || !isOnPath('apt-get')) return missing
  process.stderr.write(`Installing ${missing.join(', ')}, once ...\n`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const aptGet = (...aptArgs) => spawnSync('apt-get', ['-q', ...aptArgs], { env, encoding: 'utf8' })
  const add = () => aptGet('install', '-y', '--no-install-recommends', ...missing)
  // The package list may be missing or old. Then update it and try again.
  if (add().status !== 0) {
    aptGet('update')
    const { status, stderr } = add()
    if (status !== 0) process.stderr.write(stderr ?? '')
  }
  return missing.filter((name) => !isThere(name))
}

function isOnPath(program) {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, program)))
}

function howToInstall(programs) {
  return `The tests need ${programs.join(', ')}: apt-get install ${programs.join(' ')}`
}

function nodeBinary() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const own = join(modules, 'node', 'bin', name)
  if (existsSync(own)) return own
  // If install scripts are disabled, the package exists without its binary.
  // The package runs on Node 22.18, but its sources use `using`, which needs Node 24.
  if (nodeMajor() >= 24) return process.execPath
  return fail(
    `Node ${process.versions.node} is too old, and the project's own Node is not installed: ` +
      'allow install scripts, or use Node 24 or newer.',
  )
}

function nodeMajor() {
  return Number.parseInt(process.versions.node, 10)
}

/** Runs a script with the project's Node and returns its exit code. */
function run(script, scriptArgs, nodeOptions = []) {
  const binary = nodeBinary()
  const child = spawn(binary, [...nodeOptions, join(root, script), ...scriptArgs], {
    cwd: root,
    stdio: 'inherit',
    env: {
      // Cache the stripped types, which saves time and 25 MB of memory per start.
      NODE_COMPILE_CACHE: join(modules, '.cache', 'millrace'),
      ...process.env,
      PATH: `${join(modules, '.bin')}${delimiter}${process.env.PATH ?? ''}`,
    },
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const forward = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, forward)
  const orphaned = whenOrphaned(() => child.kill('SIGTERM'))
  return new Promise((resolve) => {
    const end = (code) => {
      clearInterval(orphaned)
      for (const signal of signals) process.off(signal, forward)
      resolve(code)
    }
    child.on('error', (error) => {
      process.stderr.write(`${binary} could not be started: ${error.message}\n`)
      end(1)
    })
    child.on('exit', (code, signal) => end(signal ? 128 + constants.signals[signal] : (code ?? 1)))
  })
}

/**
 * A signal to npm ends the shell between npm and this script, but the shell does not pass it on. Without this
 * check, the server would keep running and keep its port.
 */
function whenOrphaned(then) {
  if (process.env.npm_lifecycle_event === undefined) return undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    then()
  }, 250)
  return timer
}

async function test() {
  const folder = join(root, '.test-data')
  // The process id separates two runs in one checkout.
  const report = join(folder, `report-${process.pid}.json`)
  mkdirSync(folder, { recursive: true })
  const steps = [
    ['lint', 'node_modules/@biomejs/biome/bin/biome', ['check', '.']],
    // Each checker reads the libraries again, so more of them than processors take longer.
    ['types', 'node_modules/typescript/bin/tsc', ['--noEmit', '--checkers', '2']],
    [
      'tests',
      'node_modules/vitest/vitest.mjs',
      ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
    ],
  ]
  const failures = []
  for (const [name, script, stepArgs] of steps) {
    const startedAt = performance.now()
    const code = await run(script, stepArgs)
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    process.stdout.write(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)\n`)
    if (code !== 0) failures.push(name)
    if (code >= 128) break
  }
  const { readReport } = await import('./test-report.mjs')
  const counts = readReport(report, root)
  rmSync(report, { force: true })
  for (const line of counts.lines) process.stdout.write(`${line}\n`)
  // Count failed steps, so that the last line and the exit code agree.
  const failedSteps = failures.filter((name) => name !== 'tests' || counts.failed === 0)
  if (failures.length > 0) process.stdout.write(`Failed: ${failures.join(', ')}\n`)
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  const failed = counts.failed + failedSteps.length
  process.stdout.write(`${counts.passed} passed, ${failed} failed${skipped}\n`)
  return failed === 0 ? 0 : 1
}

function fail(message, exitCode = 1) {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
}

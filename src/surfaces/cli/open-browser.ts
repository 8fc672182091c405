import { spawn } from 'node:child_process'

const programs: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Shows an address in the user's browser; where there is none, nothing happens. */
export function openBrowser(url: string): void {
  const [program, ...args] = programs[process.platform] ?? ['xdg-open']
  spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}

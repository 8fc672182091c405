/** Runs the `ffmpeg` command, and reports a failure in one line. */
import { execFile } from 'node:child_process'

export class FfmpegMissing extends Error {
  constructor() {
    super('ffmpeg is not installed. On Debian and Ubuntu: sudo apt-get install ffmpeg')
    this.name = 'FfmpegMissing'
  }
}

/** Aborting the signal ends the process. */
export function ffmpeg(args: readonly string[], signal?: AbortSignal): Promise<void> {
  const quiet = ['-hide_banner', '-nostdin', '-loglevel', 'error', '-y']
  return new Promise((resolve, reject) => {
    execFile('ffmpeg', [...quiet, ...args], { signal }, (error, _stdout, stderr) => {
      if (error === null) resolve()
      else if (error.code === 'ENOENT') reject(new FfmpegMissing())
      else if (signal?.aborted) reject(signal.reason)
      else reject(new Error(`ffmpeg failed: ${reasonIn(stderr) || 'no reason given'}`))
    })
  })
}

/** Throws if ffmpeg is missing, before any work begins. */
export async function requireFfmpeg(): Promise<void> {
  await ffmpeg(['-version'])
}

/** Its last line, without the file path in front. */
function reasonIn(stderr: string): string {
  return stderr.trim().split('\n').at(-1)?.split(': ').at(-1) ?? ''
}

/**
 * `millrace/server`: the server as a library. This file joins the ways in to the store; everything
 * else is in the folders it names.
 */
import { type RunningServer, type ServeOptions, serveWith } from './config/serve.ts'
import { httpApi } from './surfaces/http-api/http-api.ts'

export type { RunningServer, ServeOptions } from './config/serve.ts'

/** Starts a server on the embedded store. Answers once it accepts requests. */
export function serve(options: ServeOptions = {}): Promise<RunningServer> {
  return serveWith(httpApi, options)
}

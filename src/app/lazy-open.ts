/**
 * `open` for the entry of the package. Declaring an app must cost little, also in programs that only
 * share its types or print its template, so the parts that run an app are loaded when one is opened.
 */
import type { App } from '../contracts/define-app.ts'
import type { Mill, OpenOptions } from './open.ts'

export async function open<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  const opening = await import('./open.ts')
  return opening.open(app, options)
}

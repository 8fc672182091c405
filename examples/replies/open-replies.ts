/** Opens the app on the store that `millrace up` created. */
import { type Mill, type OpenOptions, open } from 'millrace'
import { type RepliesSettings, repliesApp } from './app.ts'

export type RepliesMill = Mill<ReturnType<typeof repliesApp>>

export interface OpenRepliesOptions extends Pick<OpenOptions, 'store' | 'log' | 'ports'> {
  readonly settings?: RepliesSettings
}

export function openReplies({ settings, ...options }: OpenRepliesOptions): Promise<RepliesMill> {
  return open(repliesApp(settings), options)
}

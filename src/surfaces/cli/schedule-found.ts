/** Errors of commands for a schedule that does not exist. */
import { didYouMean } from '../../core/did-you-mean.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { supported } from '../../core/supported.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { OpenStore } from './store-command.ts'
import { printable } from './table.ts'

/** Rejects with an error that names the missing schedule and suggests one with a similar name. */
export async function found<T>(
  { backend }: OpenStore,
  schedule: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'schedule_not_found') throw error
    const { items } = await supported(backend.schedules).list({ limit: limits.pageSize.max })
    const names = items.map((record) => record.schedule)
    const hint = didYouMean(schedule, names)
    const message = `The schedule '${printable(schedule)}' does not exist${hint || '.'}`
    throw new CommandFailure(exitCodes.notFound, message)
  }
}

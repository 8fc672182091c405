/**
 * `millrace dlq redrive`, `follow` and `cancel`. The store keeps the progress of a redrive, and any
 * process that runs maintenance on the store moves its messages; so does this command while it runs.
 */

import type { Backend, MoveTask, MoveTaskFailure } from '../../backends/backend.ts'
import { counted } from '../../core/counted.ts'
import { isRefused } from '../../core/millrace-error.ts'
import { pause } from '../../core/pause.ts'
import { moveTaskView } from '../../operations/move-task-view.ts'
import {
  isActive,
  maintainStore,
  planRedrive,
  type Redrive,
  type RedrivePlan,
  redrive,
  redriveOf,
} from '../../operations/redrive.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { Interruptions } from './interruptions.ts'
import { createProgress, type Progress } from './progress.ts'
import { type Call, inStore, type OpenStore, type StoreFlags } from './store-command.ts'
import { printable } from './table.ts'

interface FollowFlags extends StoreFlags {
  readonly jsonl?: true
}

interface RedriveFlags extends FollowFlags {
  readonly to?: string
  readonly rate?: number
  readonly yes?: true
  readonly dryRun?: true
}

export async function redriveQueue(call: Call<RedriveFlags>, source: string): Promise<void> {
  await inStore(
    call,
    async (store) => {
      try {
        if (call.flags.dryRun) return await printPlan(call, store, source)
        await watch(call, store, await start(call, store, source))
      } catch (error) {
        throw isRefused(error, 'move_task_running') ? await unfinished(store, source) : error
      }
    },
    { queue: source },
  )
}

async function start(
  { flags, shell }: Call<RedriveFlags>,
  { backend }: OpenStore,
  source: string,
): Promise<Redrive> {
  const { to, rate, yes } = flags
  if (!yes) await confirm(shell, { question: await questionOf(backend, source, to), name: source })
  return redrive(
    { backend, timers: shell.ports.timers, source },
    { ...(to !== undefined && { to }), ...(rate !== undefined && { perSecond: rate }) },
  )
}

/** States how many messages will move; an upper limit when the plan covers only part of the queue. */
async function questionOf(
  backend: Backend,
  source: string,
  to: string | undefined,
): Promise<string> {
  const { ready } = await backend.queueStatistics({ queue: source })
  const plan = await planRedrive(backend, source, to)
  const count = plan.complete ? movesIn(plan) : ready - skippedOf(plan)
  const messages = counted(ready, 'message')
  const what = count === ready ? messages : `${count} of ${messages}`
  const limit = plan.complete ? '' : 'up to '
  const target = to === undefined ? 'their source queues' : printable(to)
  return `This will move ${limit}${what} from ${printable(source)} to ${target}.`
}

function movesIn({ moves }: Pick<RedrivePlan, 'moves'>): number {
  return moves.reduce((sum, { messages }) => sum + messages, 0)
}

/** The unfinished redrive may have no process that works on it. */
async function unfinished({ backend }: OpenStore, source: string): Promise<CommandFailure> {
  const [latest] = await backend.listMoveTasks({ source, limit: 1 })
  const queue = printable(source)
  const message =
    `A redrive of ${queue} has not finished. To watch or continue it: millrace dlq follow ${queue}` +
    (latest === undefined ? '' : `; to stop it: millrace dlq cancel ${latest.id}`)
  return new CommandFailure(exitCodes.failed, message)
}

export async function followRedrive(call: Call<FollowFlags>, source: string): Promise<void> {
  await inStore(
    call,
    async (store) => {
      const { backend } = store
      const [latest] = await backend.listMoveTasks({ source, limit: 1 })
      if (latest === undefined || !isActive(latest)) {
        const message = `${printable(source)} has no running redrive.`
        throw new CommandFailure(exitCodes.notFound, message)
      }
      const { timers } = call.shell.ports
      await watch(call, store, redriveOf({ backend, timers, source }, latest.id))
    },
    { queue: source },
  )
}

export async function cancelRedrive(call: Call<StoreFlags>, id: string): Promise<void> {
  const { flags, output, shell } = call
  const { timers } = shell.ports
  const task = await inStore(call, async (store) => {
    const { backend } = store
    const { source } = await backend.cancelMoveTask({ id })
    await using _maintenance = maintainStore(backend, timers)
    return await redriveOf({ backend, timers, source }, id).finished()
  })
  const view = moveTaskView(task)
  if (flags.json) return output.json(view)
  output.line(`Cancelled after moving ${view.moved} of ${counted(view.to_move, 'message')}.`)
}

async function printPlan(
  { flags, output }: Call<RedriveFlags>,
  { backend }: OpenStore,
  source: string,
): Promise<void> {
  const { ready } = await backend.queueStatistics({ queue: source })
  const plan = await planRedrive(backend, source, flags.to)
  const { moves, skipped, looked_at, complete } = plan
  if (flags.json || flags.jsonl) {
    const document = { queue: source, messages: ready, ...plan, dry_run: true }
    return flags.json ? output.json(document) : output.jsonLine(document)
  }
  output.line(
    `Would move ${movesIn(plan)} of ${counted(ready, 'message')} from ${printable(source)}.`,
  )
  if (!complete) output.line(`Only the first ${counted(looked_at, 'message')} were examined.`)
  for (const { to, messages } of moves) output.line(`  ${messages} to ${printable(to)}`)
  for (const line of skippedLines(skipped)) output.line(line)
}

const stays: Readonly<Record<MoveTaskFailure, { one: string; many: string }>> = {
  queue_not_found: {
    one: 'stays: its source queue does not exist',
    many: 'stay: their source queues do not exist',
  },
  origin_unknown: {
    one: 'stays: its source queue is not known',
    many: 'stay: their source queues are not known',
  },
}

function skippedLines(skipped: MoveTask['skipped']): readonly string[] {
  return (['queue_not_found', 'origin_unknown'] as const)
    .filter((reason) => skipped[reason] > 0)
    .map(
      (reason) => `  ${skipped[reason]} ${stays[reason][skipped[reason] === 1 ? 'one' : 'many']}`,
    )
}

/** Short enough for a progress bar. */
const pollMs = 200

async function watch(call: Call<FollowFlags>, store: OpenStore, task: Redrive): Promise<void> {
  using interruptions = new Interruptions(call.shell)
  using progress = createProgress(call, 'Moved')
  let end: MoveTask | undefined
  {
    await using _maintenance = maintainStore(store.backend, call.shell.ports.timers)
    end = await follow({ call, task, interruptions, progress })
  }
  progress.end()
  end ??= await leave({ call, store, task, interruptions })
  finish(call, end)
}

interface Following {
  readonly call: Call<FollowFlags>
  readonly task: Redrive
  readonly interruptions: Interruptions
  readonly progress: Progress
}

/** Resolves when the task ends, or with undefined when the user presses Ctrl-C. */
async function follow(following: Following): Promise<MoveTask | undefined> {
  const { call, task, interruptions, progress } = following
  const { flags, output, shell } = call
  while (!interruptions.signal.aborted) {
    const state = await task.progress()
    progress.show({ done: state.moved, of: state.toMove })
    if (flags.jsonl) output.jsonLine({ event: 'progress', ...moveTaskView(state) })
    if (!isActive(state)) return state
    await pause(shell.ports.timers, pollMs, interruptions.signal)
  }
  return undefined
}

interface Leaving extends Omit<Following, 'progress'> {
  readonly store: OpenStore
}

/**
 * This command moves nothing while it waits for a second Ctrl-C. If messages move in that time, another
 * process moves them.
 */
async function leave({ call, store, task, interruptions }: Leaving): Promise<MoveTask> {
  const before = await task.progress()
  call.output.notice(
    `This command has stopped moving messages. Press Ctrl-C again to cancel the redrive ${task.id}.`,
  )
  if (await interruptions.isRepeated()) {
    await task.cancel()
    await using _maintenance = maintainStore(store.backend, call.shell.ports.timers)
    return await task.finished()
  }
  const after = await task.progress()
  if (!isActive(after)) return after
  const { id, source } = after
  const follow = `millrace dlq follow ${printable(source)}`
  const first = hasMoved(before, after)
    ? `Another process continues the redrive ${id}. To watch it: ${follow}`
    : `No process continues the redrive ${id} until a server or worker uses this store. ` +
      `To continue it: ${follow}`
  const message = `${first}; to stop it: millrace dlq cancel ${id}`
  throw new CommandFailure(exitCodes.interrupted, message)
}

function hasMoved(before: MoveTask, after: MoveTask): boolean {
  return after.moved + skippedOf(after) > before.moved + skippedOf(before)
}

export function skippedOf({ skipped }: Pick<MoveTask, 'skipped'>): number {
  return skipped.queue_not_found + skipped.origin_unknown
}

function finish({ flags, output }: Call<FollowFlags>, task: MoveTask): void {
  const view = moveTaskView(task)
  if (flags.json) output.json(view)
  else if (flags.jsonl) output.jsonLine({ event: 'end', ...view })
  else {
    output.line(`Moved ${view.moved} of ${counted(view.to_move, 'message')}${endOf(view)}`)
    for (const line of skippedLines(view.skipped)) output.line(line)
  }
  if (view.status === 'completed') return
  if (view.status !== 'failed') {
    throw new CommandFailure(exitCodes.interrupted, `Cancelled the redrive ${view.id}.`)
  }
  throw new CommandFailure(
    view.moved > 0 ? exitCodes.partlyDone : exitCodes.failed,
    whyFailed(view),
  )
}

/** A redrive that skipped messages counts as failed, so it prints the count instead of the status. */
function endOf({ status, skipped }: Pick<MoveTask, 'status' | 'skipped'>): string {
  const count = skippedOf({ skipped })
  if (status !== 'failed' || count === 0) return `: ${status}.`
  return count === 1 ? '. 1 was skipped:' : `. ${count} were skipped:`
}

function whyFailed(task: Pick<MoveTask, 'source' | 'skipped'>): string {
  const count = skippedOf(task)
  if (count === 0) return 'A queue of this redrive was deleted during the redrive.'
  const verb = count === 1 ? 'stays' : 'stay'
  const source = printable(task.source)
  return `${counted(count, 'message')} ${verb} in ${source}. Use --to to name a destination queue.`
}

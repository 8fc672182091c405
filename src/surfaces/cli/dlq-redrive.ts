/**
 * `millrace dlq redrive`, `follow` and `cancel`. The store keeps the progress of a redrive, and any
 * process that runs maintenance on the store moves its messages; so does this command while it runs.
 */

import type { Backend, MoveTask, MoveTaskFailure } from '../../backends/backend.ts'
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
        if (call.flags.dryRun) return await foretell(call, store, source)
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

/** Says how many would move by the plan; of more than it has looked at, how many could. */
async function questionOf(
  backend: Backend,
  source: string,
  to: string | undefined,
): Promise<string> {
  const { ready } = await backend.queueStatistics({ queue: source })
  const plan = await planRedrive(backend, source, to)
  const count = plan.complete ? movesIn(plan) : ready - skippedOf(plan)
  const messages = ready === 1 ? '1 message' : `${ready} messages`
  const what = count === ready ? messages : `${count} of ${messages}`
  const limit = plan.complete ? '' : 'up to '
  const target = to === undefined ? 'where they died' : printable(to)
  return `This will move ${limit}${what} out of ${printable(source)}, to ${target}.`
}

function movesIn({ moves }: Pick<RedrivePlan, 'moves'>): number {
  return moves.reduce((sum, { messages }) => sum + messages, 0)
}

/** It may be that no process works on it any more. */
async function unfinished({ backend }: OpenStore, source: string): Promise<CommandFailure> {
  const [latest] = await backend.listMoveTasks({ source, limit: 1 })
  const queue = printable(source)
  const message =
    `A redrive of ${queue} is not finished. Watch or continue it with: millrace dlq follow ${queue};` +
    (latest === undefined ? '' : ` stop it with: millrace dlq cancel ${latest.id}`)
  return new CommandFailure(exitCodes.failed, message)
}

/** Stays with a redrive that was started before. */
export async function followRedrive(call: Call<FollowFlags>, source: string): Promise<void> {
  await inStore(
    call,
    async (store) => {
      const { backend } = store
      const [latest] = await backend.listMoveTasks({ source, limit: 1 })
      if (latest === undefined || !isActive(latest)) {
        const message = `No redrive of ${printable(source)} is running.`
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
  output.line(`Cancelled after ${view.moved} of ${view.to_move}.`)
}

async function foretell(
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
  output.line(`Would move ${movesIn(plan)} of ${ready} messages out of ${printable(source)}.`)
  if (!complete) output.line(`Only the first ${looked_at} were looked at.`)
  for (const { to, messages } of moves) output.line(`  ${messages} to ${printable(to)}`)
  for (const line of skippedLines(skipped)) output.line(line)
}

const stays: Readonly<Record<MoveTaskFailure, { one: string; many: string }>> = {
  queue_not_found: {
    one: 'stays: the queue in which it died does not exist',
    many: 'stay: the queue in which they died does not exist',
  },
  origin_unknown: {
    one: 'stays: it does not say where it died',
    many: 'stay: they do not say where they died',
  },
}

function skippedLines(skipped: MoveTask['skipped']): readonly string[] {
  return (['queue_not_found', 'origin_unknown'] as const)
    .filter((reason) => skipped[reason] > 0)
    .map(
      (reason) => `  ${skipped[reason]} ${stays[reason][skipped[reason] === 1 ? 'one' : 'many']}`,
    )
}

/** Often enough for a bar that moves. */
const lookAgainMs = 200

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

/** Until the task ends; undefined when the user leaves it. */
async function follow(following: Following): Promise<MoveTask | undefined> {
  const { call, task, interruptions, progress } = following
  const { flags, output, shell } = call
  while (!interruptions.signal.aborted) {
    const state = await task.progress()
    progress.show({ done: state.moved, of: state.toMove })
    if (flags.jsonl) output.jsonLine({ event: 'progress', ...moveTaskView(state) })
    if (!isActive(state)) return state
    await pause(shell.ports.timers, lookAgainMs, interruptions.signal)
  }
  return undefined
}

interface Leaving extends Omit<Following, 'progress'> {
  readonly store: OpenStore
}

/**
 * While it waits for a second Ctrl-C this command moves nothing, so what moves by then is moved by
 * another process.
 */
async function leave({ call, store, task, interruptions }: Leaving): Promise<MoveTask> {
  const before = await task.progress()
  call.output.notice(
    `This command moves no more messages. Ctrl-C again cancels the redrive ${task.id}.`,
  )
  if (await interruptions.isMeant()) {
    await task.cancel()
    await using _maintenance = maintainStore(store.backend, call.shell.ports.timers)
    return await task.finished()
  }
  const after = await task.progress()
  if (!isActive(after)) return after
  const { id, source } = after
  const follow = `millrace dlq follow ${printable(source)}`
  const first = hasMoved(before, after)
    ? `Another process continues the redrive ${id}; watch it with: ${follow};`
    : `The redrive ${id} waits: no other process moves its messages now. ` +
      `A server or worker on this store will; or continue it with: ${follow};`
  const message = `${first} stop it with: millrace dlq cancel ${id}`
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
    output.line(`Moved ${view.moved} of ${view.to_move}${endOf(view)}`)
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

/** A redrive that has left some behind has done what it could. */
function endOf({ status, skipped }: Pick<MoveTask, 'status' | 'skipped'>): string {
  const count = skippedOf({ skipped })
  if (status !== 'failed' || count === 0) return `: ${status}.`
  return count === 1 ? '. 1 was skipped:' : `. ${count} were skipped:`
}

function whyFailed(task: Pick<MoveTask, 'source' | 'skipped'>): string {
  const count = skippedOf(task)
  if (count === 0) return 'A queue of this redrive was deleted while it ran.'
  const messages = count === 1 ? '1 message stays' : `${count} messages stay`
  const them = count === 1 ? 'it' : 'them'
  return `${messages} in ${printable(task.source)}; name a queue for ${them} with --to.`
}

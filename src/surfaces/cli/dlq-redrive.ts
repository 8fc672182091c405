/**
 * `millrace dlq redrive`: starts a move task and stays with it. The store keeps the progress, so the
 * command may leave at any time; while it is there it also does the moving, should nobody else.
 */
import type { MoveTask } from '../../backends/backend.ts'
import type { OpenedStore } from '../../config/open-store.ts'
import { pause } from '../../core/pause.ts'
import { type DeadLetterSurvey, surveyDeadLetters } from '../../operations/dead-letters.ts'
import { moveTaskView } from '../../operations/move-task-view.ts'
import { type Redrive, redrive } from '../../operations/redrive.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { Interruptions } from './interruptions.ts'
import { createProgress, type Progress } from './progress.ts'
import { type Call, inStore, type StoreFlags } from './store-command.ts'
import { printable } from './table.ts'

interface RedriveFlags extends StoreFlags {
  readonly to?: string
  readonly rate?: number
  readonly yes?: true
  readonly dryRun?: true
  readonly jsonl?: true
}

export async function redriveQueue(call: Call<RedriveFlags>, source: string): Promise<void> {
  await inStore(
    call.flags,
    async (store) => {
      if (call.flags.dryRun) return foretell(call, store, source)
      const { ready } = await store.backend.queueStatistics({ queue: source })
      const { to, yes } = call.flags
      const target = to === undefined ? 'where they died' : printable(to)
      const question = `This will move ${ready} messages out of ${printable(source)}, to ${target}.`
      await confirm(call.shell, { question, name: source, yes })
      await watch(call, store, source)
    },
    { queue: source },
  )
}

async function foretell(
  { flags, voice }: Call<RedriveFlags>,
  { backend }: OpenedStore,
  source: string,
): Promise<void> {
  const { to } = flags
  if (to !== undefined) await backend.readQueue({ queue: to })
  const { ready } = await backend.queueStatistics({ queue: source })
  const survey = await surveyDeadLetters(backend, source)
  const moves = movesOf(survey, to)
  if (flags.json || flags.jsonl) {
    const { complete, looked_at } = survey
    const document = { queue: source, messages: ready, moves, looked_at, complete, dry_run: true }
    return flags.json ? voice.tell(document) : voice.event(document)
  }
  voice.say(`Would move ${ready} messages out of ${printable(source)}.`)
  for (const { to: target, messages } of moves) {
    voice.say(`  ${messages} to ${printable(target ?? 'nowhere: it is not known where they died')}`)
  }
  if (!survey.complete) voice.note(`Only the first ${survey.looked_at} were looked at.`)
}

/** How many would go where. */
function movesOf(
  { groups }: DeadLetterSurvey,
  to: string | undefined,
): readonly { readonly to: string | null; readonly messages: number }[] {
  const byTarget = new Map<string | null, number>()
  for (const { source, messages } of groups) {
    const target = to ?? source
    byTarget.set(target, (byTarget.get(target) ?? 0) + messages)
  }
  return [...byTarget].map(([target, messages]) => ({ to: target, messages }))
}

/** Often enough for a bar that moves. */
const lookAgainMs = 200

async function watch(call: Call<RedriveFlags>, store: OpenedStore, source: string): Promise<void> {
  const { flags, shell } = call
  const { to, rate } = flags
  const task = await redrive(
    { backend: store.backend, timers: shell.ports.timers, source },
    { ...(to !== undefined && { to }), ...(rate !== undefined && { perSecond: rate }) },
  )
  await using _upkeep = store.keepUp()
  using interruptions = new Interruptions(shell)
  using progress = createProgress(call, 'Moved')
  const end = await follow({ call, task, interruptions, progress })
  progress.end()
  finish(call, end)
}

interface Following {
  readonly call: Call<RedriveFlags>
  readonly task: Redrive
  readonly interruptions: Interruptions
  readonly progress: Progress
}

/** Until the task ends, or the user leaves it. */
async function follow({ call, task, interruptions, progress }: Following): Promise<MoveTask> {
  const { flags, voice, shell } = call
  for (;;) {
    const state = await task.progress()
    progress.show({ done: state.moved, of: state.toMove })
    if (flags.jsonl) voice.event({ event: 'progress', ...moveTaskView(state) })
    if (state.status !== 'running' && state.status !== 'cancelling') return state
    await pause(shell.ports.timers, lookAgainMs, interruptions.signal)
    if (!interruptions.signal.aborted) continue
    progress.end()
    voice.note(`The redrive ${task.id} goes on. Ctrl-C again cancels it.`)
    if (!(await interruptions.isMeant())) throw left(task)
    return task.cancel()
  }
}

function left({ id }: Redrive): CommandFailure {
  const message =
    `Left the redrive ${id} to the server or workers of this store; ` +
    `stop it with: millrace dlq cancel ${id}`
  return new CommandFailure(exitCodes.interrupted, message)
}

function finish({ flags, voice }: Call<RedriveFlags>, task: MoveTask): void {
  const view = moveTaskView(task)
  if (flags.json) voice.tell(view)
  else if (flags.jsonl) voice.event({ event: 'end', ...view })
  else voice.say(`Moved ${view.moved} of ${view.to_move}: ${view.status}.`)
  if (view.status === 'completed') return
  if (view.status !== 'failed') {
    throw new CommandFailure(exitCodes.interrupted, `Cancelled the redrive ${view.id}.`)
  }
  const reason =
    view.failure === 'queue_not_found'
      ? 'a queue in which a message died does not exist any more; name another with --to'
      : 'a message does not say where it died; name a queue with --to'
  throw new CommandFailure(view.moved > 0 ? exitCodes.partlyDone : exitCodes.failed, `${reason}.`)
}

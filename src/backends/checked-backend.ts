/**
 * Checks every argument before the backend is called, so that all backends refuse the same input with
 * the same error. The backend checks what depends on the queue (its type, its size limit), with
 * `core/check-message.ts`.
 */
import { checkQueueSettings, checkStoreName, checkTags } from '../core/check-queue.ts'
import { checkSwitchNames } from '../core/check-queue-controls.ts'
import { checkLength, checkOneOf, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { alarmChecks } from './alarm-checks.ts'
import type { Backend, Extend } from './backend.ts'
import { budgetChecks } from './budget-checks.ts'
import { checkedJobStore } from './checked-job-store.ts'
import { refuseArguments } from './checked-settlement.ts'
import {
  type Checks,
  check,
  checkCount,
  checkedStore,
  checkPage,
  isCount,
  refusal,
} from './checking.ts'
import { collectorChecks } from './collector-checks.ts'
import { findingChecks } from './finding-checks.ts'
import { flowChecks } from './flow-checks.ts'
import { inboxChecks } from './inbox-checks.ts'
import { metricChecks } from './metric-checks.ts'
import { scheduleChecks } from './schedule-checks.ts'
import type { StackStore } from './stack-store.ts'
import { switchChecks } from './switch-checks.ts'

export function checkedBackend(backend: Backend): Backend {
  return {
    capabilities: backend.capabilities,
    jobs: backend.jobs && checkedJobStore(backend.jobs),
    switches: backend.switches && checkedStore(backend.switches, switchChecks),
    budgets: backend.budgets && checkedStore(backend.budgets, budgetChecks),
    flows: backend.flows && checkedStore(backend.flows, flowChecks),
    collectors: backend.collectors && checkedStore(backend.collectors, collectorChecks),
    findings: backend.findings && checkedStore(backend.findings, findingChecks),
    schedules: backend.schedules && checkedStore(backend.schedules, scheduleChecks),
    metrics: backend.metrics && checkedStore(backend.metrics, metricChecks),
    alarms: backend.alarms && checkedStore(backend.alarms, alarmChecks),
    inboxes: backend.inboxes && checkedStore(backend.inboxes, inboxChecks),
    stacks: backend.stacks && checkedStore(backend.stacks, stackChecks),
    keys: backend.keys,
    carried: backend.carried,
    otherThread: backend.otherThread,

    ...checkedStore<CheckedCalls>(backend, callChecks),
    // Every message passes here, so the common case allocates nothing.
    send: (request) => {
      if (isCount(request.messages)) return backend.send(request)
      const violations: Violations = []
      checkCount(violations, 'messages', request.messages)
      return Promise.reject(MillraceError.invalid(violations))
    },
    extend: async (request) => {
      check((into) => checkCount(into, 'leases', request.leases))
      const refuse = ({ visibilityMs }: Extend['leases'][number]): MillraceError | undefined =>
        refusal((into) => checkRange(into, 'visibilityMs', visibilityMs, limits.visibilityMs))
      return withoutRefused(backend, request.queue, request.leases, refuse, (leases) =>
        backend.extend({ queue: request.queue, leases }),
      )
    },
    settle: async (request) => {
      check((into) => checkCount(into, 'settlements', request.settlements))
      const { queue, settlements } = request
      return withoutRefused(backend, queue, settlements, refuseArguments, (accepted) =>
        backend.settle({ queue, settlements: accepted }),
      )
    },
  }
}

/** All methods but those that check their entries one by one. */
type CheckedCalls = Omit<
  {
    [Name in keyof Backend as Backend[Name] extends (request: never) => unknown
      ? Name
      : never]: Backend[Name]
  },
  'send' | 'extend' | 'settle'
>

const callChecks: Checks<CheckedCalls> = {
  createQueue: (into, request) => {
    checkStoreName(into, 'queue', request.queue)
    if (request.settings) checkQueueSettings(into, 'settings', { ...request.settings })
    if (request.tags) checkTags(into, 'tags', request.tags)
    optional(request.cooldownMs, (ms) => checkRange(into, 'cooldownMs', ms, limits.cooldownMs))
  },
  readQueue: null,
  listQueues: checkPage,
  changeQueue: (into, request) => {
    checkQueueSettings(into, 'changes', { ...request.changes })
    if ('type' in request.changes) {
      into.push({
        field: 'changes.type',
        given: 'a type',
        allowed: 'none: a queue keeps its type',
      })
    }
  },
  tagQueue: (into, request) => {
    if (request.set) checkTags(into, 'set', request.set)
    for (const key of request.remove ?? []) checkLength(into, 'remove', key, limits.tagKeyLength)
  },
  deleteQueue: null,
  purgeQueue: (into, request) =>
    optional(request.cooldownMs, (ms) => checkRange(into, 'cooldownMs', ms, limits.cooldownMs)),
  queueStatistics: null,
  listDeadLetterSources: checkPage,
  receive: (into, request) => {
    checkRange(into, 'max', request.max, limits.messagesPerCall)
    optional(request.prefetch, (count) =>
      checkRange(into, 'prefetch', count, limits.messagesPerCall),
    )
    optional(request.visibilityMs, (ms) =>
      checkRange(into, 'visibilityMs', ms, limits.visibilityMs),
    )
    optional(request.waitMs, (ms) => checkRange(into, 'waitMs', ms, limits.receiveWaitMs))
    optional(request.attemptId, (id) =>
      checkLength(into, 'attemptId', id, limits.receiveAttemptIdLength),
    )
    optional(request.heldNames, (names) => checkSwitchNames(into, 'heldNames', names))
  },
  leaseStates: (into, request) => checkCount(into, 'receipts', request.receipts),
  readLeases: (into, request) => checkCount(into, 'receipts', request.receipts),
  whenReady: (into, request) =>
    optional(request.heldNames, (names) => checkSwitchNames(into, 'heldNames', names)),
  peek: (into, request) => {
    checkOneOf(into, 'state', request.state, ['ready', 'leased', 'delayed'])
    checkPage(into, request)
  },
  startMoveTask: (into, request) =>
    optional(request.movesPerSecond, (rate) =>
      checkRange(into, 'movesPerSecond', rate, limits.movesPerSecond),
    ),
  listMoveTasks: checkPage,
  cancelMoveTask: null,
  sweep: null,
  check: null,
  backup: (into, request) => {
    const { file } = request
    if (typeof file === 'string' && file !== '') return
    into.push({ field: 'file', given: 'no path', allowed: 'the path of a new file' })
  },
  close: null,
}

const stackChecks: Checks<StackStore> = {
  read: null,
  list: null,
  write: (into, request) => {
    checkText(into, 'stack', request.stack, limits.stackNameLength)
    checkLength(into, 'document', request.document, limits.stackDocumentLength)
  },
}

interface Refused {
  readonly status: 'refused'
  readonly error: MillraceError
}

/** Calls with the valid entries, and returns a refusal for each of the others, in their order. */
async function withoutRefused<Entry, Result>(
  backend: Backend,
  queue: string,
  entries: readonly Entry[],
  refuse: (entry: Entry) => MillraceError | undefined,
  call: (accepted: readonly Entry[]) => Promise<readonly Result[]>,
): Promise<readonly (Result | Refused)[]> {
  const errors = entries.map(refuse)
  if (errors.every((error) => error === undefined)) return call(entries)
  const accepted = entries.filter((_, index) => errors[index] === undefined)
  // A queue that does not exist refuses the whole call, also when no entry is left.
  if (accepted.length === 0) await backend.readQueue({ queue })
  const results = accepted.length === 0 ? [] : [...(await call(accepted))]
  return errors.flatMap<Result | Refused>((error) =>
    error === undefined ? results.splice(0, 1) : { status: 'refused', error },
  )
}

function optional<T>(value: T | undefined, run: (value: T) => void): void {
  if (value !== undefined) run(value)
}

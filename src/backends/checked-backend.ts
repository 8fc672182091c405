/**
 * Checks every argument before a backend sees it, so that all backends refuse the same input with
 * the same error and none of them has to. What depends on the queue itself (its type, its size
 * limit) is checked by the backend with `core/check-message.ts`.
 */
import { checkQueueSettings, checkStoreName, checkTags } from '../core/check-queue.ts'
import { checkSwitchNames } from '../core/check-queue-controls.ts'
import { checkLength, checkOneOf, checkRange, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Backend, Extend } from './backend.ts'
import { checkedAlarmStore } from './checked-alarm-store.ts'
import { checkedCollectorStore } from './checked-collector-store.ts'
import { checkedFindingStore } from './checked-finding-store.ts'
import { checkedFlowStore } from './checked-flow-store.ts'
import { checkedInboxStore } from './checked-inbox-store.ts'
import { checkedJobStore } from './checked-job-store.ts'
import { checkedMetricStore } from './checked-metric-store.ts'
import { checkedScheduleStore } from './checked-schedule-store.ts'
import { refuseSettlement } from './checked-settlement.ts'
import { checkedStackStore } from './checked-stack-store.ts'
import { checkedSwitchStore } from './checked-switch-store.ts'
import { check, checkCount, isCount, refusal } from './checking.ts'

export function checkedBackend(backend: Backend): Backend {
  return {
    capabilities: backend.capabilities,
    jobs: backend.jobs === null ? null : checkedJobStore(backend.jobs),
    switches: backend.switches === null ? null : checkedSwitchStore(backend.switches),
    flows: backend.flows === null ? null : checkedFlowStore(backend.flows),
    collectors: backend.collectors === null ? null : checkedCollectorStore(backend.collectors),
    findings: backend.findings === null ? null : checkedFindingStore(backend.findings),
    schedules: backend.schedules === null ? null : checkedScheduleStore(backend.schedules),
    metrics: backend.metrics === null ? null : checkedMetricStore(backend.metrics),
    alarms: backend.alarms === null ? null : checkedAlarmStore(backend.alarms),
    inboxes: backend.inboxes === null ? null : checkedInboxStore(backend.inboxes),
    stacks: backend.stacks === null ? null : checkedStackStore(backend.stacks),
    otherThread: backend.otherThread,

    createQueue: async (request) => {
      check((into) => {
        checkStoreName(into, 'queue', request.queue)
        if (request.settings) checkQueueSettings(into, 'settings', { ...request.settings })
        if (request.tags) checkTags(into, 'tags', request.tags)
        optional(request.cooldownMs, (ms) => checkRange(into, 'cooldownMs', ms, limits.cooldownMs))
      })
      return backend.createQueue(request)
    },
    readQueue: (request) => backend.readQueue(request),
    listQueues: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return backend.listQueues(request)
    },
    changeQueue: async (request) => {
      check((into) => {
        checkQueueSettings(into, 'changes', { ...request.changes })
        if ('type' in request.changes) {
          into.push({
            field: 'changes.type',
            given: 'a type',
            allowed: 'none: a queue keeps its type',
          })
        }
      })
      return backend.changeQueue(request)
    },
    tagQueue: async (request) => {
      check((into) => {
        if (request.set) checkTags(into, 'set', request.set)
        for (const key of request.remove ?? [])
          checkLength(into, 'remove', key, limits.tagKeyLength)
      })
      return backend.tagQueue(request)
    },
    deleteQueue: (request) => backend.deleteQueue(request),
    purgeQueue: async (request) => {
      check((into) =>
        optional(request.cooldownMs, (ms) => checkRange(into, 'cooldownMs', ms, limits.cooldownMs)),
      )
      return backend.purgeQueue(request)
    },
    queueStatistics: (request) => backend.queueStatistics(request),
    listDeadLetterSources: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return backend.listDeadLetterSources(request)
    },

    // Every message passes here, so the common case allocates nothing.
    send: (request) => {
      if (isCount(request.messages)) return backend.send(request)
      const violations: Violations = []
      checkCount(violations, 'messages', request.messages)
      return Promise.reject(MillraceError.invalid(violations))
    },
    receive: async (request) => {
      check((into) => {
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
      })
      return backend.receive(request)
    },
    leaseStates: async (request) => {
      check((into) => checkCount(into, 'receipts', request.receipts))
      return backend.leaseStates(request)
    },
    whenReady: async (request) => {
      check((into) =>
        optional(request.heldNames, (names) => checkSwitchNames(into, 'heldNames', names)),
      )
      return backend.whenReady(request)
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
      return withoutRefused(backend, queue, settlements, refuseSettlement, (accepted) =>
        backend.settle({ queue, settlements: accepted }),
      )
    },
    peek: async (request) => {
      check((into) => {
        checkOneOf(into, 'state', request.state, ['ready', 'leased', 'delayed'])
        checkRange(into, 'limit', request.limit, limits.pageSize)
      })
      return backend.peek(request)
    },

    startMoveTask: async (request) => {
      check((into) =>
        optional(request.movesPerSecond, (rate) =>
          checkRange(into, 'movesPerSecond', rate, limits.movesPerSecond),
        ),
      )
      return backend.startMoveTask(request)
    },
    listMoveTasks: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return backend.listMoveTasks(request)
    },
    cancelMoveTask: (request) => backend.cancelMoveTask(request),

    sweep: () => backend.sweep(),
    check: () => backend.check(),
    backup: async (request) => {
      check((into) => {
        const { file } = request
        if (typeof file === 'string' && file !== '') return
        into.push({ field: 'file', given: 'no path', allowed: 'the path of a new file' })
      })
      return backend.backup(request)
    },
    close: () => backend.close(),
  }
}

interface Refused {
  readonly status: 'refused'
  readonly error: MillraceError
}

/** Passes on the entries that are in order and answers the others itself, each in its place. */
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

/** The doctor's rules about queues and their dead letters. */
import { outlastsRetention } from '../core/check-queue.ts'
import { formatDuration } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import type { QueueSettings } from '../core/queue-settings.ts'
import type { DoctorRule, Observation } from './doctor-rule.ts'
import type { ExaminedFacts, QueueFacts } from './examined-facts.ts'

type Look = DoctorRule['look']

/** A rule that checks one queue at a time. */
function eachQueue(look: (queue: QueueFacts) => Omit<Observation, 'subject'> | undefined): Look {
  return ({ queues }: ExaminedFacts) =>
    queues.flatMap((queue) => {
      const found = look(queue)
      return found === undefined ? [] : [{ subject: queue.name, ...found, ...queue.place }]
    })
}

const longest = formatDuration(limits.retentionMs.max)

export const queueRules: readonly DoctorRule[] = [
  {
    name: 'dead-letter-type',
    severity: 'error',
    finds: 'a FIFO queue whose dead letters go to a standard queue, or the reverse',
    look: eachQueue(({ settings, deadLetters }) => {
      const target = deadLetters
      if (target === undefined || target.settings.type === settings.type) return undefined
      return {
        reason: `It is ${kind(settings.type)}, and its dead-letter queue '${target.name}' is ${kind(target.settings.type)}. SQS refuses that.`,
        fix: `Make '${target.name}' a ${kind(settings.type)} queue.`,
      }
    }),
  },
  {
    name: 'dead-letter-itself',
    severity: 'warning',
    finds: 'a queue that is its own dead-letter queue',
    look: eachQueue((queue) => {
      if (!isItsOwn(queue)) return undefined
      return {
        reason:
          'It is its own dead-letter queue: a message that always fails stays in the queue, is received again and again, and its receive count rises.',
        fix: 'Give it another queue as its dead-letter queue, with a retention of 14 days.',
      }
    }),
  },
  {
    name: 'dead-letter-circle',
    severity: 'error',
    finds: 'queues whose dead letters return to them through other queues',
    look: eachQueue((queue) => {
      const way = isItsOwn(queue) ? undefined : deadLetterCycle(queue)
      if (way === undefined) return undefined
      return {
        reason: `Its dead letters return to it: ${way.join(' → ')}. A failing message would circulate forever; Millrace refuses that.`,
        fix: 'Remove the dead-letter queue of the last one.',
      }
    }),
  },
  {
    name: 'redrive-not-allowed',
    severity: 'error',
    finds: 'a dead-letter queue whose redrive allow policy excludes a queue that uses it',
    look: eachQueue(({ name, deadLetters }) => {
      const allowed = deadLetters?.settings.deadLetterSources ?? 'all'
      if (deadLetters === undefined || allowed === 'all' || allowed.includes(name)) return undefined
      return {
        reason: `'${deadLetters.name}' accepts ${allowed === 'none' ? 'no dead letters' : 'only the dead letters of other queues'}. SQS refuses that.`,
        fix: `Add '${name}' to the redrive allow policy of '${deadLetters.name}'.`,
      }
    }),
  },
  {
    name: 'no-dead-letters',
    severity: 'warning',
    finds: 'a queue that is consumed and has no dead-letter queue',
    look: eachQueue(({ settings, isConsumed, hasJobs, sources }) => {
      if (!isConsumed || settings.deadLetter !== null || sources.length > 0) return undefined
      return {
        reason: `It has no dead-letter queue: ${hasJobs ? fateOfJob(settings) : fateOfMessage(settings)}.`,
        fix: 'Give it a dead-letter queue with a retention of 14 days.',
      }
    }),
  },
  {
    name: 'dead-letter-retention',
    severity: 'warning',
    finds: 'a dead-letter queue whose retention is no longer than that of its source queue',
    look: eachQueue((queue) => {
      const { settings, deadLetters, hasJobs } = queue
      // A FIFO queue restarts the retention when a message moves, and so does the failure of a job.
      if (deadLetters === undefined || settings.type === 'fifo' || isItsOwn(queue)) return undefined
      if (hasJobs) return undefined
      const { retentionMs } = deadLetters.settings
      if (retentionMs > settings.retentionMs || retentionMs === limits.retentionMs.max) {
        return undefined
      }
      return {
        reason: `It keeps messages for ${formatDuration(settings.retentionMs)} and its dead-letter queue '${deadLetters.name}' for ${formatDuration(retentionMs)}, counted from the first send. A message that fails late expires before anyone can look at it.`,
        fix: `Set the retention of '${deadLetters.name}' to ${longest}.`,
      }
    }),
  },
  {
    name: 'single-receive',
    severity: 'warning',
    finds: 'a queue whose messages become dead letters after one receive',
    look: eachQueue(({ settings: { deadLetter } }) => {
      if (deadLetter?.maxReceives !== 1) return undefined
      return {
        reason:
          'Each message has one chance: a deploy, a crash or a throttled call at the wrong moment makes it a dead letter.',
        fix: 'Allow at least 3 receives; 5 where Lambda consumes.',
      }
    }),
  },
  {
    name: 'delay-beyond-retention',
    severity: 'error',
    finds: 'a queue that delays messages for as long as it keeps them',
    look: eachQueue(({ settings }) => {
      if (!outlastsRetention(settings)) return undefined
      const { delayMs, retentionMs } = settings
      return {
        reason: `It delays messages for ${formatDuration(delayMs)} but keeps them for only ${formatDuration(retentionMs)}: they expire before they can be received. SQS accepts that; Millrace refuses the sends.`,
        fix: `Set the retention well above ${formatDuration(delayMs)}, or lower the delay.`,
      }
    }),
  },
  {
    name: 'retention-below-retries',
    severity: 'warning',
    finds: 'a queue whose messages expire before their receives are used up',
    look: eachQueue(({ settings: { deadLetter, visibilityMs, retentionMs }, hasJobs }) => {
      // Jobs do not expire by retention.
      if (deadLetter === null || hasJobs) return undefined
      const neededMs = visibilityMs * deadLetter.maxReceives
      if (retentionMs > neededMs) return undefined
      return {
        reason: `${deadLetter.maxReceives} receives of ${formatDuration(visibilityMs)} take ${formatDuration(neededMs)}, but the retention ends after ${formatDuration(retentionMs)}: a failing message expires before it becomes a dead letter.`,
        fix: `Set the retention well above ${formatDuration(neededMs)}, or lower the visibility timeout or the receives.`,
      }
    }),
  },
  {
    name: 'no-visibility',
    severity: 'warning',
    finds: 'a queue that is consumed with a visibility timeout of zero',
    look: eachQueue(({ settings: { visibilityMs }, isConsumed }) => {
      if (!isConsumed || visibilityMs > 0) return undefined
      return {
        reason:
          'A received message is visible to other receivers at once, so each message is handled several times.',
        fix: 'Set the visibility timeout above the time that handling takes.',
      }
    }),
  },
  {
    name: 'dead-letters-unwatched',
    severity: 'warning',
    finds: 'a dead-letter queue without an alarm on its depth',
    look: eachQueue(({ sources, isWatched }) => {
      if (sources.length === 0 || isWatched !== false) return undefined
      return {
        reason: `It takes the dead letters of ${sources.join(', ')}, and no alarm reports when one arrives.`,
        fix: 'Add an alarm on ApproximateNumberOfMessagesVisible above 0.',
      }
    }),
  },
  {
    name: 'short-polling',
    severity: 'hint',
    finds: 'a queue that is polled without waiting for messages',
    look: eachQueue(({ settings: { receiveWaitMs }, consumers, isConsumed, sources }) => {
      // Lambda always uses long polling, whatever the queue's setting.
      if (receiveWaitMs > 0 || consumers.length > 0 || sources.length > 0) return undefined
      if (isConsumed) return undefined
      return {
        reason:
          'A receive without a wait time returns at once, often empty, and each empty receive is a paid request.',
        fix: 'Set the receive wait to 20s, or pass a wait time with every receive.',
      }
    }),
  },
]

function kind(type: 'standard' | 'fifo'): string {
  return type === 'fifo' ? 'FIFO' : 'standard'
}

function isItsOwn({ name, deadLetters }: QueueFacts): boolean {
  return deadLetters?.name === name
}

/** The names of the queues from this one back to itself; undefined if its dead letters do not return. */
function deadLetterCycle(start: QueueFacts): readonly string[] | undefined {
  const names = [start.name]
  let next = start.deadLetters
  while (next !== undefined && !names.includes(next.name)) {
    names.push(next.name)
    next = next.deadLetters
  }
  return next?.name === start.name ? [...names, start.name] : undefined
}

function fateOfMessage({ type, visibilityMs, retentionMs }: QueueSettings): string {
  const fate =
    type === 'fifo'
      ? 'holds up its group'
      : `is delivered again every ${formatDuration(visibilityMs)}`
  return `a message that always fails ${fate} until its retention of ${formatDuration(retentionMs)} ends, and is then lost`
}

/** A job ends with its last attempt, not with retention. The failed job is kept, its message is not. */
function fateOfJob({ history: { failedMs } }: QueueSettings): string {
  const end =
    failedMs === null ? 'is never removed' : `is removed after ${formatDuration(failedMs)}`
  return `a job that uses up its attempts ends as failed and ${end}. No redrive can send it back, and no alarm on dead letters reports it`
}

/**
 * Makes the message or job of each step of a chain: the first from the start value, every other from the
 * result of the step before. A chain is a flow with its steps as units. Only the first unit has work when the
 * flow is opened.
 */
import type { Emitted } from '../backends/backend.ts'
import type { EmittedStart, FlowStore, OpenFlow, UnitKey } from '../backends/flow-store.ts'
import type { ChainStep } from '../contracts/chain-declaration.ts'
import { defaultFlowKeep } from '../contracts/flow-declaration.ts'
import { durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Emitter, JobWorkOptions } from '../jobs/emitter.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import type { FlowNames, NamedChain } from './flow-names.ts'
import type { StartChainOptions } from './flow-types.ts'
import { refusedPart } from './refused-part.ts'

export interface ChainSetup {
  readonly names: FlowNames
  readonly emitter: Emitter
  readonly store: () => FlowStore
}

const startOptions: OptionNames<StartChainOptions> = { options: true, parent: true }

/** The request that opens the chain in the store. */
export async function chainRequest(
  { names, emitter }: Omit<ChainSetup, 'store'>,
  { name, declared: { options } }: NamedChain,
  id: string,
  payload: unknown,
  start: StartChainOptions,
): Promise<OpenFlow> {
  refuseUnknownOptions(start, startOptions)
  const { options: jobOptions, parent } = start
  const { steps, deadline, keep } = options
  const data = encodeMessage(payload, 'payload')
  const [first, ...others] = steps
  // Unreachable: `defineApp` refuses a chain without steps.
  if (first === undefined) throw new MillraceError('invalid_contract')
  return {
    flow: name,
    id,
    units: [
      { id: first.name, work: await stepWork(emitter, first, payload, jobOptions) },
      ...others.map((step) => ({ id: step.name })),
    ],
    sealed: true,
    onUnitFailure: 'fail',
    keepsWork: true,
    inOrder: true,
    keepMs: durationMs(keep ?? defaultFlowKeep),
    data,
    ...(deadline !== undefined && { deadlineMs: durationMs(deadline) }),
    ...(parent !== undefined && { parent: names.unitOf(parent) }),
  }
}

/** The message or the job of one step. */
export async function stepWork(
  emitter: Emitter,
  { name, queue, type }: ChainStep,
  payload: unknown,
  options: JobWorkOptions = {},
): Promise<Emitted> {
  try {
    if (type !== undefined) return await emitter.work(queue, { type, payload, options })
    const { delay, runAt, tenant } = options
    return await emitter.work(queue, {
      message: payload,
      options: {
        ...(delay !== undefined && { delay }),
        ...(runAt !== undefined && { runAt }),
        ...(tenant !== undefined && { tenant }),
      },
    })
  } catch (error) {
    throw refusedPart(error, `step '${name}'`)
  }
}

/** A step that was completed, with its result. */
export interface DoneStep {
  readonly unit: UnitKey
  /** JSON; undefined if the handler returned nothing. */
  readonly result: string | undefined
  /** Passed on to the next step. */
  readonly options: JobWorkOptions
}

/**
 * Starts the step after a completed one. Undefined after the last step, and if the chain has ended. A failed
 * chain may still be resumed, and then continues with this result.
 */
export async function successorOf(
  { names, emitter, store }: ChainSetup,
  { unit, result, options }: DoneStep,
): Promise<EmittedStart | undefined> {
  const chain = names.chainOf(unit)
  if (chain === undefined) return undefined
  const { steps } = chain.declared.options
  const at = steps.findIndex(({ name }) => name === unit.unit)
  // The chain was started by a version of the app with other steps.
  if (at < 0) throw unknownStep(chain, unit.unit)
  const next = steps[at + 1]
  const flow = next && (await store().read({ flow: unit.flow, id: unit.id }))
  if (next === undefined || (flow?.status !== 'open' && flow?.status !== 'failed')) {
    return undefined
  }
  const came: unknown = result === undefined ? null : JSON.parse(result)
  const start: unknown = flow.data === null ? null : JSON.parse(flow.data)
  const payload = next.from === undefined ? came : next.from(came, start)
  const work = await stepWork(emitter, next, payload, options)
  return { ...unit, unit: next.name, follows: unit.unit, work }
}

export function unknownStep({ key, declared }: NamedChain, step: string): MillraceError {
  const names = declared.options.steps.map(({ name }) => name).join(', ')
  const message = `The chain '${key}' has no step '${step.slice(0, 40)}'. Its steps are ${names}.`
  return new MillraceError('unit_not_found', { message })
}

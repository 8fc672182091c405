/** One chain of an open app: start it, read its progress, resume it where it stopped. */
import type { Page } from '../backends/backend.ts'
import type { FlowRecord, FlowStatus, FlowStore, UnitRecord } from '../backends/flow-store.ts'
import type { DeclaredChain, StepName } from '../contracts/chain-declaration.ts'
import type { DeclaredFlowParts, DeclaredQueues } from '../contracts/define-app.ts'
import { describeGiven } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type ChainSetup, chainRequest, stepWork, unknownStep } from './chain-steps.ts'
import { type ListFlowsOptions, listByName, listFlowsOptions, refuseOthers } from './flow-handle.ts'
import type { NamedChain } from './flow-names.ts'
import type { ChainInput, StartChainOptions } from './flow-types.ts'

export type ChainStatus = 'running' | 'completed' | 'failed' | 'cancelled'

/** `waiting`: a step before it is not done. `running`: its message or job exists. */
export type StepState = 'waiting' | 'running' | 'done' | 'failed'

export interface ChainRun {
  readonly id: string
  readonly status: ChainStatus
  /** The start value of the chain. */
  readonly start: unknown
  /** The step that failed, and why; null if the chain has not failed. */
  readonly failure: { readonly step: string | null; readonly reason: string | null } | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly deadlineAt: number | null
  /** Whether it is running and past its deadline. */
  readonly isOverdue: boolean
}

export interface ChainProgress extends ChainRun {
  /** The current step; null if all are done. */
  readonly step: string | null
  /** The steps in order. */
  readonly steps: readonly { readonly name: string; readonly state: StepState }[]
}

export interface ListChainsOptions extends Omit<ListFlowsOptions, 'status'> {
  readonly status?: ChainStatus
}

export interface ChainHandle<
  Queues extends DeclaredQueues = DeclaredQueues,
  Parts = DeclaredFlowParts,
  Chain = DeclaredChain,
> {
  /** The chain's name in the store. */
  readonly name: string
  /** Starts a chain. Resolves with status `duplicate` if a chain with this id exists already. */
  start(
    id: string,
    payload: ChainInput<Queues, Chain>,
    options?: StartChainOptions<Parts>,
  ): Promise<StartedChain>
  /** Undefined if the chain does not exist or was removed. */
  read(id: string): Promise<ChainProgress | undefined>
  /**
   * Continues a failed chain: runs one of its steps, and all steps after it, again. Default: the step that
   * failed, with its original payload.
   */
  resume(id: string, options?: ResumeChainOptions<StepName<Chain>>): Promise<ChainProgress>
  /** Ends a running chain. A step that is being handled may finish, but no further step starts. */
  cancel(id: string): Promise<ChainProgress>
  /** Newest first. A page may be short or even empty and still have a `next`. */
  list(options?: ListChainsOptions): Promise<Page<ChainRun>>
}

export interface StartedChain {
  readonly status: 'created' | 'duplicate'
  readonly chain: ChainRun
}

export interface ResumeChainOptions<Step extends string = string> {
  readonly from?: Step
  /** Replaces the step's payload. It is checked against the contract of the step. */
  readonly payload?: unknown
}

const resumeOptions: OptionNames<ResumeChainOptions> = { from: true, payload: true }

const statuses: Readonly<Record<FlowStatus, ChainStatus>> = {
  open: 'running',
  finalized: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

export function createChainHandle(setup: ChainSetup, chain: NamedChain): UntypedChainHandle {
  const { store } = setup
  const { name } = chain
  const keyOf = (id: string): { readonly flow: string; readonly id: string } => ({ flow: name, id })
  return {
    name,
    start: async (id, payload, options = {}) => {
      const request = await chainRequest(setup, chain, id, payload, options)
      const { status, flow } = await store().open(request)
      return { status, chain: runOf(flow) }
    },
    read: async (id) => {
      const record = await store().read(keyOf(id))
      return record && progressOf(store(), record)
    },
    resume: async (id, options = {}) => {
      refuseUnknownOptions(options, resumeOptions)
      return resumeChain(setup, chain, id, options)
    },
    cancel: async (id) => progressOf(store(), await store().cancel(keyOf(id))),
    list: async (options = {}) => {
      refuseUnknownOptions(options, listFlowsOptions)
      const { status, ...others } = options
      const wanted = status === undefined ? {} : { status: flowStatusOf(status) }
      const page = await listByName(store(), name, { ...others, ...wanted })
      return { ...page, items: page.items.map(runOf) }
    },
  }
}

/** The same without the types of an app. */
export interface UntypedChainHandle extends Omit<ChainHandle, 'start' | 'resume'> {
  start(id: string, payload: unknown, options?: StartChainOptions): Promise<StartedChain>
  resume(id: string, options?: ResumeChainOptions): Promise<ChainProgress>
}

function runOf(record: FlowRecord): ChainRun {
  const { id, status, failure, data, openedAt, endedAt, deadlineAt, isOverdue } = record
  return {
    id,
    status: statuses[status],
    start: data === null ? null : JSON.parse(data),
    failure: failure && { step: failure.unit, reason: failure.reason },
    startedAt: openedAt,
    endedAt,
    deadlineAt,
    isOverdue,
  }
}

async function progressOf(store: FlowStore, record: FlowRecord): Promise<ChainProgress> {
  const units = await unitsOf(store, record)
  const steps = units.map((unit) => ({ name: unit.unit, state: stateOf(unit) }))
  const step = steps.find(({ state }) => state !== 'done')?.name ?? null
  return { ...runOf(record), step, steps }
}

/** One page holds all steps of a chain. */
async function unitsOf(
  store: FlowStore,
  { flow, id }: Pick<FlowRecord, 'flow' | 'id'>,
): Promise<readonly UnitRecord[]> {
  return (await store.units({ flow, id, limit: limits.pageSize.max })).items
}

function stateOf({ state, isStarted }: UnitRecord): StepState {
  if (state === 'done') return 'done'
  if (state === 'dead') return 'failed'
  return isStarted ? 'running' : 'waiting'
}

async function resumeChain(
  { store, emitter }: ChainSetup,
  chain: NamedChain,
  id: string,
  { from, payload }: ResumeChainOptions,
): Promise<ChainProgress> {
  const flow = chain.name
  const unit = placeToResume(await unitsOf(store(), { flow, id }), from)
  const step = chain.declared.options.steps.find(({ name }) => name === unit)
  if (step === undefined) throw unknownStep(chain, unit)
  const work = payload !== undefined && { work: await stepWork(emitter, step, payload) }
  try {
    return await progressOf(store(), await store().resume({ flow, id, unit, ...work }))
  } catch (error) {
    throw isMissingWork(error) ? missingResult(unit) : error
  }
}

function isMissingWork(error: unknown): boolean {
  return error instanceof MillraceError && error.violations.some(({ field }) => field === 'work')
}

/** The step before was acknowledged without a result, so there is nothing to resume from. */
function missingResult(step: string): MillraceError {
  const allowed = `a payload for '${step}', because the step before it has no result`
  return MillraceError.invalid([{ field: 'payload', given: 'nothing', allowed }])
}

/** The first step that is not done, or an earlier one: a chain with a gap would never end. */
function placeToResume(units: readonly UnitRecord[], from: string | undefined): string {
  const open = units.findIndex(({ state }) => state !== 'done')
  const first = units[open]?.unit
  if (from === undefined) {
    if (first !== undefined) return first
    throw new MillraceError('flow_finished', { message: 'All steps of the chain are done.' })
  }
  const at = units.findIndex(({ unit }) => unit === from)
  if (at >= 0 && (open < 0 || at <= open)) return from
  const allowed =
    at < 0 ? 'a step of the chain' : `'${first}', which is not done, or a step before it`
  throw MillraceError.invalid([{ field: 'from', given: describeGiven(from), allowed }])
}

function flowStatusOf(status: ChainStatus): FlowStatus {
  refuseOthers('status', status, Object.values(statuses))
  const entries = Object.entries(statuses) as readonly (readonly [FlowStatus, ChainStatus])[]
  return entries.find(([, chain]) => chain === status)?.[0] ?? 'open'
}

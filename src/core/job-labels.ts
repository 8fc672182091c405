/**
 * Labels of a job, stated once: given when it is enqueued, kept with it, handed to its handler and shown
 * with it. The options, the stored form, the HTTP API and its OpenAPI document follow from this table.
 */
import { checkText, describeGiven, type Violations } from './checks.ts'
import { limits } from './limits.ts'
import { type SnakeCase, snakeCase } from './snake-case.ts'

export const jobLabels = {
  tier: { kind: 'text', help: 'The class of service that it runs in.' },
  traceId: { kind: 'text', help: 'Ties it to what was going on when it was enqueued.' },
  tags: { kind: 'texts', help: 'At most 20 texts of your own, for filters.' },
} as const

export type JobLabel = keyof typeof jobLabels

interface Kinds {
  readonly text: { readonly given: string; readonly kept: string | null }
  readonly texts: { readonly given: readonly string[]; readonly kept: readonly string[] }
}

type KindOf<Label extends JobLabel> = Kinds[(typeof jobLabels)[Label]['kind']]

/** As they are given. */
export type JobLabels = { readonly [Label in JobLabel]?: KindOf<Label>['given'] }

/** As a job has them: null, or an empty list, where none was given. */
export type KeptLabels = { readonly [Label in JobLabel]: KindOf<Label>['kept'] }

export type LabelsView = { readonly [Label in JobLabel as SnakeCase<Label>]: KeptLabels[Label] }

export const jobLabelNames: readonly JobLabel[] = Object.keys(jobLabels) as JobLabel[]

/** As options of an enqueue. */
export const jobLabelOptions: { readonly [Label in JobLabel]: true } = Object.fromEntries(
  jobLabelNames.map((name) => [name, true]),
) as { readonly [Label in JobLabel]: true } // of exactly these names

const noTexts: readonly string[] = []

export const noLabels: KeptLabels = keptLabels({})

/** The labels that were given, and nothing else; for stores, API and repetitions of a job. */
export function givenLabels(from: JobLabels | KeptLabels): JobLabels {
  const given: Partial<Record<JobLabel, unknown>> = {}
  for (const label of jobLabelNames) {
    const value = from[label]
    if (value !== undefined && value !== null && value.length > 0) given[label] = value
  }
  return given as JobLabels
}

/** Every job passes here and in the next two functions, so they name the labels: loops cost ten times as much. */
export function hasLabels({ tier, traceId, tags }: JobLabels): boolean {
  return tier !== undefined || traceId !== undefined || tags !== undefined
}

export function keptLabels({ tier, traceId, tags }: JobLabels): KeptLabels {
  return { tier: tier ?? null, traceId: traceId ?? null, tags: tags ?? noTexts }
}

/** The labels of something that has more than labels. */
export function labelsOf({ tier, traceId, tags }: KeptLabels): KeptLabels {
  return { tier, traceId, tags }
}

/** In the spelling of the HTTP API. */
export function labelsView(kept: KeptLabels): LabelsView {
  const fields = jobLabelNames.map((label) => [snakeCase(label), kept[label]])
  return Object.fromEntries(fields) as LabelsView
}

/** From the spelling of the HTTP API. */
export function labelsFrom(view: Partial<LabelsView>): JobLabels {
  const fields: Readonly<Record<string, unknown>> = view
  const labels = jobLabelNames.map((label) => [label, fields[snakeCase(label)]])
  return Object.fromEntries(labels.filter(([, value]) => value !== undefined)) as JobLabels
}

/** @param prefix goes before the names of the fields */
export function checkJobLabels(into: Violations, prefix: string, labels: JobLabels): void {
  if (!hasLabels(labels)) return
  for (const label of jobLabelNames) {
    const value: unknown = labels[label]
    if (value === undefined) continue
    if (jobLabels[label].kind === 'texts') checkTexts(into, `${prefix}${label}`, value)
    else checkText(into, `${prefix}${label}`, value, limits.jobLabelLength)
  }
}

function checkTexts(into: Violations, field: string, texts: unknown): void {
  const { max } = limits.tagsPerJob
  if (!Array.isArray(texts) || texts.length > max) {
    const given = Array.isArray(texts) ? `${texts.length} entries` : describeGiven(texts)
    into.push({ field, given, allowed: `an array of at most ${max} texts` })
    return
  }
  for (const [index, text] of texts.entries()) {
    checkText(into, `${field}[${index}]`, text, limits.jobLabelLength)
  }
}

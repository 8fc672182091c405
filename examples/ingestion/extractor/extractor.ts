/** Groups the atoms of a unit, with a language model or with offline rules. */
import type { Unit } from '../stages/document-model.ts'

export interface Grouping {
  /** Indices of atoms in the document. */
  readonly atoms: readonly number[]
  readonly title: string
  /** 0 to 1. */
  readonly confidence: number
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheCreationInputTokens: number
  readonly cacheReadInputTokens: number
}

export interface Extraction {
  readonly groupings: readonly Grouping[]
  /** The name of the model, or `offline`. */
  readonly model: string
  readonly usage: Usage
}

export interface ExtractOptions {
  readonly model: string
  readonly signal?: AbortSignal
}

export interface Extractor {
  extract(unit: Unit, options: ExtractOptions): Promise<Extraction>
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheReadInputTokens: 0,
}

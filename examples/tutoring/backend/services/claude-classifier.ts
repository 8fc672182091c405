/**
 * Asks Claude which error tag explains an attempt. The schema of the answer allows only codes of the taxonomy. The
 * prompt contains the exercise and the student's lines, and nothing about the student.
 */
import { z } from 'zod'
import { Claude } from '../../../shared/claude.ts'
import { type ErrorCode, errorTags } from '../rules/taxonomy.ts'

export interface WorkToClassify {
  readonly exercise: string
  readonly lines: readonly string[]
}

export interface ModelAnswer {
  readonly errorCode: ErrorCode
  /** 0 to 1. */
  readonly confidence: number
  /** The tokens of the call. */
  readonly tokens: number
}

export interface ErrorClassifier {
  classify(work: WorkToClassify): Promise<ModelAnswer>
}

export interface ClaudeVariables {
  readonly ANTHROPIC_API_KEY: string
  readonly ANTHROPIC_BASE_URL: string
  readonly ANTHROPIC_MODEL: string
}

/** Three requests with their waits fit into the 50 seconds of the function. */
const limits = { maxRetries: 2, timeoutMs: 12_000 } as const

const form = {
  name: 'classify_error',
  description: 'Records which kind of mistake explains the work of the student.',
  schema: z.object({
    error_code: z.enum(errorTags.map(({ code }) => code)),
    confidence: z.number().min(0).max(1),
  }),
}

const system = [
  'You read the work of school students in mathematics and name the first mistake in it.',
  'The kinds of mistakes are:',
  ...errorTags.map(({ code, description }) => `${code}: ${description}`),
].join('\n')

export function claudeClassifier(variables: ClaudeVariables): ErrorClassifier {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseUrl } = variables
  const claude = new Claude({ apiKey, baseUrl, model: variables.ANTHROPIC_MODEL }, limits)
  return {
    async classify({ exercise, lines }) {
      const prompt = [`Exercise: ${exercise}`, 'Work of the student:', ...lines].join('\n')
      const { answer, tokens } = await claude.fillIn({ system, prompt, maxTokens: 256 }, form)
      return { errorCode: answer.error_code, confidence: answer.confidence, tokens }
    },
  }
}

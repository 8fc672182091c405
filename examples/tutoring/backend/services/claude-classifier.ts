/**
 * Asks Claude which error tag explains an attempt. The answer comes as the input of a tool whose
 * schema allows nothing but codes of the taxonomy. What is sent is the exercise and the student's lines;
 * who the student is, the model is never told.
 */
import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import { type ErrorCode, errorCodes, errorTags } from '../rules/taxonomy.ts'

export interface WorkToClassify {
  readonly exercise: string
  readonly lines: readonly string[]
}

export interface ModelAnswer {
  readonly errorCode: ErrorCode
  /** 0 to 1. */
  readonly confidence: number
}

export interface ErrorClassifier {
  classify(work: WorkToClassify): Promise<ModelAnswer>
}

export interface ClaudeSettings {
  readonly ANTHROPIC_API_KEY: string
  readonly ANTHROPIC_BASE_URL: string
  readonly ANTHROPIC_MODEL: string
}

/** Three tries and the waits between them fit into the 50 seconds of the function. */
const patience = { maxRetries: 2, timeout: 12_000 } as const

const tool: Anthropic.Tool = {
  name: 'classify_error',
  description: 'Records which kind of mistake explains the work of the student.',
  input_schema: {
    type: 'object',
    properties: {
      error_code: { type: 'string', enum: [...errorCodes] },
      confidence: { type: 'number', minimum: 0, maximum: 1 },
    },
    required: ['error_code', 'confidence'],
  },
}

const system = [
  'You read the work of school students in mathematics and name the first mistake in it.',
  'The kinds of mistakes are:',
  ...errorTags.map(({ code, description }) => `${code}: ${description}`),
].join('\n')

const Answer = z.object({
  error_code: z.enum(errorTags.map(({ code }) => code)),
  confidence: z.number().min(0).max(1),
})

export function claudeClassifier(settings: ClaudeSettings): ErrorClassifier {
  const client = new Anthropic({
    apiKey: settings.ANTHROPIC_API_KEY,
    baseURL: settings.ANTHROPIC_BASE_URL,
    ...patience,
  })
  return {
    async classify(work) {
      const { content } = await client.messages.create({
        model: settings.ANTHROPIC_MODEL,
        max_tokens: 256,
        system,
        tools: [tool],
        tool_choice: { type: 'tool', name: tool.name },
        messages: [{ role: 'user', content: promptOf(work) }],
      })
      const use = content.find((block) => block.type === 'tool_use' && block.name === tool.name)
      const answer = Answer.safeParse(use?.type === 'tool_use' ? use.input : undefined)
      if (!answer.success)
        throw new Error('The model gave no answer in the form that was asked for.')
      return { errorCode: answer.data.error_code, confidence: answer.data.confidence }
    },
  }
}

function promptOf({ exercise, lines }: WorkToClassify): string {
  return [`Exercise: ${exercise}`, 'Work of the student:', ...lines].join('\n')
}

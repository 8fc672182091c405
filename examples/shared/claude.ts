/**
 * A small client for Claude on Anthropic's SDK. `write` returns text. `fillIn` forces a tool call whose input
 * has a schema, so the result fits the schema or the call rejects.
 */
import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'

export interface ClaudeSettings {
  readonly apiKey: string
  readonly baseUrl: string
  readonly model: string
}

export interface ClaudeLimits {
  /** Retries by the client itself. Few are enough if a queue retries too. */
  readonly maxRetries: number
  readonly timeoutMs: number
}

export interface Question {
  readonly system: string
  readonly prompt: string
  readonly maxTokens: number
}

export interface Form<Answer> {
  readonly name: string
  readonly description: string
  readonly schema: z.ZodType<Answer>
}

export interface Answered<Answer> {
  readonly answer: Answer
  /** Input and output tokens, which are paid for. */
  readonly tokens: number
}

/** Environment variables. Without a key, examples use a stub. */
export const claudeVariables = {
  ANTHROPIC_API_KEY: z.string().min(1).optional(),
  ANTHROPIC_BASE_URL: z.url({ protocol: /^https?$/ }).default('https://api.anthropic.com'),
  ANTHROPIC_MODEL: z.string().min(1).default('claude-haiku-4-5'),
}

const Variables = z.object(claudeVariables)

/** Null without a key. */
export function claudeSettingsOf(variables: z.infer<typeof Variables>): ClaudeSettings | null {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseUrl } = variables
  return apiKey === undefined ? null : { apiKey, baseUrl, model: variables.ANTHROPIC_MODEL }
}

export class Claude {
  readonly #client: Anthropic
  readonly #model: string

  constructor({ apiKey, baseUrl, model }: ClaudeSettings, { maxRetries, timeoutMs }: ClaudeLimits) {
    this.#client = new Anthropic({ apiKey, baseURL: baseUrl, maxRetries, timeout: timeoutMs })
    this.#model = model
  }

  async write(question: Question): Promise<Answered<string>> {
    const { content, usage } = await this.#client.messages.create(this.#request(question))
    const answer = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
    if (answer === '') throw new Error('The model returned no text.')
    return { answer, tokens: usage.input_tokens + usage.output_tokens }
  }

  async fillIn<Answer>(question: Question, form: Form<Answer>): Promise<Answered<Answer>> {
    const { name, description, schema } = form
    const { type: _, ...rules } = z.toJSONSchema(schema)
    const { content, usage } = await this.#client.messages.create({
      ...this.#request(question),
      tools: [{ name, description, input_schema: { ...rules, type: 'object' } }],
      tool_choice: { type: 'tool', name },
    })
    const use = content.find((block) => block.type === 'tool_use' && block.name === name)
    const answer = schema.safeParse(use?.type === 'tool_use' ? use.input : undefined)
    if (!answer.success) throw new Error('The answer of the model does not fit the schema.')
    return { answer: answer.data, tokens: usage.input_tokens + usage.output_tokens }
  }

  #request({ system, prompt, maxTokens }: Question): Anthropic.MessageCreateParamsNonStreaming {
    const messages = [{ role: 'user' as const, content: prompt }]
    return { model: this.#model, max_tokens: maxTokens, system, messages }
  }
}

/** The request schema of the Messages API, as far as the examples use it. */
import { z } from 'zod'

const CacheControl = z.object({ type: z.literal('ephemeral') })
const Block = z.union([
  z.object({
    type: z.literal('text'),
    text: z.string().min(1),
    cache_control: CacheControl.optional(),
  }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
  z.object({ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.unknown() }),
])
const Content = z.union([z.string().min(1), z.array(Block).min(1)])

const Tool = z.object({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  description: z.string().optional(),
  input_schema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string(), z.looseObject({})).optional(),
  }),
})

const ToolChoice = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['auto', 'any', 'none']) }),
  z.object({ type: z.literal('tool'), name: z.string() }),
])

export const MessagesRequest = z
  .object({
    model: z.string().min(1),
    max_tokens: z.int().min(1),
    messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: Content })).min(1),
    system: Content.optional(),
    tools: z.array(Tool).optional(),
    tool_choice: ToolChoice.optional(),
    stream: z.literal(false, 'this server does not stream').optional(),
  })
  .refine(({ messages }) => messages[0]?.role === 'user', {
    error: 'first message must use the "user" role',
    path: ['messages'],
  })
  .refine(
    ({ tools = [], tool_choice: choice }) =>
      choice?.type !== 'tool' || tools.some(({ name }) => name === choice.name),
    { error: 'Tool not found in provided tools', path: ['tool_choice', 'name'] },
  )
export type MessagesRequest = z.infer<typeof MessagesRequest>

/** The text of all messages of the user. */
export function textOf({ messages }: MessagesRequest): string {
  return messages
    .flatMap(({ role, content }) => {
      if (role !== 'user') return []
      if (typeof content === 'string') return [content]
      return content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    })
    .join('\n')
}

/** The same tasks with Claude. Structured answers are checked by a schema. */
import { z } from 'zod'
import { Claude, type ClaudeSettings } from '../../shared/claude.ts'
import type { AiProvider } from './ai-provider.ts'

const system =
  'You write courses for adults and work on their documents. Be exact, short and plain. ' +
  'Use the language of the topic or the document.'

const text = z.string().min(1)
const outlineForm = {
  name: 'outline',
  description: 'Records the modules of a course, in order.',
  schema: z.object({ modules: z.array(z.object({ title: text })).min(1) }),
}
const lessonsForm = {
  name: 'lessons',
  description: 'Records the lessons of a module, in order.',
  schema: z.object({ lessons: z.array(z.object({ title: text, text })).min(1) }),
}
const examForm = {
  name: 'exam',
  description: 'Records the questions of an exam with their answers.',
  schema: z.object({ questions: z.array(z.object({ question: text, answer: text })).min(1) }),
}

export function claudeProvider(settings: ClaudeSettings): AiProvider {
  // The queue retries, so the client retries only once.
  const claude = new Claude(settings, { maxRetries: 1, timeoutMs: 60_000 })
  const write = async (prompt: string): Promise<string> =>
    (await claude.write({ system, prompt, maxTokens: 400 })).answer.trim()
  const question = (prompt: string) => ({ system, prompt, maxTokens: 4_096 })
  return {
    summarize: (document) => write(`Summarize this document in one sentence.\n\n${document}`),
    keywords: (document) =>
      write(`Name up to five keywords of this document, with commas between them.\n\n${document}`),
    async outline({ topic, modules }) {
      const prompt = `Plan a course of exactly ${modules} modules.\nTopic: ${topic}`
      const { answer } = await claude.fillIn(question(prompt), outlineForm)
      // Every module costs credits, and a missing one leaves a gap in the course.
      if (answer.modules.length !== modules)
        throw new Error('The outline has the wrong number of modules.')
      return answer.modules
    },
    async lessons({ topic, title }) {
      const prompt = `Write two or three lessons for this module.\nCourse: ${topic}\nModule: ${title}`
      return (await claude.fillIn(question(prompt), lessonsForm)).answer.lessons
    },
    async exam({ title, about }) {
      const prompt = `Write one exam question on each of these.\nCourse: ${title}\n${about.join('\n')}`
      return (await claude.fillIn(question(prompt), examForm)).answer.questions
    },
    mastery: ({ topic, modules }) =>
      write(`Say in one sentence what mastery means.\nCourse: ${topic}\n${modules.join('\n')}`),
  }
}

/**
 * The language model interface, and an offline stub that fills in templates and counts words. The same input
 * always gives the same output.
 */
import type { ClaudeSettings } from '../../shared/claude.ts'

export interface ModuleOutline {
  readonly title: string
}

export interface Lesson {
  readonly title: string
  readonly text: string
}

export interface Question {
  readonly question: string
  readonly answer: string
}

export interface AiProvider {
  summarize(text: string): Promise<string>
  keywords(text: string): Promise<string>
  outline(course: { topic: string; modules: number }): Promise<readonly ModuleOutline[]>
  /** All lessons of a module in one call. */
  lessons(module: { topic: string; title: string }): Promise<readonly Lesson[]>
  exam(subject: { title: string; about: readonly string[] }): Promise<readonly Question[]>
  mastery(course: { topic: string; modules: readonly string[] }): Promise<string>
}

/** Claude if there is a key, otherwise the stub. The SDK is loaded only if it is used. */
export async function aiProviderOf(settings: ClaudeSettings | null): Promise<AiProvider> {
  if (settings === null) return offlineProvider
  const { claudeProvider } = await import('./claude-provider.ts')
  return claudeProvider(settings)
}

const stages = ['Foundations', 'Practice', 'Depth', 'Review']

export const offlineProvider: AiProvider = {
  async summarize(text) {
    const [first = ''] = text.split(/(?<=[.!?])\s|\n/)
    return first.trim()
  },
  async keywords(text) {
    const counts = new Map<string, number>()
    for (const word of text.toLowerCase().match(/\p{L}{4,}/gu) ?? []) {
      counts.set(word, (counts.get(word) ?? 0) + 1)
    }
    const byCount = [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
    return byCount
      .slice(0, 5)
      .map(([word]) => word)
      .join(', ')
  },
  async outline({ topic, modules }) {
    return Array.from({ length: modules }, (_, index) => ({
      title: `${topic}: ${stages[index % stages.length]} ${index + 1}`,
    }))
  },
  async lessons({ title }) {
    return ['Reading', 'Exercise'].map((kind) => ({
      title: `${kind}: ${title}`,
      text: `A ${kind.toLowerCase()} on ${title}.`,
    }))
  },
  async exam({ title, about }) {
    return about.map((subject) => ({
      question: `What did "${subject}" teach about ${title}?`,
      answer: subject,
    }))
  },
  async mastery({ topic, modules }) {
    return `Mastery of ${topic} means passing: ${modules.join('; ')}.`
  },
}

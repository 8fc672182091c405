/** Finds the questions of a guide: numbered lines that end with an expression or an equation. */
import { parseStep } from '../math/parse-step.ts'

const numbered = /^\s*\d{1,3}[.)]\s+(.*)$/

export function extractQuestions(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const text = numbered.exec(line)?.[1]
    const statement = text && mathematicsIn(text)
    return statement ? [statement] : []
  })
}

/** The question of `Solve for x: 3x + 5 = 20` is the part after the colon. */
function mathematicsIn(text: string): string | undefined {
  const afterWords = text.replace(/^(?:\p{L}{2,}\s+)+/u, '')
  const candidates = [text, ...text.split(':').slice(1), afterWords]
  return candidates.map(trimmed).find((one) => parseStep(one) !== undefined)
}

function trimmed(text: string): string {
  return text.replace(/[.?;]\s*$/, '').trim()
}

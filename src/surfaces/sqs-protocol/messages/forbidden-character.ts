/** The text of SQS for a character that XML cannot contain. */
import { forbiddenCharacter } from '../../../core/check-message.ts'

export function describeForbiddenCharacter(text: string, where: string): string {
  const code = forbiddenCharacter.exec(text)?.[0].codePointAt(0) ?? 0
  const shown = `#x${code.toString(16).toUpperCase()}`
  return `Invalid binary character '${shown}' was found in the ${where}, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].`
}

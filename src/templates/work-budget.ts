/**
 * How much work one template may cause. A few lines of YAML can stand for billions of values, by aliases,
 * by functions or by variables; reading ends with a problem long before that hurts.
 */
const stepsMax = 500_000
const charactersMax = 16 * 1_048_576

/** Ends the reading of a template; it never leaves `readTemplate`. */
export class TemplateTooLarge extends Error {}

export class WorkBudget {
  #steps = 0
  #characters = 0

  step(): void {
    this.#steps += 1
    if (this.#steps > stepsMax) throw new TemplateTooLarge()
  }

  /** A text that was put together from others. */
  text(text: string): string {
    this.#characters += text.length
    if (this.#characters > charactersMax) throw new TemplateTooLarge()
    return text
  }
}

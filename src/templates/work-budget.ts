/**
 * Limits the work for one template. A few lines of YAML can expand to billions of values by aliases,
 * functions or variables. Reading ends with a problem before that.
 */
const stepsMax = 500_000
const charactersMax = 16 * 1_048_576

/** Ends the reading of a template. `readTemplate` catches it. */
export class TemplateTooLarge extends Error {}

export class WorkBudget {
  #steps = 0
  #characters = 0

  step(): void {
    this.#steps += 1
    if (this.#steps > stepsMax) throw new TemplateTooLarge()
  }

  /** Counts a concatenated string. */
  text(text: string): string {
    this.#characters += text.length
    if (this.#characters > charactersMax) throw new TemplateTooLarge()
    return text
  }
}

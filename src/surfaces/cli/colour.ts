/** Whether output is coloured. */
export type ColourChoice = 'always' | 'never' | 'auto'

export const colourChoices: readonly ColourChoice[] = ['always', 'never', 'auto']

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
}

/** The option takes precedence over the environment, and the environment over detection. */
export function usesColour(
  choice: ColourChoice,
  { environment, isTerminal }: Surroundings,
): boolean {
  if (choice !== 'auto') return choice === 'always'
  const { FORCE_COLOR: forced, NO_COLOR: unwanted, TERM: terminal } = environment
  if (forced) return forced !== '0' && forced !== 'false'
  if (unwanted) return false
  return isTerminal && terminal !== 'dumb'
}

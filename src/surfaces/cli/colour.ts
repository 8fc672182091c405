/** Whether output is coloured. */
export type ColourChoice = 'always' | 'never' | 'auto'

export const colourChoices: readonly ColourChoice[] = ['always', 'never', 'auto']

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
}

/** What the user says wins over what the environment says, and that over what is found out. */
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

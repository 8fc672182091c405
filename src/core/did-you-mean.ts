/** The known word nearest to one that was mistyped, as a hint for an error text. */
export function didYouMean(given: string, known: readonly string[]): string {
  const nearest = known
    .map((word) => ({ word, distance: distanceOf(given.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .sort((left, right) => left.distance - right.distance)[0]
  return nearest === undefined ? '' : `; did you mean '${nearest.word}'?`
}

/**
 * Edit distance. A word cut short or carried on (`visibility`) counts as near, and so does the key of a
 * full name: `orders` for `shop-dev-orders`.
 */
function distanceOf(given: string, word: string): number {
  if (given.length >= 3 && (word.startsWith(given) || given.startsWith(word))) return 1
  if (word.endsWith(`-${given}`)) return 1
  let previous = Array.from({ length: word.length + 1 }, (_, index) => index)
  for (let row = 1; row <= given.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= word.length; column += 1) {
      const change = given[row - 1] === word[column - 1] ? 0 : 1
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + change,
        ),
      )
    }
    previous = current
  }
  return previous[word.length] ?? 0
}

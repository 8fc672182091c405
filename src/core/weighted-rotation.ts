/**
 * Smooth weighted rotation: with weights 3 and 1 the turns go a a b a, not a a a b. Whoever has nothing
 * to do is left out of a turn, and its share goes to the others without being owed to it later.
 */
export interface Weighted {
  /** Above zero. */
  weight: number
}

export class WeightedRotation<Member extends Weighted> {
  readonly #credits = new Map<Member, number>()

  /** Whose turn it is among those that are willing; undefined when there is none. */
  peek(willing: readonly Member[]): Member | undefined {
    let chosen: Member | undefined
    let highest = Number.NEGATIVE_INFINITY
    for (const member of willing) {
      const credit = (this.#credits.get(member) ?? 0) + member.weight
      if (credit <= highest) continue
      highest = credit
      chosen = member
    }
    return chosen
  }

  /** Takes the turn of the one whose turn it is. */
  next(willing: readonly Member[]): Member | undefined {
    // Alone, a member owes nothing to anyone.
    if (willing.length < 2) return willing[0]
    const chosen = this.peek(willing)
    if (chosen === undefined) return undefined
    let total = 0
    for (const member of willing) {
      total += member.weight
      this.#credits.set(member, (this.#credits.get(member) ?? 0) + member.weight)
    }
    this.#credits.set(chosen, (this.#credits.get(chosen) ?? 0) - total)
    return chosen
  }

  /** Forgets what is owed to a member that is leaving the rotation, for a while or for good. */
  leave(member: Member): void {
    this.#credits.delete(member)
  }
}

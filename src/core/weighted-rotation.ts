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

  /** Whose turn it is among those that are willing; undefined when nobody is. */
  next(willing: Iterable<Member>): Member | undefined {
    let total = 0
    let chosen: Member | undefined
    let highest = Number.NEGATIVE_INFINITY
    for (const member of willing) {
      const credit = (this.#credits.get(member) ?? 0) + member.weight
      this.#credits.set(member, credit)
      total += member.weight
      if (credit > highest) {
        highest = credit
        chosen = member
      }
    }
    if (chosen !== undefined) this.#credits.set(chosen, highest - total)
    return chosen
  }

  /** Forgets what is owed to a member that is leaving the rotation, for a while or for good. */
  leave(member: Member): void {
    this.#credits.delete(member)
  }
}

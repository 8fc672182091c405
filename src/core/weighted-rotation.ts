/**
 * Smooth weighted rotation: with weights 3 and 1 the turns go a a b a, not a a a b. A member
 * that has nothing to do is left out of a turn. Its share goes to the others, and is not made up later.
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
    // A member that is alone keeps no balance.
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

  /** Resets the balance of a member that leaves the rotation, for a while or for good. */
  leave(member: Member): void {
    this.#credits.delete(member)
  }
}

/** The share of each member in a count, rounded down. */
export function sharedByWeight<Member extends Weighted>(
  count: number,
  members: readonly Member[],
): ReadonlyMap<Member, number> {
  const total = members.reduce((sum, { weight }) => sum + weight, 0)
  const shareOf = ({ weight }: Member): number => Math.max(0, Math.floor((count * weight) / total))
  return new Map(members.map((member) => [member, shareOf(member)]))
}

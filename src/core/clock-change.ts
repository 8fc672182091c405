/** What happened to the wall clock, as a store sees it: it jumped, returned, or stayed where it is. */
export interface ClockChange {
  /**
   * `ahead` and `behind`: the wall clock jumped, and the store does not follow yet. `returned`: it
   * returned. `believed`: it stayed there for `believedAfterMs`, and the store follows.
   */
  readonly what: 'ahead' | 'behind' | 'returned' | 'believed'
  /** How far the wall clock is, or was, from the time that has passed; negative when it is behind. */
  readonly offsetMs: number
  /** How long a jump must last before the store follows it. */
  readonly believedAfterMs: number
}

/**
 * The bounds of histograms of durations, in seconds: those that OpenTelemetry gives for messaging, and a
 * few above them, because a job may take minutes and wait for hours.
 */
export const durationBounds: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900,
  3_600,
]

/** One more than there are bounds: the last bucket has none. */
export const durationBuckets: number = durationBounds.length + 1

/** Which bucket a duration belongs to; a bound belongs to the bucket below it. */
export function durationBucket(ms: number): number {
  const seconds = ms / 1_000
  const index = durationBounds.findIndex((bound) => seconds <= bound)
  return index === -1 ? durationBounds.length : index
}

/** Minutes of metrics: how long they are, which one a moment belongs to, and for how long they are kept. */
export const minuteMs = 60_000

/** Three days; the minutes of a queue that is always busy then take about half a megabyte. */
export const metricsKeptMs: number = 3 * 86_400_000

/** The first millisecond of the minute that a moment belongs to. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs
}

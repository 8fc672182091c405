/** Says on the terminal who does what. */
export function printerOf(who: string): (line: string) => void {
  return (line) => console.log(`${who.padEnd(13)} ${line}`)
}

/** Enough of a job's id to follow it with the eye. */
export function shortId(jobId: string): string {
  const isUuid = jobId.length === 36
  return isUuid ? jobId.slice(0, 8) : jobId
}

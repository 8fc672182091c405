/** Prints lines with the name of the process in front. */
export function printerOf(who: string): (line: string) => void {
  return (line) => console.log(`${who.padEnd(13)} ${line}`)
}

/** A short form of the job id for the console. */
export function shortId(jobId: string): string {
  const isUuid = jobId.length === 36
  return isUuid ? jobId.slice(0, 8) : jobId
}

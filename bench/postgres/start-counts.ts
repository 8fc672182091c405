/** Counts how often the handler of each job was started. */
export class StartCounts {
  /** Different jobs. */
  started = 0
  /** Starts of jobs that were started before. */
  repeated = 0
  /** By the number of the job: 1 if it was started. */
  #wasStarted = new Uint8Array(1_024)

  /** Returns whether the job was never started before. */
  add(job: number): boolean {
    if (job >= this.#wasStarted.length) this.#grow(job)
    const isFirst = this.#wasStarted[job] === 0
    this.#wasStarted[job] = 1
    if (isFirst) this.started += 1
    else this.repeated += 1
    return isFirst
  }

  #grow(job: number): void {
    const larger = new Uint8Array(2 * (job + 1))
    larger.set(this.#wasStarted)
    this.#wasStarted = larger
  }
}

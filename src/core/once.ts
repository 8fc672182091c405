/** A function that runs at its first call. Later calls have no effect. */
export function once(run: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    run()
  }
}

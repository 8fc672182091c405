/** Other job queues that are measured in the same run. If one cannot run, its rows show why. */
export interface Skipped {
  readonly skipped: string
}

/** Imports the package of a peer, if it is installed. */
export async function loadPeer<T extends object>(
  name: string,
  load: () => Promise<T>,
): Promise<T | Skipped> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      return { skipped: `${name} is not installed` }
    }
    throw error
  }
}

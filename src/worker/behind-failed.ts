/** The rule that keeps the order of a FIFO queue when a batch holds several messages of one group. */

/**
 * The messages behind a failed one of their group. They must be delivered again after it, even if they were
 * handled.
 */
export function behindFailed<Message extends { readonly group: string | null }>(
  batch: readonly Message[],
  isFailed: (message: Message) => boolean,
): ReadonlySet<Message> {
  const stopped = new Set<string | null>()
  const behind = new Set<Message>()
  for (const message of batch) {
    if (stopped.has(message.group)) behind.add(message)
    else if (isFailed(message)) stopped.add(message.group)
  }
  return behind
}

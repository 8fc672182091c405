/**
 * The states of a message and the only ways between them. `gone` is the end: acknowledged, expired,
 * purged, or moved away. The drawing in ARCHITECTURE.md is made from this table.
 */
export type MessageState = 'ready' | 'leased' | 'delayed'

export interface Transition {
  readonly from: MessageState | 'new'
  readonly event: string
  readonly to: MessageState | 'gone'
}

export const messageTransitions: readonly Transition[] = [
  { from: 'new', event: 'send', to: 'ready' },
  { from: 'new', event: 'send with a delay', to: 'delayed' },
  { from: 'delayed', event: 'the delay ends', to: 'ready' },
  { from: 'ready', event: 'receive', to: 'leased' },
  { from: 'ready', event: 'receive after too many receives', to: 'ready' },
  {
    from: 'ready',
    event: 'extend after the lease lapsed (if asked, standard queues)',
    to: 'leased',
  },
  { from: 'leased', event: 'extend', to: 'leased' },
  { from: 'leased', event: 'retry after a delay', to: 'leased' },
  { from: 'leased', event: 'retry at once', to: 'ready' },
  { from: 'leased', event: 'release', to: 'ready' },
  { from: 'leased', event: 'the lease lapses', to: 'ready' },
  { from: 'leased', event: 'bury', to: 'ready' },
  { from: 'leased', event: 'acknowledge', to: 'gone' },
  { from: 'ready', event: 'acknowledge after the lease lapsed (standard queues)', to: 'gone' },
  { from: 'ready', event: 'moved by a move task', to: 'gone' },
  { from: 'ready', event: 'retention ends, purge, or the queue is deleted', to: 'gone' },
  { from: 'leased', event: 'retention ends, purge, or the queue is deleted', to: 'gone' },
  { from: 'delayed', event: 'retention ends, purge, or the queue is deleted', to: 'gone' },
]

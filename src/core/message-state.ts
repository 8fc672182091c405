/** The states of a message. One that was acknowledged, has expired, was purged or moved is gone. */
export type MessageState = 'ready' | 'leased' | 'delayed'

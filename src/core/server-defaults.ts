/** Where a server listens and its store is when nothing else was asked for. */
export const serverDefaults = {
  host: '127.0.0.1',
  /** Clients of SQS emulators look here already. */
  port: 4566,
  data: '.millrace',
} as const

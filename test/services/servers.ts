import type { ChildMessage } from '../support/child-program.ts'

/** What a process with servers tells its parent. */
export interface ServersReport extends ChildMessage {
  readonly kind: 'started'
  readonly postgresUrl: string
  readonly pgbouncerUrl: string
}

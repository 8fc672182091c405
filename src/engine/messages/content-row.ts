/** The columns of a message that its receiver needs. */
/** What a delivery is made of. Receives read nothing more: every column costs time. */
export interface ContentRow {
  readonly sequence: number
  readonly receive_count: number
  readonly first_received_at: number
  readonly sent_at: number
  readonly id: string | null
  readonly group_name: string | null
  readonly deduplication_id: string | null
  readonly origin: string | null
  readonly attributes: string | null
  readonly body: string | null
  /** Details of the job, if the message is one that has not ended. */
  readonly job: string | null
  /** The unit of a flow that it works on. */
  readonly unit: number | null
  readonly expires_at: number | null
  /** The values that the ceilings by key count by; only read where a queue has such ceilings. */
  readonly limit_keys?: string | null | undefined
}

/**
 * Stacks: the part of a backend that records which stacks went up on the store. A backend does not look
 * into a stack: a record is a JSON document under the name of its stack.
 */
export interface StackStore {
  /** Undefined when no stack of this name went up. */
  read(request: StackName): Promise<StackRecord | undefined>
  /** All of them, by name. */
  list(): Promise<readonly StackRecord[]>
  /** Adds the record of a stack, or replaces it as a whole. */
  write(request: WriteStack): Promise<void>
}

export interface StackName {
  readonly stack: string
}

export interface WriteStack extends StackName {
  /** JSON. */
  readonly document: string
}

export interface StackRecord extends WriteStack {
  readonly writtenAt: number
}

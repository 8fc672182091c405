/**
 * Stacks: the part of a backend that records the stacks of a store. A backend does not read the
 * record of a stack: it is a JSON document under the name of the stack.
 */
export interface StackStore {
  /** Undefined when there is no stack of this name. */
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

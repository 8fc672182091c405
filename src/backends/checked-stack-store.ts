/** Checks every argument about stacks, as checked-backend.ts does for messages. */
import { checkLength, checkText } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { check } from './checking.ts'
import type { StackStore } from './stack-store.ts'

export function checkedStackStore(store: StackStore): StackStore {
  return {
    read: (request) => store.read(request),
    list: () => store.list(),
    write: async (request) => {
      check((into) => {
        checkText(into, 'stack', request.stack, limits.stackNameLength)
        checkLength(into, 'document', request.document, limits.stackDocumentLength)
      })
      return store.write(request)
    },
  }
}

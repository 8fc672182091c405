/** Runs a language model on a document. The owner pays with a credit before the model is called. */
import { UnrecoverableError } from 'millrace'
import type { AiTask, Context } from '../app.ts'
import type { Services } from '../services/services.ts'
import { InsufficientCreditsError } from '../services/users-service.ts'

export interface AiResult {
  /** False if an earlier job already did this task. */
  readonly stored: boolean
}

export function aiProcessingProcessor({ documents, users, ai, outputs }: Services) {
  return async ({ document_id, task }: AiTask, context: Context): Promise<AiResult> => {
    const document = documents.find(document_id)
    if (document === undefined) throw new UnrecoverableError('The document has been deleted.')
    // OCR has not run yet; a later attempt may find the text.
    if (document.text === null) throw new Error('The document has not been read yet.')
    if (outputs.find(document_id, task) !== undefined) return { stored: false }
    try {
      users.useAiCredit(document.owner, `${task}:${document_id}`)
    } catch (error) {
      if (error instanceof InsufficientCreditsError) throw new UnrecoverableError(error.message)
      throw error
    }
    const output =
      task === 'summary' ? await ai.summarize(document.text) : await ai.keywords(document.text)
    outputs.save(document_id, task, output)
    context.log.info({ characters: output.length }, 'output stored')
    return { stored: true }
  }
}

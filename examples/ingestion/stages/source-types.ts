/** The file types that can be uploaded. */

export const sourceTypes = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
} as const

export type SourceExt = keyof typeof sourceTypes

export const sourceBytesMax: number = 100 * 2 ** 20

/** Why the operating system refused, in words: the given ones for its code, else its own. */
export function systemReason(error: unknown, reasons: Readonly<Record<string, string>>): string {
  const { code = '', message } = error as { readonly code?: string; readonly message: string }
  return reasons[code] ?? message
}

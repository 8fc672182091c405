/** An error as Lambda reports it: its type, its message, and the lines of its stack. */
export interface LambdaError {
  readonly errorType: string
  readonly errorMessage: string
  readonly code?: string
  readonly stack: readonly string[]
}

/** @param type Lambda's own name for the error, if it has one */
export function lambdaErrorOf(thrown: unknown, type?: string): LambdaError {
  if (!(thrown instanceof Error)) {
    return { errorType: type ?? typeof thrown, errorMessage: textOf(thrown), stack: [] }
  }
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
  return {
    errorType: type ?? thrown.name,
    errorMessage: type === undefined ? thrown.message : `${thrown.name}: ${thrown.message}`,
    ...(code !== undefined && { code }),
    stack: (thrown.stack ?? '').split('\n'),
  }
}

export function runtimeError(errorType: string, errorMessage: string): LambdaError {
  return { errorType, errorMessage, stack: [] }
}

/** One line of JSON, as in Lambda's logs. */
export function formatLambdaError(title: string, error: LambdaError): string {
  return `${title}\t${JSON.stringify(error)}`
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'The function threw a value that cannot be converted to a string.'
  }
}

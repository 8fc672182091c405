/** The logical ids that the Serverless Framework generates, for templates that refer to them. */

export function functionLogicalId(key: string): string {
  return `${normalized(key)}LambdaFunction`
}

export function eventSourceLogicalId(key: string, queue: string): string {
  return `${normalized(key)}EventSourceMappingSQS${upperFirst(queue.replace(/[^0-9A-Za-z]/g, ''))}`
}

function normalized(key: string): string {
  return upperFirst(key.replaceAll('-', 'Dash').replaceAll('_', 'Underscore'))
}

function upperFirst(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

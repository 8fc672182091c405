/** An array as Postgres reads it from a text. */
export function arrayOf(values: readonly (string | number | null)[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: string | number | null): string {
  if (typeof value !== 'string') return String(value)
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

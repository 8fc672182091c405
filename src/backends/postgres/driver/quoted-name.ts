/** The name of a schema or a channel quoted for SQL. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The name of a schema or a channel as it stands in SQL. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Returns the name, or the name with the first free number, and marks it as taken. */
export function uniqueName(taken: Set<string>, wanted: string): string {
  let name = wanted
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}${count}`
  taken.add(name)
  return name
}

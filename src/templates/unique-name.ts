/** The wanted name, or the first free one with a number behind it. It is taken from then on. */
export function uniqueName(taken: Set<string>, wanted: string): string {
  let name = wanted
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}${count}`
  taken.add(name)
  return name
}

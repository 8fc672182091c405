/** Parses XML strictly: throws if it is not well-formed. */
export interface XmlElement {
  readonly name: string
  readonly text: string
  readonly children: readonly XmlElement[]
}

interface OpenElement {
  readonly name: string
  text: string
  readonly children: XmlElement[]
}

const token =
  /<\?xml version="1\.0"\?>|<\/([\w.-]+)>|<([\w.-]+)((?:\s+[\w:-]+="[^"<&]*")*)(\/?)>|([^<]+)/y
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#xD': '\r',
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: what XML 1.0 cannot hold
const impossible = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u

export function readXml(xml: string): XmlElement {
  if (impossible.test(xml)) throw new Error('The XML has characters that XML does not allow.')
  const root: OpenElement = { name: '', text: '', children: [] }
  const open: OpenElement[] = [root]
  token.lastIndex = 0
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex
    const found = token.exec(xml)
    const inner = open.at(-1)
    if (found === null || inner === undefined) throw malformed(xml, at)
    const [, closed, opened, , isEmpty, text] = found
    if (text !== undefined) inner.text += decoded(text)
    if (closed !== undefined && (open.pop()?.name !== closed || open.length === 0)) {
      throw malformed(xml, at)
    }
    if (opened === undefined) continue
    const element: OpenElement = { name: opened, text: '', children: [] }
    inner.children.push(element)
    if (isEmpty === '') open.push(element)
  }
  const [only, ...more] = root.children
  if (open.length !== 1 || only === undefined || more.length > 0) throw malformed(xml, xml.length)
  return only
}

/** The text of the element at this path. */
export function textAt(element: XmlElement, ...path: readonly string[]): string | undefined {
  let at: XmlElement | undefined = element
  for (const name of path) at = at?.children.find((child) => child.name === name)
  return at?.text
}

function decoded(text: string): string {
  return text.replace(/&([^;&]*);?/g, (_, name: string) => {
    const character = entities[name]
    if (character === undefined) throw new Error(`The XML has an unknown entity: ${name}`)
    return character
  })
}

function malformed(xml: string, at: number): Error {
  return new Error(`The XML is not well-formed at ${at}: ${xml.slice(at, at + 80)}`)
}

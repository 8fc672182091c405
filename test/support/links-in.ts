/** The relative links of a Markdown page, without anchors and without code. */
export function linksIn(markdown: string): readonly string[] {
  const code = /```.*?```|`[^`\n]*`/gs
  const links = markdown.replaceAll(code, '').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)
  return [...links].map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target))
}

/**
 * Which Node this package needs. The check runs on older versions too, so this file keeps to syntax
 * that those can read.
 */
const needed = { major: 22, minor: 18 }

/** The text for the user, or undefined when the version is new enough. */
export function nodeVersionProblem(
  versions: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // Deno and Bun state a version of Node that says little about what they can do.
  if (versions['deno'] !== undefined || versions['bun'] !== undefined) return undefined
  const [major = 0, minor = 0] = (versions['node'] ?? '').split('.').map(Number)
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return undefined
  return (
    `Millrace needs Node ${needed.major}.${needed.minor} or newer; this is Node ${versions['node']}. ` +
    'Install a newer Node and try again.'
  )
}

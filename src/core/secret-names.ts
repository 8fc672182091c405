/** Names of secrets: of fields, and in texts such as `password=…`. A longer name may end with one. */
const secretNames: readonly (readonly string[])[] = [
  ['pass'],
  ['password'],
  ['passwords'],
  ['passwd'],
  ['passphrase'],
  ['pwd'],
  ['secret'],
  ['secrets'],
  // Not tokens, which are often counted.
  ['token'],
  ['api', 'key'],
  ['access', 'key'],
  ['private', 'key'],
  ['authorization'],
  ['credential'],
  ['credentials'],
  ['cookie'],
]

/** As in `DB_PASSWORD`, `x-api-key` and `apiKey`. Not as in `compass`. */
const separated = `(?<![a-z])(?:${secretNames.map((words) => words.join('[_-]?')).join('|')})`
/** As in `accessToken`. */
const inCamelCase = `(?<=[a-z\\d])(?:${secretNames.map((words) => words.map(capitalized).join('')).join('|')})`

/** The patterns of such names, in front of a given pattern. */
export function behindSecretName(pattern: string): readonly RegExp[] {
  return [
    new RegExp(`(${separated})${pattern}`, 'gi'),
    new RegExp(`(${inCamelCase})${pattern}`, 'g'),
  ]
}

const ending: readonly RegExp[] = [new RegExp(`${separated}$`, 'i'), new RegExp(`${inCamelCase}$`)]

/** Whether the value of a field with this name must not be kept. */
export function isSecretName(name: string): boolean {
  return ending.some((pattern) => pattern.test(name))
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}

/**
 * Finds personal data in a message: e-mail addresses, phone numbers, and fields named like a person's name.
 * Returns the path and the kind, never the value. A finding refuses the message, so only certain matches
 * count: ids, dates, file keys, formulas and plain numbers pass. A name in a field with another label cannot
 * be recognised, and passes too.
 */
import { personNamed, phoneNamed } from './personal-fields.ts'

export type PersonalDataKind = 'email' | 'phone' | 'name' | 'key'

export interface PersonalData {
  readonly kind: PersonalDataKind
  /** The path to the value; for a `key`, the path to the object that has it. */
  readonly path: readonly (string | number)[]
}

/** One value during the walk through a message. Paths are built only for findings. */
interface Place {
  readonly value: unknown
  readonly key: string | number
  readonly parent: Place | undefined
}

const findingsMax = 20

/** The first findings, in the order of the message. */
export function personalData(message: unknown): readonly PersonalData[] {
  const found: PersonalData[] = []
  // Not recursive: a message of a megabyte may be nested half a million levels deep.
  const waiting: Place[] = [{ value: message, key: '', parent: undefined }]
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const kind = kindAt(place)
    if (kind !== undefined) found.push({ kind, path: pathOf(place) })
    if (found.length === findingsMax) return found
    for (const child of childrenOf(place)) waiting.push(child)
  }
  return found
}

function kindAt({ value, key }: Place): PersonalDataKind | undefined {
  if (typeof key === 'string') {
    if (isNamed(value) && personNamed(key)) return 'name'
    if (digitsIn(value) >= 6 && phoneNamed(key)) return 'phone'
  }
  if (typeof value === 'string') return kindOfText(value)
  if (!isObject(value) || Array.isArray(value)) return undefined
  return Object.keys(value).some((name) => kindOfText(name) !== undefined) ? 'key' : undefined
}

function* childrenOf(place: Place): Generator<Place> {
  const { value } = place
  if (Array.isArray(value)) {
    for (let key = value.length - 1; key >= 0; key -= 1) {
      yield { value: value[key], key, parent: place }
    }
  } else if (isObject(value)) {
    for (const [key, child] of Object.entries(value).reverse()) {
      yield { value: child, key, parent: place }
    }
  }
}

function pathOf(place: Place): readonly (string | number)[] {
  const path: (string | number)[] = []
  for (let at = place; at.parent !== undefined; at = at.parent) path.push(at.key)
  return path.reverse()
}

/** Whether the value of such a field can be a name: null, booleans and numbers cannot. */
function isNamed(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  return isObject(value) && Object.keys(value).length > 0
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function digitsIn(value: unknown): number {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value).length : 0
  return typeof value === 'string' ? value.replace(/\D/g, '').length : 0
}

function kindOfText(text: string): 'email' | 'phone' | undefined {
  if (hasEmail(text)) return 'email'
  return hasInternationalNumber(text) || hasNumberAfterCue(text) ? 'phone' : undefined
}

const atSign = /@|%40/gi
const localEnd = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]$/u
/** Does not match `icon@2x.png`, an image for a high-resolution screen. */
const domain =
  /^(?![1-9]x\.(?:png|jpe?g|webp|gif|avif)(?!\p{L}))[\p{L}\p{N}][\p{L}\p{N}-]{0,62}(?:\.[\p{L}\p{N}-]{1,63}){0,8}\.\p{L}{2,24}(?![\p{L}\p{N}])/u

/** Only checks the text after each at sign, so the time is linear in the length of the text. */
function hasEmail(text: string): boolean {
  for (const { 0: sign, index } of text.matchAll(atSign)) {
    const after = index + sign.length
    const before = text.slice(Math.max(0, index - 2), index)
    if (localEnd.test(before) && domain.test(text.slice(after, after + 256))) return true
  }
  return false
}

const international = /\+[1-9](?:[ .()-]{0,2}\d){7,14}(?![\p{L}\p{N}_])/uy
/** What follows a number in a sum or formula, but not a phone number. */
const formulaAfter = /^\s{0,9}(?:[=+*/^\\<>×·÷%]|-\s{0,9}[\d\\(])/u
/** A word of a language, not a variable or a LaTeX command. */
const wordBefore = /(?:^|[^\p{L}\\])\p{L}{2,32}$/u

/** `+` and 8 to 15 digits in groups, where the text cannot be a formula. */
function hasInternationalNumber(text: string): boolean {
  for (let at = text.indexOf('+'); at >= 0; at = text.indexOf('+', at + 1)) {
    international.lastIndex = at
    if (!international.test(text)) continue
    const end = international.lastIndex
    if (mayBeginNumber(text.slice(Math.max(0, at - 40), at)) && mayEndNumber(text, end)) return true
  }
  return false
}

function mayBeginNumber(before: string): boolean {
  if (before === '' || /[("':;,]$/.test(before)) return true
  const words = before.trimEnd()
  if (words === before) return false
  return words === '' || /[(:;,.!?]$/.test(words) || wordBefore.test(words)
}

function mayEndNumber(text: string, end: number): boolean {
  const after = text.slice(end, end + 24)
  return !formulaAfter.test(after) && !/^[.-]?[\p{L}\p{N}]/u.test(after)
}

const cue =
  /(?<![\p{L}\p{N}_/.-])(?:tel|tel[eé]fono|(?:tele)?phone|fono|celular|cel|m[oó]vil|mobile|whatsapp|fax)(?!\p{L})(?: (?:number|no|n[uú]mero))?[.:]{0,2} {0,3}/giu
const national = /[(\d](?:[ .()/-]{0,2}\d){6,14}/y

/** A number in a national format counts only after a word such as "phone". */
function hasNumberAfterCue(text: string): boolean {
  for (const { 0: match, index } of text.matchAll(cue)) {
    national.lastIndex = index + match.length
    if (national.test(text) && mayEndNumber(text, national.lastIndex)) return true
  }
  return false
}

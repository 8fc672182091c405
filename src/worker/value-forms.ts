/**
 * The forms in which a value may appear in a text: in JSON, in an address or a form, and in base64. Only the
 * characters of base64 that follow from the value alone are looked for, so that it is also found inside of a
 * longer text that was encoded.
 */

/** Values whose encoded forms are looked for; of further ones, only the value itself and its form in JSON. */
const encodedMax = { values: 1_000, length: 65_536 } as const

/** Shorter ones occur in too many texts. */
const formLengthMin = 4

export function valueForms(values: Iterable<string>): readonly string[] {
  const forms = new Set<string>()
  let count = 0
  let length = 0
  for (const value of new Set(values)) {
    forms.add(value)
    forms.add(JSON.stringify(value).slice(1, -1))
    count += 1
    length += value.length
    if (count > encodedMax.values || length > encodedMax.length) continue
    for (const form of [...percentForms(value), ...base64Forms(value)]) {
      if (form.length >= formLengthMin) forms.add(form)
    }
  }
  return [...forms]
}

/** Programs disagree about which characters to encode, and about the letters of the digits. */
function percentForms(value: string): readonly string[] {
  const inAddress = encodeURIComponent(value.toWellFormed())
  const strict = inAddress.replace(/[!'()*]/g, percent)
  const forms = [
    inAddress,
    strict,
    strict.replaceAll('%2F', '/'),
    strict.replaceAll('~', '%7E').replaceAll('%2A', '*').replaceAll('%20', '+'),
  ]
  return [...forms, ...forms.map((form) => form.replace(/%../g, (code) => code.toLowerCase()))]
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

function base64Forms(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const whole = bytes.toString('base64')
  const forms = [
    whole,
    whole.replace(/=+$/, ''),
    ...[0, 1, 2].map((before) => base64Inside(bytes, before)),
  ]
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))]
}

/** What the base64 of a longer text has of these bytes, when so many other bytes, modulo 3, are in front of them. */
function base64Inside(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  // A character has 6 bits. The first and the last one may share theirs with other bytes.
  const first = Math.ceil((before * 8) / 6)
  const end = Math.floor(((before + bytes.length) * 8) / 6)
  return text.slice(first, end)
}

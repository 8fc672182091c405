import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import { type PersonalDataKind, personalData } from './personal-data.ts'

/** Of which kinds a text is, in a field whose name says nothing. */
const kindsOf = (text: string): readonly PersonalDataKind[] =>
  personalData({ note: text }).map(({ kind }) => kind)

const found = (message: unknown): readonly string[] =>
  personalData(message).map(({ kind, path }) => `${kind} at ${path.join('/')}`)

describe('an e-mail address', () => {
  test.each([
    'ana@example.com',
    'Write to <ana.perez+tutor@mail.example.co.uk>, please',
    'mailto:ana@example.com?subject=x',
    'uploads/ana%40example.com/1.png',
    'JOSÉ@ejemplo.cl',
    'josé@münchen.example',
    'to:a@b.io',
  ])('is found: %s', (text) => {
    assert.deepEqual(kindsOf(text), ['email'])
  })

  test.each([
    'assets/icon@2x.png',
    'image@sha256:9f86d081884c7d65',
    '@scope/package@1.2.3',
    'see @teacher.room',
    'cost @ 3.50',
    'a@b',
    '\\makeatletter\\@ifnextchar',
  ])('is not seen in %s', (text) => {
    assert.deepEqual(kindsOf(text), [])
  })
})

describe('a phone number', () => {
  test.each([
    '+56912345678',
    '+56 9 1234 5678',
    'call me at +1 (555) 010-9999 today',
    'WhatsApp: +34 600 123 456',
    'tel:+442079460000',
    'Ana, +33 1 23 45 67 89.',
    'teléfono 22 345 6789',
    'Phone number: (555) 010-9999',
    'cel. 912345678',
  ])('is found: %s', (text) => {
    assert.deepEqual(kindsOf(text), ['phone'])
  })

  test.each([
    '2 +12345678',
    'x +123456789 = 5',
    '\\cdot +123456789',
    '123-456-7890',
    '1e+21',
    '+12345678x = 24691356',
    '2026-01-31T09:30:00.000+05:30',
    '+123456-01-01T00:00:00.000Z',
    'uploads/mobile-12345678.png',
    '1-67891233-abcdef012345678912345678',
    'page 12345678',
    '+1234567',
    '+1234567890123456',
  ])('is not seen in %s', (text) => {
    assert.deepEqual(kindsOf(text), [])
  })

  test('in a field of that name needs no more than six digits, in any form', () => {
    assert.deepEqual(
      found({ phone: '345 678', contactPhoneNumber: 912345678, Teléfono: '2345678' }),
      ['phone at phone', 'phone at contactPhoneNumber', 'phone at Teléfono'],
    )
    assert.deepEqual(found({ phone: null, telephone: 'none', phoneCount: 1234567 }), [])
  })
})

describe('a field that is named like the name of a person', () => {
  test.each([
    'name',
    'Names',
    'first_name',
    'lastName',
    'student_name',
    'studentName',
    'STUDENT_NAME',
    'fullName',
    'fullname',
    'parent1FirstName',
    'surname',
    'nickname',
    'userName',
    'card-holder name',
    'apellido',
    'apellidoPaterno',
    'segundo_apellido',
    'nombre',
    'nombreCompleto',
    'nombre_del_alumno',
    'prénom',
    'Nachname',
    'sobrenome',
  ])('is found: %s', (key) => {
    assert.deepEqual(found({ student: { [key]: 'Ana' } }), [`name at student/${key}`])
  })

  test.each([
    'name_id',
    'nameCode',
    'student_name_hash',
    'studentId',
    'file_name',
    'filename',
    'fileName',
    'queueName',
    'hostname',
    'courseName',
    'nombre_curso',
    'namespace',
    'rename',
    'tournament',
    'displayNames2',
  ])('is not seen in %s', (key) => {
    assert.deepEqual(found({ [key]: 'Ana' }), [])
  })

  test('is found with a name in parts, and passes with nothing in it', () => {
    assert.deepEqual(found({ name: { first: 'Ana' } }), ['name at name'])
    assert.deepEqual(found({ name: null, full_name: '', names: [], surname: false }), [])
  })
})

describe('a finding', () => {
  test('says where it is, in the order of the message', () => {
    const message = { a: [{ note: 'x' }, { note: 'a@b.com' }], b: { last_name: 'P' }, c: 'a@b.com' }
    assert.deepEqual(found(message), ['email at a/1/note', 'name at b/last_name', 'email at c'])
  })

  test('of a key names the object that has it, and not the key', () => {
    assert.deepEqual(found({ votes: { 'ana@example.com': 1 } }), ['key at votes'])
  })

  test('of the whole message has no path', () => {
    assert.deepEqual(personalData('ana@example.com'), [{ kind: 'email', path: [] }])
  })

  test('is one of at most twenty', () => {
    assert.equal(personalData(Array.from({ length: 500 }, () => 'a@b.com')).length, 20)
  })
})

describe('a message at the limits', () => {
  test('may be nested half a million deep', () => {
    const depth = 500_000
    const message: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    assert.deepEqual(personalData(message), [])
  })

  const megabyte = 2 ** 20
  test.each<[string, (length: number) => string]>([
    ['letters', (length) => 'a'.repeat(length)],
    ['at signs', (length) => 'a@'.repeat(length / 2)],
    ['labels of a domain', (length) => `a@${'a.'.repeat(length / 2)}`],
    ['plus signs', (length) => '+1'.repeat(length / 2)],
    ['digits', (length) => `+${'1'.repeat(length)}`],
    ['cues', (length) => 'tel. '.repeat(length / 5)],
    ['blanks', (length) => `tel${' '.repeat(length)}`],
  ])('of %s is read in a time that grows with its length only', async (_what, textOf) => {
    const [small, large] = [textOf(megabyte / 64), textOf(megabyte / 8)]
    // By the square of the length it would take 64 times as long.
    await assertTimesAsLong({
      work: () => kindsOf(large),
      reference: () => kindsOf(small),
      timesMax: 24,
    })
    assert.deepEqual(kindsOf(textOf(megabyte)), [])
  })
})

const operator = fc.constantFrom(
  '+',
  '-',
  ' + ',
  ' - ',
  '=',
  ' = ',
  ' +',
  ' \\cdot ',
  '\\times ',
  '/',
)
const operand = fc.oneof(
  fc.nat().map(String),
  fc.bigInt({ min: 0n, max: 10n ** 15n }).map(String),
  fc.constantFrom('x', 'y', '2x', '\\frac{3}{4}', 'x^{2}', '\\sqrt{16}', '(x+1)', '\\pi'),
)
const latexStep = fc
  .array(fc.tuple(operand, operator), { minLength: 1, maxLength: 6 })
  .chain((parts) => operand.map((last) => `${parts.flat().join('')}${last}`))
const segment = fc.stringMatching(/^[A-Za-z0-9_.-]{1,24}$/)
const s3Key = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'))
const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))

describe('whatever they look like,', () => {
  const harmless: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    UUIDs: fc.uuid(),
    'ISO dates': fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    numbers: fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger()),
    'numbers as text': fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger()).map(String),
    'S3 keys': s3Key,
    'LaTeX steps': latexStep,
    'trace ids of X-Ray': fc.tuple(hex(8), hex(24)).map((parts) => `1-${parts.join('-')}`),
    'trace parents': fc.tuple(hex(32), hex(16)).map((parts) => `00-${parts.join('-')}-01`),
    'ids in base64': fc.base64String(),
    'codes of ASCII': fc.stringMatching(/^[A-Z]{2,5}[-_][A-Z0-9_-]{1,20}$/),
  }
  test.each(Object.entries(harmless))('%s are never taken for personal data', (_what, values) => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 4 }), (items) => {
        assert.deepEqual(personalData({ items, id: items[0] }), [])
      }),
      { numRuns: 2_000 },
    )
  })

  test('addresses and international numbers are always found, wherever they stand', () => {
    const text = fc.oneof(
      fc.emailAddress({ size: '-1' }),
      fc.stringMatching(/^\+[1-9][0-9]{8,13}$/).map((number) => `reach me: ${number}`),
    )
    fc.assert(
      fc.property(text, fc.jsonValue({ maxDepth: 2 }), (value, other) => {
        const message = { other, deep: [{ value }] }
        const paths = personalData(message).map(({ path }) => path.join('/'))
        assert.ok(paths.includes('deep/0/value') || paths.length === 20)
      }),
      { numRuns: 1_000 },
    )
  })
})

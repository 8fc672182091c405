/**
 * Which keys of a message are named like a person's name or phone number, in English, Spanish, Portuguese,
 * French, Italian and German. A key is split into words: `studentName`, `student_name` and `Student Name` are
 * the same. The last words decide, so `student_name_hash`, `file_name` and `nameId` do not match.
 */

/** Words for names that only people have, alone or at the end of a key. */
const ofPeople = [
  '(?:full|first|last|middle|given|family|maiden|nick|sur|fore|legal|preferred|birth) ?names?',
  'apellidos?(?: (?:paterno|materno))?',
  '(?:primer|segundo|tercer) (?:nombre|apellido)',
  'nombres? completos?',
  'nombres? y apellidos?',
  'sobrenomes?',
  'nome completo',
  'prenoms?',
  'noms? de famille',
  'cognomes?',
  'vornamen?',
  'nachnamen?',
  'familiennamen?',
]

/** Alone, these are a person's name. After another word they may be the name of a file or a course. */
const alone = ['names?', 'nombres?', 'nomes?', 'noms?', 'vor und nachname']

const people = [
  'student|pupil|learner|teacher|tutor|parent|guardian|mother|father|child|sibling',
  'user|person|people|customer|client|patient|contact|member|employee|author|owner|holder',
  'cardholder|sender|recipient|payer|payee|signer|witness|candidate|applicant|attendee|guest',
  'alumno|alumna|estudiante|profesor|profesora|docente|apoderado|apoderada|tutor|tutora',
  'madre|padre|usuario|usuaria|cliente|paciente|persona|titular|aluno|aluna|professor|professora',
].join('|')

const personName = new RegExp(
  `^(?:${alone.join('|')}|(?:.* )?(?:${ofPeople.join('|')})` +
    `|(?:.* )?(?:${people})s? ?names?|nombres? (?:del? |de la )?(?:${people})s?` +
    `|nomes? (?:do |da |de )?(?:${people})s?)$`,
)

const phone = new RegExp(
  '^(?:.* )?(?:(?:tele|cell|mobile|home|work)? ?phone|telefono|telefone|telefon|tel|celular|msisdn' +
    '|whatsapp|fax|(?:mobile|cell|contact) (?:number|no))s?(?: (?:number|numero|no))?$',
)

export function personNamed(key: string): boolean {
  return personName.test(wordsOf(key))
}

export function phoneNamed(key: string): boolean {
  return phone.test(wordsOf(key))
}

/** Longer keys are not field names, so they are skipped to save time. */
const keyLengthMax = 80

/** `primerApellido` and `Primer-Apellido` become `primer apellido`. Accents are removed. */
function wordsOf(key: string): string {
  return key
    .slice(0, keyLengthMax)
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\p{L}\d]+/gu, ' ')
    .trim()
    .toLowerCase()
}

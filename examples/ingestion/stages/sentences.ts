/** Splits text into sentences with a maximum length. */
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

export function sentencesOf(text: string, charsMax: number): readonly string[] {
  return [...segmenter.segment(text)].flatMap(({ segment }) => {
    const sentence = segment.trim()
    if (sentence.length <= charsMax) return sentence === '' ? [] : [sentence]
    const pieces: string[] = []
    for (let at = 0; at < sentence.length; at += charsMax) {
      pieces.push(sentence.slice(at, at + charsMax))
    }
    return pieces
  })
}

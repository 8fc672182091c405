/** Creates the files that the demo and the tests upload. */
import {
  Document,
  HeadingLevel,
  Packer,
  PageBreak,
  Paragraph,
  Table,
  TableCell,
  TableRow,
  TextRun,
} from 'docx'
import { PDFDocument, type PDFFont, type PDFPage, StandardFonts } from 'pdf-lib'

export interface SampleChapter {
  readonly title: string
  readonly paragraphs: readonly string[]
  readonly list?: readonly string[]
  readonly rows?: readonly (readonly string[])[]
}

const page = { width: 595, height: 842, margin: 60 }
const bodySize = 11
const titleSize = 18
const leading = 1.3

/** One chapter per page, if it fits. */
export async function samplePdf(chapters: readonly SampleChapter[]): Promise<Uint8Array> {
  const pdf = await PDFDocument.create()
  const body = await pdf.embedFont(StandardFonts.TimesRoman)
  const bold = await pdf.embedFont(StandardFonts.HelveticaBold)
  for (const { title, paragraphs, list = [], rows = [] } of chapters) {
    const write = writerOn(pdf.addPage([page.width, page.height]))
    write(title, bold, titleSize)
    for (const text of paragraphs) write(text, body, bodySize)
    for (const item of list) write(`- ${item}`, body, bodySize)
    for (const row of rows) write(row.join('   '), body, bodySize)
  }
  return pdf.save()
}

function writerOn(sheet: PDFPage): (text: string, font: PDFFont, size: number) => void {
  let y = page.height - page.margin
  return (text, font, size) => {
    for (const line of linesOf(text, font, size)) {
      sheet.drawText(line, { x: page.margin, y, size, font })
      y -= size * leading
    }
    y -= size
  }
}

function linesOf(text: string, font: PDFFont, size: number): readonly string[] {
  const room = page.width - 2 * page.margin
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`.trim()
    if (lines.length > 0 && font.widthOfTextAtSize(longer, size) <= room) {
      lines[lines.length - 1] = longer
    } else {
      lines.push(word)
    }
  }
  return lines
}

export async function sampleDocx(chapters: readonly SampleChapter[]): Promise<Uint8Array> {
  const children = chapters.flatMap(({ title, paragraphs, list = [], rows = [] }, index) => [
    new Paragraph({
      heading: HeadingLevel.HEADING_1,
      children: [...(index > 0 ? [new PageBreak()] : []), new TextRun(title)],
    }),
    ...paragraphs.map((text) => new Paragraph(text)),
    ...list.map((text) => new Paragraph({ text, bullet: { level: 0 } })),
    ...(rows.length > 0 ? [tableOf(rows)] : []),
  ])
  return Packer.toBuffer(new Document({ sections: [{ children }] }))
}

function tableOf(rows: readonly (readonly string[])[]): Table {
  const cell = (text: string): TableCell => new TableCell({ children: [new Paragraph(text)] })
  return new Table({ rows: rows.map((row) => new TableRow({ children: row.map(cell) })) })
}

/** One chapter per page, each long enough for its own unit. */
export function longChapters(count: number): readonly SampleChapter[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `Mill ${index + 1}`,
    paragraphs: [
      `This page is about mill number ${index + 1}.`,
      ...Array.from({ length: 6 }, () =>
        'The wheel turns the shaft and the shaft turns the stone. '.repeat(10).trim(),
      ),
    ],
  }))
}

/** A few hundred words about mills. */
export const millChapters: readonly SampleChapter[] = [
  {
    title: 'The water wheel',
    paragraphs: [
      'An overshot wheel is driven by the weight of the water that falls into its buckets. It needs a fall of about three metres and little water.',
      'An undershot wheel dips into the stream and is pushed by it. It needs much water and no fall, and gives a third of the power.',
    ],
    list: ['Grease the bearings every second week.', 'Look at the buckets after every frost.'],
  },
  {
    title: 'The stones',
    paragraphs: [
      'The runner stone turns above the bed stone and never touches it. The gap is as wide as a sheet of paper.',
      'Furrows are cut into both stones with a mill bill. They lead the flour outwards and let air in, so that it stays cool.',
    ],
    rows: [
      ['Grain', 'Fine flour', 'Bran'],
      ['Wheat', '72', '18'],
      ['Rye', '65', '20'],
    ],
  },
  {
    title: 'The miller',
    paragraphs: [
      'Her apprenticeship takes three years. In the first year she learns to hear from the sound of the stones whether they run dry.',
      'A miller keeps one sack of sixteen as her wage, which is called the toll.',
    ],
  },
]

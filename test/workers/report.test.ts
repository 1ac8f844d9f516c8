import { describe, expect, test } from 'vitest'
import { totalCopies } from '../../workers/_survey/report/copies.ts'
import { type Findings, writeReport } from '../../workers/_survey/report/report.ts'
import { emptySummary, noCounts, type Summary } from '../../workers/_survey/summary/summary.ts'
import { fromBytes, fromText } from '../../workers/_survey/tree/path.ts'

function findings(parts: Partial<Omit<Summary, 'counts'>> & { counts?: Partial<Summary['counts']> }): Findings {
  const summary = { ...emptySummary, ...parts, counts: { ...noCounts(), workers: 1, files: 1, ...parts.counts } }
  return { top: fromText('/top'), summary, copies: totalCopies(summary.contents), groups: [] }
}

describe('a report', () => {
  test('a report begins with how much there is, and whether the figures are complete', () => {
    const report = writeReport(
      findings({
        counts: { files: 1_234, bytes: 5_000_000, lines: 1, folders: 1, unreadable: 3, lostParts: 1 },
        unread: [{ path: 'a', reason: 'permission denied' }],
        lost: [{ path: 'b', reason: 'the folder: its reader failed' }],
        hasOwnFolder: true,
      }),
    )
    expect(report).toContain(
      [
        '# Survey of `/top`',
        '',
        '**1,234 files, 4.8 MiB, 1 line** in 2 folders.',
        '',
        '> **Not complete:** 1 part could not be surveyed, and the numbers lack what is in there.',
        '>',
        '> 2 files or folders could not be read.',
        '>',
        '> `.troupe/`, where troupe keeps its own data, is left out.',
        '',
        '| What',
      ].join('\n'),
    )
    expect(report).toContain('## Not surveyed\n\n- `b`: `the folder: its reader failed`\n')
    expect(report).toContain('## Could not be read\n\n- `a`: `permission denied`\n\nand 1 more entry.\n')
  })

  test('orders languages by lines, and puts text of no language, binary and empty files last', () => {
    const rows = {
      Binary: { files: 1, bytes: 10, lines: 900 },
      Go: { files: 1, bytes: 1, lines: 5 },
      Ada: { files: 1, bytes: 1, lines: 5 },
      'Other text': { files: 1, bytes: 1, lines: 800 },
      Rust: { files: 1, bytes: 1, lines: 70 },
    }
    const report = writeReport(findings({ counts: { files: 7 }, rows }))
    const order = [...report.matchAll(/^\| (Binary|Go|Ada|Other text|Rust|Empty or not read) /gm)].map(
      (match) => match[1],
    )
    expect(order).toEqual(['Rust', 'Ada', 'Go', 'Other text', 'Binary', 'Empty or not read'])
  })

  test('a report says how many files were not compared', () => {
    expect(writeReport(findings({ counts: { hashedFiles: 5 } }))).toContain(
      'Not compared, as only so many contents can be kept in mind: 5 files',
    )
  })

  test('a report says that hard links are among the copies', () => {
    const copies = { groups: 1, copies: 1, wastedBytes: 5, compared: 2, worst: [] }
    expect(writeReport({ ...findings({}), copies })).toContain('1 copy wastes 5 bytes')
    const words = 'Hard links among them take no extra space.'
    expect(writeReport({ ...findings({ counts: { files: 2, hardLinkedFiles: 2 } }), copies })).toContain(words)
    expect(writeReport({ ...findings({ counts: { files: 2 } }), copies })).not.toContain(words)
  })

  test('a report shows names and texts unchanged: nothing becomes markup or a second line', () => {
    const evil = fromBytes(Buffer.from('`|](x)\n# <b>\u001b[2J\u202e\xff', 'latin1'))
    const report = writeReport({
      ...findings({
        counts: { todo: 1 },
        largest: [{ path: { base64: Buffer.from(evil, 'latin1').toString('base64') }, bytes: 5 }],
        notes: [{ path: 'a`b', line: 3, word: 'TODO', text: 'TODO `x` <script>' }],
      }),
      top: evil,
    })
    expect(report).not.toMatch(/^# <b>/m)
    expect(report).not.toMatch(/[\u001b\u202e]/)
    expect(report).toContain('# Survey of `` `|](x)\\n# <b>\\x1b[2J.\\xff ``')
    expect(report).toContain('`` `\\|](x)\\n# <b>')
    expect(report).toContain('- ``a`b:3`` ``TODO `x` <script>``')
  })
})

/** The content of each section of a report, including sections that are left out. */
import { describe, expect, test } from 'vitest'
import type { CopyGroup, CopyTotals } from '../../workers/_survey/report/copies.ts'
import { writeReport } from '../../workers/_survey/report/report.ts'
import { emptySummary, noCounts, type Summary } from '../../workers/_survey/summary/summary.ts'
import { fromText } from '../../workers/_survey/tree/path.ts'

interface Parts extends Partial<Omit<Summary, 'counts'>> {
  readonly counts?: Partial<Summary['counts']>
  readonly copies?: Partial<CopyTotals>
  readonly groups?: readonly CopyGroup[]
}

function reportOf({ counts, copies, groups = [], ...parts }: Parts): string {
  const summary = { ...emptySummary, ...parts, counts: { ...noCounts(), workers: 1, files: 2, ...counts } }
  const none = { groups: 0, copies: 0, wastedBytes: 0, compared: 0, worst: [] }
  return writeReport({ top: fromText('/top'), summary, copies: { ...none, ...copies }, groups })
}

/** The text under this heading. */
function section(report: string, title: string): string {
  const from = report.indexOf(`## ${title}\n`)
  if (from < 0) return ''
  const end = report.indexOf('\n## ', from)
  return report.slice(from + title.length + 4, end < 0 ? undefined : end).trim()
}

describe('the sums', () => {
  test('the sums name other entries and hard links if there are any', () => {
    const none = reportOf({})
    expect(none).not.toMatch(/Others|Hard links/)
    const some = reportOf({ counts: { others: 1, hardLinkedFiles: 1, links: 4, unreadable: 3, workers: 9 } })
    for (const [what, number] of Object.entries({ Others: 1, 'Hard links': 1, Links: 4, Unreadable: 3, Workers: 9 }))
      expect(some).toMatch(new RegExp(`^\\| ${what} +\\| +${number} \\|`, 'm'))
  })

  test('the sums of a folder without files say so, and the sections about files are left out', () => {
    const report = reportOf({ counts: { files: 0, folders: 2 } })
    expect(report).toContain('No files.')
    expect([...report.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual(['How it was surveyed'])
  })
})

describe('languages', () => {
  test('languages count a single file that belongs to no row', () => {
    const rows = { Go: { files: 1, bytes: 1, lines: 5 } }
    expect(section(reportOf({ rows }), 'Lines by language')).toMatch(/^\| Empty or not read \| +1 \| +0 \|/m)
    expect(section(reportOf({ rows, counts: { files: 1 } }), 'Lines by language')).not.toContain('Empty')
  })

  test('languages with equal numbers of lines are ordered by size', () => {
    const rows = { Ada: { files: 1, bytes: 1, lines: 5 }, Go: { files: 1, bytes: 2, lines: 5 } }
    expect(section(reportOf({ rows }), 'Lines by language')).toMatch(/Go.*Ada/s)
  })
})

test('empty files are not among the largest files', () => {
  const largest = [
    { path: 'big', bytes: 2_048 },
    { path: 'empty', bytes: 0 },
  ]
  const told = section(reportOf({ largest }), 'Largest files')
  expect(told).toMatch(/^\| +2\.0 KiB \| 2,048 \| `big` +\|$/m)
  expect(told).not.toContain('empty')
  expect(section(reportOf({ largest: largest.slice(1) }), 'Largest files')).toBe('')
})

describe('identical files', () => {
  const identical = (parts: Parts) => section(reportOf(parts), 'Identical files')

  test('identical files are reported as none, with the number of files that were not compared', () => {
    expect(identical({})).toBe('No two files are identical.')
    expect(identical({ counts: { emptyFiles: 1, hardLinkedFiles: 2 } })).toBe(
      'No two files are identical. 1 empty file not counted among them.',
    )
    expect(identical({ counts: { hashedFiles: 3 }, copies: { compared: 2 } })).toBe(
      'No two of the compared files are identical. Not compared, as only so many contents can be kept in mind: 1 file, the smallest.',
    )
  })

  test('identical files are listed with their extra space, their paths, and the number of further groups', () => {
    const group = { bytes: 1_024, files: 4, paths: ['a', 'b', 'c'] }
    const copies = { groups: 2, copies: 4, wastedBytes: 4_096 }
    expect(identical({ copies, groups: [group, { ...group, files: 3 }] })).toBe(
      [
        '2 groups of identical files: 4 copies waste 4.0 KiB (4,096 bytes).',
        '',
        '- 4 × 1.0 KiB, 3.0 KiB wasted',
        '  - `a`',
        '  - `b`',
        '  - `c`',
        '  - and 1 more',
        '- 3 × 1.0 KiB, 2.0 KiB wasted',
        '  - `a`',
        '  - `b`',
        '  - `c`',
      ].join('\n'),
    )
  })

  test('identical files in more groups than shown are counted', () => {
    expect(identical({ copies: { groups: 10 } })).not.toContain('most wasteful')
    expect(identical({ copies: { groups: 11 } })).toContain('The 10 most wasteful groups:')
  })
})

test('notes are counted by their words, even if only one word occurs', () => {
  const notesOf = (counts: Parts['counts'], notes: Summary['notes'] = []) =>
    section(reportOf({ ...(counts && { counts }), notes }), 'TODO and FIXME')
  expect(notesOf({})).toBe('None in files of known languages.')
  const note = { path: 'a.ts', line: 3, word: 'FIXME' as const, text: 'FIXME it' }
  expect(notesOf({ fixme: 2 }, [note])).toBe(
    '0 TODO and 2 FIXME in files of known languages.\n\n- `a.ts:3` `FIXME it`\n\nand 1 more note.',
  )
})

test('dependencies are listed by manifest, with the number that is not shown', () => {
  const dependencies = (parts: Parts) => section(reportOf(parts), 'Declared dependencies')
  expect(dependencies({})).toBe('No manifests.')
  const manifests = [
    { path: 'go.mod', ecosystem: 'Go', groups: [] },
    { path: 'package.json', ecosystem: 'npm', groups: [{ group: 'runtime', count: 3, names: ['a', 'b'] }] },
  ]
  const brokenManifests = [{ path: 'pom.xml', reason: 'no <project> element' }]
  expect(dependencies({ counts: { manifestFiles: 4, declared: 3 }, manifests, brokenManifests })).toBe(
    [
      '4 manifests, 3 dependencies declared.',
      '',
      '- `go.mod` (Go): none',
      '- `package.json` (npm)',
      '  - 3 runtime: `a, b` and 1 more',
      '- `pom.xml`: `no <project> element` (not understood)',
      '',
      'and 1 more manifest.',
    ].join('\n'),
  )
})

test('the surveyed folder is shown as a dot, and the report says that .troupe was left out', () => {
  const report = reportOf({ unread: [{ path: '', reason: 'permission denied' }], counts: { unreadable: 1 } })
  expect(section(report, 'Could not be read')).toBe('- `.`: `permission denied`')
  expect(section(report, 'How it was surveyed')).not.toContain('.troupe')
  expect(section(reportOf({ hasOwnFolder: true }), 'How it was surveyed')).toContain(
    '`.troupe/` directly in the folder was left out.',
  )
})

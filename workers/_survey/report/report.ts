/**
 * Duty: write the report of a survey in Markdown. Pure: the same findings give the same report.
 * It first says how much there is and whether the figures are complete; then which files take the most space and which are duplicates.
 */

import { binary, isLanguage, otherText } from '../measure/languages.ts'
import type { ManifestPlace, ReasonPlace, Row, Summary } from '../summary/summary.ts'
import { type BytePath, decodePath, type PathText, showPath } from '../tree/path.ts'
import { type CopyGroup, type CopyTotals, groupsShownMax } from './copies.ts'
import { code, formatCount, formatSize, plural, table } from './markdown.ts'

export interface Findings {
  readonly top: BytePath
  readonly summary: Summary
  readonly copies: CopyTotals
  /** The most wasteful groups, with the paths of their files. */
  readonly groups: readonly CopyGroup[]
}

export function writeReport(findings: Findings): string {
  const { top, summary } = findings
  const sections = [
    `# Survey of ${code(showPath(top))}`,
    ...opening(summary),
    totals(summary),
    ...lost(summary),
    ...unread(summary),
    ...languages(summary),
    ...largest(summary),
    ...identical(findings),
    ...notes(summary),
    ...dependencies(summary),
    ...method(findings),
  ]
  return `${sections.join('\n\n')}\n`
}

function opening({ counts, hasOwnFolder }: Summary): string[] {
  const size = `${plural(counts.files, 'file')}, ${formatSize(counts.bytes)}, ${plural(counts.lines, 'line')}`
  const paragraphs = [counts.files === 0 ? 'No files.' : `**${size}** in ${plural(counts.folders + 1, 'folder')}.`]
  const warnings: string[] = []
  if (counts.lostParts > 0) {
    warnings.push(
      `**Not complete:** ${plural(counts.lostParts, 'part')} could not be surveyed, and the numbers lack what is in there.`,
    )
  }
  const unread = counts.unreadable - counts.lostParts
  if (unread > 0) warnings.push(`${plural(unread, 'file or folder', 'files or folders')} could not be read.`)
  if (hasOwnFolder) warnings.push('`.troupe/`, where troupe keeps its own data, is left out.')
  if (warnings.length > 0) paragraphs.push(warnings.map((warning) => `> ${warning}`).join('\n>\n'))
  return paragraphs
}

function totals({ counts }: Summary): string {
  const rows = [
    ['Files', formatCount(counts.files), 'regular files'],
    ['Bytes', formatCount(counts.bytes), formatSize(counts.bytes)],
    ['Lines', formatCount(counts.lines), 'newline characters in all that could be read'],
    ['Folders', formatCount(counts.folders + 1), 'the surveyed one included'],
    ['Links', formatCount(counts.links), 'not followed'],
  ]
  if (counts.others > 0) rows.push(['Others', formatCount(counts.others), 'sockets, FIFOs, devices: not opened'])
  if (counts.hardLinkedFiles > 0) {
    rows.push(['Hard links', formatCount(counts.hardLinkedFiles), 'files with more names than one: each name counts'])
  }
  rows.push(['Unreadable', formatCount(counts.unreadable), 'files, folders and parts'])
  rows.push(['Workers', formatCount(counts.workers), 'one surveyor and its readers'])
  return table([left('What'), right('Number'), left('')], rows)
}

function lost({ counts, lost }: Summary): string[] {
  if (counts.lostParts === 0) return []
  return ['## Not surveyed', ...cut(lost.map(showReason), counts.lostParts, 'part')]
}

function unread({ counts, unread }: Summary): string[] {
  const total = counts.unreadable - counts.lostParts
  if (total === 0) return []
  return ['## Could not be read', ...cut(unread.map(showReason), total, 'entry', 'entries')]
}

function languages({ rows, counts }: Summary): string[] {
  if (counts.files === 0) return []
  const byLines = ([a, x]: [string, Row], [b, y]: [string, Row]) =>
    y.lines - x.lines || y.bytes - x.bytes || (a < b ? -1 : 1)
  const entries = Object.entries(rows)
  const preview = entries.filter(([name]) => isLanguage(name)).sort(byLines)
  for (const name of [otherText, binary]) {
    const row = rows[name]
    if (row !== undefined) preview.push([name, row])
  }
  const empty = counts.files - entries.reduce((sum, [, row]) => sum + row.files, 0)
  const cells = preview.map(([name, row]) => [
    name,
    formatCount(row.files),
    formatCount(row.lines),
    formatSize(row.bytes),
  ])
  if (empty > 0) cells.push(['Empty or not read', formatCount(empty), '0', ''])
  const columns = [left('Language'), right('Files'), right('Lines'), right('Size')]
  return ['## Lines by language', table(columns, cells)]
}

function largest({ largest }: Summary): string[] {
  const rows = largest
    .filter((file) => file.bytes > 0)
    .map((file) => [formatSize(file.bytes), formatCount(file.bytes), showPlace(file.path)])
  return rows.length === 0 ? [] : ['## Largest files', table([right('Size'), right('Bytes'), left('File')], rows)]
}

function identical({ summary, copies, groups }: Findings): string[] {
  const { counts } = summary
  if (counts.files === 0) return []
  const text: string[] = []
  const notCompared = counts.hashedFiles - copies.compared
  if (copies.groups === 0) text.push(`No two ${notCompared > 0 ? 'of the compared files' : 'files'} are identical.`)
  else {
    const waste = `${formatSize(copies.wastedBytes)} (${plural(copies.wastedBytes, 'byte')})`
    text.push(
      `${plural(copies.groups, 'group')} of identical files: ${plural(copies.copies, 'copy', 'copies')} ${copies.copies === 1 ? 'wastes' : 'waste'} ${waste}.`,
    )
  }
  if (copies.groups > 0 && counts.hardLinkedFiles > 0) text.push('Hard links among them take no extra space.')
  if (counts.emptyFiles > 0) text.push(`${plural(counts.emptyFiles, 'empty file')} not counted among them.`)
  if (notCompared > 0) {
    text.push(
      `Not compared, as only so many contents can be kept in mind: ${plural(notCompared, 'file')}, the smallest.`,
    )
  }
  if (copies.groups > groupsShownMax) text.push(`The ${groupsShownMax} most wasteful groups:`)
  const items = groups.map((group) => {
    const head = `- ${formatCount(group.files)} × ${formatSize(group.bytes)}, ${formatSize(group.bytes * (group.files - 1))} wasted`
    const more = group.files - group.paths.length
    const paths = group.paths.map((path) => `  - ${showPlace(path)}`)
    if (more > 0) paths.push(`  - and ${formatCount(more)} more`)
    return [head, ...paths].join('\n')
  })
  return ['## Identical files', text.join(' '), ...(items.length > 0 ? [items.join('\n')] : [])]
}

function notes({ counts, notes }: Summary): string[] {
  const total = counts.todo + counts.fixme
  if (counts.files === 0) return []
  if (total === 0) return ['## TODO and FIXME', 'None in files of known languages.']
  const items = notes.map((note) => `- ${code(`${showPath(decodePath(note.path))}:${note.line}`)} ${code(note.text)}`)
  const sum = `${formatCount(counts.todo)} TODO and ${formatCount(counts.fixme)} FIXME in files of known languages.`
  return ['## TODO and FIXME', sum, ...cut(items, total, 'note')]
}

function dependencies({ counts, manifests, brokenManifests }: Summary): string[] {
  if (counts.files === 0) return []
  if (counts.manifestFiles === 0) return ['## Declared dependencies', 'No manifests.']
  const sum = `${plural(counts.manifestFiles, 'manifest')}, ${plural(counts.declared, 'dependency', 'dependencies')} declared.`
  const items = [
    ...manifests.map(showManifest),
    ...brokenManifests.map((place) => `${showReason(place)} (not understood)`),
  ]
  return ['## Declared dependencies', sum, ...cut(items, counts.manifestFiles, 'manifest')]
}

function showManifest(manifest: ManifestPlace): string {
  const head = `- ${showPlace(manifest.path)} (${manifest.ecosystem})`
  if (manifest.groups.length === 0) return `${head}: none`
  const groups = manifest.groups.map(({ group, count, names }) => {
    const more = count - names.length
    const list =
      names.length > 0 ? `: ${code(names.join(', '))}${more > 0 ? ` and ${formatCount(more)} more` : ''}` : ''
    return `  - ${formatCount(count)} ${group}${list}`
  })
  return [head, ...groups].join('\n')
}

function method({ summary }: Findings): string[] {
  const { counts, hasOwnFolder } = summary
  const text = [
    `${plural(counts.workers, 'worker')} read every regular file once.`,
    'Links were not followed, and nothing outside the folder was opened.',
    hasOwnFolder ? '`.troupe/` directly in the folder was left out.' : '',
    'Sizes are those that the file system reports. A language is recognised by the name of a file or its first line.',
    'Manifests in folders of installed packages (`node_modules` and the like) are not listed.',
  ]
  return ['## How it was surveyed', text.filter(Boolean).join(' ')]
}

/** A list, followed by the number of items that are not in it. */
function cut(items: readonly string[], total: number, one: string, many = `${one}s`): string[] {
  const more = total - items.length
  const list = items.join('\n')
  return more > 0 ? [list, `and ${plural(more, `more ${one}`, `more ${many}`)}.`] : [list]
}

function showReason({ path, reason }: ReasonPlace): string {
  return `- ${showPlace(path)}: ${code(reason)}`
}

function showPlace(path: PathText): string {
  const preview = showPath(decodePath(path))
  return code(preview === '' ? '.' : preview)
}

const left = (title: string) => ({ title, align: 'left' as const })
const right = (title: string) => ({ title, align: 'right' as const })

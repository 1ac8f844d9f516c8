/** What `troupe dev` says when the code of its node has changed. */
import { expect, test } from 'vitest'
import { DevReport } from '../../../src/cli/commands/dev/dev-report.ts'
import { plainPage } from '../view/plain-page.ts'
import { began } from './node-change.ts'

function reporting() {
  const lines: string[] = []
  return { lines, report: new DevReport(false, plainPage(), (line) => void lines.push(line)) }
}

test('the kinds that a node begins with are left to the greeting, and those that come later are told', () => {
  const { lines, report } = reporting()
  report.changed(began('counter'))
  expect(lines).toEqual([])
  report.changed(began('counter', 'talker'))
  expect(lines).toEqual([expect.stringMatching(/loaded {2}a\.ts changed; new: talker$/)])
})

test('the kinds that come to a node which had none are told, because the greeting could not show them', () => {
  const { lines, report } = reporting()
  report.changed({ type: 'none', reason: 'there is no file' })
  report.changed(began('counter'))
  expect(lines).toEqual([
    expect.stringMatching(/waiting {2}no kind runs: there is no file$/),
    expect.stringMatching(/loaded {2}a\.ts changed; new: counter$/),
  ])
})

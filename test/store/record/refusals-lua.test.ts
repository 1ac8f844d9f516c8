/** Each reason for which scripts refuse has an error, and each such error has a script that gives its reason. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { RefusalReason } from '../../../src/core/worker/refusal.ts'

/** `satisfies` fails where one is missing. */
const reasons = {
  depth_exceeded: true,
  children_exceeded: true,
  workers_exceeded: true,
  permission_exceeded: true,
  send_exceeded: true,
  mailbox_full: true,
  not_found: true,
  session_finished: true,
  terminal: true,
  damaged: true,
  ask_ended: true,
} satisfies Record<RefusalReason, true>

test('scripts and errors know the same reasons', () => {
  const read = (part: string) =>
    readFileSync(new URL(`../../../src/store/lua/shared/${part}.lua`, import.meta.url), 'utf8')
  const text = read('session/children') + read('mail/mail') + read('turn/commit-checks')
  const given = [
    ...text.matchAll(/refused\[#refused \+ 1\] = \{ '(\w+)'/g),
    ...text.matchAll(/return nil, \{? ?'(\w+)'/g),
    ...text.matchAll(/'refused', \{ \{ '(\w+)'/g),
    ...text.matchAll(/plan, why = nil, '(\w+)'/g),
  ].map(([, reason]) => reason as string)
  expect(new Set(given)).toEqual(new Set(Object.keys(reasons)))
})

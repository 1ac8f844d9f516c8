/** Audits that callers begin: one at a time, and what is known of it. */
import { expect, test } from 'vitest'
import { Audits } from '../../src/api/audits.ts'
import type { Troupe } from '../../src/client/client.ts'
import type { AuditQuery } from '../../src/client/queries.ts'
import { ConfigError, TransientError } from '../../src/core/errors.ts'
import { waitUntil } from '../support/time/wait-until.ts'

/** A client whose audits end as the test says. */
function auditing() {
  const begun: PromiseWithResolvers<object>[] = []
  const asked: AuditQuery[] = []
  const audit = (query: AuditQuery) => {
    const one = Promise.withResolvers<object>()
    begun.push(one)
    asked.push(query)
    return one.promise
  }
  return { begun, asked, troupe: { audit } as unknown as Troupe }
}

test('an audit that runs is the only one; when it has ended, another may begin, and its report stays until then', async () => {
  const { begun, troupe } = auditing()
  const audits = new Audits()
  expect(audits.begin(troupe, undefined).state).toBe('running')
  expect(audits.begin(troupe, undefined)).toBe(audits.view)
  expect(begun).toHaveLength(1)
  begun[0]?.resolve({ findings: [] })
  await waitUntil('it has ended', () => audits.view.state === 'done')
  expect(audits.begin(troupe, undefined)).toMatchObject({
    state: 'running',
    report: { findings: [] },
    finishedAt: null,
  })
  expect(begun).toHaveLength(2)
})

test('an audit that failed says why, and nothing that a caller may not read', async () => {
  for (const [error, code, isTold] of [
    [new TransientError('Redis is away.', { code: 'store_unavailable' }), 'store_unavailable', true],
    [new ConfigError('/srv/hidden.json'), 'config_invalid', false],
  ] as const) {
    const { begun, troupe } = auditing()
    const audits = new Audits()
    audits.begin(troupe, undefined)
    begun[0]?.reject(error)
    await waitUntil('it has failed', () => audits.view.state === 'failed')
    const { problem } = audits.view
    expect([problem?.code, problem?.detail.includes(error.message)]).toEqual([code, isTold])
  }
})

test('an audit is of the session that its caller names, and says how far it is', () => {
  const { asked, troupe } = auditing()
  const audits = new Audits()
  audits.begin(troupe, 'one')
  const progress = { sessions: 2, workers: 3 }
  asked[0]?.onProgress?.(progress)
  expect([asked[0]?.sessionId, audits.view.progress]).toEqual(['one', progress])
})

test('an audit that is begun after one that failed says nothing of that any more', async () => {
  const { begun, troupe } = auditing()
  const audits = new Audits()
  audits.begin(troupe, undefined)
  begun[0]?.reject(new TransientError('Redis is away.', { code: 'store_unavailable' }))
  await waitUntil('it has failed', () => audits.view.state === 'failed')
  expect(audits.begin(troupe, undefined)).toMatchObject({ state: 'running', problem: null, progress: null })
})

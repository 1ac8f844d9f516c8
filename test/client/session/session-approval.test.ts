/** What a session says of approvals: when it is created, and while it lives. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { ConfigError, InputError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import { defaultApproval } from '../../../src/core/worker/ask/session-approval.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('a session', () => {
  test('a session shows the approvals it was created with, and those set since', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const more = { approval: 'readOnly', whenNobodyAnswers: 'deny', approvalMs: 60_000 } as const
    const session = await troupe.client.sessions.create({ kind: 'echo', input: 1, keepOpen: true, ...more })
    const said = { policy: 'readOnly', trusted: [], whenNobodyAnswers: 'deny', approvalMs: 60_000 }
    expect((await session.summary()).approval).toEqual(said)
    expect(await session.setApproval('auto')).toEqual({ ...said, policy: 'auto' })
    expect((await session.report()).session.approval).toEqual({ ...said, policy: 'auto' })
    const setTo = async () => {
      for await (const { type, details } of session.events({ after: '0-0' }))
        if (type === 'session.approvalChanged') return details
      return undefined
    }
    expect(await setTo()).toEqual({ policy: 'auto' })
  })

  test('a session is manual and waits, unless somebody says otherwise', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.client.sessions.create({ kind: 'echo', input: 1 })
    expect((await session.summary()).approval).toEqual(defaultApproval)
  })

  test('a session that is created again under its key with another policy is answered as another request', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const create = (approval?: 'auto') =>
      troupe.client.sessions.create({ kind: 'echo', input: 1, idempotencyKey: 'k', approval })
    const first = await create()
    expect((await create()).warning ?? '').not.toContain('other')
    const other = await create('auto')
    expect(other.id).toBe(first.id)
    expect(other.warning).not.toBeNull()
  })

  test.each([
    [{ approval: 'yes' }, 'approval of sessions.create must be one of manual, auto, readOnly, not "yes".'],
    [{ whenNobodyAnswers: 'ask' }, 'whenNobodyAnswers of sessions.create must be one of wait, deny, fail, not "ask".'],
    [{ approvalMs: 0, whenNobodyAnswers: 'deny' }, 'approvalMs of sessions.create must be a whole number from 1 to'],
    [{ approvalMs: 5 }, "approvalMs of sessions.create needs whenNobodyAnswers: 'deny' or 'fail'"],
  ])('an approval of %j is refused', async (more, message) => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const creating = troupe.client.sessions.create({ kind: 'echo', input: 1, ...more } as never)
    await expect(creating).rejects.toThrow(message)
    await expect(creating).rejects.not.toBeInstanceOf(ConfigError)
  })

  test('a session takes only a known policy, and must itself be known', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.client.sessions.create({ kind: 'echo', input: 1 })
    await expect(session.setApproval('all' as never)).rejects.toThrow(InputError)
    await expect(troupe.client.sessions.get(newId(0)).setApproval('auto')).rejects.toMatchObject({
      code: 'session_not_found',
    })
  })
})

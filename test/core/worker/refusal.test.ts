/** Refusals as errors: each names the id and says what to do. */
import { describe, expect, test } from 'vitest'
import { ConflictError, LimitError, NotFoundError } from '../../../src/core/errors.ts'
import { decodeRefusal, refusalError, sessionNotFound, workerNotFound } from '../../../src/core/worker/refusal.ts'

const id = '01890a5d-ac96-874b-bcce-b302099a8000'
const sessionId = '01890a5d-ac96-774b-bcce-b302099a8000'
const who = 'worker reader (01890a5d-0000-874b-bcce-b302099a8000)'

describe('refusalError', () => {
  test('the refusal of more children than any session allows advises no higher limit', () => {
    const { message } = refusalError({ reason: 'children_exceeded', limit: 1_000, id }, who)
    expect(message).toMatch(/1000 children .* No session allows more: wait for results/)
  })

  test.each([
    [
      'depth_exceeded',
      LimitError,
      'depth_exceeded',
      /allows a depth of 7/,
      /A new session may get a higher limits\.depth\.$/,
    ],
    [
      'children_exceeded',
      LimitError,
      'children_exceeded',
      /7 children whose results it still awaits/,
      /a new session may get a higher limits\.children\.$/,
    ],
    [
      'workers_exceeded',
      LimitError,
      'workers_exceeded',
      /has had 7 workers/,
      /A new session may get a higher limits\.workers\.$/,
    ],
  ] as const)(
    'the refusal %s names who may not spawn, the limit, and where to raise it',
    (reason, type, code, what, advice) => {
      const error = refusalError({ reason, limit: 7, id }, who)
      expect(error).toBeInstanceOf(type)
      expect(error).toMatchObject({ code, retryable: false })
      expect(error.message).toContain(who)
      expect(error.message).toMatch(what)
      expect(error.message).toMatch(advice)
    },
  )

  test.each([
    [
      'mailbox_full',
      LimitError,
      'mailbox_full',
      /full \(7 messages\)/,
      /worker show \S+ tells.* Send again later.* higher limits\.mailbox/,
    ],
    [
      'permission_exceeded',
      LimitError,
      'permission_exceeded',
      /what it may not use itself/,
      /within its own permissions/,
    ],
    ['not_found', NotFoundError, 'worker_not_found', /is not known/, /[Cc]heck the id|worker list/],
    ['session_finished', ConflictError, 'session_finished', /has finished/, /new session/],
    ['ask_ended', ConflictError, 'ask_answered', /has ended/, /answer is in the mailbox/],
    ['terminal', ConflictError, 'worker_terminal', /was cancelled for good/, /new session|another worker/],
  ] as const)('the refusal %s names the recipient and says what to do', (reason, type, code, what, advice) => {
    const error = refusalError(decodeRefusal(reason, '7', id), who)
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ code, retryable: false })
    expect(error.message).toContain(id)
    expect(error.message).toMatch(what)
    expect(error.message).toMatch(advice)
  })
})

test('a session that is being cancelled is not said to have finished', () => {
  const error = refusalError({ reason: 'session_finished', id, state: 'cancelling' }, who)
  expect(error).toMatchObject({ code: 'session_finished', retryable: false })
  expect(error.message).toBe(
    `the session of worker ${id} is being cancelled and takes no more messages: create a new session.`,
  )
})

test('an overwritten field of a recipient is named, with what to do', () => {
  const what = `key {troupe.0}:w:${id} is a string and should be a hash`
  const error = refusalError({ reason: 'damaged', id, damage: what }, who)
  expect(error).toMatchObject({ code: 'bug', retryable: false, details: { damaged: what } })
  expect(error.message).toMatch(
    new RegExp(`^worker ${id} cannot be sent to: .*\\(${what}\\).* put it back, or remove it\\.$`),
  )
})

test('a reason that this version does not know is an error that names it', () => {
  expect(() => decodeRefusal('tired', '0', id)).toThrow(
    /worker \S+ for a reason that this version does not know: tired/,
  )
})

describe('an id that is not known', () => {
  test.each([
    [
      'a worker',
      workerNotFound(id),
      `worker ${id} is not known: check the id and the namespace; it may have been pruned.`,
    ],
    [
      'a worker, by the id of a session',
      workerNotFound(sessionId),
      `worker ${sessionId} is not known: that is the id of a session, whose root worker is ${id}.`,
    ],
    [
      'a session',
      sessionNotFound(sessionId),
      `session ${sessionId} is not known: check the id and the namespace; it may have been pruned.`,
    ],
    [
      'a session that is gone',
      sessionNotFound(sessionId, 'it has ended'),
      `session ${sessionId} is not known: it has ended.`,
    ],
    [
      'a session, by the id of a worker',
      sessionNotFound(id),
      `session ${id} is not known: that is the id of a worker, whose session \`troupe worker show ${id}\` tells.`,
    ],
  ])('of %s', (_, error, message) => {
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error.message).toBe(message)
  })
})

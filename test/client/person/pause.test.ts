/** Pausing a session while others look after it, too. */
import { expect, test } from 'vitest'
import { pauseSession } from '../../../src/client/person/pause.ts'
import type { Submission } from '../../../src/client/submission/submission.ts'
import { pauseNote, resumedEvent, withChildren } from '../../store/support/person/pause-checks.ts'
import { Place } from '../../store/support/place.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('a session that is resumed while its pause waits for turns stays resumed, and whoever paused it learns so (PAUSE-2)', async () => {
  await using place = await Place.open()
  // Nobody says of its turn that it begins nothing more.
  const { session } = await withChildren(place)
  const submission = { by: {}, store: () => place.sessions } as unknown as Submission
  const pausing = pauseSession(submission, session.id, pauseNote.why, {}).catch((error: unknown) => error)
  const { record } = place.workerKeys(session.root)
  const isPaused = async () => (await place.redis.hexists(record, 'paused')) === 1
  await waitUntil('it is paused', isPaused)
  await place.sessions.pauses.resume(session.id, resumedEvent)
  expect(await pausing).toMatchObject({
    code: 'transition_illegal',
    message: expect.stringContaining('somebody resumed it'),
  })
  expect(await isPaused()).toBe(false)
})

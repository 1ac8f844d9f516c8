/** A test that waits in vain for what a session gives says for what, and how the session stands. */
import { expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { TestTroupe } from '../test-troupe.ts'
import { awaitEvents, awaitResult } from './await-session.ts'

test('a wait for a result or an event that does not come says for what, and how its session stands', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 1)
  const result = /^Waited 50 ms in vain for: the result of run 1 of session .*state: 'active'.*status: 'queued'/s
  await expect(awaitResult(session, { run: 1, msMax: 50 })).rejects.toThrow(result)
  // On a busy machine no event may have come by then.
  const events = /^Waited 50 ms in vain for: more than [01] events \(the last: .*status: 'queued'/s
  await expect(Array.fromAsync(awaitEvents(session, { after: '0-0' }, 50))).rejects.toThrow(events)
})

test('a wait that its caller ends, or that a session refuses, ends as without a deadline', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 1)
  const controller = new AbortController()
  const seen: string[] = []
  for await (const { type } of awaitEvents(session, { after: '0-0', signal: controller.signal })) {
    seen.push(type)
    controller.abort()
  }
  expect(seen).toEqual(['session.created'])
  const unknown = awaitResult(troupe.client.sessions.get(newId(0)))
  await expect(unknown).rejects.toMatchObject({ code: 'session_not_found' })
})

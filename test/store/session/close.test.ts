/** close: ends a conversation when what waits has been answered. */
import { describe, expect, test } from 'vitest'
import { Place } from '../support/place.ts'

async function conversation() {
  const place = await Place.open()
  const session = await place.create({ mode: 'conversation' })
  const node = place.node()
  return { place, session, node, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

describe('close', () => {
  test('a close ends a conversation at once when its root is idle', async () => {
    await using scene = await conversation()
    const { place, session, node } = scene
    await (await node.claim()).complete()
    const changed = await place.changed(async () =>
      expect(await place.sessions.close(session.id)).toEqual({ kind: 'ok', state: 'completed' }),
    )
    expect(changed).toEqual({
      ends: ['<one> now'],
      's:<one>': { state: 'completed', finished: 'now' },
      'w:<one.root>': { mode: 'job' },
      events: [['session.closeRequested <one.root>', 'session.completed <one.root>']],
    })
    expect(await place.post(session.root, 'late')).toEqual({ kind: 'session_finished', state: 'completed' })
  })

  test.each(['queued', 'running', 'parked'] as const)(
    'a close lets a %s root answer first, and ends with that',
    async (state) => {
      await using scene = await conversation()
      const { place, session, node } = scene
      let turn = state === 'queued' ? null : await node.claim()
      if (state === 'parked')
        await turn?.park('signals', { timers: [{ id: 't1', ms: 0, valueJson: '1' }], signalsOpen: 1 })
      expect(await place.sessions.close(session.id)).toEqual({ kind: 'ok', state: 'active' })
      if (state === 'parked') await node.upkeep.fire()
      if (state !== 'running') turn = await node.claim()
      await turn?.complete(state === 'parked' ? { inputsConsumed: 0, signalsConsumed: 1 } : {})
      expect(await place.session(session.id)).toMatchObject({ state: 'completed' })
    },
  )

  test('a close between the last run and the end of its turn ends the conversation with that end', async () => {
    await using scene = await conversation()
    const { place, session, node } = scene
    const turn = await node.claim()
    await turn.record({ entries: ['{"type":"completed"}'], inputsConsumed: 1, open: false, outcome: 'completed' })
    expect(await place.sessions.close(session.id)).toEqual({ kind: 'ok', state: 'active' })
    const changed = await place.changed(() => turn.record({ open: false, end: { wait: 'any', next: null } }))
    expect(changed).toMatchObject({
      's:<one>': { state: 'completed', finished: 'now' },
      'w:<one.root>': { status: 'idle' },
      events: [['session.completed <one.root>']],
    })
    expect(await place.session(session.id)).toMatchObject({ 'result:1': 'completed 0' })
  })

  test('a close before the last run ends in the middle of its turn leaves the result of that run', async () => {
    await using scene = await conversation()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.sessions.close(session.id)
    await turn.record({ entries: ['{"type":"failed"}'], inputsConsumed: 1, open: false, outcome: 'failed' })
    const changed = await place.changed(() => turn.record({ open: false, end: { wait: 'any', next: null } }))
    expect(changed).not.toHaveProperty('s:<one>')
    expect(await place.session(session.id)).toMatchObject({ state: 'failed', 'result:1': 'failed 0' })
  })

  test('a close does not end what that turn leaves: input that waits, a run that is open, an attempt that is still to come', async () => {
    for (const end of [
      { open: false, post: true, end: { wait: 'any', next: null } },
      { open: true, post: false, end: { wait: 'signals', next: null } },
      { open: false, post: false, attempt: 1, end: { wait: 'retry', retryMs: 600_000, next: null } },
    ] as const) {
      await using scene = await conversation()
      const { place, session, node } = scene
      const { post, ...wish } = end
      const turn = await node.claim()
      await turn.record({ inputsConsumed: 1, open: false, outcome: 'completed', entries: ['{}'] })
      await place.sessions.close(session.id)
      if (post) await place.post(session.root, 'more')
      await turn.record(wish)
      expect((await place.session(session.id)).state).toBe('active')
    }
  })

  test('a close lets the worker answer all waiting inputs, and those that come in the meantime', async () => {
    await using scene = await conversation()
    const { place, session, node } = scene
    await place.sessions.close(session.id)
    expect(await place.post(session.root, 'meanwhile')).toMatchObject({ kind: 'ok' })
    await (await node.claim()).complete()
    expect((await place.session(session.id)).state).toBe('active')
    await (await node.claim()).complete()
    expect(await place.session(session.id)).toMatchObject({ state: 'completed', 'result:2': 'completed 3' })
  })

  test('a close of a session that has ended is ok and writes nothing', async () => {
    await using scene = await conversation()
    const { place, session, node } = scene
    await (await node.claim()).complete()
    await place.sessions.close(session.id)
    const changed = await place.changed(async () =>
      expect(await place.sessions.close(session.id)).toEqual({ kind: 'ok', state: 'completed' }),
    )
    expect(changed).toEqual({})
  })

  test('a close of a session that is being cancelled leaves it to the cancel', async () => {
    await using scene = await conversation()
    const { place, session } = scene
    await place.sessions.cancel(session.id, 'enough')
    expect(await place.sessions.close(session.id)).toEqual({ kind: 'ok', state: 'cancelling' })
  })

  test('a close of an unknown session is refused as not found', async () => {
    await using scene = await conversation()
    expect(await scene.place.sessions.close('01890a5d-ac96-774b-bcce-b302099a8000')).toEqual({ kind: 'not_found' })
  })
})

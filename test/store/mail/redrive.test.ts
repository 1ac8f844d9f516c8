/** A dead letter is put back into its worker's mailbox exactly once, or dismissed, and stays as evidence. */
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../support/time/wait-until.ts'
import { completion } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const event = '[["message.redriven",{}]]'

/** A conversation whose first message was put aside, and the letter. */
async function quarantined(place: Place, more: { readonly mode?: 'job'; readonly mailbox?: number } = {}) {
  const { mode = 'conversation', mailbox = 10 } = more
  const { id, root } = await place.create({ mode, limits: { mailbox } })
  const node = place.node()
  const turn = await node.claim()
  await turn.complete({ outcome: 'failed', runState: 'Failed', dead: '{"step":"message inbox-0 (input)"}' })
  await place.redis.del(place.keys.wakeups('default'))
  const [letter] = await place.letters.newestLetters(1)
  if (letter === undefined) throw new Error('Nothing was put aside.')
  place.label(letter.id, 'letter')
  return {
    id,
    root,
    node,
    letter: letter.id,
    redrive: () => place.sessions.redrive(root, letter.id, event),
    dismiss: () => place.sessions.dismiss(root, letter.id),
  }
}

describe('a redrive', () => {
  test('a redrive puts the message at the end of the lane, wakes the worker, brings a wake-up, and keeps the letter', async () => {
    await using place = await Place.open()
    const { redrive } = await quarantined(place)
    const changed = await place.changed(async () =>
      expect(await redrive()).toMatchObject({ kind: 'ok', position: 1, wakeups: [{ pool: 'default' }] }),
    )
    expect(changed).toEqual({
      'w:<one.root>': { status: 'queued' },
      'w:<one.root>:mail:inbox': ['i\t-\t"first"'],
      'run:default': ['<one.root> now'],
      'wakeups:default': [expect.stringContaining('now+20s')],
      events: [['message.redriven <one.root>']],
      redriven: [expect.stringMatching(/^<letter> 1 w\*-default-1 now/)],
      'open-letters': null,
    })
    expect(await place.letters.newestLetters(9)).toMatchObject([{ redriven: 1, fields: { mail: 'i\t-\t"first"' } }])
  })

  test('a redrive that is sent again, at once or when the message was consumed, changes nothing and answers the same', async () => {
    await using place = await Place.open()
    const { redrive, node } = await quarantined(place)
    const first = await redrive()
    const again = async () => expect(await redrive()).toEqual({ ...first, kind: 'again' })
    expect(await place.changed(again)).toEqual({})
    await (await node.claim()).complete()
    expect(await place.changed(again)).toEqual({})
    await place.redis.del(place.keys.dead)
    expect(await place.changed(again)).toEqual({})
  })

  test('several redrives at once put a message back once', async () => {
    await using place = await Place.open()
    const { redrive, root } = await quarantined(place)
    await Promise.all(Array.from({ length: 10 }, redrive))
    expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(1)
  })

  test.each<[why: string, spoil: (place: Place, scene: Awaited<ReturnType<typeof quarantined>>) => Promise<unknown>]>([
    ['not_found', (place, { root }) => place.redis.del(place.workerKeys(root).record)],
    [
      'terminal',
      async (place, { id, node }) => {
        await place.sessions.cancel(id, 'enough')
        await node.upkeep.finishCancelled()
      },
    ],
    ['session_finished', (place, { id }) => place.sessions.close(id)],
    ['mailbox_full', (place, { root }) => place.post(root, 'second')],
    ['no_letter', (place) => place.redis.del(place.keys.dead)],
  ])('a redrive is refused as %s, and writes nothing', async (why, spoil) => {
    await using place = await Place.open()
    const scene = await quarantined(place, { mailbox: 1 })
    await spoil(place, scene)
    expect(await place.changed(async () => expect(await scene.redrive()).toMatchObject({ kind: why }))).toEqual({})
  })

  test("a redrive does not take another worker's letter, nor evidence without a message", async () => {
    await using place = await Place.open()
    const { letter, root } = await quarantined(place)
    const other = await place.create({ label: 'two', mode: 'conversation' })
    expect(await place.sessions.redrive(other.root, letter, event)).toEqual({ kind: 'no_letter' })
    expect(await place.sessions.redrive(root, 'x', event)).toEqual({ kind: 'no_letter' })
    const turn = await place.node().claim()
    await turn.record({ ...completion, inputsConsumed: 0, outcome: 'failed', runState: 'Failed', dead: '{}' })
    const [isolated] = await place.letters.newestLetters(1)
    expect(await place.sessions.redrive(other.root, isolated?.id ?? '', event)).toEqual({ kind: 'no_message' })
  })

  test('a redrive forgets the dispositions of letters that were trimmed', async () => {
    await using place = await Place.open()
    const { redrive, root, node, letter } = await quarantined(place)
    await redrive()
    // Marks go by the millisecond of their letters.
    const letterAt = Number(letter.split('-')[0])
    await waitUntil('the clock of Redis goes on', async () => (await place.now()) > letterAt)
    await place.redis.zadd(place.keys.redriven, 5, '5-0 0 ')
    const turn = await node.claim()
    await turn.complete({ outcome: 'failed', runState: 'Failed', dead: '{}' })
    const [second] = await place.letters.newestLetters(1)
    await place.redis.xtrim(place.keys.dead, 'MAXLEN', 1)
    await place.sessions.redrive(root, second?.id ?? '', event)
    expect(await place.redis.zrange(place.keys.redriven, 0, '-1')).toEqual([expect.stringContaining(`${second?.id} `)])
  })
})

describe('a dismissal', () => {
  test('a dismissal writes a disposition and nothing else, once', async () => {
    await using place = await Place.open()
    const { dismiss } = await quarantined(place)
    const changed = await place.changed(async () => expect(await dismiss()).toEqual({ kind: 'ok' }))
    expect(changed).toEqual({ redriven: [expect.stringMatching(/^<letter> dismissed now/)], 'open-letters': null })
    expect(await place.letters.newestLetters(9)).toMatchObject([{ redriven: null, isDismissed: true }])
    expect(await place.changed(async () => expect(await dismiss()).toEqual({ kind: 'again' }))).toEqual({})
  })

  test('a dismissed letter can still be put back by its id, and is then no longer dismissed', async () => {
    await using place = await Place.open()
    const { redrive, dismiss } = await quarantined(place)
    await dismiss()
    expect(await redrive()).toMatchObject({ kind: 'ok', position: 1 })
    expect(await redrive()).toMatchObject({ kind: 'again', position: 1 })
    expect(await place.changed(async () => expect(await dismiss()).toEqual({ kind: 'redriven', position: 1 }))).toEqual(
      {},
    )
    expect(await place.letters.newestLetters(9)).toMatchObject([{ redriven: 1, isDismissed: false }])
  })

  test('a dismissal of a letter of another worker, of none and of one that is gone writes nothing', async () => {
    await using place = await Place.open()
    const { letter, root, dismiss } = await quarantined(place)
    const other = await place.create({ label: 'two' })
    const changed = await place.changed(async () => {
      for (const [worker, id] of [
        [other.root, letter],
        [root, 'x'],
        [root, '1-0'],
      ] as const)
        expect(await place.sessions.dismiss(worker, id)).toEqual({ kind: 'no_letter' })
    })
    expect(changed).toEqual({})
    await place.redis.del(place.keys.dead)
    expect(await place.changed(async () => expect(await dismiss()).toEqual({ kind: 'no_letter' }))).toEqual({})
  })
})

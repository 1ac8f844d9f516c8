/** Which worker is next: no session waits for long, whatever others have queued. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import { nothingHidesBehindOthersKinds } from '../support/queue/fair-checks.ts'

test('a worker is found behind any number of others that its node cannot run', async () => {
  await using place = await Place.open()
  await expect(nothingHidesBehindOthersKinds(place)).resolves.toBeUndefined()
})

/** Numbers from 0 to 1, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  }
}

const longestMs = 4000

test.each([1, 2, 3])(
  'a new session waits for at most one turn of each other session, whatever work they bring (%i)',
  async (seed) => {
    await using place = await Place.open()
    const next = numbers(seed)
    const node = place.node()
    const owners = new Map<string, string>()
    const turnMs = new Map<string, number>()
    const floods = 4
    for (let flood = 0; flood < floods; flood++) {
      const { root } = await place.create({
        label: `flood ${flood}`,
        mode: 'conversation',
        turnShare: `${1 + flood} 0`,
      })
      const turn = await node.claim()
      const spawns = Array.from({ length: 20 }, (_, index) => place.child(root, index + 1, `${flood}.${index}`))
      for (const { id } of spawns) owners.set(id, root)
      turnMs.set(root, 1 + Math.floor(next() * longestMs))
      await turn.park('signals', { spawns, pendingCalls: spawns.map(({ call }) => call) })
    }
    for (let round = 0; round < 12; round++) {
      const { root: fresh } = await place.create({ label: `fresh ${round}` })
      const before: string[] = []
      for (;;) {
        const turn = await node.claim()
        if (turn.worker === fresh) {
          await turn.complete()
          break
        }
        const owner = owners.get(turn.worker) as string
        before.push(owner)
        await turn.complete({ end: { wait: 'any', next: null, turnMs: turnMs.get(owner) as number } })
      }
      expect(new Set(before).size).toBe(before.length)
    }
  },
)

test('two sessions that always have work share slots by their weights and the length of their turns', async () => {
  await using place = await Place.open()
  const node = place.node()
  const sessions = [
    { label: 'long', turnShare: '1 0', ms: 300 },
    { label: 'heavy', turnShare: '3 0', ms: 100 },
  ]
  const used = new Map<string, number>()
  const roots = new Map<string, (typeof sessions)[number]>()
  let keys = 0
  for (const session of sessions) {
    const { root } = await place.create({ ...session, mode: 'conversation' })
    roots.set(root, session)
    await (await node.claim()).complete({ end: { wait: 'any', next: null, turnMs: session.ms } })
    for (let more = 0; more < 2; more++) await place.post(root, `m${keys++}`)
  }
  for (let turns = 0; turns < 300; turns++) {
    const turn = await node.claim()
    const session = roots.get(turn.worker) as (typeof sessions)[number]
    used.set(session.label, (used.get(session.label) ?? 0) + session.ms)
    await place.post(turn.worker, `m${keys++}`)
    await turn.complete({ inputsConsumed: 1, end: { wait: 'any', next: null, turnMs: session.ms } })
  }
  const ratio = (used.get('heavy') as number) / (used.get('long') as number)
  expect(ratio).toBeGreaterThan(2.7)
  expect(ratio).toBeLessThan(3.3)
})

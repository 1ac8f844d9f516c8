/** What must hold of the records of siblings: most are copies of each other. */
import { expect } from 'vitest'
import { defaultName } from '../../../../src/core/definition/worker-name.ts'
import type { SpawnOrder } from '../../../../src/core/ports/ports.ts'
import type { Check } from './checks.ts'

const [reads, writes] = ['tools read', 'tools write'] as const

/** Each differs from the one before; a name that is absent is that of the kind and the call. */
const forms: readonly Partial<Omit<SpawnOrder, 'call'>>[] = [
  { name: 'first', pool: 'gpu', permissions: reads },
  { name: 'second', pool: 'gpu', permissions: writes },
  { pool: 'gpu', permissions: writes },
  { pool: 'gpu', permissions: reads },
  { pool: 'gpu' },
  { pool: 'gpu', kind: 'other' },
  { kind: 'other' },
  {},
  {},
  {},
  { name: 'named' },
  { permissions: reads },
  { detached: true },
  { detached: true },
  { pool: 'gpu' },
]

export const siblingsDifferInWhatTheySay: Check = async (place) => {
  const { root } = await place.create({ limits: { workers: 100, children: 100, depth: 5, mailbox: 10 } })
  const turn = await place.node().claim()
  const spawns = forms.map((form, index) => {
    const call = index + 1
    return place.child(root, call, `c${call}`, { name: defaultName(form.kind ?? 'echo', call), ...form })
  })
  await turn.record({ spawns, pendingCalls: spawns.flatMap(({ detached, call }) => (detached ? [] : [call])) })
  for (const [index, { id, kind, mail }] of spawns.entries()) {
    const { name, pool, permissions, detached = false } = forms[index] ?? {}
    const found = await place.redis.hgetall(place.workerKeys(id).record)
    expect(found).toEqual({
      schema: '8',
      call: String(index + 1),
      kind,
      depth: '1',
      status: 'queued',
      queuedAt: expect.any(String),
      path1: `${root}:${detached ? '-' : '1'}`,
      limits: '100 100 5 10',
      ...(name && { name }),
      ...(pool && { pool }),
      ...(permissions && { permissions }),
    })
    expect(await place.redis.lrange(place.workerKeys(id).inbox, 0, -1)).toEqual([mail])
  }
}

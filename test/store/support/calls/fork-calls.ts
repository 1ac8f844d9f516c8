/** One call of each script that forks a session, ready to be made. */
import { newId, rootIdOf } from '../../../../src/core/ids.ts'
import type { Place } from '../place.ts'
import { live, written } from '../session/fork-checks.ts'
import type { Call } from './call-scenes.ts'

export const forkCalls: readonly Call[] = [
  {
    name: 'cut of a session',
    prepare: async (place) => {
      const { session } = await labelled(place)
      return () => place.sessions.forks.cut(session.id)
    },
  },
  {
    name: 'keys of a copy that are prepared',
    prepare: async (place) => {
      await labelled(place)
      const copyId = place.label(newId(0), 'copy')
      const [worker, session] = [`w:${place.label(rootIdOf(copyId), 'copy.root')}`, `s:${copyId}`]
      const parts = [
        { key: `${worker}:log`, sort: 'list', from: 0, texts: ['{"a":1}', '{"b":1}'] },
        { key: `${worker}:log`, sort: 'list', from: 2, texts: ['{"c":1}'] },
        { key: `${worker}:timers`, sort: 'hash', from: 0, texts: ['t1', '1'] },
        { key: `${worker}:state`, sort: 'string', from: 0, texts: ['{"n":1}'] },
        { key: `${session}:cancelled`, sort: 'set', from: 0, texts: ['one', 'two'] },
        { key: `${session}:asks`, sort: 'zset', from: 0, texts: ['1', 'one', '2', 'two'] },
        { key: `${session}:blob:x`, sort: 'bytes', from: 0, texts: ['half'] },
        { key: `${session}:blob:x`, sort: 'bytes', from: 4, texts: ['whole'] },
      ] as const
      return () => place.sessions.forks.prepare(copyId, parts)
    },
  },
  {
    name: 'copy that appears',
    prepare: async (place) => {
      const { session, node } = await labelled(place)
      const { order } = await written(place, session)
      for (const { id } of order.workers.slice(1)) place.label(id, 'copy.c1')
      for (const id of order.open.filter((_, index) => index % 2 === 1)) place.label(id, 'copy.ask')
      // Which of the two would stand first depends on how long a turn has lasted.
      await node.claim()
      await place.redis.del(place.keys.wakeups('default'))
      return () => place.sessions.forks.appear(order)
    },
  },
]

async function labelled(place: Place) {
  const scene = await live(place)
  place.label(scene.ask, 'ask')
  return scene
}

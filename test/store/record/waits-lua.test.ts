/** The two halves of the grammar of waits, in TypeScript and in Lua, say the same of every wait and every message. */
import { expect, inject, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { encodeInput, encodeResult, type Lane, lanes } from '../../../src/core/worker/message/message.ts'
import {
  encodeWait,
  endsWait,
  forAny,
  forGate,
  forResult,
  forResults,
  forRetry,
  forSignal,
  forStart,
  isForScript,
  type Wait,
} from '../../../src/core/worker/wait.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { runLua } from '../support/run-lua.ts'

const child = newId(0)
const other = newId(0)
/** At least one of each sort: `satisfies` fails where a new one is missing. */
const waits = {
  any: [forAny],
  signal: [forSignal],
  retry: [forRetry],
  start: [forStart],
  gate: [forGate],
  result: [forResult(child)],
  results: [forResults(0), forResults(3)],
} satisfies Record<Wait['kind'], readonly Wait[]>

const outcome = { status: 'completed', valueJson: '1' } as const
const resultOf = (id: string) => encodeResult({ id, name: 'c', kind: 'c' }, 1, outcome)
const texts: Readonly<Record<Lane, readonly [text: string, child?: string][]>> = {
  signals: [['t\tid\t1']],
  results: [
    [resultOf(child), child],
    [resultOf(other), other],
  ],
  inbox: [[encodeInput(null, '1')], [encodeInput(child, '1')]],
}

const cases = Object.values(waits)
  .flat()
  .flatMap((wait) =>
    lanes.flatMap((lane) =>
      texts[lane].flatMap(([text, from]) =>
        [1, 3, 4].map((count) => ({ wait, lane, text, count, child: from, coded: encodeWait(wait) })),
      ),
    ),
  )

test('a message ends a wait in Lua exactly if it ends it in TypeScript', async () => {
  const redis = openRedis(inject('redisUrl'))
  const call = 'endsWait(case.coded, case.lane, case.text, case.count)'
  const said = await runLua<boolean>(redis, ['record/waits'], call, cases)
  expect(said).toEqual(cases.map(({ wait, ...arrival }) => endsWait(wait, arrival)))
  expect(new Set(said)).toEqual(new Set([true, false]))
  redis.disconnect()
})

test('the waits that no message ends are the same in Lua and in TypeScript', async () => {
  const redis = openRedis(inject('redisUrl'))
  const all: readonly Wait[] = Object.values(waits).flat()
  const said = await runLua(redis, ['record/waits'], 'scriptWaits[case] or false', all.map(encodeWait))
  expect(said).toEqual(all.map(isForScript))
  redis.disconnect()
})

test('scripts know which waits are for results of children, and for which', async () => {
  const redis = openRedis(inject('redisUrl'))
  const all: readonly Wait[] = Object.values(waits).flat()
  const call = '{ waitsForResults(case), childAwaited(case) or false, countAwaited(case) or false }'
  const said = await runLua(redis, ['record/waits'], call, all.map(encodeWait))
  expect(said).toEqual(
    all.map((wait) => [
      wait.kind === 'result' || wait.kind === 'results',
      wait.kind === 'result' && wait.child,
      wait.kind === 'results' && wait.count,
    ]),
  )
  redis.disconnect()
})

test('an unreadable wait is ended by every result, so that somebody looks at the worker', async () => {
  const redis = openRedis(inject('redisUrl'))
  expect(await runLua(redis, ['record/waits'], "endsWait(case, 'results', '', 1)", ['results:', 'results:x'])).toEqual([
    true,
    true,
  ])
  redis.disconnect()
})

/** Whether each crash point crashes where it says: before or after a call, at the nth of its sort, at once, and at nothing else. */
import { appendFile, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { CrashPoint } from '../../../src/testing/crash/crash-point.ts'
import { JournalWriter, readJournal } from '../../../src/testing/crash/journal.ts'
import { Watch } from '../../../src/testing/crash/node/watch.ts'

/** What a node does and notes until it kills itself, which ends nothing here: `killed with …`, between what was done before and after it. */
async function seen(crashAt: CrashPoint | null, does: (watch: Watch, log: string[]) => Promise<unknown>) {
  const file = join(await mkdtemp(join(tmpdir(), 'watch-')), 'journal')
  const log: string[] = []
  using _ = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    log.push(`killed ${pid === process.pid ? 'itself' : pid} with ${signal}, after ${readJournal(file).length} lines`)
    return true
  })
  const journal = new JournalWriter(file)
  await does(new Watch(journal, crashAt), log)
  journal.close()
  return { log, lines: readJournal(file) }
}

const claimTwice = async (watch: Watch, log: string[]) => {
  for (const nth of [1, 2]) {
    await watch.around('claim', undefined, () => void log.push(`claim ${nth}`))
    await watch.around('commit of clerk', undefined, () => void log.push(`commit ${nth}`))
  }
}
const killed = (lines: number) => `killed itself with SIGKILL, after ${lines} lines`
const whole = ['claim 1', 'commit 1', 'claim 2', 'commit 2']

test.each<[CrashPoint | null, number, number]>([
  [null, 0, 0],
  [{ side: 'before', call: 'claim', nth: 1 }, 0, 1],
  [{ side: 'after', call: 'claim', nth: 1 }, 1, 2],
  [{ side: 'before', call: 'commit of clerk', nth: 1 }, 1, 3],
  [{ side: 'before', call: 'claim', nth: 2 }, 2, 5],
  [{ side: 'after', call: 'claim', nth: 2 }, 3, 6],
  [{ side: 'after', call: 'commit of clerk', nth: 2 }, 4, 8],
  [{ side: 'after', call: 'claim', nth: 3 }, 0, 0],
])(
  'at the crash point %j a node is killed behind %i calls, with %i lines in its journal',
  async (point, calls, lines) => {
    const { log } = await seen(point, claimTwice)
    expect(log).toEqual(lines === 0 ? whole : whole.toSpliced(calls, 0, killed(lines)))
  },
)

test('the journal has each call, its side and the code of users, with the node that made it', async () => {
  const run = { what: 'receive', kind: 'clerk', name: null, workerId: 'w', idempotencyKey: 'w/1' } as const
  const { lines } = await seen(null, (watch) => watch.around('receive of clerk', run, () => {}))
  const { pid } = process
  expect(lines).toEqual(['before', 'after'].map((side) => ({ side, call: 'receive of clerk', pid, run })))
})

test('a call that throws has a point after it too, and its error stays', async () => {
  const point = { side: 'after', call: 'claim', nth: 1 } as const
  const { log } = await seen(point, async (watch, log) => {
    const failed = watch.around('claim', undefined, () => Promise.reject(new Error('Redis is away')))
    log.push(await failed.then(String, ({ message }: Error) => message))
  })
  expect(log).toEqual([killed(2), 'Redis is away'])
})

test('a line of the journal that the kill cut off is left out', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'watch-')), 'journal')
  const journal = new JournalWriter(file)
  journal.write({ side: 'before', call: 'claim', pid: 1 })
  journal.close()
  await appendFile(file, '{"side":"aft')
  expect(readJournal(file)).toEqual([{ side: 'before', call: 'claim', pid: 1 }])
})

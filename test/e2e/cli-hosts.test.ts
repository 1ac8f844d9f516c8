/** `troupe run` and the nodes it leaves its work to: when they have gone it runs the work itself, or says that nobody does. */
import { dirname } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { CliProject } from '../cli/cli-project.ts'

const here = new CliProject('hosts', { withNode: false })
const nowhere = new CliProject('ghosts', { withNode: false })
const broken = new CliProject('broken', { withNode: false })
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

/** A node that was killed still counts as live, until it was not seen for some time. */
async function leaveGhost({ namespace }: CliProject): Promise<{ forget(): Promise<unknown> }> {
  const keys = partitionKeys(tagOf(namespace, 0))
  const [seconds] = (await redis.call('TIME')) as [string, string]
  await redis.hset(keys.kinds, 'echo', 'default {"description":""}')
  await redis.hset(keys.nodes, 'n-ghost', `${Number(seconds) * 1_000 + 30_000} 50 default echo {}`)
  return { forget: () => redis.hdel(keys.nodes, 'n-ghost') }
}

describe.concurrent('a command whose kind nobody hosts just now', () => {
  it('submits, and says that it waits', async () => {
    const keys = partitionKeys(tagOf(nowhere.namespace, 0))
    await redis.hset(keys.kinds, 'once', 'default {"description":""}')
    const { code, stderr, objects } = await nowhere.project.run(['submit', 'once', 'x', '--json'])
    const warning = 'no live node hosts "once" just now: the session waits until one does.'
    expect({ code, stderr }).toEqual({ code: 0, stderr: `troupe: ${warning}\n` })
    expect(objects[0]).toMatchObject({ type: 'submitted', warning })
  })
})

describe.concurrent('a run whose node has gone', () => {
  it('goes on here, with the worker files that are here', { timeout: 40_000 }, async () => {
    const ghost = await leaveGhost(here)
    const running = here.project.start(['run', 'echo', 'hello'])
    await running.saw('troupe: session')
    await ghost.forget()
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(stderr).toContain('no live node hosts echo any more: running it here, with the worker files of ./workers')
  })

  it('says so where there is none, and what an interrupted one leaves', { timeout: 60_000 }, async () => {
    const ghost = await leaveGhost(nowhere)
    const cwd = dirname(await nowhere.project.write('empty/none.txt', ''))
    const running = nowhere.project.start(['run', 'echo', 'hello'], { cwd })
    await running.saw('troupe: session')
    await ghost.forget()
    await running.saw('no live node hosts echo any more; the session waits until one does')
    running.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/the session has not ended yet; `troupe session show [0-9a-f-]{36}` says what it waits for/)
  })

  it('names the worker file for which it cannot go on here', { timeout: 40_000 }, async () => {
    const ghost = await leaveGhost(broken)
    const folder = dirname(await broken.project.write('broken/echo.ts', 'export default 7'))
    const running = broken.project.start(['run', 'echo', 'hello', '--workers', folder])
    await running.saw('troupe: session')
    await ghost.forget()
    await running.saw(/waits until one does, and none can run here: worker file .*echo\.ts must have/)
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
  })
})

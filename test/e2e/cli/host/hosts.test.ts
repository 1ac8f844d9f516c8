/** `troupe run` and the nodes that run its work: when they are gone, it runs the work itself, or says that no node does. */
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionKeys, tagOf } from '../../../../src/store/keys.ts'
import { CliProject, unknownId } from '../../../cli/cli-project.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const here = new CliProject('hosts', { withNode: false })
const nowhere = new CliProject('ghosts', { withNode: false })
const delegating = new CliProject('delegating', { withNode: false })
const mixed = new CliProject('mixed', { withNode: false })
const bare = new CliProject('bare', { withNode: false })
const busy = new CliProject('busy', { withNode: false })
const hindered = new CliProject('hindered', { withNode: false })
const broken = new CliProject('broken', { withNode: false })
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

const sources = {
  parent: `{ receive(message, self) {
    if (message.kind === 'input') for (const name of ['one', 'two']) self.spawn('orphan', null, { name })
    else if (self.openChildren === 0) self.reply('both are here')
  } }`,
  orphan: `{ receive(message, self) { self.reply('here') } }`,
  thinker: `{ instructions: 'Think.', model: 'openai/gpt-5' }`,
}

function source(kind: keyof typeof sources): string {
  return `import { defineWorker } from 'troupe'\nexport default defineWorker(${sources[kind]})\n`
}

/** A killed node still counts as live for some time. */
async function leaveGhost({ namespace }: CliProject): Promise<{ forget(): Promise<unknown> }> {
  const keys = partitionKeys(tagOf(namespace, 0))
  const [seconds] = (await redis.call('TIME')) as [string, string]
  await redis.hset(keys.kinds, 'echo', 'default {"description":""}')
  await redis.hset(keys.nodes, 'n-ghost', `${Number(seconds) * 1_000 + 30_000} 50 default echo {}`)
  return { forget: () => redis.hdel(keys.nodes, 'n-ghost') }
}

describe.concurrent('a command whose kind no live node hosts', () => {
  it('a submit whose kind no live node hosts succeeds, and says that the session waits', async () => {
    const keys = partitionKeys(tagOf(nowhere.namespace, 0))
    await redis.hset(keys.kinds, 'once', 'default {"description":""}')
    const { code, stderr, objects } = await nowhere.project.ask(['submit', 'once', 'x', '--json'])
    const warning = 'no live node hosts "once" just now: the session waits until one does.'
    expect({ code, stderr }).toEqual({ code: 0, stderr: `troupe: ${warning}\n` })
    expect(objects[0]).toMatchObject({ type: 'submitted', warning })
  })

  it('a send whose kind no live node hosts succeeds, and says that the message waits', async () => {
    const { workerId } = await nowhere.submit('later', 'x')
    const { code, stderr, objects } = await nowhere.project.ask(['send', workerId, 'y', '--json'])
    const warning = 'no live node hosts "later" just now: the message waits until one does.'
    expect({ code, stderr }).toEqual({ code: 0, stderr: `troupe: ${warning}\n` })
    expect(objects[0]).toMatchObject({ type: 'sent', position: 1, again: false, warning })
  })

  it('a wait for a result whose kind no live node hosts says once that a worker waits', async () => {
    const { sessionId } = await nowhere.submit('never', 'x')
    const waiting = nowhere.project.start(['session', 'result', sessionId, '--wait'])
    const line = 'no live node hosts never: 1 worker waits for one; start a node whose workers folder has never.ts'
    await waiting.saw(`troupe: ${line}`)
    await nowhere.project.ask(['session', 'cancel', sessionId])
    waiting.kill('SIGINT')
    expect((await waiting.ended).stderr.split(line)).toHaveLength(2)
  })
})

describe.concurrent('an order whose kind no live node hosts', () => {
  it.each([['compact'], ['configure', '--effort', 'high']])(
    'worker %s of a kind that no live node hosts waits, and says so',
    async (...order) => {
      const { workerId } = await nowhere.submit(`asked-to-${order[0]}`, 'x', '--keep-open')
      const waiting = nowhere.project.start(['worker', ...order, workerId])
      await waiting.saw(`troupe: no live node hosts asked-to-${order[0]}: 1 worker waits for one; start a node`)
      waiting.kill('SIGINT')
      expect((await waiting.ended).stdout).toBe('')
    },
  )
})

describe.concurrent('settings of a worker', () => {
  it.each(['5', '"high"', '["high"]', 'null'])('settings of a worker are an object, not %s', async (text) => {
    const { code, stderr } = await nowhere.project.ask(['worker', 'configure', unknownId, '--settings', text])
    const advice = `--settings must be an object like {"temperature":0}, not ${text}.`
    expect({ code, stderr }).toEqual({ code: 2, stderr: `troupe: ${advice}\n` })
  })
})

describe.concurrent('a run of an unknown kind', () => {
  it('a run of an unknown kind says that the folder holds no worker files', async () => {
    const cwd = dirname(await bare.project.write('bare/none.txt', ''))
    const { code, stderr } = await bare.project.run(['run', 'echo', 'x', '--workers', cwd])
    const advice = `there is no kind "echo"; no node is live, and ${cwd} holds no worker file.`
    expect({ code, stderr }).toEqual({ code: 2, stderr: `troupe: ${advice}\n` })
  })
})

describe.concurrent('a run whose children no node hosts', () => {
  it('a run whose children no node hosts says so once, and goes on as soon as a node hosts them', async () => {
    const file = await delegating.project.write('delegating/parent.ts', source('parent'))
    const running = delegating.project.start(['run', 'parent', 'x', '--workers', dirname(file)])
    const line = 'no live node hosts orphan: 2 workers wait for one; start a node whose workers folder has orphan.ts'
    await running.saw(`troupe: ${line}`)
    const [, id = ''] = /troupe: session (\S+)/.exec(running.stderr) ?? []
    const { stdout: text } = await delegating.project.ask(['session', 'show', id])
    expect(text).toMatch(/^waits for +results? of its children; 2 are open$|^waits for +the result of its child/m)
    expect(text).toMatch(/^\S+ +one \(orphan\) .* a node that hosts orphan, for \S+$/m)
    const others = dirname(await delegating.project.write('orphans/orphan.ts', source('orphan')))
    const node = delegating.project.start(['node', '--workers', others])
    const { code, stdout, stderr } = await running.ended
    node.kill('SIGTERM')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'both are here\n' })
    expect(stderr.split(line)).toHaveLength(2)
    await node.ended
  })

  it('a run whose children no node hosts leaves out agents whose model lacks its key, and says so', async () => {
    await mixed.project.write('mixed/thinker.ts', source('thinker'))
    const folder = dirname(await mixed.project.write('mixed/parent.ts', source('parent')))
    const running = mixed.project.start(['run', 'parent', 'x', '--workers', folder])
    await running.saw(
      'troupe: not hosted here: kind "thinker": the model openai/gpt-5 needs a key: set OPENAI_API_KEY.',
    )
    await running.saw('no live node hosts orphan')
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
    const { code, stderr } = await mixed.project.run(['run', 'thinker', 'x', '--workers', folder])
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('set OPENAI_API_KEY') })
  })
})

describe.concurrent('a run whose node is gone', () => {
  it('a run whose node is gone goes on in its own process, with the local worker files', async () => {
    const ghost = await leaveGhost(here)
    const running = here.project.start(['run', 'echo', 'hello'])
    await running.saw('troupe: session')
    await ghost.forget()
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(stderr).toContain(
      'no live node hosts echo any more: this process runs it, with the worker files of ./workers',
    )
  })

  it('a run whose node is gone says that the session waits, also after an interrupt, if no local file has the kind', async () => {
    const ghost = await leaveGhost(nowhere)
    const cwd = dirname(await nowhere.project.write('empty/none.txt', ''))
    const running = nowhere.project.start(['run', 'echo', 'hello'], { cwd })
    await running.saw('troupe: session')
    await ghost.forget()
    await running.saw('no live node hosts echo any more; the session waits until one does')
    running.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/the session has not ended yet; `troupe session show [0-9a-f-]{36}` shows what it waits for/)
  })

  it('a run whose node is gone says once why its process cannot run the kind yet, and goes on when it can', async () => {
    const ghost = await leaveGhost(hindered)
    const { kinds, leases } = partitionKeys(tagOf(hindered.namespace, 0))
    const running = hindered.project.start(['run', 'echo', 'hello'])
    await running.saw('troupe: session')
    await redis.set(leases, 'no leases')
    await ghost.forget()
    for (const _ of ['once', 'twice', 'again']) {
      await redis.hdel(kinds, 'echo')
      await waitUntil('a node begins here', async () => (await redis.hexists(kinds, 'echo')) === 1)
    }
    await redis.del(leases)
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello\n' })
    expect(stderr.split('this process runs it')).toHaveLength(2)
    expect(stderr.match(/^troupe: this process cannot run it yet, and tries again: .*$/gm)).toEqual([
      expect.stringContaining(`key ${leases} is a string and should be a zset`),
    ])
  })

  it('a run whose node is gone names the worker file that keeps its process from running the kind', async () => {
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

describe.concurrent('a run in a node of its own', () => {
  // `troupe node` would wait for half a minute in this case, and say so.
  it('a run in a node of its own ends with its node, even if a turn of another session hangs in that node', async () => {
    const begun = join(busy.project.folder, 'begun')
    const head = `import { existsSync, writeFileSync } from 'node:fs'\nimport { defineWorker } from 'troupe'\n`
    await busy.project.write(
      'workers/stuck.ts',
      `${head}export default defineWorker({ receive() {
  writeFileSync('${begun}', '')
  return new Promise(() => {})
} })`,
    )
    await busy.project.write(
      'workers/second.ts',
      `${head}export default defineWorker({ async receive(message, self) {
  while (!existsSync('${begun}')) await new Promise((resolve) => setTimeout(resolve, 20))
  self.reply('the other has begun')
} })`,
    )
    await busy.submit('stuck', 'x')
    const { code, stdout, stderr } = await busy.project.run(['run', 'second', 'x'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'the other has begun\n' })
    expect(stderr).toMatch(/ stuck {2}warn .*: this node is to stop at once$/m)
    expect(await redis.hlen(partitionKeys(tagOf(busy.namespace, 0)).nodes)).toBe(0)
  })
})

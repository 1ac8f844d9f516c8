/** Tasks that an agent starts in the background: it is told once how each ends, lists them, and runs one of a name at a time. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import type { Model, ModelRequest } from '../../../../../src/core/definition/model.ts'
import { TerminalError } from '../../../../../src/core/errors.ts'
import { chat } from '../../../../../src/core/history/chat/message-factories.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

const ask = ({ messages }: ModelRequest) => {
  const users = messages.filter(({ role }) => role === 'user')
  return /do \w+/.exec(JSON.stringify(users.at(-1)))?.[0]
}
const task = (name: string, input: string) => ({ kind: 'errand', name, input, detached: true })
const spawn = (...tasks: ReturnType<typeof task>[]) => call('spawn_workers', { tasks })

/** An agent that does in each run what its input says, and errands that end when the test says so. */
async function scene(background = true) {
  const gates = new Map<string, () => void>()
  const errand = defineWorker({
    async receive(message, self) {
      const text = String(message.value)
      await new Promise<void>((resolve) => gates.set(text, resolve))
      if (text.startsWith('fail')) throw new TerminalError('the shop is closed')
      self.reply(`${text} is done`)
    },
  })
  const model = recordedModel('test/m', (request) => {
    if (request.messages.at(-1)?.role === 'tool') return say('ok')
    switch (ask(request)) {
      case 'do start':
        return spawn(task('milk', 'milk'), task('bread', 'fail bread'))
      case 'do again':
        return spawn(task('milk', 'more milk'))
      case 'do twice':
        return spawn(task('tea', 'tea'), task('tea', 'more tea'))
      case 'do list':
        return call('list_tasks', {})
      default:
        return say('ok')
    }
  })
  /** The test sets what is called before the model replies. */
  const asked = { before: async () => {} }
  const watched: Model = {
    id: model.id,
    async reply(request, modelCall) {
      await asked.before()
      return model.reply(request, modelCall)
    },
  }
  const agent = defineWorker({ instructions: 'x', model: watched, spawns: ['errand'], background })
  const troupe = await TestTroupe.start({ workers: { agent, errand } })
  const session = await troupe.create('agent', 'do start', { keepOpen: true })
  await session.result({ run: 1 })
  let run = 1
  const next = async (text: string) => {
    await session.root.send(text)
    await session.result({ run: ++run })
    return JSON.stringify(model.requests.at(-1)?.messages)
  }
  const end = async (text: string) => {
    await waitUntil(`the errand ${text} runs`, () => gates.has(text))
    gates.get(text)?.()
    const name = text.includes('milk') ? 'milk' : 'bread'
    await waitUntil(`${text} has ended`, async () => {
      const { workers } = await session.report()
      return workers.findLast((worker) => worker.name === name)?.lifecycle !== 'busy'
    })
  }
  const lastOutput = async () => {
    const results = (await troupe.history(session.rootId)).filter((entry) => entry.type === 'toolResult')
    return results.at(-1)?.output.value as unknown
  }
  return { troupe, session, model, asked, next, end, lastOutput }
}

const toldText = 'Tasks that you started in the background have ended'
const count = (text: string, part: string) => text.split(part).length - 1

describe('tasks in the background', () => {
  test('tasks in the background that run for long do not hide the end of a later one', async () => {
    const errand = defineWorker({
      receive(message, self) {
        if (message.value === 'short') self.reply('is done')
        else self.after(600_000, null)
      },
    })
    const tasks = Array.from({ length: 60 }, (_, at) => task(`task ${at}`, at === 59 ? 'short' : 'long'))
    const model = recordedModel('test/m', (_request, number) => (number === 1 ? spawn(...tasks) : say('ok')))
    const agent = defineWorker({ instructions: 'x', model, spawns: ['errand'], background: true })
    await using troupe = await TestTroupe.start({ workers: { agent, errand } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await session.result({ run: 1 })
    await waitUntil('the short one has ended', async () => {
      const { workers } = await session.report()
      return workers.find(({ name }) => name === 'task 59')?.lifecycle !== 'busy'
    })
    for (const run of [2, 3]) {
      await session.root.send('next')
      await session.result({ run })
    }
    expect(count(JSON.stringify(model.requests.at(-1)?.messages), toldText)).toBe(1)
  })

  test('tasks in the background are started and listed, and the next prompt says how they ended, once for each [1.59]', async () => {
    const { troupe, session, model, next, end, lastOutput } = await scene()
    await using _ = troupe
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['spawn_workers', 'send_message', 'list_tasks'])
    await next('do list')
    expect(await lastOutput()).toMatchObject([
      { name: 'milk', kind: 'errand', status: 'running' },
      { name: 'bread', status: 'running' },
    ])
    await end('milk')
    const first = await next('do nothing')
    expect(first).toContain(toldText)
    expect(first).toContain('milk is done')
    expect(first).not.toContain('the shop is closed')
    await end('fail bread')
    const second = await next('do nothing')
    expect(second).toContain('the shop is closed')
    const third = await next('do nothing')
    expect(count(third, toldText)).toBe(2)
    // The prompt of each run begins with that of the run before.
    expect(third.startsWith(second.slice(0, -1))).toBe(true)
    await next('do list')
    expect(await lastOutput()).toMatchObject([
      { name: 'milk', status: 'completed', details: 'milk is done' },
      { name: 'bread', status: 'failed', failure: { message: 'the shop is closed' } },
    ])
    const told = (await troupe.history(session.rootId)).filter((entry) => entry.type === 'user' && entry.nudge)
    expect(told).toHaveLength(2)
    expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
  })

  test('tasks in the background are reported when they are cancelled too [1.59]', async () => {
    const { troupe, session, next, lastOutput } = await scene()
    await using _ = troupe
    const { workers } = await session.report()
    const milk = troupe.client.workers.get(workers.find(({ name }) => name === 'milk')?.id ?? '')
    await waitUntil('it runs', async () => (await milk.report()).status === 'running')
    expect(await milk.cancelRun()).toBe(true)
    await waitUntil('its run is over', async () => (await milk.report()).lifecycle !== 'busy')
    expect(await next('do nothing')).toContain(toldText)
    await next('do list')
    expect(await lastOutput()).toMatchObject([
      { name: 'milk', status: 'cancelled' },
      { name: 'bread', status: 'running' },
    ])
  })

  test('tasks in the background are reported to a node that takes the worker over, and no more than once', async () => {
    const { troupe, session, next, end } = await scene()
    await using _ = troupe
    await end('milk')
    await end('fail bread')
    await next('do nothing')
    const before = await troupe.history(session.rootId)
    await troupe.nodes[0]?.stop()
    const model = recordedModel('test/m', [say('ok')])
    const agent = defineWorker({ instructions: 'x', model, spawns: ['errand'], background: true })
    await troupe.startNode({ agent })
    await session.root.send('do nothing')
    await session.result({ run: 3 })
    expect(count(JSON.stringify(model.requests[0]?.messages), toldText)).toBe(1)
    expect((await troupe.history(session.rootId)).slice(0, before.length)).toEqual(before)
  })

  test('tasks in the background are reported even if somebody changed what their prompts hold, many times', async () => {
    const errand = defineWorker({ instructions: 'x', model: recordedModel('test/errand', [say('found it')]) })
    const model = recordedModel('test/m', (request, number) =>
      number === 1 ? spawn(task('milk', 'milk')) : say(`reply to ${request.messages.length}`),
    )
    const agent = defineWorker({ instructions: 'x', model, spawns: ['errand'], background: true })
    await using troupe = await TestTroupe.start({ workers: { agent, errand } })
    const session = await troupe.create('agent', 'do start', { keepOpen: true })
    await session.result({ run: 1 })
    const [, child] = await waitUntil('the errand has ended', async () => {
      const { workers } = await session.report()
      return workers[1]?.status === 'idle' && workers
    })
    const worker = troupe.client.workers.get(child?.id as string)
    await worker.configure({ tools: [] })
    for (let time = 1; time <= 20; time++) await worker.push(chat.user('It was nice.'))
    await session.root.send('do nothing')
    await session.result({ run: 2 })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('found it')
  })

  test('tasks in the background are reported by a note that is recorded before the model reads it (BACKGROUND-2)', async () => {
    const { troupe, session, asked, next, end } = await scene()
    await using _ = troupe
    await end('milk')
    const stored: unknown[] = []
    asked.before = async () => {
      stored.push((await troupe.history(session.rootId)).at(-1))
    }
    await next('do nothing')
    expect(stored).toMatchObject([{ type: 'user', nudge: true, ended: [expect.any(String)] }])
  })

  test('tasks in the background have their own names while they run: a second one of the same name is refused until the first has ended', async () => {
    const { troupe, session, next, end, lastOutput } = await scene()
    await using _ = troupe
    await next('do again')
    expect(await lastOutput()).toMatch(/^(Error: )?the task milk still runs in the background \(worker \S+\)/)
    await next('do twice')
    expect(await lastOutput()).toMatch(/two tasks in the background have the name tea/)
    expect((await session.report()).workers).toHaveLength(3)
    await end('milk')
    await next('do again')
    expect(await lastOutput()).toMatchObject([{ name: 'milk', status: 'started' }])
    expect((await session.report()).workers).toHaveLength(4)
  })

  test('an agent without the option has no tasks in the background: it has no such tool, and gets no report', async () => {
    const { troupe, model, next, end } = await scene(false)
    await using _ = troupe
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['spawn_workers', 'send_message'])
    await end('milk')
    expect(await next('do nothing')).not.toContain('milk is done')
  })

  test('tasks in the background need kinds to spawn', () => {
    expect(() => defineWorker({ instructions: 'x', background: true })).toThrow(
      'background is for agents that may spawn',
    )
    expect(() => defineWorker({ instructions: 'x', spawns: ['a'], background: 1 as never })).toThrow('true or false')
  })
})

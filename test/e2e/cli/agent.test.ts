/** The command line and agents: a run, its history, its usage, its tools; with the offline model, which needs no key. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Project } from '../../cli/command-line.ts'
import { newNamespace } from '../../support/namespace.ts'

const planner = `import { defineTool, defineWorker } from 'troupe'
const look = defineTool({ name: 'look', description: 'Looks around.', effect: 'pure', run: (_input, context) => {
  context.progress('half')
  context.setFact('found', 3)
  return { found: 3 }
} })
const jump = defineTool({ name: 'jump', description: 'Jumps.', effect: 'once', approval: 'never', run: () => { throw new Error('no \\u001b[31mluck') } })
export default defineWorker({ description: 'Plans.', instructions: 'You plan.\\n1. Call \`look\`.\\n2. Call \`jump\`.', tools: [look, jump] })`

let project: Project
beforeAll(async () => {
  const env = { TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: newNamespace() }
  project = await Project.create({ 'workers/planner.ts': planner }, env)
})
afterAll(() => project[Symbol.asyncDispose]())

describe.concurrent('an agent', () => {
  it('an agent runs: its steps go to stderr, and its answer to stdout', async () => {
    const { code, stdout, stderr } = await project.run(['run', 'planner', 'hello'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stdout).toContain('I called look, jump')
    expect(stdout).not.toContain('"text"')
    expect(stderr).toMatch(/planner {2}.*replied.*, calls a tool/)
    expect(stderr).toMatch(/planner {2}.*ran look/)
    expect(stderr).toMatch(/planner {2}.*jump failed/)
    // Streamed words and cursor control stay out of a pipe.
    expect(stderr).not.toContain('I called')
    expect(stderr).not.toContain('\u001b')
  })

  it('an agent runs with --json: it prints all events, even transient ones, and its facts', async () => {
    const { code, objects, stderr } = await project.run(['run', 'planner', 'hello', '--json'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const types = objects.map(({ type }) => type)
    expect(types.filter((type) => type === 'model.replied')).toHaveLength(3)
    expect(types).toEqual(expect.arrayContaining(['tool.started', 'tool.failed', 'tool.succeeded']))
    expect(objects.at(-1)).toMatchObject({
      type: 'result',
      value: { text: expect.stringContaining('offline') as string, facts: { found: 3 } },
    })
  })

  it('an agent shows its conversation, its usage and its state', async () => {
    const { objects } = await project.run(['run', 'planner', 'look at it', '--json'])
    const { sessionId, workerId } = objects[0] as { sessionId: string; workerId: string }
    const [history, raw, session, tree, worker] = await Promise.all(
      [
        ['worker', 'history', workerId],
        ['worker', 'history', workerId, '--json'],
        ['session', 'show', sessionId],
        ['session', 'tree', sessionId],
        ['worker', 'show', workerId],
      ].map((args) => project.ask(args)),
    )
    expect(history?.stdout).toMatch(/run 1 {2}user: look at it$/m)
    expect(history?.stdout).toMatch(/run 1 {2}assistant \(offline\/rules, \d+ in, \d+ out\): \[calls look \{\}\]$/m)
    expect(history?.stdout).toMatch(/run 1 {2}tool look succeeded: \{"found":3\}; facts found$/m)
    expect(history?.stdout).toMatch(/run 1 {2}tool jump started$/m)
    expect(history?.stdout).toMatch(/run 1 {2}tool jump failed: .*no \\e\[31mluck, at workers\/planner\.ts:7:\d+$/m)
    expect(raw?.objects.map(({ entry }) => (entry as { type: string }).type)).toContain('toolStarted')
    expect(session?.stdout).toMatch(/^usage +3 model calls, 2 tool calls; \d+ tokens in, \d+ out$/m)
    expect(session?.stdout).toMatch(/ITERATIONS +TOKENS IN +OUT/)
    expect(tree?.stdout).toMatch(/^planner +done +3 +\d+ +\d+ /m)
    expect(worker?.stdout).toMatch(/^iterations +3$/m)
  })

  it('troupe session show says of a branch which worker it is one of, and up to where', async () => {
    const { objects } = await project.run(['run', 'planner', 'look at it', '--json'])
    const { workerId } = objects[0] as { workerId: string }
    const { objects: made } = await project.ask(['worker', 'fork', workerId, '--json'])
    const { sessionId } = made[0] as { sessionId: string }
    const { stdout } = await project.ask(['session', 'show', sessionId])
    expect(stdout).toMatch(new RegExp(`^branch of +worker ${workerId}, up to position \\d+ of its history$`, 'm'))
  })
})

describe.concurrent('troupe tools', () => {
  it('troupe tools lists the tools of the local files, without Redis', async () => {
    const env = { TROUPE_REDIS_URL: 'redis://127.0.0.1:1' }
    const { code, stdout } = await project.run(['tools'], { env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^jump +once +planner +Jumps\.$/m)
    expect(stdout).toMatch(/^look +pure +planner +Looks around\.$/m)
    const { objects } = await project.run(['tools', '--json'], { env })
    expect(objects).toContainEqual({ name: 'jump', effect: 'once', kinds: ['planner'], description: 'Jumps.' })
  })

  it('troupe tools names the folder that does not exist', async () => {
    const { code, stderr } = await project.run(['tools', '--workers', 'node_modules/.none'])
    expect(code).toBe(2)
    expect(stderr).toContain('node_modules/.none')
  })
})

describe.concurrent('--model', () => {
  it('--model is the model of agents that name no model, also in the list of kinds', async () => {
    const { stdout } = await project.run(['kinds'], { env: { TROUPE_MODEL: 'openai/gpt-5' } })
    expect(stdout).toMatch(/^planner +\d +agent +default +openai\/gpt-5 +look, jump +Plans\.$/m)
    const { code, stderr } = await project.run(['run', 'planner', 'x', '--model', 'gpt-5'])
    expect(code).toBe(2)
    expect(stderr).toContain('"gpt-5" must be provider/model')
  })
})

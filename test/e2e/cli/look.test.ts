/** The commands that show and change sessions, workers, mailboxes, kinds and health. */
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { rootIdOf } from '../../../src/core/ids.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('look', { withNode: true })

describe.concurrent('troupe session', () => {
  let sessionId: string
  beforeAll(async () => {
    sessionId = (await cli.submit('parent')).sessionId
    await cli.waitForEnd(sessionId)
  })

  it('lists sessions', async () => {
    const { text, objects } = await cli.both('session', 'list', '--kind', 'parent')
    expect(text).toMatch(/^ID +NAME +STATE +AGE +WORKERS\n/)
    expect(text).toMatch(new RegExp(`^${sessionId} +parent +completed +\\S+ +3$`, 'm'))
    expect(objects.find((row) => row.sessionId === sessionId)).toMatchObject({
      workerId: rootIdOf(sessionId),
      kind: 'parent',
      state: 'completed',
      workers: 3,
    })
    expect((await cli.both('session', 'list', '--state', 'cancelling')).objects).toEqual([])
    const cut = await cli.project.ask(['session', 'list', '--limit', '1'])
    expect(cut.stderr).toBe('Only the newest one is shown; more with --limit.\n')
  })

  it('troupe session names the namespace without results, because the person may have meant another one', async () => {
    const elsewhere = ['--namespace', 'where-nothing-is']
    const none = (...words: string[]) => cli.project.ask([...words, ...elsewhere])
    expect(await none('session', 'list')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no sessions in namespace where-nothing-is.\n',
    })
    expect(await none('session', 'list', '--kind', 'echo')).toMatchObject({
      stderr: 'There are no such sessions in namespace where-nothing-is.\n',
    })
    expect(await none('worker', 'list')).toMatchObject({
      stderr: 'There are no workers in namespace where-nothing-is.\n',
    })
    expect(await none('mailbox', 'dead')).toMatchObject({
      stderr: 'There are no dead letters in namespace where-nothing-is.\n',
    })
  })

  it('troupe session shows a session and its workers', async () => {
    const { text, objects } = await cli.both('session', 'show', sessionId)
    expect(text).toMatch(/^state +completed$/m)
    expect(text).toMatch(/second \(fails\) +failed +handler_failed: no \\e\[31mluck, at workers\/fails\.ts:2:\d+$/m)
    const { stdout: verbose } = await cli.project.ask(['session', 'show', sessionId, '-v'])
    expect(verbose).toMatch(/second \(fails\) +failed +idleFailed +inactiveFailed +Failed +handler_failed/m)
    const ids = { sessionId, workerId: rootIdOf(sessionId) }
    expect(objects[0]).toMatchObject({ session: { ...ids, id: sessionId, state: 'completed' }, workers: [ids, {}, {}] })
  })

  it('troupe session takes the id of any of its workers for its own', async () => {
    const { objects: workers } = await cli.both('worker', 'list', '--session', sessionId)
    const childId = String(workers.find(({ name }) => name === 'first')?.workerId)
    for (const id of [childId, rootIdOf(sessionId)]) {
      expect((await cli.both('session', 'result', id)).objects).toMatchObject([{ sessionId, status: 'completed' }])
      expect((await cli.both('session', 'show', id)).objects).toMatchObject([{ session: { sessionId } }])
    }
    expect((await cli.both('audit', childId)).objects).toMatchObject([{ type: 'audit', sessions: 1 }])
    expect((await cli.both('worker', 'list', '--session', childId)).objects).toHaveLength(3)
  })

  it('troupe session shows a failure once, and the whole of it', async () => {
    const { sessionId: failed } = await cli.submit('babbles')
    await cli.waitForEnd(failed)
    const { stdout: text } = await cli.project.ask(['session', 'show', failed])
    expect(text.split('no luck '.repeat(60).trim())).toHaveLength(2)
    expect(text).toMatch(/ +as above$/m)
    const { stdout: list } = await cli.project.ask(['worker', 'list', '--session', failed])
    expect(Math.max(...list.split('\n').map((line) => line.length))).toBeLessThan(200)
    const { stdout: worker } = await cli.project.ask(['worker', 'show', failed])
    expect(worker).toContain('no luck '.repeat(60).trim())
  })

  it('troupe session shows what an active session waits for, and how a finished session ended', async () => {
    const waiting = await cli.submit('nobody', 'x', '--name', 'mine', '--keep-open', '--limit', 'depth=2')
    const { stdout: before } = await cli.project.ask(['session', 'show', waiting.sessionId])
    expect(before).toMatch(
      /^name +mine\nkind +nobody\nstate +active\nmode +conversation\nwaits for +\S.*, for \S+\ncreated +/m,
    )
    expect(before).toMatch(/^limits .*\bdepth 2, .*\bmodelCalls 500\b/m)
    expect(before).not.toMatch(/^(finished|last run|failure)/m)
    const failed = await cli.submit('fails')
    await cli.waitForEnd(failed.sessionId)
    const { stdout: after } = await cli.project.ask(['session', 'show', failed.sessionId])
    expect(after).toMatch(/^kind +fails\nstate +failed\nmode +job\ncreated +\S.*\nfinished +\S.*, after \S+\nlimits/m)
    expect(after).toMatch(
      /^workers +1\n(usage .*\n)?last run +1, failed\nfailure +handler_failed \(handler\): no \\e\[31mluck, at workers\/fails\.ts:2:\d+$/m,
    )
    expect(after).not.toMatch(/^(name|waits for)/m)
  })

  it('troupe session changes the limits of its agents', async () => {
    const { sessionId: waiting } = await cli.submit('nobody')
    const { text, objects } = await cli.both('session', 'limit', waiting, 'modelCalls=7,tokens=900')
    expect(text).toBe(
      `the agents of session ${waiting} may make 7 model calls and 10000 tool calls and use 900 tokens, all together\n`,
    )
    expect(objects).toEqual([{ type: 'limited', sessionId: waiting, modelCalls: 7, tokens: 900, toolCalls: 10_000 }])
    await cli.project.ask(['session', 'limit', waiting, 'tokens=1000'])
    expect((await cli.project.ask(['session', 'show', waiting])).stdout).toMatch(
      /^limits .*\bmodelCalls 7, tokens 1000\b.*$/m,
    )
    expect(await cli.project.ask(['session', 'limit', waiting, 'depth=2'])).toMatchObject({ code: 2 })
  })

  it('draws the tree', async () => {
    const { text, objects } = await cli.both('session', 'tree', sessionId)
    expect(text).toMatch(/^parent .*\n├─ first \(echo\) .*\n└─ second \(fails\) +failed/m)
    expect(objects[0]).toMatchObject({
      tree: [{ kind: 'parent', children: [{ name: 'first', children: [] }, { name: 'second' }] }],
    })
  })

  it('prints the result', async () => {
    const { text, objects } = await cli.both('session', 'result', sessionId)
    expect(text).toBe('both have ended\n')
    expect(objects).toEqual([{ type: 'result', sessionId, status: 'completed', run: 1, value: 'both have ended' }])
  })

  it('troupe session closes a conversation, which then accepts no more messages', async () => {
    const idle = await cli.submit('tally', 'abc', '--keep-open')
    await cli.project.ask(['session', 'result', idle.sessionId, '--wait', '--run', '1'])
    const { text, objects } = await cli.both('session', 'close', idle.sessionId)
    expect(text).toBe(`session ${idle.sessionId} is completed\n`)
    expect(objects).toEqual([{ type: 'closeRequested', sessionId: idle.sessionId, state: 'completed' }])
    const late = await cli.project.ask(['send', idle.workerId, 'x', '--json'])
    expect(late).toMatchObject({ code: 1, objects: [{ code: 'session_finished' }] })
    const { text: shown } = await cli.both('session', 'show', idle.sessionId)
    expect(shown).toMatch(/^closed +\d.* ago\)?/m)
    const busy = await cli.submit('waits', '--keep-open')
    const closed = await cli.both('session', 'close', busy.sessionId)
    expect(closed.text).toBe(`session ${busy.sessionId} ends once its waiting messages are answered\n`)
    expect(closed.objects).toMatchObject([{ state: 'active' }])
    await cli.project.ask(['session', 'cancel', busy.sessionId])
    expect(await cli.project.ask(['session', 'close', unknownId])).toMatchObject({ code: 1 })
  })

  it('troupe session cancels once, and says when it is too late', async () => {
    const { sessionId: waiting } = await cli.submit('waits')
    const { code, stdout } = await cli.project.ask(['session', 'cancel', waiting, '--reason', 'enough'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^session \S+ is cancell/)
    const result = await cli.project.ask(['session', 'result', waiting, '--wait'])
    expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('was cancelled') })
    // An empty reason comes from a shell variable that was never set.
    const { sessionId: unsaid } = await cli.submit('nobody')
    await cli.project.ask(['session', 'cancel', unsaid, '--reason', ''])
    const { stdout: text } = await cli.project.ask(['session', 'show', unsaid])
    expect(text).toMatch(/^state +cancell(ing|ed)$/m)
    const late = await cli.project.ask(['session', 'cancel', sessionId, '--json'])
    expect(late.objects[0]).toMatchObject({ accepted: false, state: 'completed' })
    expect((await cli.project.ask(['session', 'cancel', sessionId])).stdout).toBe(
      `session ${sessionId} had already ended: it is completed\n`,
    )
    expect(await cli.project.ask(['session', 'cancel', unknownId])).toMatchObject({ code: 1 })
  })

  it('prunes', async () => {
    const { sessionId: old } = await cli.submit('echo', 'old')
    await cli.waitForEnd(old)
    expect((await cli.project.ask(['session', 'prune', '--older-than', '1d'])).stdout).toBe('0 sessions pruned\n')
    const other = ['--namespace', `${cli.namespace}-prune`]
    await cli.project.ask(['submit', 'echo', 'x', ...other])
    expect((await cli.project.ask(['session', 'prune', '--older-than', '0', '--json', ...other])).objects).toEqual([
      { type: 'pruned', sessions: 0 },
    ])
    expect(await cli.project.ask(['session', 'show', unknownId])).toMatchObject({ code: 1 })
  })
})

describe.concurrent('troupe worker and mailbox', () => {
  let sessionId: string
  let workerId: string
  beforeAll(async () => {
    ;({ sessionId, workerId } = await cli.submit('parent'))
    await cli.waitForEnd(sessionId)
  })

  it('list workers', async () => {
    const { text, objects } = await cli.both('worker', 'list', '--session', sessionId)
    expect(text.trimEnd().split('\n')).toHaveLength(4)
    expect(objects.map(({ name }) => name)).toEqual(['parent', 'first', 'second'])
    expect((await cli.project.ask(['worker', 'list', '--limit', '1', '--json'])).objects).toHaveLength(1)
    const cut = await cli.project.ask(['worker', 'list', '--session', sessionId, '--limit', '2'])
    expect(cut.stderr).toBe('The first 2 are shown; more with --limit.\n')
    expect((await cli.project.ask(['worker', 'list', '--session', sessionId])).stderr).toBe('')
  })

  it('show one worker', async () => {
    const { text, objects } = await cli.both('worker', 'show', workerId)
    expect(text).toMatch(/^kind +parent$/m)
    expect(text).toMatch(/^state +done$/m)
    expect(text).not.toMatch(/inactive|^run /m)
    const verbose = await cli.project.ask(['worker', 'show', workerId, '-v'])
    expect(verbose.stdout).toMatch(/^state +done\nlifecycle +idle\nfine state +inactive\nrun +Idle$/m)
    expect(objects[0]).toMatchObject({
      sessionId,
      workerId,
      id: workerId,
      activity: 'done',
      lifecycle: 'idle',
      state: 'inactive',
    })
  })

  it('troupe worker and mailbox take the id of a session for its first worker', async () => {
    expect((await cli.both('worker', 'show', sessionId)).objects).toMatchObject([{ workerId }])
    expect((await cli.both('worker', 'history', sessionId)).objects).toHaveLength(4)
    expect((await cli.both('mailbox', 'list', sessionId)).objects).toEqual([])
    expect(await cli.project.ask(['mailbox', 'redrive', sessionId])).toMatchObject({ code: 0 })
    const late = await cli.project.ask(['send', sessionId, 'x', '--json'])
    expect(late).toMatchObject({ code: 1, objects: [{ code: 'session_finished' }] })
  })

  it('troupe worker and mailbox show what a worker may use, as the submitter assigned it', async () => {
    const permissions = ['tools=a,b', 'kinds=', 'folder=/srv/x'].flatMap((what) => ['--permissions', what])
    const assigned = await cli.submit('echo', 'x', ...permissions)
    const { text, objects } = await cli.both('worker', 'show', assigned.workerId)
    expect(text).toMatch(/^permissions +tools=a,b kinds= folder=\/srv\/x$/m)
    expect(objects[0]).toMatchObject({ permissions: { tools: ['a', 'b'], kinds: [], folder: '/srv/x' } })
  })

  it('read a history', async () => {
    const { text, objects } = await cli.both('worker', 'history', workerId)
    expect(text).toMatch(/^ +0 {2}\S+ {2}run 1 {2}received input: .*; spawned echo first, fails second$/m)
    expect(text).toMatch(/completed: both have ended$/m)
    expect(objects.map(({ position }) => position)).toEqual([0, 1, 2, 3])
    const raw = await cli.project.ask(['worker', 'history', workerId, '--after', '2', '--raw'])
    expect(raw.objects).toMatchObject([{ type: 'completed', value: 'both have ended' }])
    expect((await cli.project.ask(['worker', 'history', workerId, '--limit', '2'])).stderr).toContain('--after 1')
  })

  it('show waiting messages', async () => {
    const { workerId: nobody, sessionId: waiting } = await cli.submit('nobody', 'hello')
    const { text, objects } = await cli.both('mailbox', 'list', nobody)
    expect(text).toMatch(/^inbox +0 +input: hello$/m)
    expect(objects).toMatchObject([{ lane: 'inbox', position: 0, message: { kind: 'input', value: 'hello' } }])
    await cli.project.ask(['session', 'cancel', waiting])
    const empty = await cli.project.ask(['mailbox', 'list', workerId])
    expect(empty).toMatchObject({ code: 0, stdout: '', stderr: 'The mailbox is empty.\n' })
  })

  it('show dead letters', async () => {
    const { text, objects } = await cli.both('mailbox', 'dead')
    expect({ text, objects }).toEqual({ text: '', objects: [] })
  })

  it('troupe mailbox puts dead letters back', async () => {
    const redrive = (...args: string[]) => cli.project.ask(['mailbox', 'redrive', ...args])
    expect(await redrive('--all')).toMatchObject({ code: 0, stdout: '', stderr: 'There is nothing to put back.\n' })
    expect(await redrive()).toMatchObject({ code: 2, stderr: expect.stringContaining('or --all') })
    expect(await redrive(workerId, '--all')).toMatchObject({ code: 2 })
    expect(await redrive(workerId)).toMatchObject({ code: 0, stderr: 'There is nothing to put back.\n' })
    const nobody = workerId.replace(/.{4}000$/, 'ffff000')
    expect(await redrive(nobody)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${nobody} is not known`) })
    expect(await cli.project.ask(['mailbox', 'list', nobody])).toMatchObject({ code: 1 })
    expect(await redrive(workerId, '--id', '5-0')).toMatchObject({ code: 1, stderr: expect.stringContaining('5-0') })
  })

  it('mailbox dismiss records that dead letters were dealt with', async () => {
    const dismiss = (...args: string[]) => cli.project.ask(['mailbox', 'dismiss', ...args])
    expect(await dismiss('--all')).toMatchObject({ code: 0, stdout: '', stderr: 'There is nothing to dismiss.\n' })
    expect(await dismiss()).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/mailbox dismiss takes .* or --all/),
    })
    expect(await dismiss(workerId, '--id', '5-0')).toMatchObject({ code: 1, stderr: expect.stringContaining('5-0') })
  })
})

describe.concurrent('troupe node list and troupe pool list', () => {
  it('troupe node list and troupe pool list show the nodes, and what waits in each pool', async () => {
    const nodes = await cli.both('node', 'list')
    expect(nodes.text).toMatch(/^ID +HOST +PID +STATE +SEEN +SLOTS +POOLS +KINDS\n\S+ .* live /)
    expect(nodes.objects[0]).toMatchObject({ slots: expect.any(Number), pools: expect.arrayContaining(['default']) })
    const pools = await cli.both('pool', 'list')
    expect(pools.text).toMatch(/^POOL +WAITING +OLDEST +DUE +BUSY +NODES +SLOTS +EXPECTED\n/)
    expect(pools.objects.find(({ pool }) => pool === 'default')).toMatchObject({ nodes: 1 })
  })
})

describe.concurrent('troupe kinds', () => {
  it('troupe kinds lists the kinds of nodes together with the kinds of local files', async () => {
    await cli.project.write(
      'more/workers/shout.ts',
      `import { defineWorker } from 'troupe'
export default defineWorker({ receive() {} })`,
    )
    const { stdout } = await cli.project.run(['kinds', '--json'], { cwd: join(cli.project.folder, 'more') })
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; hosted: boolean; local: boolean })
    expect(rows.find(({ kind }) => kind === 'echo')).toMatchObject({ hosted: true, local: false })
    expect(rows.find(({ kind }) => kind === 'shout')).toMatchObject({ local: true })
    const listed = (await cli.project.ask(['kinds'])).stdout
    expect(listed).toMatch(/^echo +1 +handler +default +Replies with what it gets\.$/m)
    // What no kind has takes no column.
    expect(listed).toMatch(/^KIND +NODES +HERE +POOL +SPAWNS +DESCRIPTION\n/)
  })
})

describe.concurrent('troupe audit', () => {
  it('troupe audit counts the outcome of every message, and exits with 0 without a finding', async () => {
    const { sessionId } = await cli.submit('parent')
    await cli.waitForEnd(sessionId)
    const { text, objects } = await cli.both('audit', sessionId)
    expect(text).toMatch(/^MESSAGES +ACCEPTED +COMPLETED +FAILED +CANCELLED +DEAD +WAITING +ACTIVE +REMOVED\n/)
    expect(text).toMatch(/^inputs +3 +2 +1 +0 +0 +0 +0 +0$/m)
    expect(text).toMatch(/^results +2 +2 +0 /m)
    expect(text).toMatch(/\n0 findings in 1 session with 3 workers\n$/)
    expect(objects).toEqual([expect.objectContaining({ type: 'audit', sessions: 1, workers: 3 })])
    expect(objects[0]).toMatchObject({ counts: { all: { accepted: 5, completed: 4, failed: 1 } } })
  })

  it('troupe audit names each finding, and exits with 1', async () => {
    const namespace = `${cli.namespace}-audit`
    const other = ['--namespace', namespace]
    const [submitted] = (await cli.project.ask(['submit', 'nobody', 'x', '--json', ...other])).objects
    const redis = new Redis(inject('redisUrl'))
    await redis.zrem(partitionKeys(tagOf(namespace, 0)).run('unhosted'), String(submitted?.workerId))
    redis.disconnect()
    const [human, json] = await Promise.all([
      cli.project.ask(['audit', ...other]),
      cli.project.ask(['audit', '--json', ...other]),
    ])
    expect(human).toMatchObject({ code: 1 })
    expect(human.stdout).toMatch(
      /^I7 +worker \S+ of session \S+: it is queued and not in the run queue of pool unhosted$/m,
    )
    expect(human.stdout).toContain('1 finding in 1 session with 1 worker\n')
    expect(json).toMatchObject({ code: 1, objects: [{ type: 'audit' }, { type: 'finding', invariant: 'I7' }] })
    expect(json.objects[1]).toMatchObject({ workerId: submitted?.workerId, sessionId: submitted?.sessionId })
  })

  it('an audit of an unknown session exits with 66 and one sentence', async () => {
    const { code, stderr } = await cli.project.ask(['audit', unknownId])
    expect({ code, stderr }).toEqual({
      code: 66,
      stderr: `troupe: session ${unknownId} is not known: check the id and the namespace; it may have been pruned.\n`,
    })
  })

  it('findings of troupe audit are named by doctor', async () => {
    expect((await cli.project.ask(['doctor'])).stderr).toContain('troupe audit')
  })
})

describe.concurrent('troupe doctor', () => {
  it('lists its findings', async () => {
    const { stdout } = await cli.project.ask(['doctor'])
    expect(stdout).toMatch(/^ok +Redis never evicts keys/m)
    expect(stdout).toMatch(/^ok +1 node with 50 slots live/m)
    expect(stdout).toMatch(/\d problems?, \d warnings?\n$/)
  })

  it('troupe doctor exits with 1 for work that no node can do', async () => {
    const other = ['--namespace', `${cli.namespace}-doctor`]
    await cli.project.ask(['submit', 'nobody', 'x', ...other])
    const { code, objects } = await cli.project.ask(['doctor', '--json', ...other])
    expect(code).toBe(1)
    expect(objects[0]).toMatchObject({ type: 'health', nodes: [] })
    expect(objects).toContainEqual(
      expect.objectContaining({ level: 'problem', what: 'no node is live, and 1 worker waits' }),
    )
  })
})

/** T4, T5, Q3, Q4: a node that dies says why, in the records of its workers, and gives them to others; code that blocks it is named and ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, test } from 'vitest'
import { connect, type Troupe } from '../../src/client/client.ts'
import { newNamespace } from '../support/namespace.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const program = fileURLToPath(new URL('../programs/node/watched-node.ts', import.meta.url))
/** Where the program runs as few files (support/package/built-programs.ts): files below the folder of a process are named from there. */
const cwd = join(inject('folder'), 'programs')
const redisUrl = inject('redisUrl')
const short = { leaseMs: 2_000, leaseMarginMs: 200, renewEveryMs: 600, sweepEveryMs: 200, nodeForgottenMs: 60_000 }
const file = String.raw`test/programs/node/watched-node\.js:\d+:\d+`

interface Started {
  readonly stderr: () => string
  readonly code: Promise<number | null>
  /** Has the worker that throws late do it now. */
  readonly throw: () => void
}

/** A namespace with its nodes, which end with it. */
class Place implements AsyncDisposable {
  readonly troupe: Troupe
  readonly #namespace: string
  readonly #children: ChildProcess[] = []

  private constructor(troupe: Troupe, namespace: string) {
    this.troupe = troupe
    this.#namespace = namespace
  }

  static async open(): Promise<Place> {
    const namespace = newNamespace()
    return new Place(await connect({ redisUrl, namespace }), namespace)
  }

  async start(policy: object = {}, waitMs = 60_000, more: object = {}): Promise<Started> {
    const order = JSON.stringify({ redisUrl, namespace: this.#namespace, policy, waitMs, ...more })
    const child = spawn(process.execPath, [program, order], { cwd, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#children.push(child)
    let text = ''
    child.stderr?.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    // All that it wrote has been read by then, as it has not when it exits.
    const code = once(child, 'close').then(([status]) => status as number | null)
    await Promise.race([once(child, 'message'), code])
    return { stderr: () => text, code, throw: () => child.send('throw') }
  }

  create(kind: string) {
    return this.troupe.sessions.create({ kind, input: null })
  }

  async report(sessionId: string) {
    const { workers } = await this.troupe.sessions.get(sessionId).report()
    return workers[0] as (typeof workers)[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await this.troupe.close()
  }
}

describe.concurrent('a node that dies', () => {
  test.each([
    [
      'rejects',
      1,
      new RegExp(`an error that no code caught: TypeError: nobody awaits me, at ${file}, in receive of kind rejects`),
    ],
    ['exits', 3, new RegExp(String.raw`something called process\.exit\(3\), at ${file}, in receive of kind exits`)],
  ])(
    'a node dies by code that %s: its last words are in the record at once, and its start counts',
    async (kind, code, words) => {
      await using place = await Place.open()
      const session = await place.create(kind)
      const node = await place.start()
      expect(await node.code).toBe(code)
      const report = await place.report(session.id)
      expect(report).toMatchObject({ activity: 'queued', starts: 1, lastWords: expect.stringMatching(words) })
      expect(await place.troupe.nodes()).toEqual([])
    },
  )

  test('a node that dies again and again in the code of one worker: the run fails as poison, with the last words, and waits for no lease', async () => {
    await using place = await Place.open()
    const session = await place.create('rejects')
    // With leases of a minute the test would take minutes.
    for (let start = 1; start <= 5; start++) expect(await (await place.start({ leaseMs: 60_000 })).code).toBe(1)
    await place.start({ leaseMs: 60_000 })
    const result = await awaitResult(session)
    const message = expect.stringMatching(new RegExp(`was started 5 times .*nobody awaits me, at ${file}`)) as string
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'poison', message } })
    expect(await place.troupe.deadLetters()).toMatchObject([
      { evidence: { starts: 5, lastWords: expect.stringContaining('nobody awaits me') } },
    ])
    const types = new Set<string>()
    for await (const event of session.events({ after: '0' })) if (types.add(event.type).has('session.failed')) break
    expect(types).toContain('worker.interrupted')
  })

  test('a node that dies by what a worker threw after its run: the starts of the others do not count, and they go on at once', async () => {
    await using place = await Place.open()
    const innocents = await Promise.all(Array.from({ length: 3 }, () => place.create('waits')))
    // More deaths than a suspect may have.
    for (let death = 1; death <= 6; death++) {
      const thrower = await place.create('throwsLate')
      const node = await place.start({ leaseMs: 60_000 })
      expect(await thrower.result()).toMatchObject({ status: 'completed' })
      await waitUntil('the others run', async () => {
        const reports = await Promise.all(innocents.map(({ id }) => place.report(id)))
        return reports.every(({ activity }) => activity === 'working')
      })
      node.throw()
      expect(await node.code).toBe(1)
      expect(await place.report(thrower.id)).toMatchObject({ lastWords: expect.stringContaining('Error: too late') })
      for (const { id } of innocents)
        expect(await place.report(id)).toMatchObject({
          activity: 'queued',
          starts: 0,
          lastWords: expect.stringContaining('in receive of kind throwsLate'),
        })
    }
    await place.start({ leaseMs: 60_000 }, 1)
    for (const session of innocents) expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    expect(await place.report((innocents[0] as { id: string }).id)).toMatchObject({ lastWords: null })
  })
})

describe.concurrent('code that blocks the event loop', () => {
  test.each([
    ['loops', new RegExp(`code blocked .* at ${file}, in receive of kind loops`)],
    ['backtracks', new RegExp(`code blocked .* at ${file}, in receive of kind backtracks`)],
    ['runsNativeCode', /code blocked .* in native code of kind runsNativeCode, worker [0-9a-f-]{36}/],
  ])(
    'code that blocks the event loop and %s is named while it blocks; then the process ends, and the start counts',
    async (kind, named) => {
      await using place = await Place.open()
      const session = await place.create(kind)
      const node = await place.start(short)
      await waitUntil('the record names the code', async () =>
        named.test((await place.report(session.id)).lastWords ?? ''),
      )
      // Native code cannot be interrupted: its process is killed.
      const code = await node.code
      expect(code, `it wrote: ${node.stderr()}`).toBe(kind === 'runsNativeCode' ? null : 70)
      const lines = node
        .stderr()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { level: number; msg: string })
      // Nobody can ask native code whose it is.
      const whose = kind === 'runsNativeCode' ? {} : { session: session.id, kind, doing: 'receive' }
      expect(lines).toMatchObject([
        { level: 40, msg: expect.stringMatching(named), ...whose },
        { level: 60, msg: expect.stringMatching(named), ...whose },
      ])
      expect(await place.report(session.id)).toMatchObject({
        activity: 'queued',
        starts: 1,
        lastWords: expect.stringMatching(named),
      })
    },
  )

  test('code that blocks the event loop of a node that is not to end by it is named, without a time when the process ends', async () => {
    await using place = await Place.open()
    const node = await place.start(short, 60_000, { endIfBlocked: false })
    await place.create('loops')
    const line = await waitUntil('it is named', () => node.stderr().split('\n', 2)[1] !== undefined && node.stderr())
    expect(line).toContain('code blocked the event loop')
    expect(line).not.toContain('The process ends')
  })
})

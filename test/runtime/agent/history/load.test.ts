/** Which entries a node reads of a history that it knows from an earlier turn: the new ones, or all if the history has changed. */

import { beforeEach, expect, test, vi } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { newId } from '../../../../src/core/ids.ts'
import type { Assignment } from '../../../../src/core/ports/ports.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../../src/models/model-source.ts'
import { HistoryCache } from '../../../../src/runtime/agent/history-cache.ts'
import { KindMaker } from '../../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../../src/runtime/turn/turn.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { accepted, assignmentByHand, HeldStore, silentLog } from '../../support/held-store.ts'

/** A node with an agent and its only worker, whose history is `log`. */
class OneNode {
  readonly workerId = newId(0)
  readonly log: string[] = []
  /** The places from which on the history was read. */
  readonly reads: number[] = []
  /** The word of which the node's answers are made. */
  readonly word: string
  /** How many entries each warning says could not be read. */
  readonly unread: unknown[] = []
  readonly model = recordedModel('test/m', (_request, number) =>
    number === 1 ? call('look') : say(`${this.word} ${number}`),
  )
  readonly #kind = new KindMaker(openModels({ env: {} })).make(
    'agent',
    defineWorker({
      instructions: 'x',
      model: this.model,
      tools: [defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })],
    }),
  )

  constructor(word = 'answer') {
    this.word = word
  }

  /** Does one run in one turn; returns what the next assignment says about its end. Gives what the next assignment says of its end. */
  async run(number: number, more: Partial<Assignment>): Promise<Pick<Assignment, 'commitId' | 'version'>> {
    const store = new HeldStore()
    const host = store.host()
    const readHistory = async (_workerId: string, from: number) => {
      this.reads.push(from)
      return this.log.slice(from)
    }
    const purpose = { workerId: this.workerId, isJob: false, run: number, ...more }
    const warn = (_message: string, fields?: Record<string, unknown>) => void this.unread.push(fields?.entries)
    const workerLog = () => ({ ...silentLog, warn })
    const turn = new Turn(assignmentByHand(purpose), {
      ...host,
      workerLog,
      store: Object.assign(host.store, { readHistory }),
    })
    void this.#kind.behaviour(turn)
    let { version } = turn.assignment
    for (let place = 0; !turn.over; place++) {
      await waitUntil('a commit is on its way, or the turn is over', () => turn.over ?? store.commits.length > place)
      const commit = store.commits[place]
      this.log.push(...(commit?.request.entries ?? []))
      version++
      commit?.answer(accepted(version))
    }
    return { commitId: turn.outcome.commitId, version: turn.outcome.version }
  }

  /** The texts of the last request. */
  get preview(): string {
    return JSON.stringify(this.model.requests.at(-1)?.messages)
  }
}

const said = (text: string, run: number, at = 1) =>
  JSON.stringify({ type: 'user', v: 1, at, run, epoch: 1, id: text, content: [{ type: 'text', text }] })

const spyOnGive = () => vi.spyOn(HistoryCache.prototype, 'give')
let given: ReturnType<typeof spyOnGive>
beforeEach(() => {
  given = spyOnGive()
})
/** Checks that the cache got the whole history last, with its size: in these entries each letter takes two bytes. */
function expectWholeGiven({ log }: OneNode, ...wide: number[]): void {
  const bytes = log.reduce((sum, json, place) => sum + json.length * (wide.includes(place) ? 2 : 1), 0)
  expect(given.mock.lastCall?.[2]).toMatchObject({
    length: log.length,
    bytes,
    lastJson: log.at(-1),
  })
}

test('a node reads nothing if the last commit was its own', async () => {
  const node = new OneNode()
  const end = await node.run(1, {})
  expectWholeGiven(node)
  await node.run(2, end)
  expectWholeGiven(node)
  expect(node.reads).toEqual([])
  expect(node.model.requests).toHaveLength(3)
})

test('a node reads the entries that others added and the one before them, and the next time only later ones (LOAD-1)', async () => {
  const node = new OneNode()
  await node.run(1, {})
  for (const [run, text] of [
    [2, 'elsewhere'],
    [4, 'once more'],
  ] as const) {
    const from = node.log.length - 1
    node.log.push(said(text, run), JSON.stringify({ type: 'cancelled', v: 1, at: 1, run, epoch: 2 }))
    await node.run(run + 1, { commitId: '2:other:1', version: 20 + run })
    expect(node.reads).toEqual([from])
    node.reads.length = 0
    expect(node.preview).toContain('answer 2')
    expect(node.preview).toContain(text)
    expectWholeGiven(node)
  }
})

test('a node reads nothing more after a turn without entries, and warns once about each unreadable entry', async () => {
  const node = new OneNode()
  await node.run(1, {})
  const idle = { mail: { signals: [], results: [], inbox: [] } }
  const reads: number[] = []
  for (const [version, entries] of [
    [20, ['no json']],
    [30, ['null', '[]']],
  ] as const) {
    reads.push(node.log.length - 1)
    node.log.push(...entries)
    await node.run(2, { commitId: '2:other:1', version, ...idle })
    expectWholeGiven(node)
  }
  expect(node.reads).toEqual(reads)
  expect(node.unread).toEqual([1, 2])
})

test('a node reads everything if its kept history is no longer the beginning of the stored one (CACHE-2)', async () => {
  const node = new OneNode()
  await node.run(1, {})
  const last = node.log.length - 1
  // Leaves the history as a server has it that lost its last writes, after which another node went on.
  node.log.splice(1, last, said('told to another', 1))
  await node.run(2, { commitId: '2:other:1', version: 9 })
  expect(node.reads).toEqual([last, 0])
  expect(node.preview).not.toContain('answer 2')
  expect(node.preview).toContain('told to another')
  expectWholeGiven(node)
})

test('an entry with any letter beyond Latin-1 counts two bytes for each of its letters, as in memory', async () => {
  const node = new OneNode('answer –')
  await node.run(1, {})
  const last = node.log.findIndex((json) => json.includes('–'))
  expectWholeGiven(node, last, last + 1)
  node.log.push(said('naïve', 2), said('…', 2), JSON.stringify({ type: 'cancelled', v: 1, at: 1, run: 2, epoch: 2 }))
  await node.run(3, { commitId: '2:other:1', version: 20, mail: { signals: [], results: [], inbox: [] } })
  expect(node.log.length).toBe(last + 5)
  expectWholeGiven(node, last, last + 1, last + 3)
})

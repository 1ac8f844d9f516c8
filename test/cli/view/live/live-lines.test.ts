/** The live tree of a session, for terminals of several sizes. */
import { describe, expect, it } from 'vitest'
import { liveLines } from '../../../../src/cli/view/live/live-lines.ts'
import { LiveSession } from '../../../../src/cli/view/live/live-session.ts'
import { Roster } from '../../../../src/client/event/activity.ts'
import type { WorkerReport } from '../../../../src/client/report.ts'
import type { RawEvent } from '../../../../src/core/event/event.ts'
import { textWidth } from '../../../../src/words/text/text-width.ts'
import { at, commit, created, failure } from '../../../words/commits.ts'

const widths = [60, 80, 120, 250]

class Watched {
  readonly roster = new Roster()
  readonly session = new LiveSession()

  constructor(...commits: RawEvent[][]) {
    this.session.rootId = 'root'
    this.note(created, ...commits)
  }

  note(...commits: RawEvent[][]): this {
    for (const event of commits.flat()) {
      this.roster.note(event)
      this.session.note(event, this.roster, 1)
    }
    return this
  }

  readRecords(...workers: Partial<WorkerReport>[]): this {
    return this.readRecordsAt(2, ...workers)
  }

  readRecordsAt(readAt: number, ...workers: Partial<WorkerReport>[]): this {
    const whole = workers.map((worker) => ({ usage: {}, lastFailure: null, updatedAt: at, ...worker }) as WorkerReport)
    this.session.fill(whole, this.roster, readAt)
    return this
  }

  lines(columns = 80, { rows = 20, now = at + 12_000 } = {}): string[] {
    return liveLines(this.session, { columns, rows, now, paint: (_style, text) => text })
  }
}

const spawn = (...ids: string[]) =>
  commit(
    'root',
    'run.started',
    ...ids.map(
      (id) =>
        ['worker.spawned', { id, kind: 'reader', name: id }] as ['worker.spawned', object & Record<string, unknown>],
    ),
  )

const three = () =>
  new Watched(
    spawn('docs', 'src', 'test'),
    commit('docs', 'run.started', 'run.completed'),
    commit('src', 'run.started'),
  )

/** 300 workers below the root: 241 are done, 9 work, the others are queued. */
function threeHundred(): Watched {
  const ids = Array.from({ length: 300 }, (_, index) => `part ${index} 日本語 of a long name`)
  const watched = new Watched(spawn(...ids))
  for (const id of ids.slice(0, 241)) watched.note(commit(id, 'run.started', 'run.completed'))
  for (const id of ids.slice(241, 250)) watched.note(commit(id, 'run.started'))
  return watched
}

describe('the live tree', () => {
  it('the live tree shows name, kind, activity, what a worker waits for and since when, and the time of its run', () => {
    expect(three().lines()).toEqual([
      '4 workers: 1 working, 1 waiting, 1 queued, 1 done                           TIME',
      'surveyor          waiting for 2 children 12s                                 12s',
      '├─ docs (reader)  done                                                       0ms',
      '├─ src (reader)   working                                                    12s',
      '└─ test (reader)  queued 12s',
    ])
  })

  it.each(widths)(
    'the live tree is never wider than %d columns, nor higher than the terminal (LIVELINES-1)',
    (columns) => {
      for (const watched of [three(), threeHundred()])
        for (const rows of [1, 2, 5, 20, 60]) {
          const lines = watched.lines(columns, { rows })
          expect(lines.length).toBeLessThanOrEqual(rows)
          expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns)
        }
    },
  )

  it.each(widths)(
    'the live tree shows of 300 workers those that work, each under its parent, and counts the others, at %d columns',
    (columns) => {
      const lines = threeHundred().lines(columns)
      expect(lines).toHaveLength(20)
      expect(lines.filter((line) => /─ part.* working/.test(line))).toHaveLength(9)
      expect(lines[1]).toMatch(/^surveyor +waiting for 59 children 12s/)
      expect(lines.at(-1)).toBe('and 42 queued, 241 done')
    },
  )

  it('the live tree shows iterations and tokens of agents, also on a narrow terminal (LIVELINES-2)', () => {
    const replied = { model: 'm', iteration: 3, calls: 0, inputTokens: 12_000, outputTokens: 345 }
    const agent = new Watched(commit('root', 'run.started', ['model.replied', replied]))
    expect(agent.lines(60)).toEqual([
      '                                          ITER  TOKENS  TIME',
      'surveyor  working                            3   12.3k   12s',
    ])
    expect(agent.lines(120)[0]).toMatch(/ITERATIONS {2}TOKENS {2}TIME$/)
  })

  it('the live tree shows the tool that runs, with its progress and time; on a line of its own where it does not fit', () => {
    const tool = { toolCallId: 'c1', toolName: 'read_every_file' }
    const agent = new Watched(commit('root', 'run.started', ['tool.started', tool]))
    agent.note(commit('root', ['tool.progress', { ...tool, value: '40 of 100 files of this folder' }]))
    expect(agent.lines(120)[0]).toMatch(
      /^surveyor {2}using a tool: read_every_file: 40 of 100 files of this folder 12s/,
    )
    expect(agent.lines(60).slice(0, 2)).toEqual([
      expect.stringMatching(/^surveyor {2}using a tool: read_every_file: 40.*… 12s {2,}12s$/),
      '  read_every_file: 40 of 100 files of this folder',
    ])
    agent.note(commit('root', ['tool.succeeded', tool]))
    expect(agent.lines(80)[0]).toMatch(/^surveyor {2}working +12s$/)
  })

  it('the live tree shows what the first worker says below the tree, and the end of what the others say beside them', () => {
    const watched = new Watched(spawn('docs'))
    watched.note(
      commit(
        'docs',
        ['worker.stateChanged', { state: 'receiving' }],
        ['text.delta', { text: 'begin and the very end', iteration: 1 }],
      ),
    )
    expect(watched.lines(60)[2]).toMatch(/^└─ docs \(reader\) {2}answering: …?begin and the very end +12s$/)
    expect(watched.lines(46)[2]).toMatch(/answering: ….*very end +12s$/)
    watched.note(commit('root', ['text.delta', { text: 'one\n\u001b[2Jtwo', iteration: 1 }]))
    expect(watched.lines(60).slice(-3)).toEqual(['surveyor:', 'one', '\\e[2Jtwo'])
  })

  it('the live tree shows how an attempt failed and when the next begins, and how a worker failed', () => {
    const watched = new Watched(
      spawn('docs', 'src'),
      commit('docs', 'run.started', ['turn.retried', { attempt: 1, retryMs: 30_000, failure }]),
    )
    expect(watched.lines(120)[2]).toMatch(/waiting for attempt 2 in 18s after handler_failed: no\\e\[31m luck 12s/)
    watched.note(commit('src', 'run.started', ['worker.failed', { run: 1, failure: { ...failure, code: 'poison' } }]))
    expect(watched.lines(120)[3]).toMatch(/^└─ src \(reader\) {3}put aside: poison: no\\e\[31m luck/)
  })

  it('the live tree shows from the records what events do not say, and never an older state than the events', () => {
    const watched = three()
    watched.readRecords({
      id: 'src',
      kind: 'reader',
      name: 'src',
      parentId: 'root',
      activity: 'waiting',
      waitsFor: 'a timer',
      updatedAt: at + 9_000,
    })
    expect(watched.lines()[3]).toMatch(/waiting for a timer 3s/)
    watched.readRecords({
      id: 'docs',
      kind: 'reader',
      name: 'docs',
      parentId: 'root',
      activity: 'working',
      waitsFor: null,
    })
    expect(watched.lines()[2]).toMatch(/ done /)
    watched.readRecords({
      id: 'older',
      kind: 'reader',
      name: 'older',
      parentId: 'root',
      activity: 'paused',
      waitsFor: null,
    })
    expect(watched.lines().at(-1)).toMatch(/^└─ older \(reader\) {2}paused/)
  })

  it('the live tree shows what a worker does after a failed attempt, and forgets the failure in its next run', () => {
    const retried = ['turn.retried', { attempt: 1, retryMs: 5_000, failure }] as const
    const watched = new Watched(spawn('docs'), commit('docs', 'run.started', [...retried]))
    // The time of the next attempt has come, and nobody has begun it yet.
    expect(watched.lines(120)[2]).toMatch(/waiting for attempt 2 in 0s after handler_failed/)
    watched.note(commit('docs', ['worker.stateChanged', { state: 'receiving' }]))
    expect(watched.lines(120)[2]).toMatch(/answering after handler_failed: no\\e\[31m luck/)
    watched.note(commit('docs', ['worker.failed', { run: 1, failure }]), commit('docs', 'run.started'))
    expect(watched.lines(120)[2]).toMatch(/ working {2,}/)
  })

  it('the live tree leaves the failure of the first worker to the line that is printed below', () => {
    const watched = new Watched(commit('root', 'run.started', ['worker.failed', { run: 1, failure }]))
    expect(watched.lines(120)).toEqual([expect.stringMatching(/^surveyor {2}failed +0ms$/)])
  })

  it('the live tree shows no tool that an ended run left behind, and counts iterations anew in each run', () => {
    const tool = { toolCallId: 'c1', toolName: 'read' }
    const replied = { model: 'm', iteration: 3, calls: 1, inputTokens: 5, outputTokens: 5 }
    const agent = new Watched(commit('root', 'run.started', ['model.replied', replied], ['tool.started', tool]))
    agent.note(commit('root', 'run.completed'), commit('root', 'run.started'))
    expect(agent.lines(80)[1]).toMatch(/^surveyor {2}working +0 +10 +12s$/)
  })

  it('the live tree takes no older state from a record than the last event that came', () => {
    const watched = new Watched(spawn('docs'), commit('docs', 'run.started'))
    const known = { id: 'docs', kind: 'reader', name: 'docs', parentId: 'root' }
    watched.readRecordsAt(1, { ...known, activity: 'waiting', waitsFor: 'a timer', updatedAt: at + 9_000 })
    expect(watched.lines()[2]).toMatch(/working/)
  })

  it('the live tree says nothing of a slot that a queued worker waits for, which goes without saying', () => {
    const queued = { id: 'docs', kind: 'reader', name: 'docs', parentId: 'root', activity: 'queued' } as const
    const watched = new Watched(spawn('docs'))
    watched.readRecords({ ...queued, waitsFor: 'a free slot' })
    expect(watched.lines()[2]).toMatch(/^└─ docs \(reader\) {2}queued 12s/)
    watched.readRecords({ ...queued, waitsFor: 'a node that hosts reader' })
    expect(watched.lines()[2]).toMatch(/queued for a node that hosts reader 12s/)
  })

  it('the live tree shows failed workers before those that wait, with their parents, where there is no room for all', () => {
    const ids = Array.from({ length: 20 }, (_, index) => `part ${index}`)
    const watched = new Watched(spawn(...ids))
    watched.note(commit('part 7', 'run.started', ['worker.spawned', { id: 'deep', kind: 'reader', name: 'deep' }]))
    watched.note(commit('deep', 'run.started', ['worker.failed', { run: 1, failure }]))
    expect(watched.lines(80, { rows: 5 })).toEqual([
      expect.stringMatching(/^22 workers: /),
      expect.stringMatching(/^surveyor /),
      expect.stringMatching(/part 7 /),
      expect.stringMatching(/deep \(reader\) +failed/),
      expect.stringMatching(/^and 19 queued$|^and 1 waiting, 18 queued$/),
    ])
  })
})

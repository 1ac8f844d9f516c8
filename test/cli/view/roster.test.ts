import { describe, expect, it } from 'vitest'
import { eventLine } from '../../../src/cli/view/event-lines.ts'
import { countsText, withRunning } from '../../../src/cli/view/progress.ts'
import { Roster } from '../../../src/cli/view/roster.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'
import type { Failure } from '../../../src/core/worker/failure.ts'

const at = new Date(2026, 10, 21, 12, 0, 1).getTime()
const failure: Failure = {
  code: 'handler_failed',
  message: 'no\u001b[31m luck',
  origin: 'handler',
  at,
  attempt: 2,
  retryable: true,
}

let ids = 0
/** The events of one commit of a worker. */
function commit(workerId: string, ...notes: (EventType | [EventType, Record<string, unknown>])[]): RawEvent[] {
  const id = `${at}-${ids++}`
  return notes.map((note) => {
    const [type, details] = typeof note === 'string' ? [note, {}] : note
    return { id, type, sessionId: 's', workerId, at, details }
  })
}

const created = commit('root', ['session.created', { kind: 'surveyor', name: 'surveyor', mode: 'job' }])
const spawning = commit(
  'root',
  ['run.started', { run: 1 }],
  ['worker.spawned', { id: 'a', kind: 'reader', name: 'docs' }],
  ['worker.spawned', { id: 'b', kind: 'reader', name: 'reader 2' }],
)

function rosterAfter(...commits: RawEvent[][]): Roster {
  const roster = new Roster()
  for (const event of commits.flat()) roster.note(event)
  return roster
}

describe('Roster', () => {
  it('knows who waits for whom', () => {
    const roster = rosterAfter(created, spawning, commit('a', 'run.started'))
    expect(roster.counts()).toMatchObject({ waiting: 1, queued: 1, running: 1, done: 0 })
    expect(roster.counts('reader')).toMatchObject({ waiting: 0, queued: 1, running: 1 })
    expect(roster.member('root')).toMatchObject({ activity: 'waiting', openChildren: 2 })
    expect(roster.kinds()).toEqual(['surveyor', 'reader'])
  })

  it('lets a parent go on when its last child has ended, however it ended', () => {
    const roster = rosterAfter(
      created,
      spawning,
      commit('a', 'run.started', 'run.completed'),
      commit('root', 'message.consumed'),
    )
    expect(roster.member('root')).toMatchObject({ activity: 'waiting', openChildren: 1 })
    for (const event of commit('b', 'run.started', ['worker.failed', { failure }])) roster.note(event)
    expect(roster.member('root')).toMatchObject({ activity: 'queued', openChildren: 0 })
    for (const event of commit('root', 'message.consumed', 'run.completed')) roster.note(event)
    expect(countsText(roster.counts())).toBe('2 done, 1 failed')
  })

  it('shows as running what the node says is running', () => {
    const counts = rosterAfter(created, spawning).counts()
    expect(countsText(withRunning(counts, 0))).toBe('1 waiting, 2 queued')
    expect(countsText(withRunning(counts, 1))).toBe('1 running, 1 waiting, 1 queued')
    expect(countsText(withRunning(counts, 50))).toBe('2 running, 1 waiting')
  })

  it('counts a child once, also when it runs again', () => {
    const again = commit('a', 'run.started', 'run.completed')
    const roster = rosterAfter(created, spawning, again, again)
    expect(roster.member('root')).toMatchObject({ activity: 'waiting', openChildren: 1 })
  })

  it('does not wait for a detached child', () => {
    const roster = rosterAfter(
      created,
      commit('root', 'run.started', ['worker.spawned', { id: 'a', kind: 'x', name: 'x', detached: true }]),
    )
    expect(roster.member('root')).toMatchObject({ activity: 'running', openChildren: 0 })
  })

  it('takes a worker that is told of again for the one it is, and one that has ended for no one who works again', () => {
    const roster = rosterAfter(created, spawning, commit('a', 'run.started', 'run.completed'), spawning)
    expect(roster.member('a')?.activity).toBe('done')
    expect(roster.member('root')?.openChildren).toBe(1)
    const late = rosterAfter(created, spawning, commit('a', 'run.started', 'run.completed'), commit('a', 'turn.parked'))
    expect(late.member('a')?.activity).toBe('done')
  })

  it('passes over workers it has not seen begin', () => {
    expect(rosterAfter(commit('z', 'run.started', 'run.completed')).size).toBe(0)
  })
})

describe('eventLine', () => {
  it('tells a commit in one line', () => {
    expect(eventLine(spawning, rosterAfter(created, spawning))).toBe(
      '12:00:01  surveyor  spawned 2 reader, waiting on 2 children',
    )
  })

  it('names kind and name where they differ', () => {
    const roster = rosterAfter(created, spawning)
    const line = (...events: Parameters<typeof commit>) => {
      const next = commit(...events)
      for (const event of next) roster.note(event)
      return eventLine(next, roster)
    }
    expect(line('a', 'run.started')).toBe('12:00:01  reader docs  started')
    expect(line('b', 'run.started', 'run.completed')).toBe('12:00:01  reader 2  done')
    expect(line('a', ['turn.retried', { attempt: 1, retryMs: 250, failure }])).toBe(
      '12:00:01  reader docs  try 1 failed, again in 250ms: handler_failed: no\\e[31m luck',
    )
    expect(line('a', ['worker.failed', { failure }])).toContain('failed: handler_failed')
    expect(line('root', ['message.consumed', { kind: 'result' }])).toBeUndefined()
    expect(line('root', ['session.cancelRequested', { reason: 'enough' }])).toBe(
      '12:00:01  surveyor  cancelling the session: enough',
    )
  })
})

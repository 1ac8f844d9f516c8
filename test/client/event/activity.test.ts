import { describe, expect, it } from 'vitest'
import { countsText } from '../../../src/cli/view/progress-text.ts'
import type { EventType } from '../../../src/core/event/event.ts'
import { at, commit, created, failure, rosterAfter, spawning } from '../../words/commits.ts'

describe('Roster', () => {
  it('Roster counts a parent with open children as waiting', () => {
    const roster = rosterAfter(created, spawning, commit('a', 'run.started'))
    expect(roster.counts()).toMatchObject({ waiting: 1, queued: 1, working: 1, done: 0 })
    expect(roster.counts('reader')).toMatchObject({ waiting: 0, queued: 1, working: 1 })
    expect(roster.member('root')).toMatchObject({ activity: 'waiting', openChildren: 2 })
    expect(roster.kinds()).toEqual(['surveyor', 'reader'])
  })

  it('Roster queues a parent again when its last child has ended, whatever the outcome', () => {
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

  it('Roster counts an open child once, even if it runs again', () => {
    const again = commit('a', 'run.started', 'run.completed')
    const roster = rosterAfter(created, spawning, again, again)
    expect(roster.member('root')).toMatchObject({ activity: 'waiting', openChildren: 1 })
  })

  it('a detached child does not count as open', () => {
    const roster = rosterAfter(
      created,
      commit('root', 'run.started', ['worker.spawned', { id: 'a', kind: 'x', name: 'x', detached: true }]),
    )
    expect(roster.member('root')).toMatchObject({ activity: 'working', openChildren: 0 })
  })

  it('Roster ignores a repeated spawn, and late events of a worker that has ended', () => {
    const roster = rosterAfter(created, spawning, commit('a', 'run.started', 'run.completed'), spawning)
    expect(roster.member('a')?.activity).toBe('done')
    expect(roster.member('root')?.openChildren).toBe(1)
    const late = rosterAfter(
      created,
      spawning,
      commit('a', 'run.started', 'run.completed'),
      commit('a', 'step.recorded'),
    )
    expect(late.member('a')?.activity).toBe('done')
  })

  it('Roster says that the next run of a conversation is queued and works, before it commits anything', () => {
    const roster = rosterAfter(created, commit('root', 'run.started', 'run.completed'))
    const activityAfter = (type: EventType, details: Record<string, unknown>) => {
      for (const event of commit('root', [type, details])) roster.note(event)
      return roster.member('root')?.activity
    }
    expect(activityAfter('message.accepted', { kind: 'timer', id: 't' })).toBe('done')
    expect(activityAfter('message.accepted', { kind: 'input' })).toBe('queued')
    expect(activityAfter('worker.stateChanged', { state: 'working' })).toBe('working')
    expect(activityAfter('message.accepted', { kind: 'input' })).toBe('working')
  })

  it('Roster says what an agent does between two commits, and nothing more once its run has ended', () => {
    const roster = rosterAfter(created, commit('root', 'run.started'))
    const activityAfter = (type: EventType, details: Record<string, unknown>) => {
      for (const event of commit('root', [type, details])) roster.note(event)
      return roster.member('root')?.activity
    }
    expect(activityAfter('worker.stateChanged', { state: 'requesting' })).toBe('thinking')
    expect(activityAfter('worker.stateChanged', { state: 'receiving' })).toBe('answering')
    expect(activityAfter('worker.stateChanged', { state: 'of a newer version' })).toBe('answering')
    expect(activityAfter('tool.started', {})).toBe('using a tool')
    expect(activityAfter('tool.succeeded', {})).toBe('working')
    expect(activityAfter('worker.failed', { failure: { code: 'poison' } })).toBe('put aside')
    expect(activityAfter('worker.stateChanged', { state: 'working' })).toBe('put aside')
  })

  it('Roster says since when a handler works, before and after its first commit', () => {
    const roster = rosterAfter(created)
    const startedAfter = (...notes: Parameters<typeof commit>[1][]) => {
      for (const event of commit('root', ...notes)) roster.note(event)
      return roster.member('root')?.startedAt
    }
    expect(startedAfter()).toBe(null)
    expect(startedAfter(['worker.stateChanged', { state: 'working' }])).toBe(at)
    expect(startedAfter(['run.started', { ms: 1_500 }], 'run.completed')).toBe(at - 1_500)
    expect(startedAfter(['worker.stateChanged', { state: 'working' }])).toBe(at - 1_500)
    expect(startedAfter(['message.accepted', { kind: 'input' }])).toBe(null)
  })

  it('Roster ignores workers whose spawn it has not seen', () => {
    expect(rosterAfter(commit('z', 'run.started', 'run.completed')).size).toBe(0)
  })
})

/** What a session has spent, by scripts; short checks, which run against scripts without one guard. */
import { expect } from 'vitest'
import { defaultSpending, type Spending } from '../../../../src/core/policy.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

/** The tally of an agent that made so many calls with a token in, two out and four tool calls each. */
export const used = (calls: number) =>
  `a 1 ${[calls, calls, 2 * calls, 4 * calls].map((number) => number.toString(36)).join(' ')} 0 0 0 0`

export const spentOn = (calls: number): Spending => ({ modelCalls: calls, tokens: 3 * calls, toolCalls: 4 * calls })

/** An agent after `calls` model calls, which its first commit records. */
export async function agent(place: Place, calls = 5): Promise<{ id: string; turn: HandTurn }> {
  const { id, root } = await place.create({ mode: 'conversation' })
  const turn = await place.node({ slots: 4 }).claim()
  expect(turn.worker).toBe(root)
  await turn.record({ entries: ['{}'], stateJson: used(calls) })
  return { id, turn }
}

/** It has made a call more, which asks for two children; they are claimed by another node. */
export async function parentWithChildren(place: Place) {
  const { id, turn } = await agent(place)
  const spawns = [place.child(turn.worker, 1, 'a'), place.child(turn.worker, 2, 'b')]
  const wait = { end: { wait: 'results:2', next: null }, pendingCalls: [1, 2] }
  const parked = await turn.record({ entries: ['{}'], stateJson: used(6), inputsConsumed: 1, spawns, ...wait })
  const node = place.node({ id: 'node-b' })
  return {
    id,
    root: turn,
    parked,
    children: [await node.claim({ slot: '0' }), await node.claim({ slot: '1' })] as const,
  }
}

export const spentBefore: Check = async (place) => {
  const { parked, children } = await parentWithChildren(place)
  expect(parked.spending.spent).toEqual(spentOn(6))
  expect(children[0].assignment.spending.spent).toEqual(spentOn(6))
}

export const spentByAll: Check = async (place) => {
  const { children } = await parentWithChildren(place)
  const [first, second] = children
  expect((await first.record({ entries: ['{}'], stateJson: used(2) })).spending.spent).toEqual(spentOn(8))
  expect((await second.record({ entries: ['{}'], stateJson: used(1) })).spending.spent).toEqual(spentOn(9))
  expect((await first.record({ entries: ['{}'], stateJson: used(3) })).spending.spent).toEqual(spentOn(10))
}

/** A handler with children, the first of which is claimed; from then on its kind is that of an agent. */
export const spentByWhoBecameAnAgent: Check = async (place) => {
  await place.create()
  const node = place.node({ slots: 2 })
  const root = await node.claim()
  await root.record({ entries: ['{}'], spawns: [place.child(root.worker, 1, 'a', { detached: true })] })
  await root.record({ entries: ['{}'], stateJson: used(4) })
  const child = await node.claim({ slot: '1' })
  expect((await child.record({ entries: ['{}'], stateJson: used(3) })).spending.spent).toEqual(spentOn(7))
}

export const spentOnce: Check = async (place) => {
  const { children } = await parentWithChildren(place)
  const [first] = children
  const request = first.request({ entries: ['{}'], stateJson: used(4) })
  const answers = [await first.node.turns.commit(request), await first.node.turns.commit(request)]
  expect(answers[1]).toEqual(answers[0])
  expect(answers[1]).toMatchObject({ kind: 'ok', spending: { spent: spentOn(10) } })
}

export const limitsAreRaisedOneByOne: Check = async (place) => {
  const { id, turn } = await agent(place)
  await place.sessions.limit(id, { modelCalls: 7 }, '[]')
  await place.sessions.limit(id, { toolCalls: 9 }, '[]')
  expect(await place.sessions.limit(id, { tokens: 8 }, '[]')).toEqual({
    kind: 'ok',
    caps: { modelCalls: 7, tokens: 8, toolCalls: 9 },
  })
  const { spending } = await turn.record({ entries: ['{}'], stateJson: used(6) })
  expect(spending).toEqual({ spent: null, allowed: { modelCalls: 7, tokens: 8, toolCalls: 9 } })
}

export const aLimitThatIsSentAgainUndoesNoLaterOne: Check = async (place) => {
  const { id } = await agent(place)
  await place.sessions.limit(id, { tokens: 8 }, '[]')
  const sent = place.wire.last
  await place.sessions.limit(id, { tokens: 9 }, '[]')
  const changed = await place.changed(async () => expect((await place.wire.again(sent))[0]).toBe('ok'))
  expect(changed).toEqual({})
}

export const aFinishedSessionIsNotRaised: Check = async (place) => {
  const { id, turn } = await agent(place)
  await turn.complete()
  await place.sessions.close(id)
  expect(await place.sessions.limit(id, { tokens: 8 }, '[]')).toEqual({ kind: 'finished', state: 'completed' })
}

/** Attached children that reported, and a detached one that has ended. */
export const aSessionWhoseChildrenEndedIsNotRaised: Check = async (place) => {
  const { root, id } = await place.create()
  const node = place.node()
  const spawns = [place.child(root, 1, 'attached'), place.child(root, 2, 'free', { detached: true })]
  await (await node.claim()).park('results:1', { spawns, pendingCalls: [1] })
  for (let ended = 0; ended < 3; ended++) {
    const turn = await node.claim()
    const isRoot = turn.worker === root
    const { mail } = turn.assignment
    await turn.complete(
      isRoot ? { inputsConsumed: 0, resultsConsumed: mail.results.map(({ position }) => position) } : { result: 'r' },
    )
  }
  expect(await place.sessions.limit(id, { tokens: 8 }, '[]')).toEqual({ kind: 'finished', state: 'completed' })
}

export const aSessionThatLeftDetachedAgentsIsRaised: Check = async (place) => {
  const { id, turn } = await agent(place)
  await turn.complete({ spawns: [place.child(turn.worker, 1, 'free', { detached: true })] })
  expect(await place.sessions.close(id)).toEqual({ kind: 'ok', state: 'completed' })
  expect(await place.sessions.limit(id, { modelCalls: 900 }, '[]')).toMatchObject({ kind: 'ok' })
  const free = await place.node().claim()
  expect(free.assignment.spending.allowed).toEqual({ ...defaultSpending, modelCalls: 900 })
}

export const aCancelledSessionIsNotRaised: Check = async (place) => {
  const { id } = await parentWithChildren(place)
  await place.sessions.cancel(id, 'enough')
  expect(await place.sessions.limit(id, { tokens: 8 }, '[]')).toEqual({ kind: 'finished', state: 'cancelling' })
}

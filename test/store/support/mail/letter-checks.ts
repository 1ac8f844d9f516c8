/** Short checks of dead letters, damaged keys and keys that were used before, which run against scripts without one guard. */
import { expect } from 'vitest'
import { digestKey, newId } from '../../../../src/core/ids.ts'
import { defaultSessionLimits } from '../../../../src/core/policy.ts'
import { encodeInput } from '../../../../src/core/worker/message/message.ts'
import { gateKeys, openLettersKey } from '../../../../src/store/keys.ts'
import { completion } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

export const aKeyOfAnotherRequestIsReported: Check = async (place) => {
  const order = { kind: 'echo', name: 'echo', pool: 'default', mode: 'job', event: '[]' } as const
  const keyDigest = digestKey(place.namespace, 'session')
  const spawn = (input: string) =>
    place.sessions.create({
      ...order,
      sessionId: newId(0),
      mail: encodeInput(null, input),
      limits: defaultSessionLimits,
      keyDigest,
    })
  const [first, again, other] = [await spawn('1'), await spawn('1'), await spawn('2')]
  expect([first.kind, again.kind, other.kind]).toEqual(['ok', 'again', 'other'])
  expect([again.sessionId, other.sessionId]).toEqual([first.sessionId, first.sessionId])
  const [key] = await place.redis.keys(`${place.keys.idem('')}*`)
  await place.redis.set(key as string, 'two words')
  await expect(spawn('1')).rejects.toMatchObject({ details: { damaged: expect.any(String) } })
}

export const aKeyOfAnotherMessageIsReported: Check = async (place) => {
  const { root } = await place.create()
  const answers = [
    await place.post(root, 'more', 'key'),
    await place.post(root, 'more', 'key'),
    await place.post(root, 'less', 'key'),
  ]
  expect(answers.map(({ kind }) => kind)).toEqual(['ok', 'again', 'other'])
}

export const aGarbledAnswerIsNoAnswer: Check = async (place) => {
  const { root } = await place.create()
  await place.post(root, 'more')
  const [key] = await place.redis.keys(`${place.keys.idem('')}*`)
  await place.redis.set(key as string, 'x')
  await expect(place.post(root, 'more')).rejects.toMatchObject({ details: { damaged: expect.any(String) } })
}

/** A conversation whose first message was put aside. */
async function withLetter(place: Place) {
  const { id, root } = await place.create({ mode: 'conversation' })
  await (await place.node().claim()).complete({ outcome: 'failed', runState: 'Failed', dead: '{}' })
  const [letter] = await place.letters.newestLetters(1)
  return {
    id,
    root,
    redrive: (worker = root) => place.sessions.redrive(worker, letter?.id ?? '', '[]'),
    dismiss: (worker = root) => place.sessions.dismiss(worker, letter?.id ?? ''),
  }
}

export const aLetterIsPutBackOnce: Check = async (place) => {
  const { root, redrive } = await withLetter(place)
  await redrive()
  await redrive()
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(1)
}

export const aLetterGoesToItsOwnWorker: Check = async (place) => {
  const { redrive } = await withLetter(place)
  const other = await place.create({ label: 'two' })
  expect(await redrive(other.root)).toEqual({ kind: 'no_letter' })
}

export const aDismissedLetterHasNoMarkBesideItsPlace: Check = async (place) => {
  const { redrive, dismiss } = await withLetter(place)
  await dismiss()
  await redrive()
  expect(await place.redis.zcard(place.keys.redriven)).toBe(1)
}

export const aLetterThatWentBackIsNotDismissed: Check = async (place) => {
  const { redrive, dismiss } = await withLetter(place)
  await redrive()
  expect(await dismiss()).toEqual({ kind: 'redriven', position: 1 })
}

export const aLetterIsDismissedOnce: Check = async (place) => {
  const { dismiss } = await withLetter(place)
  await dismiss()
  expect(await dismiss()).toEqual({ kind: 'again' })
}

export const aLetterIsDismissedByItsOwnWorker: Check = async (place) => {
  const { dismiss } = await withLetter(place)
  const other = await place.create({ label: 'two' })
  expect(await dismiss(other.root)).toEqual({ kind: 'no_letter' })
  // A letter that is not there is not the same as a letter that names nobody.
  expect(await place.sessions.dismiss('', '1-1')).toEqual({ kind: 'no_letter' })
}

export const aDeadLetterIsListedAsOpen: Check = async (place) => {
  const { dismiss } = await withLetter(place)
  const [letter] = await place.letters.newestLetters(1)
  expect(await place.letters.openLetterIds()).toEqual([letter?.id])
  await dismiss()
  expect(await place.letters.openLetterIds()).toEqual([])
}

export const aTrimmedLetterIsNotListedAsOpen: Check = async (place) => {
  await place.redis.zadd(openLettersKey(place.keys.tag), 5, '5-0')
  await withLetter(place)
  expect(await place.letters.openLetterIds()).toEqual([expect.not.stringMatching(/^5-0$/)])
}

export const aLetterIsDealtWithAsAWhole: Check = async (place) => {
  const { redrive } = await withLetter(place)
  await place.redis.del(openLettersKey(place.keys.tag))
  await place.redis.set(openLettersKey(place.keys.tag), 'x')
  expect(await place.changed(() => redrive().catch(() => {}))).toEqual({})
}

export const aFinishedSessionTakesNoLetter: Check = async (place) => {
  const { id, redrive } = await withLetter(place)
  await place.sessions.close(id)
  expect(await redrive()).toMatchObject({ kind: 'session_finished' })
}

export const aDamagedWorkerComesBack: Check = async (place) => {
  const { root } = await place.create()
  const { record } = place.workerKeys(root)
  await place.redis.rename(record, `${record}:aside`)
  await place.redis.set(record, 'x')
  expect(await place.node().ask()).toEqual({ kind: 'empty' })
  await place.redis.rename(`${record}:aside`, record)
  await place.node().sweep({ free: 0 })
  expect((await place.node().claim()).worker).toBe(root)
}

/** A child was started without a commit; then something is written over. */
const notStartedAgain =
  (spoil: (place: Place, worker: string, root: string, session: string) => Promise<unknown>): Check =>
  async (place) => {
    const { id, root } = await place.create()
    const node = place.node({ slots: 2 })
    await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
    const { worker } = await node.claim()
    await place.expireLease(worker)
    await node.sweep({ free: 0 })
    await spoil(place, worker, root, id)
    expect(await node.ask()).toEqual({ kind: 'empty' })
  }

export const aDamagedWorkerIsNotStartedAgain = notStartedAgain((place, worker) =>
  place.redis.set(place.workerKeys(worker).log, 'x'),
)
export const noneOfAnUnlistedSessionIsStartedAgain = notStartedAgain(async (place, _, __, session) => {
  await place.redis.del(place.sessionKeys(session).workers)
  await place.redis.set(place.sessionKeys(session).workers, 'x')
})
export const noneWhoseAsksCannotBeWrittenIsStartedAgain = notStartedAgain((place) =>
  place.redis.set(place.keys.asks, 'x'),
)
export const noneWhoseLetterCannotBeListedIsStartedAgain = notStartedAgain((place) =>
  place.redis.set(openLettersKey(place.keys.tag), 'x'),
)
export const noneIsStartedAgainWhoseEndCannotBeWritten: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  await node.claim()
  await place.expireLease(root)
  await node.sweep({ free: 0 })
  await place.redis.del(place.keys.ends)
  await place.redis.set(place.keys.ends, 'x')
  expect(await node.ask()).toEqual({ kind: 'empty' })
}

export const noneOfASessionWithoutSetsIsStartedAgain = notStartedAgain((place, _, __, session) =>
  place.redis.set(place.sessionKeys(session).cancelled, 'x'),
)
export const noneWhosePermissionsCannotBeKeptIsStartedAgain = notStartedAgain((place, _, __, session) =>
  place.redis.set(place.sessionKeys(session).permissions, 'x'),
)
export const noneOfAnUncountedSessionIsStartedAgain = notStartedAgain((place, _, root) =>
  place.redis.hset(place.workerKeys(root).record, 'workers', 'some'),
)
export const noneOfASessionOfUnknownCancelsIsStartedAgain = notStartedAgain((place, _, root) =>
  place.redis.hset(place.workerKeys(root).record, 'cancelCount', 'some'),
)
export const noneOfASessionOfUnknownSpendingIsStartedAgain = notStartedAgain((place, _, root) =>
  place.redis.hset(place.workerKeys(root).record, 'spent', 'much'),
)
export const noneOfUnknownCostIsStartedAgain = notStartedAgain((place, worker) =>
  place.redis.hset(place.workerKeys(worker).record, 'cost', 'much'),
)
export const noneOfASessionOfUnknownCostIsStartedAgain = notStartedAgain((place, _, root) =>
  place.redis.hset(place.workerKeys(root).record, 'sessionCost', 'much'),
)
export const noneWhoseGateCannotBeWrittenIsStartedAgain = notStartedAgain(async (place, worker) => {
  await place.redis.hset(place.workerKeys(worker).record, 'gates', 'in all -')
  await place.redis.set(gateKeys(place.keys.tag, 'echo:runs:all').in, 'x')
})
export const noChildOfADamagedParentIsStartedAgain = notStartedAgain((place, _, root) =>
  place.redis.set(place.workerKeys(root).results, 'x'),
)

export const aWorkerThatSpawnsNothingIsStartedAgain: Check = async (place) => {
  await place.create()
  const node = place.node({ childless: ['echo'] })
  const { worker } = await node.claim()
  await place.expireLease(worker)
  await node.sweep({ free: 0 })
  await place.redis.set(place.keys.cancelling, 'x')
  expect((await node.claim()).worker).toBe(worker)
}

export const aWorkerWithChildrenIsNotStartedAgain: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 2, childless: ['echo'] })
  await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  await (await node.claim({ slot: '1' })).complete({ result: 'r' })
  const { worker } = await node.claim()
  await place.expireLease(worker)
  await node.sweep({ free: 0 })
  await place.redis.set(place.keys.cancelling, 'x')
  expect(await node.ask()).toEqual({ kind: 'empty' })
}

export const aDamagedRecipientRefusesItsMail: Check = async (place) => {
  const { root } = await place.create({ label: 'other' })
  const turn = await place.node().claim()
  await place.redis.del(place.workerKeys(root).inbox)
  await place.create()
  const sender = await place.node().claim()
  await place.redis.set(place.workerKeys(root).inbox, 'x')
  const sends = [{ workerId: turn.worker, mail: encodeInput(sender.worker, '1') }]
  await expect(sender.commit({ sends })).resolves.toMatchObject({ kind: 'refused' })
}

export const aCommitThatFailsWritesNothing: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await place.redis.del(place.workerKeys(root).inbox)
  await place.redis.set(place.workerKeys(root).inbox, 'x')
  const commit = () => turn.commit({ entries: ['{}'], inputsConsumed: 1, event: '[["run.started"]]' })
  expect(await place.changed(() => commit().catch(() => {}))).toEqual({})
}

/** Renews a child whose root is damaged, and a worker of another session. */
export const aDamagedRootEndsOneTurn: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 3 })
  await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: '1' })
  await place.create({ label: 'other' })
  const turns = [child, await node.claim({ slot: '2' })]
  await place.redis.set(place.workerKeys(root).record, 'x')
  const wishes = turns.map(({ worker, assignment }) => ({
    workerId: worker,
    token: assignment.token,
    wakeup: '',
    becomesBusy: false,
  }))
  expect(await node.turns.renew(wishes).catch(() => null)).toMatchObject({ verdicts: ['fenced', 'kept'] })
}

/** A child ends while what its parent waits for is nothing to count with. */
const aParentNobodyCountsWith =
  (field: 'results' | 'wait', text: string): Check =>
  async (place) => {
    const { root } = await place.create()
    const node = place.node({ slots: 2 })
    await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
    const child = await node.claim({ slot: '1' })
    await place.redis.hset(place.workerKeys(root).record, field, text)
    await child.complete({ result: 'r' }).catch(() => {})
    expect(await place.record(child.worker)).toMatchObject({ status: 'idle', version: '1' })
    expect(await place.redis.llen(place.workerKeys(child.worker).log)).toBe(2)
    // It is woken, so that somebody looks at it.
    expect(await place.redis.hget(place.workerKeys(root).record, 'status')).toBe('queued')
  }

export const aCountOfResultsTearsNoCommit = aParentNobodyCountsWith('results', 'some')
export const aWaitTearsNoCommit = aParentNobodyCountsWith('wait', 'results:some')

/** Redis itself refuses to count it up. */
export const aCountThatIsTooLargeTearsNoCancel: Check = async (place) => {
  const { id, root } = await place.create()
  await place.redis.hset(place.workerKeys(root).record, 'cancelCount', '99999999999999999999')
  expect(await place.changed(() => place.sessions.cancel(id, 'enough').catch(() => {}))).toEqual({})
}

export const aCountThatIsNoneTearsNoPruning: Check = async (place) => {
  await place.create()
  await (await place.node().claim()).complete()
  await place.redis.hset(place.keys.retired, 'workers', '007')
  expect(await place.changed(() => place.sessions.prune(0).catch(() => {}))).toEqual({})
}

export const aRecordedCommitIsAnswered: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim()
  const request = child.request({ ...completion, inputsConsumed: 1 })
  await node.turns.commit(request)
  await place.redis.set(place.workerKeys(root).record, 'x')
  expect(await node.turns.commit(request).catch(() => null)).toMatchObject({ kind: 'ok', version: 1 })
}

export const aLostAssignmentHoldsUpNoSlot: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const lost = node.next()
  await node.turns.claim(lost)
  await place.redis.set(place.workerKeys(root).record, 'x')
  expect(await node.turns.claim(lost).catch(() => null)).toEqual({ kind: 'empty' })
}

/** What holds for each session at rest, whatever people did to it: its histories, its reports and what was told of it agree. */
import assert from 'node:assert/strict'
import { Queue } from 'bullmq'
import type { WorkerReport } from '../../../../src/client/report.ts'
import type { Session } from '../../../../src/client/session/session.ts'
import { toolCallsOf, type Usage } from '../../../../src/core/history/chat/chat-message.ts'
import type { Entry } from '../../../../src/core/history/entry.ts'
import { partitionOf } from '../../../../src/core/ids.ts'
import type { SessionNotice } from '../../../../src/notify/session-notice.ts'
import { blobKey, tagOf } from '../../../../src/store/keys.ts'
import type { Payment } from '../../../programs/node/chance-tools.ts'
import { waitUntil } from '../../time/wait-until.ts'
import { openCallFaults, resultFaults } from '../call-results.ts'
import type { Harness } from '../harness.ts'
import type { LedgerLine } from '../ledger.ts'
import { unlessPruned } from '../unless-pruned.ts'
import { type Awaited, type People, results } from './people.ts'

const ends: ReadonlySet<Entry['type']> = new Set(['completed', 'failed', 'cancelled'])

export async function sessionFaults(harness: Harness, id: string): Promise<string[]> {
  const session = harness.client.sessions.get(id)
  const { session: summary, workers } = await session.report()
  const found = await Promise.all(workers.map((worker) => workerFaults(harness, worker)))
  found.push(await endFaults(harness, session, summary.state))
  const paid = paidBy(harness, ({ note }) => (note as Payment).sessionId === id)
  if (paid.length > 0 && summary.forkedFrom?.dryRun) found.push([`is a dry run, and paid ${paid.length} times`])
  const { tools } = workers.find(({ id: worker }) => worker === summary.rootId)?.permissions ?? {}
  if (paid.length > 0 && tools && !tools.includes('pay')) found.push([`may not pay, and paid ${paid.length} times`])
  return found.flat().map((fault) => `session ${id}: ${fault}`)
}

async function workerFaults(harness: Harness, report: WorkerReport): Promise<string[]> {
  const faults: string[] = []
  const say = (what: string) => faults.push(`worker ${report.id} (${report.kind}) ${what}`)
  const entries = await harness.history(report.id)
  if (entries.length !== report.historyLength) say(`has ${entries.length} entries, not ${report.historyLength}`)
  if (entries.some(({ type }) => (type as string) === 'unreadable')) say('has an entry that cannot be read')
  for (const [run, of] of Map.groupBy(entries, (entry) => entry.run)) {
    const ended = of.filter(({ type }) => ends.has(type)).length
    const retried = of.filter(({ type }) => type === 'retried').length
    if (run !== undefined && ended > retried + 1) say(`run ${run} has ${ended} ends and was retried ${retried} times`)
  }
  // If a run was cancelled, its usage includes replies that were not recorded any more.
  const given = entries.filter(({ run }) => run === 0).length
  const used = entries.slice(given).reduce((sum, entry) => sum + (usageOf(entry)?.inputTokens ?? 0), 0)
  const told = report.usage.inputTokens ?? 0
  const wasCancelled = entries.some(({ type }) => type === 'cancelled')
  if (wasCancelled ? told < used : told !== used) say(`used ${told} tokens by its report, ${used} by its history`)
  const last = entries.findLast(({ type }) => ends.has(type))
  if (report.run === 'Failed' && last?.type !== 'failed') say(`has failed, and its last end is ${last?.type}`)
  const { state } = await harness.client.workers.get(report.id).state()
  if (state !== report.run) say(`is ${state} by its state, ${report.run} by its report`)
  for (const fault of [...resultFaults(entries), ...openCallFaults(entries)]) say(fault)
  for (const blob of await lostBlobs(harness, report.sessionId, entries))
    say(`names the blob ${blob}, which is not there`)
  for (const payment of paidBy(harness, ({ worker }) => worker === report.id))
    for (const fault of paymentFaults(entries, payment)) say(fault)
  return faults
}

function paidBy(harness: Harness, isOf: (line: LedgerLine) => boolean): Payment[] {
  return harness.ledger.lines('paid').flatMap((line) => (isOf(line) ? [line.note as Payment] : []))
}

/** A call that took effect was recorded before, and nobody is told that it was not run. */
function paymentFaults(all: readonly Entry[], { key, toolCallId: id }: Payment): string[] {
  const [call = ''] = id.split('/')
  const entries = all.filter(({ run }) => String(run) === key.split('/')[1])
  const isCalled = entries.some(
    (entry) => entry.type === 'assistant' && toolCallsOf(entry).some(({ toolCallId }) => toolCallId === call),
  )
  const end = entries.findLast((entry) =>
    entry.type === 'subCall'
      ? `${entry.toolCallId}/${entry.id}` === id
      : entry.type === 'toolResult' && entry.toolCallId === call,
  )
  const status = end?.type === 'toolResult' || end?.type === 'subCall' ? end.status : 'missing'
  const faults = isCalled ? [] : [`paid for ${id}, which its history does not have`]
  return ['cancelled', 'missing'].includes(status) ? [...faults, `paid for ${id}, whose result is ${status}`] : faults
}

async function lostBlobs(harness: Harness, sessionId: string, entries: readonly Entry[]): Promise<string[]> {
  const named = JSON.stringify(entries).matchAll(/"(?:blob:|blob":\{"id":")([0-9a-f]{32})"/g)
  const tag = tagOf(harness.namespace, partitionOf(sessionId))
  const lost: string[] = []
  for (const id of new Set([...named].map(([, blob]) => blob as string)))
    if ((await harness.redis.exists(blobKey(tag, sessionId, id))) === 0) lost.push(id)
  return lost
}

function usageOf(entry: Entry): Usage | undefined {
  return 'usage' in entry ? entry.usage : undefined
}

/** The result of a session that has ended is the last end of its root. */
async function endFaults(harness: Harness, session: Session, state: string): Promise<string[]> {
  if (state !== 'completed' && state !== 'failed') return []
  const result = await session.endedResult()
  const last = (await harness.history(session.rootId)).findLast(({ type }) => ends.has(type))
  // A conversation that somebody closed has completed, however its last run ended.
  const fits = result?.status === last?.type && (state === 'completed' || last?.type === 'failed')
  return fits ? [] : [`is ${state}, its result ${result?.status}, its last end ${last?.type}`]
}

/** Each first run has ended. Whoever waits for its result has it, and it stays the same; each callback is called once. */
export async function judgeAwaited({ awaited }: People): Promise<void> {
  for (const one of awaited) {
    const { session } = one
    const now = await unlessPruned(session.endedResult({ run: 1 }))
    if (now === null) continue
    assert.ok(now, `session ${session.id} rests, and its first run has no result`)
    await waitUntil(`the result of session ${session.id} comes`, () => one.result !== undefined)
    if (one.result === null) continue
    await waitUntil(`the callback of session ${session.id} is called`, () => one.ends > 0)
    judgeResult(one, now)
  }
}

function judgeResult({ session, result, ends: calls }: Awaited, now: unknown): void {
  assert.equal(calls, 1, `a callback of session ${session.id} was called ${calls} times`)
  if (result?.status !== 'failed') assert.deepEqual(result, now, `the result of session ${session.id} has changed`)
}

/** A session that somebody closed has ended once its worker has answered what waited. */
export async function judgeClosed(harness: Harness, { closed }: People): Promise<void> {
  const open: string[] = []
  for (const id of closed) {
    const summary = await unlessPruned(harness.client.sessions.get(id).summary())
    if (summary?.finishedAt === null) open.push(`${id} is ${summary.state}`)
  }
  assert.deepEqual(open, [], 'of sessions that somebody closed')
}

/** The end of a session is told, and each end once. */
export async function judgeTold(harness: Harness, { toBeTold }: People): Promise<void> {
  const queue = new Queue<SessionNotice>(results.queue, { connection: harness.redis, prefix: results.prefix })
  try {
    const told = async () => (await queue.getJobs(['waiting'], 0, -1)).map(({ data }) => data)
    for (const id of toBeTold) {
      const summary = await unlessPruned(harness.client.sessions.get(id).summary())
      if (!summary || !['completed', 'failed', 'cancelled'].includes(summary.state)) continue
      const type = `session.${summary.state}`
      const isTold = async () => (await told()).some(({ type: is, data }) => is === type && data.sessionId === id)
      await waitUntil(`the end of session ${id} is told`, isTold, 30_000)
    }
    for (const [what, same] of Map.groupBy(await told(), (notice) => JSON.stringify(notice)))
      assert.equal(same.length, 1, `${what} was told ${same.length} times`)
  } finally {
    await queue.close()
  }
}

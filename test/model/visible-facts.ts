/** The facts that can be seen of a session: of the model's store, and of the keys in Redis, in the same words. */

import { decodeAnswer } from '../../src/core/worker/ask/ask.ts'
import { decodeMessage } from '../../src/core/worker/message/message.ts'
import { askKey, gateKeys, gatesKey } from '../../src/store/keys.ts'
import { parseWakeups } from '../../src/store/wakeups.ts'
import { firstAsk, rootId, type Store, secondAsk } from './records.ts'
import { childId, secondChildId } from './senders.ts'
import { gateName, type Stage } from './stage.ts'

export function modelFacts(store: Store): unknown {
  const workers = Object.entries(store.workers).map(([id, worker]) => [
    id,
    {
      status: worker.status,
      wait: worker.wait,
      gates: worker.gates,
      run: worker.run,
      open: worker.open,
      pendingCalls: worker.pendingCalls.join(','),
      epoch: worker.epoch,
      holder: worker.nonce,
      committed: worker.commit === null ? '' : `${worker.commit.nonce}:${worker.commit.sequence}`,
      version: worker.version,
      isolated: worker.isolated,
      failed: worker.failed,
      taken: [worker.inputsTaken, worker.resultsTaken, worker.signalsTaken],
      signalsOpen: worker.signalsOpen,
      asks: worker.asks.toSorted(),
      signals: worker.signals,
      inbox: worker.inbox,
      results: worker.results,
      log: worker.log,
      wakeups: worker.wakeups,
    },
  ])
  const { state, cancelled, unfinished } = store.session
  return {
    workers: Object.fromEntries(workers) as unknown,
    session: state,
    cancelled: cancelled.toSorted(),
    unfinished,
    run: store.run,
    leases: dated(store.leases),
    wakeups: dated(store.wakeups),
    busy: dated(store.busy),
    slots: store.slots,
    assignments: Object.fromEntries(
      Object.entries(store.assignments).map(([node, { nonce, worker, purpose }]) => [
        node,
        `${nonce} ${worker} ${purpose}`,
      ]),
    ),
    dead: store.dead,
    asks: Object.fromEntries(Object.entries(store.asks).map(([id, { state, value }]) => [id, `${state} ${value}`])),
    open: store.open.toSorted(),
    timers: store.timers,
    gate: { ...store.gate, in: store.gate.in.toSorted() },
  }
}

const dated = (list: readonly { readonly id: string; readonly over: boolean }[]) =>
  list.map(({ id, over }) => `${id}${over ? ' over' : ''}`).sort()

export async function storedFacts(stage: Stage, nodes: readonly string[]): Promise<unknown> {
  const { redis, keys } = stage.place
  const now = await stage.place.now()
  const session = await stage.place.session(stage.sessionId)
  const name = (id: string) => stage.name(id)
  const gate = gateKeys(keys.tag, gateName)
  const cancelCount = await redis.smembers(stage.place.sessionKeys(stage.sessionId).cancelled)
  const datedOf = async (key: string, nameOf: (id: string) => string) => {
    const flat = await redis.zrange(key, 0, '-1', 'WITHSCORES')
    const lines = flat.flatMap((id, at) =>
      at % 2 === 0 ? [`${nameOf(id)}${Number(flat[at + 1]) <= now ? ' over' : ''}`] : [],
    )
    return lines.sort()
  }
  const assignments: [string, string][] = []
  for (const node of nodes) {
    const [nonce, id, mark = 'run'] = ((await redis.hget(keys.claims(node), '0')) ?? '').split(' ')
    if (id !== undefined) assignments.push([node, `${nonce} ${name(id)} ${mark}`])
  }
  const dead = await redis.xrange(keys.dead, '-', '+')
  return {
    workers: await workersOf(stage),
    session: session.state,
    cancelled: cancelCount.map((mark) => `${name(mark.slice(0, 36))}${mark.slice(36)}`).sort(),
    unfinished: (await redis.sismember(keys.cancelling, stage.sessionId)) === 1,
    run: (await redis.zrange(keys.run('default'), 0, '-1')).map(name),
    leases: await datedOf(keys.leases, name),
    wakeups: await datedOf(keys.wakeups('default'), (wakeup) => stage.wakeupName(wakeup)),
    busy: await datedOf(keys.busy('default'), (wakeup) => stage.wakeupName(wakeup)),
    slots: Number(await redis.get(keys.slots('default'))),
    assignments: Object.fromEntries(assignments),
    dead: dead.map(([, flat]) => inputOf(flat[flat.indexOf('mail') + 1] as string)),
    ...(await asksOf(stage)),
    gate: {
      in: (await redis.zrange(gate.in, 0, '-1')).map(name).sort(),
      waiting: (await redis.zrange(gate.waiting, 0, '-1')).map(name),
      isListed: (await redis.zscore(gatesKey(keys.tag), gateName)) !== null,
    },
  }
}

async function asksOf(stage: Stage): Promise<object> {
  const { redis, keys } = stage.place
  const asks: Record<string, string> = {}
  for (const name of [firstAsk, secondAsk]) {
    const [worker, state, answer] = await redis.hmget(askKey(keys.tag, stage.askId(name)), 'worker', 'state', 'answer')
    if (worker !== null) asks[name] = `${state ?? ''} ${answer == null ? '' : String(decodeAnswer(answer).value)}`
  }
  const timers = await redis.zrange(keys.timers, 0, '-1')
  return {
    asks,
    open: (await redis.zrange(keys.asks, 0, '-1')).map((id) => stage.askName(id)).sort(),
    timers: timers.map((timer) => stage.askName(timer.split(':').at(-1) as string)),
  }
}

const inputOf = (text: string) => String(decodeMessage(text, '').value)

async function workersOf(stage: Stage): Promise<unknown> {
  const { redis } = stage.place
  const workers: [string, unknown][] = []
  for (const id of [rootId, childId, secondChildId]) {
    const real = stage.id(id)
    const own = stage.place.workerKeys(real)
    if ((await redis.exists(own.record)) === 0) continue
    const view = await stage.place.record(real)
    const [inbox, results, log, signals] = await Promise.all(
      [own.inbox, own.results, own.log, own.signals].map((key) => redis.lrange(key, 0, -1)),
    )
    const facts = {
      status: view.status,
      wait: view.wait?.startsWith('result:') ? `result:${childId}` : view.wait,
      gates: (view.gates ?? '').split(' ')[0],
      run: Number(view.run),
      open: view.open === '1',
      pendingCalls: view.pendingCalls,
      epoch: Number(view.epoch),
      holder: view.holder,
      committed: view.committed,
      version: Number(view.version),
      isolated: Number(view.isolated),
      failed: view.failed === '1',
      taken: [Number(view.inbox), Number(view.results), Number(view.signals)],
      signalsOpen: Number(view.signalsOpen),
      asks: (await redis.smembers(own.asks)).map((ask) => stage.askName(ask)).sort(),
      signals: (signals ?? []).map((text) => stage.signalName(decodeMessage(text, ''))),
      inbox: (inbox ?? []).map(inputOf),
      results: (results ?? []).map((text) => (text === '' ? '' : `result:${childId}`)),
      log: (log ?? []).map((entry) => (entry.startsWith('{"type":"cancelled"') ? 'cancelled' : entry)),
      wakeups: parseWakeups(view.wakeups).map(({ id: wakeup }) => stage.wakeupName(wakeup)),
    }
    workers.push([id, facts])
  }
  return Object.fromEntries(workers)
}

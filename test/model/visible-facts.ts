/** What can be seen of a session: of the model's store, and of the keys in Redis, in the same words. */

import { decodeMessage } from '../../src/core/worker/message.ts'
import { parseBells } from '../../src/store/bells.ts'
import { rootId, type Store } from './records.ts'
import { childId } from './senders.ts'
import type { Stage } from './stage.ts'

export function modelFacts(store: Store): unknown {
  const workers = Object.entries(store.workers).map(([id, worker]) => [
    id,
    {
      place: worker.place,
      wait: worker.wait,
      run: worker.run,
      open: worker.open,
      awaits: worker.awaits.join(','),
      epoch: worker.epoch,
      holder: worker.nonce,
      committed: worker.commit === null ? '' : `${worker.commit.nonce}:${worker.commit.sequence}`,
      version: worker.version,
      alone: worker.alone,
      failed: worker.failed,
      taken: [worker.userTaken, worker.familyTaken],
      user: worker.user,
      family: worker.family,
      log: worker.log,
      bells: worker.bells,
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
    bells: dated(store.bells),
    busy: dated(store.busy),
    slots: store.slots,
    grants: Object.fromEntries(
      Object.entries(store.grants).map(([node, { nonce, worker, mark }]) => [node, `${nonce} ${worker} ${mark}`]),
    ),
    dead: store.dead,
  }
}

const dated = (list: readonly { readonly id: string; readonly over: boolean }[]) =>
  list.map(({ id, over }) => `${id}${over ? ' over' : ''}`).sort()

export async function storedFacts(stage: Stage, nodes: readonly string[]): Promise<unknown> {
  const { redis, keys } = stage.place
  const now = await stage.place.now()
  const session = await stage.place.session(stage.sessionId)
  const name = (id: string) => (id === stage.id(rootId) ? rootId : childId)
  const marks = await redis.smembers(stage.place.sessionKeys(stage.sessionId).cancelled)
  const datedOf = async (key: string, nameOf: (id: string) => string) => {
    const flat = await redis.zrange(key, 0, '-1', 'WITHSCORES')
    const lines = flat.flatMap((id, at) =>
      at % 2 === 0 ? [`${nameOf(id)}${Number(flat[at + 1]) <= now ? ' over' : ''}`] : [],
    )
    return lines.sort()
  }
  const grants: [string, string][] = []
  for (const node of nodes) {
    const [nonce, id, mark = 'run'] = ((await redis.hget(keys.grants(node), '0')) ?? '').split(' ')
    if (id !== undefined) grants.push([node, `${nonce} ${name(id)} ${mark}`])
  }
  const dead = await redis.xrange(keys.dead, '-', '+')
  return {
    workers: await workersOf(stage),
    session: session.state,
    cancelled: marks.map((mark) => `${name(mark.slice(0, 36))}${mark.slice(36)}`).sort(),
    unfinished: (await redis.sismember(keys.cancelling, stage.sessionId)) === 1,
    run: (await redis.zrange(keys.run('default'), 0, '-1')).map(name),
    leases: await datedOf(keys.leases, name),
    bells: await datedOf(keys.bells('default'), (bell) => stage.bellName(bell)),
    busy: await datedOf(keys.busy('default'), (bell) => stage.bellName(bell)),
    slots: Number(await redis.get(keys.slots('default'))),
    grants: Object.fromEntries(grants),
    dead: dead.map(([, flat]) => inputOf(flat[flat.indexOf('mail') + 1] as string)),
  }
}

const inputOf = (text: string) => String(decodeMessage(text, '').value)

async function workersOf(stage: Stage): Promise<unknown> {
  const { redis } = stage.place
  const workers: [string, unknown][] = []
  for (const id of [rootId, childId]) {
    const real = stage.id(id)
    const own = stage.place.workerKeys(real)
    if ((await redis.exists(own.record)) === 0) continue
    const view = await stage.place.record(real)
    const [user, family, log] = await Promise.all(
      [own.user, own.family, own.log].map((key) => redis.lrange(key, 0, -1)),
    )
    const facts = {
      place: view.place,
      wait: view.wait?.startsWith('result:') ? `result:${childId}` : view.wait,
      run: Number(view.run),
      open: view.open === '1',
      awaits: view.awaits,
      epoch: Number(view.epoch),
      holder: view.holder,
      committed: view.committed,
      version: Number(view.version),
      alone: Number(view.alone),
      failed: view.failed === '1',
      taken: [Number(view.user), Number(view.family)],
      user: (user ?? []).map(inputOf),
      family: (family ?? []).map((text) => (text === '' ? '' : `result:${childId}`)),
      log: (log ?? []).map((entry) => (entry.startsWith('{"type":"cancelled"') ? 'cancelled' : entry)),
      bells: parseBells(view.bells).map(({ id: bell }) => stage.bellName(bell)),
    }
    workers.push([id, facts])
  }
  return Object.fromEntries(workers)
}

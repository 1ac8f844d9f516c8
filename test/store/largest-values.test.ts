/**
 * How long each script keeps Redis to itself when each field holds the largest value that is accepted. The bound is far above what is
 * measured, and far below what a walk takes that grows with the square of a value.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { hardSessionLimits, policy } from '../../src/core/policy.ts'
import { encodeInput } from '../../src/core/worker/message/message.ts'
import { encodePermissions } from '../../src/core/worker/permissions.ts'
import { partsMost } from '../../src/runtime/turn/step/step-size.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { resultOf } from './support/calls/call-scenes.ts'
import { Place } from './support/place.ts'

/** How long the processor of Redis may work for all that one call does. */
const processorMsMax = 1_500

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start({ durability: 'none' })
})
afterAll(() => server[Symbol.asyncDispose]())

const names = (letter: string) =>
  Array.from({ length: policy.permissionNamesMax }, (_, index) => `${letter}${index}_`.padEnd(64, 'x'))
const permissionsWith = (folder: string) => ({ tools: names('t'), kinds: ['echo', ...names('k').slice(1)], folder })
const longFolder = `/${'d/'.repeat(2_000)}`.padEnd(policy.folderBytesMax, 'x')
const slashes = `${'/'.repeat(policy.folderBytesMax - 6)}x`
const largeText = 'x'.repeat(policy.messageBytesMax - 2)
const largeMail = encodeInput(null, JSON.stringify(largeText))
const limits = { ...hardSessionLimits }

/** Makes the call, and returns how many ms of its processor Redis used. A busy machine makes that no longer. */
async function usedBy(place: Place, call: () => Promise<unknown>): Promise<number> {
  const before = await processorMs(place)
  await call()
  return (await processorMs(place)) - before
}

async function processorMs(place: Place): Promise<number> {
  const info = await place.redis.info('cpu')
  const seconds = ['user', 'sys'].map((which) =>
    Number(new RegExp(`^used_cpu_${which}:([\\d.]+)`, 'm').exec(info)?.[1]),
  )
  return seconds.reduce((sum, one) => sum + one, 0) * 1_000
}

const running = async (place: Place, options: Parameters<Place['create']>[0] = {}) => {
  const session = await place.create({ mode: 'conversation', limits, ...options })
  const node = place.node({ slots: 4 })
  return { session, node, turn: await node.claim() }
}

/** The parent has the first folder, its children have the second. */
const spawning = (own: string, given: string, count: number, detached: boolean) => async (place: Place) => {
  const { turn } = await running(place, { permissions: encodePermissions(permissionsWith(own)) })
  const asked = permissionsWith(given)
  // No two are the same text, until the names have all been first.
  const turned = (names: readonly string[], by: number) => [...names.slice(by), ...names.slice(0, by)]
  const permissionsOf = (index: number) =>
    encodePermissions({ ...asked, tools: turned(asked.tools, index % asked.tools.length) })
  const spawns = Array.from({ length: count }, (_, index) =>
    place.child(turn.worker, index + 1, `c${index}`, { detached, permissions: permissionsOf(index) }),
  )
  const pendingCalls = detached ? [] : spawns.map(({ call }) => call)
  return async () => expect(await turn.commit({ spawns, pendingCalls })).toMatchObject({ kind: 'ok' })
}

const scenes: Record<string, (place: Place) => Promise<() => Promise<unknown>>> = {
  'creation with the largest permissions, input, key and limits': async (place) => () =>
    place.create({
      permissions: encodePermissions(permissionsWith(longFolder)),
      input: largeText,
      limits,
      key: largeText,
    }),
  'creation of many': async (place) => () =>
    place.createMany(
      Array.from({ length: 300 }, (_, index) => ({
        label: `s${index}`,
        permissions: encodePermissions(permissionsWith(longFolder)),
      })),
    ),
  'a commit with as many children as may be awaited': spawning(
    longFolder,
    longFolder,
    hardSessionLimits.children,
    false,
  ),
  'a commit with children of a folder of slashes, as another program stored it': spawning(
    slashes,
    `${slashes}/e`,
    1_000,
    false,
  ),
  'a commit with as many detached children as a step may hold bytes of permissions': spawning(
    longFolder,
    longFolder,
    110,
    true,
  ),
  'a commit with as many messages as a step may hold': async (place) => {
    const { session, turn } = await running(place)
    const sends = Array.from({ length: partsMost('send') }, () => ({
      workerId: session.root,
      mail: encodeInput(turn.worker, '1'),
    }))
    return async () => expect(await turn.commit({ sends })).toMatchObject({ kind: 'ok' })
  },
  'a commit with as many timers as a step may hold': async (place) => {
    const { turn } = await running(place)
    const timers = Array.from({ length: partsMost('timer') }, (_, index) => ({
      id: `t${index}`,
      ms: index,
      valueJson: '1',
    }))
    return async () => expect(await turn.commit({ timers, signalsOpen: timers.length })).toMatchObject({ kind: 'ok' })
  },
  'a commit with as many bytes of messages as a step may hold': async (place) => {
    const { session, turn } = await running(place)
    const sends = Array.from({ length: 3 }, () => ({ workerId: session.root, mail: largeMail }))
    return async () =>
      expect(await turn.commit({ sends, stateJson: JSON.stringify(largeText) })).toMatchObject({ kind: 'ok' })
  },
  'a commit that takes all results but the first': async (place) => {
    const { node, turn } = await running(place)
    const count = hardSessionLimits.children
    const spawns = Array.from({ length: count }, (_, index) => place.child(turn.worker, index + 1, `c${index}`))
    await turn.park(`results:${count}`, { spawns, pendingCalls: spawns.map(({ call }) => call) })
    for (let left = count; left > 0; left--) {
      const child = await node.claim()
      await child.complete({ result: resultOf(child) })
    }
    const parent = await node.claim()
    const resultsConsumed = Array.from({ length: count - 1 }, (_, index) => count - 1 - index)
    return async () =>
      expect(await parent.commit({ resultsConsumed, resultsSeen: count, pendingCalls: [1] })).toMatchObject({
        kind: 'ok',
      })
  },
  'a claim of the most mail': async (place) => {
    const { root } = await place.create({ mode: 'conversation', input: largeText, limits })
    for (let index = 0; index < 8; index++) await place.post(root, `${index}${largeText.slice(1)}`)
    return () => place.node().claim()
  },
  'a post of the largest message': async (place) => {
    const { root } = await place.create({ mode: 'conversation' })
    return () => place.post(root, largeText, largeText)
  },
  'a renewal of as many turns as a node has slots': async (place) => {
    const { node, turn } = await running(place)
    const one = { workerId: turn.worker, token: turn.assignment.token, wakeup: 'w', becomesBusy: true }
    return () => node.turns.renew(Array.from({ length: policy.slotsMax }, () => one))
  },
  'a sweep over many leases that ended': async (place) => {
    const node = place.node({ slots: policy.slotsMax })
    await place.createMany(Array.from({ length: 300 }, (_, index) => ({ label: `s${index}` })))
    for (let index = 0; index < 300; index++) await place.expireLease((await node.claim()).worker)
    return () => node.sweep()
  },
  'firing many large timers': async (place) => {
    const { node, turn } = await running(place)
    for (let part = 0; part < 31; part++) {
      const timers = Array.from({ length: 4 }, (_, index) => ({
        id: `t${part}-${index}`,
        ms: 0,
        valueJson: JSON.stringify(largeText),
      }))
      await turn.record({ timers, signalsOpen: 4 * (part + 1) })
    }
    return () => node.upkeep.fire()
  },
  'a cancel with the longest reason': async (place) => {
    const { session } = await running(place)
    return () => place.sessions.cancel(session.id, 'x'.repeat(policy.reasonBytesMax))
  },
  'the end of a cancel of many': async (place) => {
    const { session, node, turn } = await running(place)
    const spawns = Array.from({ length: 1_000 }, (_, index) => place.child(turn.worker, index + 1, `c${index}`))
    await turn.park('results:1000', { spawns, pendingCalls: spawns.map(({ call }) => call) })
    await place.sessions.cancel(session.id, 'enough')
    return () => node.upkeep.finishCancelled()
  },
  'a limit': async (place) => {
    const { session } = await running(place)
    const { modelCalls, tokens } = hardSessionLimits
    return () => place.sessions.limit(session.id, { modelCalls, tokens }, '[["session.limited"]]')
  },
  'a close': async (place) => {
    const { session } = await running(place)
    return () => place.sessions.close(session.id)
  },
  'going back and dismissal of a large letter': async (place) => {
    const { turn } = await running(place, { input: largeText })
    await turn.complete({ outcome: 'failed', dead: JSON.stringify(largeText) })
    const [letter = ''] = (await place.redis.xrange(place.keys.dead, '-', '+'))[0] ?? []
    return async () => {
      await place.sessions.redrive(turn.worker, letter, '[["message.redriven"]]')
      await place.sessions.dismiss(turn.worker, letter)
    }
  },
  'pruning of sessions with the largest permissions': async (place) => {
    await place.createMany(
      Array.from({ length: 100 }, (_, index) => ({
        label: `s${index}`,
        permissions: encodePermissions({ kinds: ['echo'], folder: longFolder }),
      })),
    )
    const node = place.node()
    for (let index = 0; index < 100; index++) await (await node.claim()).complete()
    return () => place.sessions.prune(0)
  },
  'the look of an audit at many workers': async (place) => {
    const { session, turn } = await running(place, { permissions: encodePermissions(permissionsWith(longFolder)) })
    const spawns = Array.from({ length: 500 }, (_, index) =>
      place.child(turn.worker, index + 1, `c${index}`, { permissions: encodePermissions(permissionsWith(longFolder)) }),
    )
    await turn.record({ spawns, pendingCalls: spawns.map(({ call }) => call) })
    const store = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
    return () => store.look(session.id, [session.root, ...spawns.map(({ id }) => id)], ['default'])
  },
  'a question about a session that is not there': async (place) => () => place.post(rootIdOf(newId(0)), largeText),
}

test.each(Object.entries(scenes))('the script %s keeps Redis for no longer than the bound', async (_, prepare) => {
  await using place = await Place.open({ redisUrl: server.url })
  const call = await prepare(place)
  expect(await usedBy(place, call)).toBeLessThan(processorMsMax)
})

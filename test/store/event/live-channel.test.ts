/**
 * The live channel: its messages reach whoever listens, may be lost without harm, never come twice, and only followers cost anything (C-a to
 * C-c).
 */
import type { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { LiveTail, type LiveWord, RedisLivePublisher } from '../../../src/store/event/live-channel.ts'
import { sessionChannels, tagOf } from '../../../src/store/keys.ts'
import { openLossyRedis, openRedis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A publisher and a listening end, each on a connection of its own. The connections to Redis can be told apart. */
async function opened(ways: { publisher?: string; tail?: string } = {}) {
  const namespace = newNamespace()
  const connection = openLossyRedis(ways.publisher ?? inject('redisUrl'))
  const publisher = new RedisLivePublisher(() => connection, namespace)
  const tailConnections: Redis[] = []
  const open = () => {
    const redis = openRedis(ways.tail ?? inject('redisUrl'))
    tailConnections.push(redis)
    return redis
  }
  const tail = new LiveTail(open, namespace)
  const looking = openRedis(inject('redisUrl'))
  await waitUntil('the publisher is connected', () => connection.status === 'ready')
  const session = newId(0)
  const followers = async (id = session) => {
    const [, count] = await looking.pubsub('NUMSUB', sessionChannels(tagOf(namespace, 0), id).live)
    return Number(count)
  }
  const say = (text: string, id = session) =>
    publisher.publish(id, rootIdOf(id), [['text.delta', { text, iteration: 1 }]])
  const close = async () => {
    tail.stop()
    connection.disconnect()
    looking.disconnect()
  }
  return {
    namespace,
    connection,
    publisher,
    tail,
    tailConnections,
    looking,
    session,
    followers,
    say,
    [Symbol.asyncDispose]: close,
  }
}

const textsOf = (words: readonly LiveWord[]) => words.flatMap(({ notes }) => notes.map(([, details]) => details.text))

describe('a listener', () => {
  test('a listener gets the notes of its session in order, each with its worker', async () => {
    await using scene = await opened()
    const heard: LiveWord[] = []
    const other = newId(0)
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    scene.say('not for you', other)
    scene.publisher.publish(scene.session, 'w1', [
      ['reasoning.delta', { text: 'hm', iteration: 1 }],
      ['text.delta', { text: 'a', iteration: 1 }],
    ])
    scene.publisher.publish(scene.session, 'w2', [['tool.progress', { toolCallId: 'c', toolName: 't', value: [1] }]])
    await waitUntil('both were heard', () => heard.length === 2)
    expect(heard).toEqual([
      {
        sessionId: scene.session,
        workerId: 'w1',
        notes: [
          ['reasoning.delta', { text: 'hm', iteration: 1 }],
          ['text.delta', { text: 'a', iteration: 1 }],
        ],
      },
      {
        sessionId: scene.session,
        workerId: 'w2',
        notes: [['tool.progress', { toolCallId: 'c', toolName: 't', value: [1] }]],
      },
    ])
  })

  test('a live listener shares one connection and one subscription, which go when the last one leaves', async () => {
    await using scene = await opened()
    const { tail, session, followers } = scene
    const other = newId(0)
    expect(scene.tailConnections).toHaveLength(0)
    const [first, second] = [() => {}, () => {}]
    await tail.listen(session, first)
    await tail.listen(session, second)
    await tail.listen(other, first)
    expect(scene.tailConnections).toHaveLength(1)
    expect(await followers()).toBe(1)
    tail.unlisten(session, first)
    tail.unlisten(session, first)
    tail.unlisten(other, first)
    await waitUntil('the other session is left', async () => (await followers(other)) === 0)
    expect(await followers()).toBe(1)
    tail.unlisten(session, second)
    await waitUntil('nobody is subscribed', async () => (await followers()) === 0)
  })

  test('a listener is not held up by another that throws, nor by a message of another program', async () => {
    await using scene = await opened()
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, () => {
      throw new Error('mine alone')
    })
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    const channel = sessionChannels(tagOf(scene.namespace, 0), scene.session).live
    for (const text of ['', 'null', '{', '[]', '{"worker":1,"notes":[]}', '{"worker":"w","notes":{}}'])
      await scene.looking.publish(channel, text)
    await scene.looking.publish(channel, '{"worker":"w","notes":[["session.completed",{}],["text.delta",null],7,null]}')
    scene.say('a')
    await waitUntil('the word was heard', () => textsOf(heard).length === 1)
    expect(heard.map(({ notes }) => notes.length)).toEqual([0, 1])
  })

  test('a listener hears again after its connection was lost', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ tail: proxy.url })
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    proxy.cut()
    await waitUntil('Redis has seen it go', async () => (await scene.followers()) === 0)
    proxy.mend()
    await waitUntil('it is subscribed again', async () => (await scene.followers()) === 1)
    scene.say('again')
    await waitUntil('it was heard', () => heard.length > 0)
    expect(textsOf(heard)).toEqual(['again'])
  })
})

describe('a publisher', () => {
  test('a publisher never throws: not while Redis is away, not for a value without JSON form', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ publisher: proxy.url })
    const circle: Record<string, unknown> = {}
    circle.self = circle
    expect(() => scene.publisher.publish(scene.session, 'w', [['tool.progress', { value: circle }]])).not.toThrow()
    proxy.cut()
    expect(() => scene.say('the connection may still look open')).not.toThrow()
    await waitUntil('the connection is lost', () => scene.connection.status !== 'ready')
    expect(() => scene.say('lost')).not.toThrow()
  })

  test('a publisher drops notes while Redis is away, and goes on afterwards', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ publisher: proxy.url })
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    proxy.cut()
    await waitUntil('the connection is lost', () => scene.connection.status !== 'ready')
    for (let count = 0; count < 100; count++) scene.say('lost')
    proxy.mend()
    await waitUntil('it is connected again', () => scene.connection.status === 'ready')
    scene.say('kept')
    await waitUntil('something was heard', () => heard.length > 0)
    expect(textsOf(heard)).toEqual(['kept'])
  })

  test('a publisher does not repeat a message whose answer was lost', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ publisher: proxy.url })
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    proxy.cutReplies()
    scene.say('once')
    await waitUntil('it was heard', () => heard.length === 1)
    proxy.cut()
    await waitUntil('the connection is lost', () => scene.connection.status !== 'ready')
    proxy.mend()
    await waitUntil('it is connected again', () => scene.connection.status === 'ready')
    scene.say('next')
    await waitUntil('the next was heard', () => textsOf(heard).includes('next'))
    expect(textsOf(heard)).toEqual(['once', 'next'])
  })

  test('a publisher goes on after a lost connection took everything that may be unanswered', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ publisher: proxy.url })
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    proxy.blackhole()
    for (let count = 0; count < 1_000; count++) scene.say(String(count))
    proxy.cut()
    proxy.mend()
    const isHeard = () => {
      scene.say('last')
      return textsOf(heard).includes('last')
    }
    expect(await waitUntil('there is room again', isHeard)).toBe(true)
  })

  test('a publisher keeps a bounded number of notes while Redis hangs', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await opened({ publisher: proxy.url })
    const heard: LiveWord[] = []
    await scene.tail.listen(scene.session, (word) => heard.push(word))
    proxy.blackhole()
    for (let count = 0; count < 5_000; count++) scene.say(String(count))
    proxy.mend()
    await waitUntil('the first were heard', () => heard.length >= 1_000)
    await waitUntil('there is room again', () => {
      scene.say('last')
      return textsOf(heard).includes('last')
    })
    expect(textsOf(heard).filter((text) => text !== 'last')).toHaveLength(1_000)
  })
})

describe('an announcement', () => {
  /** Collects the announcements about followers that the nodes of the namespace receive. */
  async function announced(answers: boolean[]) {
    const scene = await opened()
    const said: [sessionId: string, isNew: boolean][] = []
    const tail = new LiveTail(
      () => openRedis(inject('redisUrl')),
      scene.namespace,
      async (...what) => {
        said.push(what)
        return answers.shift() ?? true
      },
    )
    return { scene, said, tail }
  }

  test('an announcement says that its follower is new until a node has received it, and again when a subscription came late', async () => {
    const { scene, said, tail } = await announced([false, false])
    await using _scene = scene
    await tail.listen(scene.session, () => {})
    tail.announce(scene.session)
    await waitUntil('a node received it', () => said.length === 3)
    expect(said).toEqual(Array.from({ length: 3 }, () => [scene.session, true]))
    await tail.listen(scene.session, () => {})
    await waitUntil('it is announced again', () => said.length === 4)
    expect(said.at(-1)).toEqual([scene.session, true])
    await waitUntil('it goes on', () => said.length === 5)
    expect(said.at(-1)).toEqual([scene.session, false])
    tail.stop()
  })
})

/** The Redis of fault tests does what its verbs say: otherwise those tests prove nothing. */
import { stat } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { isAlive } from '../../../src/dev/program.ts'
import { askRedis } from '../../../src/dev/redis-question.ts'
import { RedisServer } from './redis-server.ts'

describe('RedisServer', () => {
  test('written data survives a kill, at the same port', async () => {
    await using server = await RedisServer.start()
    expect(await askRedis(server, 'SET greeting hello')).toEqual({ kind: 'answer', text: 'OK' })
    const killed = server.pid
    await server.kill()
    expect(isAlive(killed)).toBe(false)
    expect(await askRedis(server, 'PING')).toEqual({ kind: 'nobody' })
    await server.restart()
    expect(await askRedis(server, 'STRLEN greeting')).toEqual({ kind: 'answer', text: '5' })
  })

  test('a server that keeps nothing starts empty again', async () => {
    await using server = await RedisServer.start({ durability: 'none', settings: ['maxmemory 50mb'] })
    await askRedis(server, 'SET greeting hello')
    await server.restart()
    expect(await askRedis(server, 'STRLEN greeting')).toEqual({ kind: 'answer', text: '0' })
  })

  test('a frozen server does not answer until it is thawed, and can be stopped while frozen', async () => {
    await using server = await RedisServer.start()
    server.freeze()
    expect(await askRedis(server, 'PING', 200)).toEqual({ kind: 'silence' })
    server.thaw()
    expect(await askRedis(server, 'PING')).toEqual({ kind: 'answer', text: 'PONG' })
    server.freeze()
    await server.stop()
    await server.stop()
    expect(await askRedis(server, 'PING')).toEqual({ kind: 'nobody' })
  })

  test('the folder of a server goes with it', async () => {
    const server = await RedisServer.start()
    await server[Symbol.asyncDispose]()
    await expect(stat(server.folder)).rejects.toThrow('ENOENT')
  })
})

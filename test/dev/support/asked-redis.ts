/** Asks a Redis of the developer's, by its URL. */
import { Redis } from 'ioredis'
import { askRedis, type RedisAddress } from '../../../src/dev/redis-question.ts'

export async function answer(url: string, question = 'PING'): Promise<string | undefined> {
  const heard = await askRedis(addressOf(url), question)
  return heard.kind === 'answer' ? heard.text : undefined
}

export async function setting(url: string, name: string): Promise<string> {
  const redis = new Redis(url)
  try {
    return String((await redis.config('GET', name))[1])
  } finally {
    redis.disconnect()
  }
}

export function addressOf(url: string): RedisAddress {
  const { port, password } = new URL(url)
  return { port: Number(port), password }
}

/** Duty: a connection to ask a server what it knows of others. It gives up at the first failure, and whoever asks learns of that from the question. */
import { Redis, type RedisOptions } from 'ioredis'

const answerMsMax = 1_000
const once = {
  protocol: 2,
  retryStrategy: null,
  maxRetriesPerRequest: 0,
  enableReadyCheck: false,
  disableClientInfo: true,
  connectTimeout: answerMsMax,
  commandTimeout: answerMsMax,
} satisfies RedisOptions

/** Of an address. */
type Parts = Pick<RedisOptions, 'host' | 'port' | 'username' | 'password' | 'family'>

export function openOnce(address: string | Parts): Redis {
  const redis = typeof address === 'string' ? new Redis(address, once) : new Redis({ ...address, ...once })
  redis.on('error', () => {})
  return redis
}
